"""Define options that several commands have, and write tables to a file, a pipe or a terminal."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from bfsbench.backends import GPU_BACKENDS
from bfsbench.bench.options import DEFAULTS, KINDS, OPTIONS
from bfsbench.cli import completion
from bfsbench.reports.table import FORMATS, SUFFIXES, Table, format_of, render, width_of
from bfsbench.support.errors import as_option, spelt
from bfsbench.support.storage import output

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
        "--dataset", text, "datasets", multiple=True, required=required, shell_complete=completion.datasets
    )


def variants_option(text: str, **facts: Any) -> Declaration:
    """Return the option ``--variant``, which names the variants of a command."""
    return list_option(
        "--variant", text, "variants", multiple=True, shell_complete=completion.variants_or_all, **facts
    )


def names_option(option: str, variable: str, known: completion.Completer, text: str) -> Declaration:
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
    names_option("--graph", "graphs", completion.datasets, "Only these graphs."),
    names_option("--variant", "variants", completion.variants, "Only these variants."),
    names_option(
        "--backend", "backends", completion.backends, f"Only {', '.join(GPU_BACKENDS)}, host or cpu."
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
