"""The searches: one module here and one file in ``cuda_src`` each.

A module that defines a subclass of Variant with a ``name`` is found by looking into this folder, and into
those that ``BFSBENCH_VARIANTS`` names, where the ``.cu`` file lies beside the module; nothing else lists it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from bfsbench.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from bfsbench.variants.base import Variant

__path__ += [folder for folder in os.environ.get("BFSBENCH_VARIANTS", "").split(os.pathsep) if folder]


@dataclass(frozen=True)
class Found:
    """What the folders hold."""

    variants: Mapping[str, type[Variant]]
    """By name, in alphabetical order."""
    problems: tuple[str, ...]
    """A line for each module or folder that could not be used."""


def all_variants() -> dict[str, type[Variant]]:
    """Every variant by its name, in alphabetical order. Raises UsageError for a broken module of a user's."""
    found = look()
    if found.problems:
        raise UsageError(found.problems[0])
    return dict(found.variants)


@cache
def look() -> Found:
    """Import the modules of all folders; one that is broken is a problem and does not hide the others."""
    variants: dict[str, type[Variant]] = {}
    problems: list[str] = []
    modules: dict[str, Path] = {}
    for folder in dict.fromkeys(Path(entry).resolve() for entry in __path__):
        if not folder.is_dir():
            problems.append(f"BFSBENCH_VARIANTS names {folder}, which is not a folder")
        for info in pkgutil.iter_modules([str(folder)]):
            file = folder / (f"{info.name}/__init__.py" if info.ispkg else f"{info.name}.py")
            try:
                if info.name in modules:
                    raise UsageError(f"{file} is called like {modules[info.name]}: rename it")
                modules[info.name] = file
                for variant in _declared_by(info.name, file):
                    _check(variant, info.name, variants)
                    variants[variant.name] = variant
            except UsageError as error:
                problems.append(str(error))
    return Found(dict(sorted(variants.items())), tuple(problems))


def _declared_by(name: str, file: Path) -> list[type[Variant]]:
    """The variants that a module declares. Raises UsageError, in one line, for whatever its import raises."""
    from bfsbench.variants.base import Variant

    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except (Exception, SystemExit) as error:  # the module is a user's: it may raise anything
        trace = extract_tb(error.__traceback__)
        lines = [at.lineno for at in trace if Path(at.filename).resolve() == file]
        line = f", line {lines[-1]}" if lines else ""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"cannot load variant module {file}{line}: {reason}") from error
    return [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Variant)
        and "name" in vars(item)
        and item.__module__ == module.__name__
    ]


def _check(variant: type[Variant], module: str, others: Mapping[str, type[Variant]]) -> None:
    """Raises UsageError, naming module and attribute, for a declaration that says too little."""
    where = f"variant {variant.name} ({module}.py)"
    for attribute in ("summary", "origin", "layout", "frontier", "parallel_unit", "work"):
        if not getattr(variant, attribute, None):
            raise UsageError(f"{where} does not declare '{attribute}'")
    if variant.__abstractmethods__:
        raise UsageError(f"{where} does not define {', '.join(sorted(variant.__abstractmethods__))}")
    taken = {name for other in others.values() for name in (other.name, *other.aliases)}
    for name in (variant.name, *variant.aliases):
        if name in taken:
            raise UsageError(f"{where}: there is another called '{name}'")


def with_aliases(name: str) -> str:
    """A variant's name as people read it, ``frontier_numbers (push)``; any other text as it is."""
    variant = look().variants.get(name)
    return f"{name} ({', '.join(variant.aliases)})" if variant and variant.aliases else name


def find(name: str) -> type[Variant]:
    """The variant of that name or alias. Raises UsageError with near misses."""
    known: dict[str, type[Variant]] = {}
    for variant in all_variants().values():
        known.update(dict.fromkeys((variant.name, *variant.aliases), variant))
    if name.lower() not in known:
        raise unknown_name("variant", name, known)
    return known[name.lower()]
