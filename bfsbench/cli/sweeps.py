"""Define the commands ``run`` and ``tune``, and what all commands that sweep share."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial, wraps
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bfsbench.bench import axes as axis_language
from bfsbench.bench.options import OPTIONS, Method
from bfsbench.bench.tune import METHODS
from bfsbench.cli.options import (
    KNOB_PREFIX,
    Declaration,
    Number,
    SectionedCommand,
    datasets_option,
    knob_options,
    list_option,
    measuring_option,
    together,
    variants_option,
)
from bfsbench.support.errors import ToolchainError, UsageError, plural
from bfsbench.variants import add_folder, all_families, all_variants, family_of, find, find_family
from bfsbench.variants.base import PRESETS

if TYPE_CHECKING:
    from bfsbench.bench.plan import SourceChoice, Work
    from bfsbench.bench.sweep import SweepOutcome, SweepProgress, SweepRequest
    from bfsbench.bench.tune import Configuration, Tuning
    from bfsbench.graphs.load import GraphName
    from bfsbench.programs import Variant
    from bfsbench.programs.families.base import Family
    from bfsbench.rows.point import KnobValue, Point


source_options = together(
    click.option("--source", "source", metavar="LIST", help="Source vertices, counted from 0."),
    click.option(
        "--source-id",
        "source_id",
        metavar="LIST",
        help="Source vertices by their ids or names in the graph's file.",
    ),
    click.option(
        "--sources",
        "num_sources",
        type=click.IntRange(min=1),
        metavar="N",
        help="N sources of non-zero out-degree, chosen by --seed; 1 by default.",
    ),
)


def preset_option(use: str) -> Declaration:
    """Return the option ``--knobs``.

    Its help text begins with ``use``, the knobs that get a preset's values.
    """
    return click.option(
        "--knobs",
        "preset",
        default=PRESETS[0],
        show_default=True,
        type=click.Choice(PRESETS),
        help=f"{use}: defaults, the paper's values, or values by the paper's rules for the graph.",
    )


def out_option(command: str) -> Declaration:
    """Return the option ``--out``. The name of its default file begins with the name of the command."""
    return click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Result file; results/{command}-DATE-TIME.csv by default.",
    )


def given_knobs(options: Mapping[str, str | None]) -> dict[str, list[KnobValue]]:
    """Return the values of knobs whose options were given, by knob name.

    Raises UsageError for a malformed range.
    """
    return {
        name.removeprefix(KNOB_PREFIX): axis_language.expand(text)
        for name, text in options.items()
        if text is not None
    }


def source_choice(
    family: Family, source: str | None, source_id: str | None, count: int | None, seed: int
) -> SourceChoice:
    """Return the choice of sources that the options ``--source``, ``--source-id`` and ``--sources`` describe.

    Raises UsageError for anything but a list of vertices.
    """
    from bfsbench.bench.plan import SourceChoice

    if source is not None and source_id is not None:
        raise UsageError("--source and --source-id exclude each other")
    published = source_id is not None
    listed = source_id if published else source
    given: list[int | str] | None = None
    try:
        given = None if listed is None else [int(value) for value in axis_language.expand(listed)]
    except ValueError:
        if source_id is None:
            raise UsageError(f"--source: '{listed}' is not a list of vertices") from None
        given = [*axis_language.split_list(source_id)]
    return SourceChoice.of(family, given, count, seed, published)


def request(method: Method, work: Work, path: Path | None) -> SweepRequest:
    """Return a request to :func:`bfsbench.bench.sweep.sweep`. Raises UsageError and ToolchainError."""
    from bfsbench.bench.sweep import SweepRequest
    from bfsbench.cluster.runners import runner_maker

    return SweepRequest(work, method, path, runner_maker(method, partial(click.echo, err=True)))


def result_file(method: Method, out: Path | None, command: str) -> Path | None:
    """Return the path of the result file: ``out``, or else a file in results/ that is named by the time.

    Returns None if a sweep is to be resumed without ``out``. Raises UsageError if ``out`` has the suffix of
    another kind of file, such as level profiles.
    """
    from bfsbench.rows.results import OTHER_SUFFIXES

    if out and out.name.endswith(OTHER_SUFFIXES):
        raise UsageError(f"--out {out}: result files are not called so; files beside them are")
    moment = datetime.now().strftime(f"{command}-%Y%m%d-%H%M%S.csv")
    return out if out or method.resume else Path("results") / moment


def measuring_options(*without: str) -> Declaration:
    """Return a decorator that adds the measuring options to a command, except the options in ``without``.

    The command gets their values as the argument ``measuring``, a Method.
    """
    own = [name for name in OPTIONS if name not in without]

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def collect(**words: Any) -> None:
            function(measuring=Method(**{name: words.pop(name) for name in own}), **words)

        return together(*map(measuring_option, own))(collect)

    return declare


def names(items: Sequence[str], option: str) -> list[str]:
    """Return the names in an option that may be repeated, each time with a list.

    Raises UsageError if there are none.
    """
    found = [name for item in items for name in axis_language.split_list(item)]
    if not found:
        raise UsageError(f"{option} names none")
    return found


def variants_of(words: Sequence[str]) -> list[type[Variant]]:
    """Return the variants of these names, and all variants that folders declare.

    The name ``all`` stands for every variant that has kernels. Raises UsageError.
    """
    chosen: list[type[Variant]] = []
    for word in words:
        if Path(word).suffix in (".cu", ".py") and Path(word).is_file():
            raise UsageError(f"{word} is a file: name the folder with the kernel and its declaration")
        if word == "all":
            chosen += [variant for variant in all_variants().values() if variant.launched]
        else:
            chosen += add_folder(Path(word)) if Path(word).is_dir() else [find(word)]
    return list(dict.fromkeys(chosen))


def graphs_named(datasets: Sequence[str]) -> list[GraphName]:
    """Return the graphs of these names, without loading them. The name of a file may contain commas."""
    from bfsbench.graphs.load import is_file, resolve

    lists = ([item] if is_file(item) else names([item], "--dataset") for item in datasets)
    return list(dict.fromkeys(resolve(text) for texts in lists for text in texts))


def carry_out(request: SweepRequest, progress: SweepProgress | None = None) -> SweepOutcome:
    """Run a sweep, with a display unless ``progress`` is given. Returns the outcome.

    After an interrupt the last line on stderr says how to continue the sweep.
    """
    from bfsbench.bench.sweep import sweep
    from bfsbench.cli.progress import SweepDisplay

    try:
        with nullcontext(progress) if progress else SweepDisplay(request.path) as display:
            return sweep(request, display)
    except KeyboardInterrupt:
        begun = request.path is not None and request.path.exists()
        again = f": continue with --resume --out {request.path}" if begun else ""
        click.echo(f"bfsbench: interrupted{again}", err=True)
        raise SystemExit(130) from None


def carry_out_points(request: SweepRequest, progress: SweepProgress | None = None) -> bool:
    """Run a sweep.

    Without ``progress``, show its display and a summary. Returns whether all points have a time.
    """
    outcome = carry_out(request, progress)
    if progress:
        return not outcome.failed
    if outcome.rows:
        show_summary(outcome, request.path)
    came = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    measured = plural(outcome.statuses.total(), "point")
    click.echo(f"{measured}: {came or 'nothing left to do'}; see 'bfsbench report {request.path}'", err=True)
    return not outcome.failed


def show_summary(outcome: SweepOutcome, path: Path | None) -> None:
    """Print the best result of each search on each graph, and the points that failed."""
    from bfsbench.cli.options import rendered
    from bfsbench.reports import summary
    from bfsbench.reports.levels import read_levels
    from bfsbench.rows.results import table

    levels = None if path is None else read_levels([path])
    click.echo(rendered(summary(table(outcome.rows), levels)))


def print_plan(points: Sequence[Point], repeats: int) -> None:
    """Print how many points each graph, variant and backend has."""
    from tabulate import tabulate

    from bfsbench.rows.point import row_name
    from bfsbench.variants import with_aliases

    counts = Counter((row_name(point.graph), with_aliases(point.variant), point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    total, timed = plural(len(points), "point"), plural(repeats, "time")
    click.echo(f"\n{total}, each run once to check it and {timed} to time it")


def print_memory(graphs: Sequence[GraphName], points: Sequence[Point]) -> None:
    """Print how much memory opening each graph takes, and the memory of searches that declare a formula for
    it.
    """
    from bfsbench.graphs.estimate import known_vertices, memory_lines
    from bfsbench.variants import find

    click.echo("\npeak of memory, to open each graph:")
    for line in memory_lines(graphs):
        click.echo(f"  {line}")
    sizes = {graph.locator: known_vertices(graph) for graph in graphs}
    notes = (
        (point, find(point.variant).memory_note(size, point.source, dict(point.knobs)))
        for point in points
        if (size := sizes[point.graph])
    )
    for line in dict.fromkeys(f"  {point.graph}, {point.variant}: {note}" for point, note in notes if note):
        click.echo(line)


TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_OF_ROWS = ("--out", "--repeats", "--resume", "--retry-failed")
"""Options that have no effect if no rows are kept."""
_MARK = "========= "
_MOST_SHOWN = 20


def sanitize(tool: str, words: Sequence[str]) -> bool:
    """Run ``bfsbench WORDS`` under a tool of compute-sanitizer, and print the findings. Returns whether there
    are none.

    Each point runs with one repeat, and no result file is kept. Raises ToolchainError if compute-sanitizer is
    not installed. Raises UsageError for options that exclude it, and if the sweep itself cannot run.
    """
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise ToolchainError(
            "no compute-sanitizer found: it comes with the CUDA toolkit; put its bin on the PATH"
        )
    own = [word for word in words if word.partition("=")[0] in _OF_ROWS]
    if own:
        raise UsageError(f"--sanitizer keeps no rows: leave out {', '.join(own)}")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--tool", tool, "--target-processes", "all", "--log-file", f"{folder}/%p.log"]
        sweep = [sys.executable, "-m", "bfsbench", *_without_sanitizer(words)]
        done = subprocess.run(
            [*command, *sweep, "--repeats", "1", "--out", f"{folder}/rows.csv"], check=False
        )
        logs = [path.read_text(errors="replace") for path in sorted(Path(folder).glob("*.log"))]
    if done.returncode not in (0, 1) or not logs:
        raise UsageError(f"the sweep under compute-sanitizer ended with exit code {done.returncode}")
    found = Counter(finding for log in logs for finding in findings(log))
    for finding, count in found.most_common(_MOST_SHOWN):
        click.echo(f"{finding}: {plural(count, 'time')}")
    if len(found) > _MOST_SHOWN:
        click.echo(f"and {plural(len(found) - _MOST_SHOWN, 'finding')} more")
    total = sum(found.values())
    click.echo(f"{tool}: {plural(total, 'error') if total else 'nothing found'}", err=True)
    return not found and done.returncode == 0


def _without_sanitizer(words: Sequence[str]) -> Iterable[str]:
    rest = iter(words)
    for word in rest:
        if word == "--sanitizer":
            next(rest, None)
        elif not word.startswith("--sanitizer="):
            yield word


def findings(log: str) -> Iterable[str]:
    """Yield the errors in a log of compute-sanitizer, each with its source line if the log names it.

    An error begins with a line that is not indented after ``=========``. The text ``in FILE:LINE`` in this
    line or in the next line is the place in the kernel.
    """
    lines = [line.removeprefix(_MARK) for line in log.splitlines() if line.startswith(_MARK)]
    for place, line in enumerate(lines):
        if line.startswith(
            (" ", "COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application")
        ):
            continue
        where = next(
            (at[1] for text in lines[place : place + 2] if (at := re.search(r" in (\S+:\d+)", text))), ""
        )
        what = line.partition(" at ")[0]
        yield f"{what} ({where})" if where else what


@click.command(cls=SectionedCommand)
@datasets_option(
    "Names, files or generators such as 'kronecker(scale=12)', with options after a colon, "
    "such as :symmetrised (see docs/graphs.md in the repository)."
)
@click.option(
    "--family",
    type=click.Choice(list(all_families())),
    help="Problem to solve; by default the variants' problem.",
)
@variants_option("Names or aliases, or 'all' of the family (see 'bfsbench list variants').", default=("all",))
@list_option(
    "--grid",
    "Most blocks per launch; 'auto' is the work divided by the block.",
    default="auto",
    show_default=True,
)
@list_option(
    "--block",
    "Threads per block; 'auto' is the variant's default, mostly 256.",
    default="auto",
    show_default=True,
)
@preset_option("Values of knobs that are not given as options")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses the sources.")
@measuring_options()
@out_option("run")
@click.option("--dry-run", is_flag=True, help="Only print what would be measured.")
@click.option("--quiet", is_flag=True, help="Show errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per event.")
@click.option(
    "--sanitizer",
    type=click.Choice(TOOLS),
    help="Run each point once under this tool of NVIDIA's compute-sanitizer.",
)
def run(
    datasets: tuple[str, ...],
    family: str | None,
    variants: tuple[str, ...],
    grid: str,
    block: str,
    preset: str,
    source: str | None,
    source_id: str | None,
    num_sources: int | None,
    seed: int,
    measuring: Method,
    out: Path | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    sanitizer: str | None,
    **knobs: str | None,
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    A point is run once and checked against the sequential search. All-pairs shortest paths, which have no
    source, are checked against SciPy. Then the point is timed --repeats times. Each point becomes a row of
    the result file as soon as it is measured. Points that fail become rows that say why, and the exit code is
    then 1. LIST is comma-separated, and FIRST:LAST:xF and FIRST:LAST:+S are ranges. Knobs of variants have
    options of their own.
    """
    from bfsbench.bench.plan import Axes, Crossing, chosen_variants
    from bfsbench.bench.sweep import preview

    chosen = chosen_variants(names(variants, "--variant"), family)
    axes = Axes(chosen, axis_language.grids(grid), axis_language.blocks(block), given_knobs(knobs), preset)
    question = family_of(chosen)
    sources = source_choice(question, source, source_id, num_sources, seed)
    if measuring.profile and not question.profile:
        raise UsageError(f"--profile measures the steps of a run; {question.title} have none")
    work = Crossing(graphs_named(datasets), axes, sources)
    asked = request(measuring, work, result_file(measuring, out, "run"))
    if sanitizer:
        if not sanitize(sanitizer, sys.argv[1:]):
            raise SystemExit(1)
    elif dry_run:
        points = preview(asked)
        print_plan(points, measuring.repeats)
        print_memory(work.graphs, points)
    elif not carry_out_points(asked, _progress(quiet, as_json)):
        raise SystemExit(1)


