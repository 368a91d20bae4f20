"""``bfsbench run``: from the command line to a sweep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.backends import BACKENDS
from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.errors import UsageError
from bfsbench.variants import all_variants, find

if TYPE_CHECKING:
    from bfsbench.bench.point import Point
    from bfsbench.bench.sweep import Axes, Output
    from bfsbench.bench.worker import Worker
    from bfsbench.graphs.graph import Graph

KNOB_PREFIX = "knob_"
LONGEST_TIMEOUT_S = 1e6


def _knob_options(command: click.Command) -> click.Command:
    """One option for every knob name that any variant declares."""
    owners: dict[str, list[str]] = {}
    knobs = {}
    for variant in all_variants().values():
        for knob in variant.knobs:
            owners.setdefault(knob.name, []).append(variant.name)
            knobs[knob.name] = knob
    for name, knob in sorted(knobs.items()):
        text = f"{knob.meaning} ({', '.join(owners[name])}; {knob.legal}; default {knob.default})"
        command.params.append(
            click.Option([knob.option, KNOB_PREFIX + name], metavar="LIST", help=f"Knob {name}: {text}.")
        )
    return command


@click.command(short_help="Sweep variants over graphs, grids, blocks and knobs.")
@click.option(
    "--dataset",
    "datasets",
    shell_complete=completion.datasets,
    multiple=True,
    required=True,
    metavar="LIST",
    help="Names, files or generators such as 'kronecker(scale=12)'. Behind each may stand :ids=keep, "
    ":self_loops=drop or :duplicates=drop, then :directed or :symmetrised.",
)
@click.option(
    "--variant",
    "variants",
    shell_complete=completion.variants_or_all,
    multiple=True,
    default=("all",),
    metavar="LIST",
    help="Names or aliases, or 'all' (see 'bfsbench list variants').",
)
@click.option(
    "--grid",
    default="auto",
    show_default=True,
    metavar="LIST",
    help="Most blocks a launch may have: numbers, ranges such as 64:4096:x4, or 'auto' for work / block.",
)
@click.option("--block", default="256", show_default=True, metavar="LIST", help="Threads a block.")
@click.option("--source", "source", metavar="LIST", help="Source vertices.")
@click.option(
    "--sources",
    "num_sources",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many sources of non-zero out-degree, chosen by --seed; 1 by default.",
)
@click.option("--seed", default=0, show_default=True, help="Seed that chooses the sources.")
@click.option(
    "--repeats", default=5, show_default=True, type=click.IntRange(min=1), help="Timed searches a point."
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds a point may take, compiling included.",
)
@click.option(
    "--backend",
    default="auto",
    show_default=True,
    type=click.Choice(BACKENDS),
    help="Where kernels run; the CPU shows that they work, never how fast they are.",
)
@click.option(
    "--schedule-seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="On the CPU: the order in which threads and blocks run; 0 is the fastest.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Result file; results/run-DATE-TIME.csv by default.",
)
@click.option(
    "--profile",
    is_flag=True,
    help="After the timed searches, search once more and write what each level cost to FILE.levels.csv.",
)
@click.option("--resume", is_flag=True, help="Continue --out: measure only what it does not hold yet.")
@click.option("--retry-failed", is_flag=True, help="With --resume: measure the points that failed again.")
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and measure nothing.")
def run(
    datasets: tuple[str, ...],
    variants: tuple[str, ...],
    grid: str,
    block: str,
    source: str | None,
    num_sources: int | None,
    seed: int,
    repeats: int,
    timeout: float,
    backend: str,
    schedule_seed: int,
    out: Path | None,
    profile: bool,
    resume: bool,
    retry_failed: bool,
    dry_run: bool,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked against the sequential search, then timed --repeats times. Each becomes a
    row of the result file as soon as it is measured; points that fail become rows that say why, and make the
    exit code 1. LIST is comma-separated; FIRST:LAST:xF and FIRST:LAST:+S are ranges.
    """
    from bfsbench.bench.sweep import Output
    from bfsbench.bench.worker import Worker
    from bfsbench.cli.loading import load_with_progress

    if resume and out is None:
        raise UsageError("--resume needs the --out it is to continue")
    if retry_failed and not resume:
        raise UsageError("--retry-failed goes with --resume")
    if not math.isfinite(timeout):
        raise UsageError(f"--timeout: {timeout} is not a number of seconds")
    wanted = SourceChoice.of(source, num_sources, seed)
    axes = _axes(variants, grid, block, knobs)
    names = _full_names(datasets)
    path = out or Path("results") / datetime.now().strftime("run-%Y%m%d-%H%M%S.csv")
    worker = Worker(None if all(v.host for v in axes.variants) else backend, schedule_seed)
    try:
        points_of = _planner(axes, worker)
        if dry_run:
            _print_plan(points_of({name: wanted.stand_ins() for name in names}), repeats)
            return
        output = Output(path, resume=resume, retry=retry_failed, with_profiles=profile)
        try:
            graphs = {name: load_with_progress(name) for name in names}
            points = points_of({name: wanted.choose(graph) for name, graph in graphs.items()})
            failed = _execute(points, graphs, worker, output, repeats, min(timeout, LONGEST_TIMEOUT_S))
        finally:
            output.close()
    except KeyboardInterrupt:
        worker.stop()
        again = f": continue with --resume --out {path}" if path.exists() else ""
        click.echo(f"bfsbench: interrupted{again}", err=True)
        raise SystemExit(130) from None
    finally:
        worker.close()
    if failed:
        raise SystemExit(1)


