"""Define the command ``reproduce``, which runs experiments of the papers and of the user, and Graph500."""

import importlib.util
import sys
import time
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from bfsbench.bench.axes import split_list
from bfsbench.bench.child import in_child
from bfsbench.bench.options import Method
from bfsbench.bench.plan import Several
from bfsbench.bench.sweep import deadline_in, preview
from bfsbench.cli.options import FOLDER, PATH, POSITIVE, KnobCommand, completer, measuring_options, rendered
from bfsbench.cli.sweeps import carry_out_points, end_measuring, print_plan, print_time, request
from bfsbench.experiments import bundled, find, graph500
from bfsbench.experiments.declaration import Experiment, GraphUse
from bfsbench.experiments.graph500 import LARGEST_SCALE, NUM_SOURCES, SMALLEST_SCALE
from bfsbench.experiments.sweeps import (
    Choice,
    choose,
    reduced_to,
    require_all,
    works_of,
)
from bfsbench.reports.table import render
from bfsbench.rows.point import KnobValue
from bfsbench.support.errors import UsageError, plural
from bfsbench.support.storage import output

RESULTS = Path("results")
_OPTIONS = ("names", "scale", "variant", "backend", "schedule_seed", "out")
"""Parameters of the command that also apply to the Graph500 benchmark, besides knobs."""


@click.command(cls=KnobCommand)
@click.argument("names", nargs=-1, metavar="[NAME|FILE.toml]...", shell_complete=completer("experiments"))
@click.option("--list", "show", is_flag=True, help="Show all experiments.")
@click.option("--dry-run", is_flag=True, help="Print what would be measured and how long it may take.")
@click.option(
    "--scale",
    type=POSITIVE,
    metavar="S",
    help="Shrink every graph to about this share of its vertices; results are marked as shrunk. For "
    "graph500: 2^S vertices.",
)
@click.option(
    "--variant",
    metavar="LIST",
    shell_complete=completer("variants"),
    help="Measure only these searches. For graph500: the search, by default adaptive; other options set its "
    "knobs.",
)
@click.option(
    "--tune",
    type=click.IntRange(min=0),
    metavar="N",
    help="Tune with at most N points per knob, or per search if the file says so; 0: do not tune.",
)
@click.option(
    "--minutes", type=POSITIVE, metavar="M", help="Begin no point after M minutes; --resume continues."
)
@click.option(
    "--stand-ins",
    is_flag=True,
    help="If a graph is missing, search a similar graph instead; results are marked as from a stand-in.",
)
@click.option(
    "--graph", "graphs", multiple=True, metavar="LABELS", help="Search only the graphs with these labels."
)
@measuring_options("profile", "parents")
@click.option(
    "--out",
    default=RESULTS / "reproduce",
    type=FOLDER,
    metavar="DIR",
    help="Folder for rows (NAME.csv), tables (NAME.md) and pictures.",
)
@click.option(
    "--rows",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Measure nothing: make tables and pictures from the rows of these result files.",
)
def reproduce_command(
    names: tuple[str, ...],
    show: bool,
    dry_run: bool,
    scale: float | None,
    variant: str | None,
    tune: int | None,
    minutes: float | None,
    stand_ins: bool,
    graphs: tuple[str, ...],
    measuring: Method,
    out: Path,
    rows: tuple[Path, ...],
    knobs: dict[str, list[KnobValue]],
) -> None:
    """Run experiments. A NAME is a table or figure of a paper, and a FILE declares an experiment of your own.

    Each experiment writes its tables, its pictures and a result file, which 'bfsbench report' reads as well.
    The tables show the measured times, the paper's times and the paper's machine, and whether the paper's
    claims hold here. Points that fail become rows that say why. Exit codes are those of 'bfsbench run'.

    'graph500 --scale S' runs the Graph500 benchmark by its rules. It searches once from each of 64 sources,
    finds parents within the measured time, and checks every tree. Its report is written as
    graph500-S-NAME.txt.
    """
    if show:
        return _print_list()
    if names == (graph500.NAME,):
        _require_options_of_graph500(click.get_current_context())
        return _run_graph500(scale, variant or "adaptive", knobs, measuring, out)
    _require_options_of_experiments(names, scale, knobs)
    experiments = [find(name) for name in names]
    labels = [label for value in graphs for label in split_list(value)]
    chosen = []
    for experiment in experiments:
        uses = _labelled(experiment, labels)
        needed = uses if experiment.needs_graphs or not rows else []
        chosen.append(_chosen(experiment, needed, scale or 1.0, stand_ins, dry_run or bool(rows)))
    searches = split_list(variant or "")
    reduced = [reduced_to(experiment, searches, tune) for experiment in experiments]
    deadline = deadline_in(minutes)
    failed = left = 0
    for experiment, smaller, choices in zip(experiments, reduced, chosen, strict=True):
        path = out / f"{experiment.name}.csv"
        if dry_run and not rows:
            _print_plan(smaller, choices, measuring, path)
            continue
        if not rows:
            new_failed, new_left = _measure(smaller, choices, measuring, path, deadline)
            failed, left = failed + new_failed, left + new_left
        files = list(rows) or ([path] if path.exists() else [])
        drawn = experiment.needs_graphs or not (rows or experiment.sweeps)
        _show(experiment, files, out, choices if drawn else [])
        if rows and experiment.sweeps:
            _warn_of_other_rows(experiment, files)
    end_measuring(left, failed, out)