def _progress(quiet: bool, as_json: bool) -> SweepProgress | None:
    """Return the progress display that ``--quiet`` or ``--json`` selects, or None for the default display.

    Raises UsageError if the two options are combined.
    """
    from bfsbench.bench.sweep import SweepProgress
    from bfsbench.cli.progress import JsonLines

    if quiet and as_json:
        raise UsageError("--quiet and --json exclude each other")
    return JsonLines() if as_json else SweepProgress() if quiet else None


run_command = knob_options(run)


@click.command(cls=SectionedCommand)
@datasets_option("Names, files or generators, as for 'bfsbench run'. Each variant is tuned on each graph.")
@variants_option("Names or aliases, or 'all'.", required=True)
@list_option("--grid", "Grids to choose from; by default auto and 1, 2, 4 .. 32 blocks per multiprocessor.")
@list_option("--block", "Blocks to choose from; by default 32, 64 .. 1024 threads.")
@preset_option("Initial values of knobs")
@source_options
@click.option("--seed", default=0, show_default=True, help="Seed that chooses sources and configurations.")
@measuring_options("order", "profile", "parents", "cluster", "mixed_devices", "tls")
@out_option("tune")
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points to measure for each variant and graph, including points that --resume finds in the file.",
)
@click.option(
    "--minutes",
    type=Number(min=0, min_open=True),
    metavar="M",
    help="Minutes for each variant and graph. No configuration begins after this time.",
)
@click.option(
    "--method",
    default=METHODS[0],
    show_default=True,
    type=click.Choice(METHODS),
    help="optuna: one axis at a time, then Optuna's Bayesian optimisation. axes: one axis at a time, until a "
    "round changes nothing. restarts: axes from random configurations. exhaustive: every configuration.",
)
def tune(
    datasets: tuple[str, ...],
    variants: tuple[str, ...],
    grid: str | None,
    block: str | None,
    preset: str,
    source: str | None,
    source_id: str | None,
    num_sources: int | None,
    seed: int,
    measuring: Method,
    out: Path | None,
    points: int | None,
    minutes: float | None,
    method: str,
    **knobs: str | None,
) -> None:
    """Find the configuration of each variant that searches each graph fastest, in --points or --minutes.

    Configurations are compared by the median of search_ms over the sources. Every point becomes a row of the
    result file, as from 'bfsbench run'. Knobs without a list are chosen from their choices, or from values
    around their default. A seed always chooses the same configurations, so --resume continues where a tuning
    stopped. At the end the best configuration is printed as a 'bfsbench run' line. Host programs without
    knobs take one point.
    """
    from bfsbench.bench.plan import Axes, Several, check_knobs, chosen_variants
    from bfsbench.bench.tune import Tuning

    grids = [] if grid is None else axis_language.grids(grid)
    blocks = [] if block is None else axis_language.blocks(block)
    given = given_knobs(knobs)
    every = chosen_variants(names(variants, "--variant"))
    check_knobs(every, given)
    tunings = []
    for graph, chosen in product(graphs_named(datasets), every):
        own = {knob.name: given[knob.name] for knob in chosen.knobs if knob.name in given}
        axes = Axes([chosen], grids, blocks, own, preset)
        sources = source_choice(find_family(chosen.family), source, source_id, num_sources, seed)
        tunings.append(Tuning(graph, axes, sources, method, seed, points, minutes))
    path = result_file(measuring, out, "tune")
    carry_out(request(measuring, Several(tunings), path))
    found = [_say_what_was_found(tuning, path) for tuning in tunings]
    if not all(found):
        raise SystemExit(1)


