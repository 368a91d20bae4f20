"""Carrying out the points of a sweep, here or on a cluster, under one progress display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from bfsbench.errors import UsageError
from bfsbench.wording import counted

if TYPE_CHECKING:
    from bfsbench.bench.point import Point
    from bfsbench.bench.runner import Method, Runner
    from bfsbench.bench.sweep import Output
    from bfsbench.graphs.graph import Graph


def cluster_options(function: Callable[..., None]) -> Callable[..., None]:
    """``--cluster`` and ``--mixed-devices``, for ``runner_for``."""
    mixed = click.option(
        "--mixed-devices",
        is_flag=True,
        help="With --cluster: accept workers with different GPUs or CPUs. Reports keep their rows apart.",
    )
    where = click.option(
        "--cluster",
        metavar="WHERE",
        help="Spread the points over workers, one a GPU: local[:N] on this machine, dask://HOST:PORT of a "
        "Dask scheduler, or slurm[:FILE], whose jobs FILE describes.",
    )
    return where(mixed(function))


def runner_for(backend: str | None, schedule_seed: int, cluster: str | None, mixed_devices: bool) -> Runner:
    """One worker process, or those of a cluster; not started yet. ``backend`` None is for host programs only.

    Raises UsageError, ToolchainError.
    """
    if cluster is None:
        from bfsbench.bench.worker import Worker

        if mixed_devices:
            raise UsageError("--mixed-devices goes with --cluster")
        return Worker(backend, schedule_seed)
    from bfsbench.cluster.address import parse
    from bfsbench.cluster.launch import require_dask

    place = parse(cluster)
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    tell = partial(click.echo, err=True)
    return Cluster(place, Equipment(backend, schedule_seed), mixed_devices, tell)


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

    output.check_continuity(graphs, runner.origins())
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
    click.echo(f"{counted(len(left), 'point')}: {told}; see 'bfsbench report {output.path}'", err=True)
    return failed + len(left) - statuses["ok"]


def print_plan(points: Sequence[Point], repeats: int) -> None:
    """Say how many points of each graph, variant and backend there are."""
    from tabulate import tabulate

    from bfsbench.variants import with_aliases

    counts = Counter((point.graph, with_aliases(point.variant), point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    total, timed = counted(len(points), "point"), counted(repeats, "time")
    click.echo(f"\n{total}, each run once to check it and {timed} to time it")


def print_memory(names: Sequence[str]) -> None:
    """Say how much memory opening each graph takes."""
    from bfsbench.graphs.estimate import memory_lines
    from bfsbench.graphs.load import resolve

    click.echo("\npeak of memory, to open each graph:")
    for line in memory_lines([resolve(name) for name in names]):
        click.echo(f"  {line}")