@dataclass(frozen=True)
class SourceChoice:
    """Which sources to search from: those given, or ``count`` chosen by ``seed``."""

    given: tuple[int, ...]
    count: int
    seed: int

    @classmethod
    def of(cls, listed: str | None, count: int | None, seed: int) -> SourceChoice:
        if listed is None:
            return cls((), count or 1, seed)
        if count is not None:
            raise UsageError("--source and --sources exclude each other")
        try:
            return cls(tuple(int(value) for value in axis_language.expand(listed)), 0, seed)
        except ValueError:
            raise UsageError(f"--source: '{listed}' is not a list of vertices") from None

    def choose(self, graph: Graph) -> list[int]:
        """The sources in a graph. Raises UsageError for one it does not have."""
        from bfsbench.bench.sources import check_source, choose_sources

        if self.given:
            return [check_source(graph, source) for source in self.given]
        return choose_sources(graph, self.count, self.seed)

    def stand_ins(self) -> list[int]:
        """As many sources as there will be, for counting points before the graph is there."""
        return list(self.given or range(self.count))


def _axes(variants: Sequence[str], grid: str, block: str, knobs: Mapping[str, str | None]) -> Axes:
    from bfsbench.bench.sweep import Axes

    names = [name for item in variants for name in axis_language.split_list(item)]
    if not names:
        raise UsageError("--variant names none")
    chosen = [v for name in names for v in (all_variants().values() if name == "all" else [find(name)])]
    given = {
        name.removeprefix(KNOB_PREFIX): axis_language.expand(text)
        for name, text in knobs.items()
        if text is not None
    }
    return Axes(list(dict.fromkeys(chosen)), axis_language.grids(grid), axis_language.blocks(block), given)


def _full_names(datasets: Sequence[str]) -> list[str]:
    """The graphs asked for, as rows will name them; found without reading more than a header."""
    from bfsbench.graphs.load import resolve

    requests = [text for item in datasets for text in axis_language.split_list(item)]
    if not requests:
        raise UsageError("--dataset names none")
    return list(dict.fromkeys(resolve(text).full_name for text in requests))


def _planner(axes: Axes, worker: Worker) -> Callable[[Mapping[str, Sequence[int]]], list[Point]]:
    """Start the worker and check the axes against its device; returns what makes points of sources."""
    from bfsbench.bench import sweep

    worker.start()
    device = worker.device
    sweep.check_axes(axes, device.limits if device else None)
    backend = device.backend if device else "host"
    return lambda sources: sweep.plan(axes, list(sources.items()), backend)


def _execute(
    points: Sequence[Point],
    graphs: Mapping[str, Graph],
    worker: Worker,
    output: Output,
    repeats: int,
    limit_s: float,
) -> int:
    """Run what is not in the file yet, under one progress display; returns how many points have no time."""
    from bfsbench.bench.sweep import run_sweep
    from bfsbench.cli.progress import SweepProgress

    device = worker.device
    output.check_continuity(graphs, device.description if device else {})
    if device:
        click.echo(f"backend {device.backend}: {device.description['gpu']}", err=True)
    left, failed = output.remaining(points), output.failed(points)
    if len(left) < len(points):
        held = f"{len(points) - len(left)} of {len(points)} points are in {output.path} already"
        click.echo(held + (f", {failed} of them failed (--retry-failed)" if failed else ""), err=True)
    with SweepProgress(len(left)) as progress:
        statuses = run_sweep(
            left, graphs, worker, output, repeats=repeats, limit_s=limit_s, done=progress.done
        )
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    told = told or "nothing left to do"
    click.echo(f"{len(left)} points: {told}; see 'bfsbench report {output.path}'", err=True)
    return failed + len(left) - statuses["ok"]


def _print_plan(points: Sequence[Point], repeats: int) -> None:
    from tabulate import tabulate

    counts = Counter((point.graph, point.variant, point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    click.echo(f"\n{len(points)} points, each searched once to check it and {repeats} times to time it")


command = _knob_options(run)
