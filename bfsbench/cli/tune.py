"""``bfsbench tune``: from the command line to a search for the fastest configuration."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.sweep_options import (
    SourceChoice,
    check_resuming,
    closing,
    default_path,
    given_knobs,
    knob_options,
    measuring_options,
    out_option,
    preset_option,
    resume_options,
    source_options,
    start,
)
from bfsbench.errors import UsageError
from bfsbench.variants import find, find_family

if TYPE_CHECKING:
    from bfsbench.bench.point import Point
    from bfsbench.bench.runner import Measured, Method
    from bfsbench.bench.sweep import Output
    from bfsbench.bench.tune import Configuration, Space, Strategy
    from bfsbench.bench.worker import Worker
    from bfsbench.graphs.graph import Graph

METHODS = ("optuna", "exhaustive")


@click.command(short_help="Find the fastest grid, block and knobs of a variant on a graph.")
@click.option(
    "--dataset",
    shell_complete=completion.datasets,
    required=True,
    metavar="NAME",
    help="A name, file or generator, as for 'bfsbench run'.",
)
@click.option(
    "--variant", shell_complete=completion.variants, required=True, metavar="NAME", help="A name or alias."
)
@click.option(
    "--grid",
    metavar="LIST",
    help="Grids to choose from; by default auto and 1, 2, 4 .. 32 blocks a multiprocessor.",
)
@click.option("--block", metavar="LIST", help="Blocks to choose from; by default 32, 64 .. 1024 threads.")
@preset_option("Values of knobs to begin with")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses sources and configurations.")
@measuring_options
@out_option("tune")
@resume_options("Continue --out: take what it holds instead of measuring.")
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points to spend, those that --resume finds included.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="M",
    help="Begin no configuration after so many minutes of measuring.",
)
@click.option(
    "--method",
    default=METHODS[0],
    show_default=True,
    type=click.Choice(METHODS),
    help="One axis at a time and then Optuna's Bayesian optimisation, or every configuration.",
)
def tune(
    dataset: str,
    variant: str,
    grid: str | None,
    block: str | None,
    preset: str,
    source: str | None,
    num_sources: int | None,
    seed: int,
    repeats: int,
    timeout: float,
    backend: str,
    schedule_seed: int,
    out: Path | None,
    resume: bool,
    retry_failed: bool,
    points: int | None,
    minutes: float | None,
    method: str,
    **knobs: str | None,
) -> None:
    """Find the configuration of a variant that searches a graph fastest, in so many points or minutes.

    What counts is the median of search_ms over the sources. Every point becomes a row of the result file, as
    from 'bfsbench run'. Knobs without a list are chosen from their choices, or from values around their
    default. The same seed asks the same questions, so --resume goes on where a tuning stopped. In the end the
    best configuration is printed as a 'bfsbench run' line.
    """
    from bfsbench.bench import tune as tuning
    from bfsbench.bench.runner import Method
    from bfsbench.bench.sweep import Axes, Output
    from bfsbench.bench.worker import Worker
    from bfsbench.cli.loading import load_with_progress
    from bfsbench.graphs.load import resolve

    check_resuming(resume, retry_failed, out)
    if method == "optuna":
        tuning.require_optuna()
        if points is None and minutes is None:
            raise UsageError("tune needs --points or --minutes, to know when to stop")
    chosen = find(variant)
    question = find_family(chosen.family)
    wanted = SourceChoice.of(source, num_sources, seed, question)
    needed = len(wanted.stand_ins())
    if points is not None and points < needed:
        raise UsageError(f"--points {points}: a configuration takes {needed} points, one a source")
    grids = axis_language.grids(grid) if grid is not None else []
    blocks = axis_language.blocks(block) if block is not None else []
    axes = Axes([chosen], grids, blocks, given_knobs(knobs))
    name, path = resolve(dataset).full_name, out or default_path("tune")
    worker = Worker(None if chosen.host else backend, schedule_seed)
    with closing(worker, path):
        worker.start()
        axes = tuning.with_launches(axes, worker.device.limits if worker.device else None)
        where = start(worker, axes)
        output = Output(path, resume=resume, retry=retry_failed)
        try:
            graph = load_with_progress(name)
            question.require(graph)
            output.check_continuity({name: graph}, worker.origins())
            space = tuning.Space.of(axes, name, chosen.preset(preset, graph.statistics), where)
            strategy = tuning.by_optuna(space, seed) if method == "optuna" else tuning.exhaustive(space)
            measure = _measuring(name, graph, worker, output, Method(repeats, timeout))
            found = _search(space, strategy, wanted.choose(graph), output, measure, points, minutes)
        finally:
            output.close()
    if not found:
        raise SystemExit(1)


def _measuring(
    name: str, graph: Graph, worker: Worker, output: Output, method: Method
) -> Callable[[Point], Mapping[str, str]]:
    """What makes the row of a point and writes it, as a sweep of that point alone."""
    from bfsbench.bench.sweep import run_sweep

    def measure(point: Point) -> Mapping[str, str]:
        outcomes: list[Measured] = []
        run_sweep([point], {name: graph}, worker, output, method, outcomes.append)
        return outcomes[0].row

    return measure


def _search(
    space: Space,
    strategy: Strategy,
    sources: Sequence[int | None],
    output: Output,
    measure: Callable[[Point], Mapping[str, str]],
    points: int | None,
    minutes: float | None,
) -> bool:
    """Tune under one progress display and say what came of it; returns whether anything could be timed."""
    from bfsbench.bench.tune import Budget, Objective, best, tune
    from bfsbench.cli.progress import SweepProgress

    total = min(space.size * len(sources), points or math.inf)
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    with SweepProgress(int(total)) as progress:
        objective = Objective(space, sources, output.results.rows, measure, progress.row)
        took = tune(strategy, objective, Budget(points, deadline))
    failed = sum(value is None for value in took.values())
    told = f"{len(took)} of {space.size} configurations" + (f", {failed} of them failed" if failed else "")
    click.echo(f"{told}; see 'bfsbench report {output.path}'", err=True)
    fastest = best(took)
    if fastest is None:
        click.echo("bfsbench: no configuration could be timed", err=True)
        return False
    configuration, milliseconds = fastest
    over = f", median of {len(sources)} sources" if len(sources) > 1 else ""
    click.echo(f"{milliseconds:.6g} ms{over}:\n{run_line(space, configuration, sources)}")
    return True


def run_line(space: Space, configuration: Configuration, sources: Sequence[int | None]) -> str:
    """The command that measures a configuration again."""
    point = space.point(configuration, sources[0])
    words = ["bfsbench", "run", "--dataset", point.graph, "--variant", point.variant]
    if point.backend != "host":
        axes = point.axes()
        words += ["--backend", point.backend]
        if find(point.variant).own_block(dict(point.knobs)) is None:
            words += ["--grid", axes["grid"], "--block", axes["block"]]
    options = {knob.name: knob.option for knob in find(point.variant).knobs}
    for name, value in point.knobs:
        words += [options[name], str(value)]
    if point.source is not None:
        words += ["--source", ",".join(map(str, sources))]
    return shlex.join(words)


command = knob_options(tune)
