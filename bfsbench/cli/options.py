"""Options that several commands have, and the output of tables to a file, a pipe or a terminal."""

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
    """A finite number: ``nan`` and ``inf`` are within any range that click checks."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def together(*options: Declaration) -> Declaration:
    """Several options as one decorator, in the order in which ``--help`` is to show them."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            function = option(function)
        return function

    return declare


def split(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> list[str]:
    """Options that may be repeated, or given once with commas."""
    return [name for value in values for name in value.split(",") if name]


def list_option(option: str, text: str, variable: str | None = None, **facts: Any) -> Declaration:
    """An option that takes a list with commas, which may have ranges."""
    return click.option(option, *filter(None, [variable]), metavar="LIST", help=text, **facts)


def datasets_option(text: str, *, required: bool = True) -> Declaration:
    """The graphs of a command."""
    return list_option(
        "--dataset", text, "datasets", multiple=True, required=required, shell_complete=completion.datasets
    )


def variants_option(text: str, **facts: Any) -> Declaration:
    """The variants of a command."""
    return list_option(
        "--variant", text, "variants", multiple=True, shell_complete=completion.variants_or_all, **facts
    )


def names_option(option: str, variable: str, known: completion.Completer, text: str) -> Declaration:
    """An option that takes names."""
    return click.option(
        option, variable, multiple=True, callback=split, metavar="NAMES", shell_complete=known, help=text
    )


def measuring_option(name: str, text: str = "") -> Declaration:
    """The option of a command that the measuring option of this name gives, with its own help by default."""
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
    """The format of printed tables."""
    return click.option("--format", "style", type=click.Choice(formats), default="text", show_default=True)


row_filters = together(
    names_option("--graph", "graphs", completion.datasets, "Only these graphs."),
    names_option("--variant", "variants", completion.variants, "Only these variants."),
    names_option(
        "--backend", "backends", completion.backends, f"Only {', '.join(GPU_BACKENDS)}, host or cpu."
    ),
)

BY_NAME = f"by default what the name of --out means ({', '.join(SUFFIXES)}), else text"

output_options = together(
    click.option("--format", "style", type=click.Choice(FORMATS), help=f"Of the tables; {BY_NAME}."),
    click.option(
        "--out", type=click.Path(path_type=Path), help="Write to this file instead of the terminal."
    ),
)


def chosen_format(style: str | None, out: Path | None) -> str:
    """The requested format, or else that of the file's suffix; text otherwise."""
    return style or (format_of(out) if out is not None else None) or "text"


@contextmanager
def opened(out: Path | None) -> Iterator[TextIO]:
    """The file ``out``, written whole or not at all, or standard output. Raises UsageError."""
    if out is None:
        yield sys.stdout
    else:
        with output(out) as file:
            yield file


def rendered(
    tables: Sequence[Table], style: str = "text", file: TextIO | None = None, *, narrow: str = ""
) -> str:
    """Tables in one of FORMATS, with the width and colours of the destination, by default standard output.

    ``narrow`` as for :func:`bfsbench.reports.table.render`.
    """
    is_terminal = (file or sys.stdout).isatty()
    colour = is_terminal and "NO_COLOR" not in os.environ
    return render(tables, style, colour=colour, narrow=narrow, width=width_of(is_terminal))