def _say_what_was_found(tuning: Tuning, path: Path | None) -> bool:
    """Print the best configuration of a tuning. Returns whether any configuration could be timed."""
    from bfsbench.bench.tune import best

    (variant,) = tuning.variants
    failed = sum(value is None for value in tuning.took.values())
    tried = (
        f"{variant.name} on {tuning.graph.locator}: {len(tuning.took)} of {tuning.space.size} configurations"
    )
    click.echo(
        f"{tried}{f', {failed} of them failed' if failed else ''}; see 'bfsbench report {path}'", err=True
    )
    fastest = best(tuning.took)
    if fastest is None:
        click.echo("bfsbench: no configuration could be timed", err=True)
        return False
    configuration, milliseconds = fastest
    over = f", median of {len(tuning.chosen)} sources" if len(tuning.chosen) > 1 else ""
    point = tuning.space.point(configuration, tuning.chosen[0])
    mark = " emulated on the CPU, which says nothing of a GPU" if point.backend == "cpu" else ""
    click.echo(f"{milliseconds:.6g} ms{mark}{over}:\n{run_line(tuning, configuration)}")
    return True


def run_line(tuning: Tuning, configuration: Configuration) -> str:
    """Return the command that measures a configuration again."""
    point = tuning.space.point(configuration, tuning.chosen[0])
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
        words += ["--source", ",".join(map(str, tuning.chosen))]
    return shlex.join(words)


tune_command = knob_options(tune)
