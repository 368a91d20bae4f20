"""Provides the environment of Jinja2 in which templates are filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

_LATEX_DELIMITERS = {
    "variable_start_string": "\\VAR{",
    "variable_end_string": "}",
    "block_start_string": "\\BLOCK{",
    "block_end_string": "}",
    "comment_start_string": "\\#{",
    "comment_end_string": "}",
}


def sandbox(
    template: Path, types: Iterable[type], members: Mapping[type, Collection[str]]
) -> jinja2.Environment:
    """Returns a Jinja2 environment that is safe for templates that others have written. If the file name of
    ``template`` contains ``.tex``, all templates in its folder have the delimiters for LaTeX.

    Templates can use the members of plain values and of ``types``. Of any other type, templates can use only
    the members that ``members`` lists. Templates cannot use data frames, NumPy numbers or paths, because
    these have members that read or write files or evaluate code.
    """
    import jinja2.sandbox

    plain = (str, int, float, list, tuple, dict, *types)

    class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            if type(obj) in members:
                return attr in members[type(obj)]
            known = type(obj) in plain or type(obj).__module__.startswith("jinja2.")
            return known and super().is_safe_attribute(obj, attr, value)

    environment = Sandbox(
        loader=jinja2.FileSystemLoader(template.parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        **(_LATEX_DELIMITERS if ".tex" in template.suffixes else {}),
    )
    del environment.globals["lipsum"]  # this function could make endless text
    return environment
