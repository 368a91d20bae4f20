"""``bfsbench run``: from the command line to a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.backends import BACKENDS
from bfsbench.bench import axes as axis_language
from bfsbench.errors import UsageError
from bfsbench.variants import all_variants, find

if TYPE_CHECKING:
    from bfsbench.bench.point import Point
    from bfsbench.bench.sweep import Axes, Output
    from bfsbench.bench.worker import Worker
    from bfsbench.graphs.graph import Graph

KNOB_PREFIX = "knob_"


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
    multiple=True,
    required=True,
    metavar="LIST",
    help="Names, files or generators such as 'kronecker(scale=12)'. Behind each may stand :ids=keep, "
    ":self_loops=drop or :duplicates=drop, then :directed or :symmetrised.",
)
@click.option(
    "--variant",
    "variants",
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
    dry_run: bool,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked against the sequential search, then timed --repeats times. Each becomes a
    row of the result file as soon as it is measured; points that fail become rows that say why, and make the
    exit code 1. LIST is comma-separated; FIRST:LAST:xF and FIRST:LAST:+S are ranges.
    """
    from bfsbench.bench import sweep
    from bfsbench.bench.worker import Worker

    if source is not None and num_sources is not None:
        raise UsageError("--source and --sources exclude each other")
    if resume and out is None:
        raise UsageError("--resume needs the --out it is to continue")
    axes = _axes(variants, grid, block, knobs)
    requests = [text for item in datasets for text in axis_language.split_list(item)]
    _check_names(requests)
    path = out or Path("results") / datetime.now().strftime("run-%Y%m%d-%H%M%S.csv")
    output = None if dry_run else sweep.Output(path, resume=resume, with_profiles=profile)
    worker = Worker(None if all(v.host for v in axes.variants) else backend, schedule_seed)
    try:
        worker.start()
        sweep.check_axes(axes, worker.device.limits if worker.device else None)
        graphs = _load(requests)
        sources = {g.full_name: _sources(g, source, num_sources, seed) for g in graphs.values()}
        points = sweep.plan(axes, list(sources.items()), worker.device.backend if worker.device else "host")
        if output is None:
            _print_plan(points, repeats)
            return
        statuses = _execute(points, graphs, worker, output, repeats, timeout)
    except KeyboardInterrupt:
        worker.stop()
        raise
    finally:
        worker.close()
        if output is not None:
            output.close()
    _conclude(statuses, path)


def _axes(variants: Sequence[str], grid: str, block: str, knobs: Mapping[str, str | None]) -> Axes:
    from bfsbench.bench.sweep import Axes

    names = [name for item in variants for name in axis_language.split_list(item)]
    chosen = [v for name in names for v in (all_variants().values() if name == "all" else [find(name)])]
    given = {
        name.removeprefix(KNOB_PREFIX): axis_language.expand(text)
        for name, text in knobs.items()
        if text is not None
    }
    return Axes(list(dict.fromkeys(chosen)), axis_language.grids(grid), axis_language.blocks(block), given)


def _check_names(requests: Sequence[str]) -> None:
    from bfsbench.graphs.load import resolve

    for text in requests:
        resolve(text)


def _load(requests: Sequence[str]) -> dict[str, Graph]:
    """The graphs by full name, converted if this is their first use."""
    from bfsbench.graphs.load import load

    graphs = [load(text) for text in requests]
    return {graph.full_name: graph for graph in graphs}


def _sources(graph: Graph, source: str | None, num_sources: int | None, seed: int) -> list[int]:
    from bfsbench.bench.sources import check_source, choose_sources

    if source is None:
        return choose_sources(graph, num_sources or 1, seed)
    values = axis_language.expand(source)
    if not all(value.lstrip("-").isdigit() for value in values):
        raise UsageError(f"--source: '{source}' is not a list of vertices")
    return [check_source(graph, int(value)) for value in values]


def _execute(
    points: Sequence[Point],
    graphs: Mapping[str, Graph],
    worker: Worker,
    output: Output,
    repeats: int,
    timeout: float,
) -> Counter[str]:
    """Run what is not in the file yet, under one progress display."""
    from bfsbench.bench import sweep
    from bfsbench.cli.progress import SweepProgress

    if points:
        expected = sweep.provenance_of(points[0], graphs[points[0].graph], worker)
        sweep.check_same_device(
            output.results.rows, worker.device.description | expected if worker.device else expected
        )
    left = sweep.remaining(points, output.results.rows)
    if worker.device:
        what = worker.device.description.get("gpu", "")
        click.echo(f"backend {worker.device.backend}: {what}", err=True)
    if len(left) < len(points):
        click.echo(
            f"{len(points) - len(left)} of {len(points)} points are in {output.results.path} already",
            err=True,
        )
    with SweepProgress(len(left)) as progress:
        return sweep.run_sweep(
            left, graphs, worker, output, repeats=repeats, limit_s=timeout, done=progress.done
        )


def _print_plan(points: Sequence[Point], repeats: int) -> None:
    from tabulate import tabulate

    counts = Counter((point.graph, point.variant, point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    click.echo(f"\n{len(points)} points, each searched once to check it and {repeats} times to time it")


def _conclude(statuses: Counter[str], path: Path) -> None:
    """Say what came of it; the exit code is 1 when any point failed."""
    told = (
        ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "nothing left to do"
    )
    click.echo(f"{statuses.total()} points: {told}; see 'bfsbench report {path}'", err=True)
    if statuses.total() != statuses["ok"]:
        raise SystemExit(1)


command = _knob_options(run)