def _require_options_of_graph500(context: click.Context) -> None:
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in _OPTIONS:
            raise UsageError(f"graph500 is measured by rules of its own: it has no {option.opts[0]}")


def _require_options_of_experiments(
    names: tuple[str, ...], scale: float | None, knobs: dict[str, list[KnobValue]]
) -> None:
    """Check the options of a call that runs experiments. Raises UsageError if no name is given, if graph500
    is among several names, if the scale is above 1, or if knobs are given.
    """
    if graph500.NAME in names:
        raise UsageError(
            f"run {graph500.NAME} alone: its --scale is not a share of the vertices of the papers' graphs"
        )
    if scale is not None and scale > 1:
        raise UsageError(f"--scale {scale:g} is not a share of a graph's vertices: it must be at most 1")
    if knobs:
        raise UsageError("the experiment's file sets its knobs: only graph500 takes them as options")
    if not names:
        raise UsageError("name an experiment (see 'bfsbench reproduce --list') or a file")


def _run_graph500(
    scale: float | None, variant: str, knobs: dict[str, list[KnobValue]], measuring: Method, out: Path
) -> None:
    """Run the Graph500 benchmark, print its report, and write the report to a text file beside the CSV file
    of rows.

    Raises UsageError for a scale out of range, for a knob without exactly one value, and if the file of rows
    exists. Raises BfsbenchError if a search fails, or if a file cannot be written.
    """
    from bfsbench.experiments.graph500.benchmark import Asked, run

    if scale is None or scale != int(scale) or not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise UsageError(
            f"graph500 needs --scale {SMALLEST_SCALE} .. {LARGEST_SCALE}, for a graph of 2^S vertices"
        )
    several = [name for name, values in knobs.items() if len(values) != 1]
    if several:
        raise UsageError(f"graph500 measures one setting: give one value of {several[0]}")
    given = {name: value for name, (value,) in knobs.items()}
    asked = Asked.of(int(scale), variant, given, measuring.backend, measuring.schedule_seed)
    stem = out / f"graph500-{asked.scale}-{asked.variant.name}"
    rows, report = stem.with_suffix(".csv"), stem.with_suffix(".txt")
    if rows.exists():
        raise UsageError(f"{rows} exists: choose another --out")
    click.echo(f"graph500: scale {asked.scale}, {asked.variant.name}", err=True)
    with click.progressbar(length=NUM_SOURCES, label="searches", file=sys.stderr) as bar:
        outcome = in_child(lambda step: run(asked, rows, step), lambda: bar.update(1))
    text = "\n".join(outcome.lines())
    with output(report) as file:
        file.write(f"{text}\n")
    click.echo(text)


def _print_list() -> None:
    from tabulate import tabulate

    experiments = [find(name) for name in bundled()]
    lines = [(one.name, f"{one.paper} {one.figure}".strip(), one.title) for one in experiments]
    lines.append((graph500.NAME, "Graph500", graph500.TITLE))
    click.echo(tabulate(lines, headers=["name", "reproduces", "what"]))


