"""``bfsbench reproduce``: the papers' tables and figures, and the user's own experiments."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench.axes import split_list
from bfsbench.cli import completion
from bfsbench.cli.sweep_options import check_resuming, closing, measuring_options, resume_options, start
from bfsbench.cli.sweeping import cluster_options, execute, print_plan, runner_for
from bfsbench.errors import UsageError
from bfsbench.wording import counted

if TYPE_CHECKING:
    from bfsbench.bench.runner import Method, Runner
    from bfsbench.experiments.choice import Choice
    from bfsbench.experiments.declaration import Experiment
    from bfsbench.graphs.graph import Graph

RESULTS = Path("results")


@click.command(short_help="Redo the papers' tables and figures.")
@click.argument("names", nargs=-1, metavar="[NAME|FILE.toml]...", shell_complete=completion.experiments)
@click.option("--list", "show", is_flag=True, help="Show the experiments there are.")
@click.option("--dry-run", is_flag=True, help="Say what would be measured and how long that may take.")
@click.option(
    "--scale",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0, max=1, min_open=True),
    metavar="S",
    help="Shrink every graph to about this share of its vertices; it is marked as shrunk everywhere.",
)
@click.option(
    "--stand-ins",
    is_flag=True,
    help="Where a graph is missing, search a similar one, marked as a stand-in everywhere.",
)
@click.option("--graph", "graphs", multiple=True, metavar="LABELS", help="Only these graphs.")
@measuring_options
@cluster_options
@click.option(
    "--out",
    default=RESULTS / "reproduce",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for rows (NAME.csv), tables (NAME.md) and pictures.",
)
@resume_options("Measure only what the files in --out do not hold yet.")
@click.option(
    "--rows",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure nothing: make tables and pictures from these result files, as far as they hold the rows.",
)
def command(
    names: tuple[str, ...],
    show: bool,
    dry_run: bool,
    scale: float,
    stand_ins: bool,
    graphs: tuple[str, ...],
    repeats: int,
    timeout: float,
    backend: str,
    schedule_seed: int,
    cluster: str | None,
    mixed_devices: bool,
    out: Path,
    resume: bool,
    retry_failed: bool,
    rows: tuple[Path, ...],
) -> None:
    """Carry out experiments: NAMEs of the papers' tables and figures, or FILEs of your own.

    Each makes a result file, which 'bfsbench report' reads as well, and the experiment's tables and pictures:
    our times, the paper's beside them with the machine they were taken on, and whether its claims hold here.
    Points that fail become rows that say why, and make the exit code 1.
    """
    from bfsbench.experiments import find

    if show:
        return _print_list()
    if not names:
        raise UsageError("name an experiment (see 'bfsbench reproduce --list') or a file")
    check_resuming(resume, retry_failed, out)
    experiments = [find(name) for name in names]
    labels = [label for value in graphs for label in split_list(value)]
    can_do_without = dry_run or bool(rows)
    chosen = [_chosen(experiment, labels, scale, stand_ins, can_do_without) for experiment in experiments]
    if rows:
        for experiment, choices in zip(experiments, chosen, strict=True):
            _show(experiment, list(rows), out, _loaded(choices) if experiment.needs_graphs else {})
        return
    new_runner = partial(
        runner_for, schedule_seed=schedule_seed, cluster=cluster, mixed_devices=mixed_devices
    )
    run = _Run(repeats, timeout, backend, new_runner, out, resume, retry_failed)
    if dry_run:
        for experiment, choices in zip(experiments, chosen, strict=True):
            run.print_plan(experiment, choices)
        return
    failed = sum(run.carry_out(*pair) for pair in zip(experiments, chosen, strict=True))
    if failed:
        raise SystemExit(1)


def _print_list() -> None:
    from tabulate import tabulate

    from bfsbench.experiments import bundled, find

    experiments = [find(name) for name in bundled()]
    lines = [(one.name, f"{one.paper} {one.figure}".strip(), one.title) for one in experiments]
    click.echo(tabulate(lines, headers=["name", "reproduces", "what"]))


def _chosen(
    experiment: Experiment, labels: list[str], scale: float, stand_ins: bool, can_do_without: bool
) -> list[Choice]:
    """What is searched for the graphs of these labels, or for all.

    Raises UsageError for one that is missing, or only says so where the command ``can_do_without``."""
    from bfsbench.experiments.choice import choose, require_all

    known = {use.title: use for use in experiment.graphs}
    for label in labels:
        if label not in known:
            raise UsageError(f"experiment {experiment.name} has no graph '{label}': {', '.join(known)}")
    uses = [use for title, use in known.items() if not labels or title in labels]
    choices, missing = choose(uses, scale, stand_ins)
    try:
        require_all(missing, stand_ins)
    except UsageError as error:
        if not can_do_without:
            raise UsageError(f"{experiment.name}: {error}") from None
        click.echo(f"bfsbench: {experiment.name}: {error}", err=True)
    return choices


@dataclass(frozen=True)
class _Run:
    """How the experiments of one command are carried out."""

    repeats: int
    timeout: float
    backend: str
    new_runner: Callable[[str | None], Runner]
    """Of a backend; None is for host programs only."""
    out: Path
    resume: bool
    retry_failed: bool

    def carry_out(self, experiment: Experiment, choices: list[Choice]) -> int:
        """Measure, then write and show the tables; returns how many points have no time."""
        click.echo(f"{experiment.name}: {experiment.title}", err=True)
        path = self.out / f"{experiment.name}.csv"
        failed = 0
        if experiment.sweeps:
            runner = self._runner(experiment)
            with closing(runner, path):
                failed = self._measure(experiment, choices, runner, path)
        _show(experiment, [path] if path.exists() else [], self.out, _loaded(choices))
        return failed

    def _measure(self, experiment: Experiment, choices: list[Choice], runner: Runner, path: Path) -> int:
        from bfsbench.bench.sweep import Output
        from bfsbench.experiments.sweeps import points_of, sources_of

        where = self._start(experiment, runner)
        output = Output(path, resume=self.resume, retry=self.retry_failed, with_profiles=experiment.profile)
        try:
            graphs = _loaded(choices)
            sources = {choice: sources_of(experiment, choice, graphs[choice.full_name]) for choice in choices}
            statistics = {name: graph.statistics for name, graph in graphs.items()}
            points = points_of(experiment, sources, statistics, where)
            return execute(points, graphs, runner, output, self._method(experiment))
        finally:
            output.close()

    def _method(self, experiment: Experiment) -> Method:
        from bfsbench.bench.runner import Method

        return Method(self.repeats, self.timeout, experiment.profile)

    def _runner(self, experiment: Experiment) -> Runner:
        from bfsbench.experiments.series import variants_of

        host_only = all(
            variant.host for sweep in experiment.sweeps for variant in variants_of(experiment, sweep)
        )
        return self.new_runner(None if host_only else self.backend)

    def _start(self, experiment: Experiment, runner: Runner) -> str:
        """Start the runner and check all sweeps on its device; returns the backend for rows."""
        from bfsbench.experiments.sweeps import axes_of

        return [start(runner, axes_of(experiment, sweep)) for sweep in experiment.sweeps][-1]

    def print_plan(self, experiment: Experiment, choices: list[Choice]) -> None:
        """Say how many points there are and how long they may take."""
        from bfsbench.experiments.estimate import RULE, Experience
        from bfsbench.experiments.sweeps import counted_sources, points_of

        runner = self._runner(experiment)
        try:
            where = self._start(experiment, runner) if experiment.sweeps else "host"
        finally:
            runner.close()
        sources = counted_sources(experiment)
        points = points_of(experiment, dict.fromkeys(choices, sources), {}, where)
        click.echo(f"{experiment.name}: {experiment.title}\n")
        print_plan(points, self.repeats)
        seconds, guessed = Experience(RESULTS).seconds(points)
        basis = f"{guessed} of them counted as {RULE}" if guessed else f"by rows in {RESULTS}/"
        click.echo(f"about {seconds:.0f} s, reading and generating graphs not counted ({basis})\n")


def _loaded(choices: list[Choice]) -> dict[str, Graph]:
    """The graphs by their full names."""
    from bfsbench.cli.loading import load_with_progress

    return {choice.full_name: load_with_progress(choice.full_name) for choice in choices}


def _show(experiment: Experiment, files: list[Path], folder: Path, loaded: dict[str, Graph]) -> None:
    """Print the tables, and write them as NAME.md, and the pictures where matplotlib is installed."""
    from bfsbench.experiments.outcome import read_outcome
    from bfsbench.experiments.tables import tables, texts
    from bfsbench.report.formats import render
    from bfsbench.storage import output

    outcome = read_outcome(experiment, files, loaded)
    made, drawn = tables(outcome), texts(outcome)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
    with output(folder / f"{experiment.name}.md") as file:
        file.write("\n".join([render(made, "markdown"), *(f"```\n{text}\n```\n" for text in drawn.values())]))
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    click.echo("\n".join([render(made, "text", colour=colour), *drawn.values()]))
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("no pictures: pip install 'bfsbench[plots]' brings matplotlib", err=True)
        return
    from bfsbench.experiments.pictures import write_pictures

    if paths := write_pictures(outcome, folder):
        names = ", ".join(path.name for path in paths)
        click.echo(f"{counted(len(paths), 'picture')} in {folder}/: {names}", err=True)
