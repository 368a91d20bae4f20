"""Define options that several commands have, their completion in the shell, and their order in ``--help``."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.shell_completion import CompletionItem

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench.options import DEFAULTS, KINDS, OPTIONS
from bfsbench.reports.table import FORMATS, SUFFIXES, Table, format_of, render, width_of
from bfsbench.support.errors import UsageError, as_option, spelt
from bfsbench.support.storage import output
from bfsbench.variants import all_variants, find

if TYPE_CHECKING:
    from bfsbench.variants.base import Knob

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


_COMPLETED: dict[str, tuple[str, Callable[[Any], Iterable[str]]]] = {
    "datasets": ("graphs.catalogue", lambda at: at.Catalogue.load().names()),
    "families": ("graphs.catalogue", lambda at: at.Catalogue.load().kinds()),
    "variants": ("variants", lambda at: at.look().variants),
    "variants or all": ("variants", lambda at: ["all", *at.look().variants]),
    "experiments": ("experiments", lambda at: [*at.bundled(), "graph500"]),
    "tables": ("reports", lambda at: at.TABLES),
    "tables of comparison": ("reports.comparison.tables", lambda at: at.TABLES),
    "plots": ("reports.plots", lambda at: at.PLOTS),
    "backends": ("backends", lambda at: (*at.GPU_BACKENDS, "host", "cpu")),
}
"""For each kind of names: the module that knows them, and a function that returns them from the module.

The module is imported at the first completion.
"""


def completer(kind: str) -> Completer:
    """Return a ``shell_complete`` for a parameter that takes a name or a list of names with commas.

    It completes the last name of the list, and proposes only names that the list does not hold yet. ``kind``
    is a key of ``_COMPLETED``. If the user's own catalogue is broken, no names are proposed.
    """
    module, known = _COMPLETED[kind]

    def complete(_context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
        *before, last = word.split(",")
        head = "".join(f"{name}," for name in before)
        try:
            names = [*known(importlib.import_module(f"bfsbench.{module}"))]
        except UsageError:
            return []
        return [
            CompletionItem(head + name)
            for name in names
            if name.lower().startswith(last.lower()) and name not in before
        ]

    return complete


Declaration = Callable[[Callable[..., None]], Callable[..., None]]


class Number(click.FloatRange):
    """A finite number. It refuses ``nan`` and ``inf``, which click accepts in any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def together(*options: Declaration) -> Declaration:
    """Return one decorator that adds several options, in the order in which ``--help`` shows them."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            function = option(function)
        return function

    return declare


def split(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> list[str]:
    """Return the names in an option that may be repeated, or given once with commas."""
    return [name for value in values for name in value.split(",") if name]


def list_option(option: str, text: str, variable: str | None = None, **facts: Any) -> Declaration:
    """Return an option that takes a list with commas, which may contain ranges."""
    return click.option(option, *filter(None, [variable]), metavar="LIST", help=text, **facts)


def datasets_option(text: str, *, required: bool = True) -> Declaration:
    """Return the option ``--dataset``, which names the graphs of a command."""
    return list_option(
        "--dataset", text, "datasets", multiple=True, required=required, shell_complete=completer("datasets")
    )


def variants_option(text: str, **facts: Any) -> Declaration:
    """Return the option ``--variant``, which names the variants of a command."""
    return list_option(
        "--variant", text, "variants", multiple=True, shell_complete=completer("variants or all"), **facts
    )


def names_option(option: str, variable: str, known: Completer, text: str) -> Declaration:
    """Return an option that takes a list of names, which ``known`` completes in the shell."""
    return click.option(
        option, variable, multiple=True, callback=split, metavar="NAMES", shell_complete=known, help=text
    )


def measuring_option(name: str, text: str = "") -> Declaration:
    """Return the command-line option for the measuring option ``name``.

    ``text`` replaces its help text if given.
    """
    option, kind = OPTIONS[name], KINDS[name]
    takes: click.ParamType[Any] | None = None
    if option.choices:
        takes = click.Choice(option.choices)
    elif kind is int:
        takes = click.IntRange(option.least, option.most)
    elif kind is float:
        above = option.above is not None
        takes = Number(option.above if above else option.least, min_open=above)
    elif option.folder:
        takes = click.Path(file_okay=False)
    return click.option(
        as_option(name),
        default=DEFAULTS[name],
        show_default=True,
        type=takes,
        is_flag=kind is bool,
        metavar=option.metavar,
        help=text or spelt(option.help, as_option),
    )


def format_option(formats: Sequence[str] = FORMATS) -> Declaration:
    """Return the option ``--format``, which selects the format of printed tables."""
    return click.option("--format", "style", type=click.Choice(formats), default="text", show_default=True)


row_filters = together(
    names_option("--graph", "graphs", completer("datasets"), "Only these graphs."),
    names_option("--variant", "variants", completer("variants"), "Only these variants."),
    names_option(
        "--backend", "backends", completer("backends"), f"Only {', '.join(GPU_BACKENDS)}, host or cpu."
    ),
)

BY_NAME = f"by default the suffix of --out decides ({', '.join(SUFFIXES)}), else text"

output_options = together(
    click.option("--format", "style", type=click.Choice(FORMATS), help=f"Format of the tables; {BY_NAME}."),
    click.option(
        "--out", type=click.Path(path_type=Path), help="Write to this file instead of the terminal."
    ),
)


def chosen_format(style: str | None, out: Path | None) -> str:
    """Return the requested format, or else the format that the file's suffix means, or else ``text``."""
    return style or (format_of(out) if out is not None else None) or "text"