def _labelled(experiment: Experiment, labels: list[str]) -> list[GraphUse]:
    """Return the graphs of an experiment that have these labels. Without labels, return all its graphs.
    Raises UsageError for an unknown label."""
    known = {use.title: use for use in experiment.graphs}
    for label in labels:
        if label not in known:
            raise UsageError(f"experiment {experiment.name} has no graph '{label}': {', '.join(known)}")
    return [use for title, use in known.items() if not labels or title in labels]


def _chosen(
    experiment: Experiment, uses: list[GraphUse], scale: float, stand_ins: bool, can_do_without: bool
) -> list[Choice]:
    """Choose which graphs are searched. For each graph of the experiment in ``uses``, the choice is the graph
    itself, a smaller graph or a similar graph. Returns the choices.

    Raises UsageError for a graph that is not on disk. If ``can_do_without`` is true, a graph that is not on
    disk causes only a warning.
    """
    choices, missing = choose(uses, scale, stand_ins)
    try:
        require_all(missing, stand_ins)
    except UsageError as error:
        if not can_do_without:
            raise UsageError(f"{experiment.name}: {error}") from None
        click.echo(f"bfsbench: {experiment.name}: {error}", err=True)
    return choices


def _measure(
    experiment: Experiment, choices: list[Choice], measuring: Method, path: Path, deadline: float
) -> tuple[int, int]:
    """Measure an experiment until ``deadline``, a time in seconds on the monotonic clock. The rows are
    written to the file ``path``.

    Returns the number of points that failed, and the number of points that are left at the deadline.
    """
    click.echo(f"{experiment.name}: {experiment.title}", err=True)
    method = replace(measuring, profile=experiment.profile)
    works, failed = works_of(experiment, choices), 0
    for work in works:
        if time.monotonic() >= deadline:
            break
        asked = replace(request(method, work, path), deadline=deadline)
        failed += carry_out_points(asked, out=path.parent).failed
        method = replace(method, resume=True)
    if not works or time.monotonic() < deadline:
        return failed, 0
    method = replace(method, resume=True, retry_failed=False)
    left = len(preview(request(method, Several(works), path)))
    click.echo(f"{experiment.name}: {plural(left, 'point')} left", err=True)
    return failed, left


def _warn_of_other_rows(experiment: Experiment, files: list[Path]) -> None:
    """Print a warning if no row of the result files belongs to the experiment."""
    from bfsbench.experiments.outcome import why_no_row_fits

    if reason := why_no_row_fits(experiment, files):
        click.echo(f"bfsbench: {experiment.name}: {reason}", err=True)


def _print_plan(experiment: Experiment, choices: list[Choice], measuring: Method, path: Path) -> None:
    """Print the points (configurations) to measure and their expected time. With ``measuring.resume``, points
    that have a row in the file at ``path`` are left out.
    """
    work = Several(works_of(experiment, choices))
    method = replace(measuring, profile=experiment.profile)
    points = preview(request(method, work, path)) if work.works else []
    click.echo(f"{experiment.name}: {experiment.title}\n")
    print_plan(points, measuring.repeats)
    print_time(points, RESULTS)
    click.echo()


def _show(experiment: Experiment, files: list[Path], folder: Path, choices: list[Choice]) -> None:
    """Print the tables of an experiment, and write them as NAME.md. Also write the pictures, if matplotlib is
    installed.

    The graphs in ``choices`` are loaded, because the tables and drawings of the experiment may need them.
    """
    from bfsbench.cli.progress import load_with_progress
    from bfsbench.experiments.outcome import read_outcome
    from bfsbench.experiments.tables import tables, texts, write_pictures

    loaded = {choice.full_name: load_with_progress(choice.request) for choice in choices}
    outcome = read_outcome(experiment, files, loaded, RESULTS)
    made, drawn = tables(outcome), texts(outcome)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}") from error
    with output(folder / f"{experiment.name}.md") as file:
        file.write("\n".join([render(made, "markdown"), *(f"```\n{text}\n```\n" for text in drawn.values())]))
    click.echo("\n".join([rendered(made), *drawn.values()]))
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("no pictures, because matplotlib is missing: pip install 'bfsbench[plots]'", err=True)
        return
    if paths := write_pictures(outcome, folder):
        names = ", ".join(path.name for path in paths)
        click.echo(f"{plural(len(paths), 'picture')} in {folder}/: {names}", err=True)
