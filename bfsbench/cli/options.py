"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from bfsbench.backends import BACKENDS, GPU_BACKENDS
from bfsbench.cli import completion
from bfsbench.report.formats import FORMATS, SUFFIXES

Declaration = Callable[[Callable[..., None]], Callable[..., None]]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Number(click.FloatRange):
    """A finite number: ``nan`` and ``inf`` are within any range that click checks."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


COUNT = click.IntRange(min=1, max=10**9)
"""How many times something is done."""


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


def names_option(option: str, variable: str, known: Completer, text: str) -> Declaration:
    """An option that takes names."""
    return click.option(
        option, variable, multiple=True, callback=split, metavar="NAMES", shell_complete=known, help=text
    )


def backend_option(text: str) -> Declaration:
    """Where kernels run."""
    return click.option(
        "--backend", default=BACKENDS[0], show_default=True, type=click.Choice(BACKENDS), help=text
    )


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