@contextmanager
def opened(out: Path | None) -> Iterator[TextIO]:
    """Open the file ``out``, which is written whole or not at all. Without ``out``, yield standard output.

    Raises UsageError if the file cannot be written.
    """
    if out is None:
        yield sys.stdout
    else:
        with output(out) as file:
            yield file


def rendered(
    tables: Sequence[Table], style: str = "text", file: TextIO | None = None, *, narrow: str = ""
) -> str:
    """Return tables in one of FORMATS, with the width and colours of the destination, by default standard
    output.

    ``narrow`` is passed to :func:`bfsbench.reports.table.render`.
    """
    is_terminal = (file or sys.stdout).isatty()
    colour = is_terminal and "NO_COLOR" not in os.environ
    return render(tables, style, colour=colour, narrow=narrow, width=width_of(is_terminal))


KNOB_PREFIX = "knob_"
"""The prefix of a command's parameters that are knobs."""

_SECTIONS = {
    "What": (
        *("datasets", "dataset", "family", "variants", "grid", "block", "preset", "benign"),
        *("show", "graphs", "scale", "stand_ins", "variant"),
    ),
    "From where": ("source", "source_id", "num_sources", "seed", "seeds"),
    "How": (),
    "How many samples": (),
    "How many points": ("points", "minutes", "method"),
    "On what": (),
    "Rows": ("out",),
    "Instead": ("dry_run", "sanitizer", "rows", "quiet", "as_json"),
}
"""The titles of sections, and the parameters below each title.

Measuring options are not listed here, because their declarations name their titles. A parameter without a
section is shown last.
"""
_OTHERS = "Others"


class SectionedCommand(click.Command):
    """A command whose ``--help`` shows options in sections.

    Only ``--help-knobs`` shows the options of knobs.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: option.section for name, option in OPTIONS.items()}
        titles |= {name: title for title, names in _SECTIONS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, _OTHERS)}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None and not (option.name or "").startswith(KNOB_PREFIX):
                found[titles.get(option.name or "", _OTHERS)].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def help_knobs(context: click.Context, _option: click.Parameter, names: str | None) -> None:
    """Print the options of knobs by variant, and end the command.

    Raises UsageError for an unknown variant.
    """
    if names is None or context.resilient_parsing:
        return
    chosen = [*all_variants().values()] if names == "all" else [*map(find, names.split(","))]
    formatter = context.make_formatter()
    for variant in dict.fromkeys(chosen):
        if variant.knobs:
            with formatter.section(variant.name):
                formatter.write_dl([*map(_record, variant.knobs)])
        elif names != "all":
            formatter.write_text(f"{variant.name} has no knobs.")
    click.echo(formatter.getvalue(), nl=False)
    context.exit()


def _record(knob: Knob) -> tuple[str, str]:
    return f"{knob.option} LIST", f"{knob.name}: {knob.meaning} ({knob.legal}; default {knob.default})"


def knob_options(command: click.Command) -> click.Command:
    """Add an option for every knob that any variant declares, and ``--help-knobs``, which shows these
    options.

    Raises UsageError for a knob whose option is also another option of the command.
    """
    taken = {"--help", "--help-knobs", *(option for own in command.params for option in own.opts)}
    options: dict[str, str] = {}
    for variant in all_variants().values():
        for knob in variant.knobs:
            if knob.option in taken:
                what = f"variant {variant.name}: knob {knob.name} would be {knob.option}"
                raise UsageError(f"{what}, which is another option of 'bfsbench {command.name}'")
            options[knob.name] = knob.option
    for name, option in sorted(options.items()):
        command.params.append(
            click.Option([option, KNOB_PREFIX + name], metavar="LIST", help=f"Knob {name}.")
        )
    command.params.append(
        click.Option(
            ["--help-knobs"],
            is_flag=False,
            flag_value="all",
            metavar="[VARIANTS]",
            is_eager=True,
            expose_value=False,
            callback=help_knobs,
            help="Show the knobs of all variants, or of VARIANTS.",
        )
    )
    return command
