"""Sweeps of commands: with a progress display, and a summary at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bfsbench.wording import plural

if TYPE_CHECKING:
    from pathlib import Path

    from bfsbench.bench.point import Point
    from bfsbench.bench.sweep import Outcome, Request


def carry_out(request: Request) -> Outcome:
    """Run a sweep; after an interrupt the last line says how to continue it."""
    from bfsbench.bench.sweep import sweep
    from bfsbench.cli.progress import SweepDisplay

    try:
        with SweepDisplay(request.path) as display:
            return sweep(request, display)
    except KeyboardInterrupt:
        begun = request.path is not None and request.path.exists()
        again = f": continue with --resume --out {request.path}" if begun else ""
        click.echo(f"bfsbench: interrupted{again}", err=True)
        raise SystemExit(130) from None


def carry_out_points(request: Request) -> bool:
    """Carry out a sweep and show what came of it; returns whether all of its points have a time."""
    outcome = carry_out(request)
    if outcome.rows:
        show_summary(outcome, request.path)
    came = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    measured = plural(outcome.statuses.total(), "point")
    click.echo(f"{measured}: {came or 'nothing left to do'}; see 'bfsbench report {request.path}'", err=True)
    return not outcome.failed


def show_summary(outcome: Outcome, path: Path | None) -> None:
    """Print of each graph the best of each search, and what failed."""
    from bfsbench.bench.results import table
    from bfsbench.cli.showing import rendered
    from bfsbench.report import summary
    from bfsbench.report.levels import read_levels

    levels = None if path is None else read_levels([path])
    click.echo(rendered(summary(table(outcome.rows), levels)))


def print_plan(points: Sequence[Point], repeats: int) -> None:
    """Print how many points of each graph, variant and backend there are."""
    from tabulate import tabulate

    from bfsbench.bench.point import row_name
    from bfsbench.variants import with_aliases

    counts = Counter((row_name(point.graph), with_aliases(point.variant), point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    total, timed = plural(len(points), "point"), plural(repeats, "time")
    click.echo(f"\n{total}, each run once to check it and {timed} to time it")


def print_memory(names: Sequence[str]) -> None:
    """Print how much memory opening each graph takes."""
    from bfsbench.graphs.estimate import memory_lines
    from bfsbench.graphs.load import resolve

    click.echo("\npeak of memory, to open each graph:")
    for line in memory_lines([resolve(name) for name in names]):
        click.echo(f"  {line}")
