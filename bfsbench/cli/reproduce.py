"""``bfsbench reproduce``: the papers' tables and figures, and the user's own experiments."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench import graph500
from bfsbench.bench.axes import split_list
from bfsbench.cli import completion
from bfsbench.cli.graph500 import run_graph500
from bfsbench.cli.help import SectionedCommand, knob_options
from bfsbench.cli.options import Number
from bfsbench.cli.sweep_options import Measuring, given_knobs, measuring_options
from bfsbench.cli.sweeping import carry_out_points, print_plan
from bfsbench.errors import UsageError
from bfsbench.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bfsbench.experiments.choice import Choice
    from bfsbench.experiments.declaration import Experiment
    from bfsbench.graphs.graph import Graph

RESULTS = Path("results")


@click.command(cls=SectionedCommand, short_help="Reproduce the papers' tables and figures.")
@click.argument("names", nargs=-1, metavar="[NAME|FILE.toml]...", shell_complete=completion.experiments)
@click.option("--list", "show", is_flag=True, help="Show the experiments there are.")
@click.option("--dry-run", is_flag=True, help="Print what would be measured and how long it may take.")
@click.option(
    "--scale",
    type=Number(min=0, min_open=True),
    metavar="S",
    help="Shrink every graph to about this share of its vertices; results are marked as shrunk. Of graph500: "
    "2^S vertices.",
)
@click.option(
    "--variant",
    default="adaptive",
    show_default=True,
    metavar="NAME",
    shell_complete=completion.variants,
    help="Of graph500: the search, to which knobs apply.",
)
@click.option(
    "--stand-ins",
    is_flag=True,
    help="Where a graph is missing, search a similar one; results are marked as from a stand-in.",
)
@click.option("--graph", "graphs", multiple=True, metavar="LABELS", help="Only these graphs.")
@measuring_options("Measure only what the files in --out do not hold yet.")
@click.option(
    "--out",
    default=RESULTS / "reproduce",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for rows (NAME.csv), tables (NAME.md) and pictures.",
)
@click.option(
    "--rows",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure nothing: make tables and pictures from the rows of these result files.",
)
def reproduce(
    names: tuple[str, ...],
    show: bool,
    dry_run: bool,
    scale: float | None,
    variant: str,
    stand_ins: bool,
    graphs: tuple[str, ...],
    measuring: Measuring,
    out: Path,
    rows: tuple[Path, ...],
    **knobs: str | None,
) -> None:
    """Run experiments: NAMEs of the papers' tables and figures, or FILEs of your own.

    Each makes a result file, which 'bfsbench report' reads as well, and the experiment's tables and pictures:
    our times, the paper's beside them with the machine they were taken on, and whether its claims hold here.
    Points that fail become rows that say why; the exit code is then 1.

    'graph500 --scale S' is the Graph500 benchmark, by its rules: 64 sources, each searched from once, parents
    inside the time, every tree checked. Its report is written as graph500-S-NAME.txt.
    """
    from bfsbench.experiments import find

    if show:
        return _print_list()
    if names == (graph500.NAME,):
        values = given_knobs(knobs)
        return run_graph500(scale, variant, values, measuring.backend, measuring.schedule_seed, out)
    _require_shares(names, scale, knobs)
    if not names:
        raise UsageError("name an experiment (see 'bfsbench reproduce --list') or a file")
    experiments = [find(name) for name in names]
    labels = [label for value in graphs for label in split_list(value)]
    can_do_without = dry_run or bool(rows)
    share = scale or 1.0
    chosen = [_chosen(experiment, labels, share, stand_ins, can_do_without) for experiment in experiments]
    if rows:
        for experiment, choices in zip(experiments, chosen, strict=True):
            _show(experiment, list(rows), out, _loaded(choices) if experiment.needs_graphs else {})
        return
    if dry_run:
        for experiment, choices in zip(experiments, chosen, strict=True):
            _print_plan(experiment, choices, measuring)
        return
    complete = [_carry_out(*pair, measuring, out) for pair in zip(experiments, chosen, strict=True)]
    if not all(complete):
        raise SystemExit(1)


def _require_shares(names: tuple[str, ...], scale: float | None, knobs: Mapping[str, str | None]) -> None:
    """Raises UsageError for options of graph500 where it is not what is run, or not alone."""
    if graph500.NAME in names:
        raise UsageError(
            f"{graph500.NAME} is run alone: its --scale is another than that of the papers' graphs"
        )
    if scale is not None and scale > 1:
        raise UsageError(f"--scale {scale:g} is no share of a graph's vertices: at most 1")
    if any(value is not None for value in knobs.values()):
        raise UsageError("knobs are those of the experiment's file; only graph500 takes others")


def _print_list() -> None:
    from tabulate import tabulate

    from bfsbench.experiments import bundled, find

    experiments = [find(name) for name in bundled()]
    lines = [(one.name, f"{one.paper} {one.figure}".strip(), one.title) for one in experiments]
    lines.append((graph500.NAME, "Graph500", graph500.TITLE))
    click.echo(tabulate(lines, headers=["name", "reproduces", "what"]))


def _chosen(
    experiment: Experiment, labels: list[str], scale: float, stand_ins: bool, can_do_without: bool
) -> list[Choice]:
    """The graphs searched for these labels, or for all. Raises UsageError for a missing one, or only warns
    where the command ``can_do_without``."""
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


def _carry_out(experiment: Experiment, choices: list[Choice], measuring: Measuring, out: Path) -> bool:
    """Measure, then write and show the tables; returns whether all points have a time."""
    from bfsbench.experiments.sweeps import work_of

    click.echo(f"{experiment.name}: {experiment.title}", err=True)
    path = out / f"{experiment.name}.csv"
    work = work_of(experiment, choices)
    complete = not experiment.sweeps or carry_out_points(
        measuring.request(work, path, profile=experiment.profile)
    )
    _show(experiment, [path] if path.exists() else [], out, _loaded(choices))
    return complete


def _print_plan(experiment: Experiment, choices: list[Choice], measuring: Measuring) -> None:
    """Print how many points there are and how long they may take."""
    from bfsbench.bench.sweep import preview
    from bfsbench.experiments.estimate import RULE, Experience
    from bfsbench.experiments.sweeps import work_of

    work = work_of(experiment, choices)
    points = preview(measuring.request(work, None), work) if experiment.sweeps else []
    click.echo(f"{experiment.name}: {experiment.title}\n")
    print_plan(points, measuring.repeats)
    seconds, guessed = Experience(RESULTS).seconds(points)
    basis = f"{guessed} of them counted as {RULE}" if guessed else f"by rows in {RESULTS}/"
    click.echo(f"about {seconds:.0f} s, reading and generating graphs not counted ({basis})\n")


def _loaded(choices: list[Choice]) -> dict[str, Graph]:
    """The graphs by their full names."""
    from bfsbench.cli.progress import load_with_progress

    return {choice.full_name: load_with_progress(choice.request.locator) for choice in choices}


def _show(experiment: Experiment, files: list[Path], folder: Path, loaded: dict[str, Graph]) -> None:
    """Print the tables, and write them as NAME.md, and the pictures where matplotlib is installed."""
    from bfsbench.cli.showing import rendered
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
    click.echo("\n".join([rendered(made), *drawn.values()]))
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("no pictures: pip install 'bfsbench[plots]' brings matplotlib", err=True)
        return
    from bfsbench.experiments.pictures import write_pictures

    if paths := write_pictures(outcome, folder):
        names = ", ".join(path.name for path in paths)
        click.echo(f"{plural(len(paths), 'picture')} in {folder}/: {names}", err=True)


command = knob_options(reproduce)
