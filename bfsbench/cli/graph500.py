"""``bfsbench reproduce graph500``: the Graph500 benchmark, which has rules of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from bfsbench.cli.help import KNOB_PREFIX
from bfsbench.errors import UsageError
from bfsbench.graph500 import LARGEST_SCALE, NUM_SOURCES, SMALLEST_SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = ("names", "scale", "variant", "backend", "schedule_seed", "out")
"""Parameters of the command that the benchmark has, besides knobs."""


def run_graph500(
    scale: float | None,
    variant: str,
    knobs: Mapping[str, list[str]],
    backend: str,
    schedule_seed: int,
    out: Path,
) -> None:
    """Do the benchmark, show its report and write it beside the rows. Raises BfsbenchError."""
    from bfsbench.graph500.benchmark import Asked, run
    from bfsbench.storage import output

    _require_own_options(click.get_current_context())
    if scale is None or scale != int(scale) or not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise UsageError(f"graph500 needs --scale {SMALLEST_SCALE} .. {LARGEST_SCALE}: of 2^S vertices")
    several = [name for name, values in knobs.items() if len(values) != 1]
    if several:
        raise UsageError(f"graph500 measures one setting: give one value of {several[0]}")
    given = {name: value for name, (value,) in knobs.items()}
    asked = Asked.of(int(scale), variant, given, backend, schedule_seed)
    stem = out / f"graph500-{asked.scale}-{asked.variant.name}"
    rows, report = stem.with_suffix(".csv"), stem.with_suffix(".txt")
    if rows.exists():
        raise UsageError(f"{rows} exists: choose another --out")
    click.echo(f"graph500: scale {asked.scale}, {asked.variant.name}", err=True)
    with click.progressbar(length=NUM_SOURCES, label="searches", file=sys.stderr) as bar:
        lines = [*run(asked, rows, lambda: bar.update(1)).lines()]
    with output(report) as file:
        file.write("\n".join(lines) + "\n")
    click.echo("\n".join(lines))


def _require_own_options(context: click.Context) -> None:
    """Raises UsageError for an option that the benchmark's rules leave no room for."""
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in _OPTIONS and not name.startswith(KNOB_PREFIX):
            raise UsageError(f"graph500 is measured by rules of its own: it has no {option.opts[0]}")
