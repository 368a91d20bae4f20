"""Carrying out the points of a sweep under one progress display, for all commands that have some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bfsbench.bench.point import Point
    from bfsbench.bench.runner import Method, Runner
    from bfsbench.bench.sweep import Output
    from bfsbench.graphs.graph import Graph


def execute(
    points: Sequence[Point],
    graphs: Mapping[str, Graph],
    runner: Runner,
    output: Output,
    method: Method,
) -> int:
    """Run what is not in the file yet, and say what came of it; returns how many points have no time."""
    from bfsbench.bench.sweep import run_sweep
    from bfsbench.cli.progress import SweepProgress

    output.check_continuity(graphs, runner.origins()[0])
    if runner.device:
        click.echo(f"backend {runner.device.backend}: {runner.device.description['gpu']}", err=True)
    left, failed = output.remaining(points), output.failed(points)
    if len(left) < len(points):
        held = f"{len(points) - len(left)} of {len(points)} points are in {output.path} already"
        click.echo(held + (f", {failed} of them failed (--retry-failed)" if failed else ""), err=True)
    with SweepProgress(len(left)) as progress:
        statuses = run_sweep(left, graphs, runner, output, method, progress.done)
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    told = told or "nothing left to do"
    click.echo(f"{len(left)} points: {told}; see 'bfsbench report {output.path}'", err=True)
    return failed + len(left) - statuses["ok"]


def print_plan(points: Sequence[Point], repeats: int) -> None:
    """Say how many points of each graph, variant and backend there are."""
    from tabulate import tabulate

    counts = Counter((point.graph, point.variant, point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    click.echo(f"\n{len(points)} points, each searched once to check it and {repeats} times to time it")
