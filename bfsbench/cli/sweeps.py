"""Define the commands ``run`` and ``tune``, and functions for all commands that measure."""

import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

import click

from bfsbench.bench.measure import contenders
from bfsbench.bench.options import FEWEST_FOR_NOISE, Method
from bfsbench.bench.plan import Axes, Crossing, Several, Work, check_knobs, chosen_variants
from bfsbench.bench.sweep import SweepOutcome, SweepProgress, SweepRequest, deadline_in, preview, sweep
from bfsbench.bench.tune import METHODS, NOT_TUNED, Configuration, Tuning, best
from bfsbench.bench.worker import DeviceInfo, Measured
from bfsbench.cli.options import (
    FILE,
    POSITIVE,
    Declaration,
    KnobCommand,
    Sources,
    datasets_option,
    graphs_named,
    launch_options,
    measuring_options,
    names,
    preset_option,
    rendered,
    source_options,
    variants_option,
)
from bfsbench.cli.sanitizer import TOOLS, sanitize
from bfsbench.cluster.address import runner_maker
from bfsbench.graphs.load import GraphName, known_vertices, memory_lines, not_here
from bfsbench.reports import summary, warnings
from bfsbench.reports.levels import read_levels
from bfsbench.rows.point import KnobValue, Point, row_name
from bfsbench.rows.provenance import UNKNOWN_S, expected_seconds, now
from bfsbench.rows.results import as_values, table
from bfsbench.support.errors import OptionError, UsageError, plural, printable
from bfsbench.support.interrupts import INTERRUPTED, OUT_OF_TIME
from bfsbench.variants import all_families, family_of, find, find_family, with_aliases


class Failures(SweepProgress):
    """A progress display that prints one line on stderr for each point that failed, and nothing else."""

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        for row in held:
            self._print(row, " (--retry-failed measures it again)")

    def done(self, measured: Measured) -> None:
        self._print(measured.row)

    def _print(self, row: Mapping[str, str], hint: str = "") -> None:
        from bfsbench.cli.progress import came_to, searched

        if row["status"] != "ok":
            click.echo(printable(f"{searched(row)}: {came_to(row)}{hint}"), err=True)


class _ReaderGoneError(Exception):
    """Raised if the program that reads the JSON lines has ended."""


class JsonLines(SweepProgress):
    """A progress display that prints each event of a sweep as one line of JSON on standard output. The last
    event is printed at the end of the ``with`` block."""

    def __init__(self) -> None:
        self._again = 0
        self._statuses: Counter[str] = Counter()
        self._left = 0
        self._failed = False

    @classmethod
    def asked(cls, context: click.Context, _option: click.Parameter, wanted: bool) -> Self | None:
        """Return the display for ``--json`` if the option was given, else None. The display also prints
        errors that end the command before the sweep begins."""
        if not wanted:
            return None
        lines = cls()
        if context.obj is not None:
            context.obj.append(lines.failed)
        return lines

    def failed(self, message: str) -> None:
        """Print the error that ends the command. Further calls print nothing."""
        if not self._failed:
            self._failed = True
            with suppress(_ReaderGoneError):
                self._print("error", error=message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        how = "complete" if error is None else "error" if isinstance(error, Exception) else "interrupted"
        said: dict[str, object] = {}
        if error is None and self._left:
            how, said["left"] = "time over", self._left
        if isinstance(error, Exception) and not isinstance(error, _ReaderGoneError):
            message = error.on_command_line if isinstance(error, OptionError) else str(error)
            said["error"] = message
            self.failed(message)
        self._print("end", how=how, points=self._statuses.total(), statuses=dict(self._statuses), **said)

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        self._print("begin", points=total, backend=device.backend if device else "host")

    def again(self, size: int, reasons: Mapping[str, int]) -> None:
        self._again = sum(reasons.values())

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        self._print("batch", points=size, held=len(held), again=self._again)
        self._again = 0

    def done(self, measured: Measured) -> None:
        self._statuses[measured.row["status"]] += 1
        self._print("point", worker=measured.worker, **as_values(measured.row))

    def out_of_time(self, left: int) -> None:
        self._left = left

    def _print(self, event: str, **facts: object) -> None:
        try:
            click.echo(json.dumps({"event": event, "time": now(), **facts}))
        except BrokenPipeError as error:
            raise _ReaderGoneError from error


def out_option(command: str) -> Declaration:
    """Return the option ``--out``. The name of its default file begins with the name of the command."""
    text = f"Result file; results/{command}-DATE-TIME.csv by default."
    return click.option("--out", type=FILE, metavar="FILE", help=text)


def request(method: Method, work: Work, path: Path | None) -> SweepRequest:
    """Return a SweepRequest, which :func:`bfsbench.bench.sweep.sweep` carries out.

    If the sweep runs on a cluster, raises UsageError for a malformed address, InputError for unusable
    certificates, and ToolchainError if Dask is not installed.
    """
    return SweepRequest(work, method, path, runner_maker(method, partial(click.echo, err=True)))


def result_file(method: Method, out: Path | None, command: str) -> Path | None:
    """Return the path of the result file: ``out``, or else a file in results/ that is named after the current
    time.

    Returns None if a sweep is to be resumed without ``out``.
    """
    moment = datetime.now().strftime(f"{command}-%Y%m%d-%H%M%S.csv")
    return out if out or method.resume else Path("results") / moment


def carry_out(
    request: SweepRequest, progress: SweepProgress | None = None, out: Path | None = None
) -> SweepOutcome:
    """Run a sweep, and show its progress. Returns its result rows, and how many points (configurations) ended
    with each status.

    ``progress`` replaces the default display. After an interrupt, the program ends with exit code 130. If a
    result file exists by then, the last line on stderr names the option ``--out`` that continues the sweep.
    The value of this option is ``out``, or by default the sweep's own file.
    """
    from bfsbench.cli.progress import SweepDisplay

    try:
        with progress or SweepDisplay(request.path) as display:
            return sweep(request, display)
    except KeyboardInterrupt:
        _say_how_to_continue("interrupted", _begun(request, out))
        raise SystemExit(INTERRUPTED) from None
    except _ReaderGoneError:
        _say_how_to_continue("the reader of the output has gone", _begun(request, out))
        raise SystemExit(INTERRUPTED) from None


def _begun(request: SweepRequest, out: Path | None) -> Path | None:
    """Return the path that the option ``--out`` needs to continue an interrupted sweep. This is ``out`` if it
    is given, else the result file of the sweep. Returns None if there is no result file yet."""
    return (out or request.path) if request.path is not None and request.path.exists() else None


def _say_how_to_continue(what: str, out: Path | None) -> None:
    again = f": continue with --resume --out {shlex.quote(str(out))}" if out is not None else ""
    click.echo(f"bfsbench: {what}{again}", err=True)


def carry_out_points(
    request: SweepRequest, progress: SweepProgress | None = None, out: Path | None = None
) -> SweepOutcome:
    """Run a sweep, and return its outcome, as ``carry_out`` does.

    If ``progress`` is None, the function shows a progress display, and afterwards prints the best result of
    each search on each graph, and the points that failed.
    """
    outcome = carry_out(request, progress, out)
    if not progress:
        _print_outcome(request, outcome)
    return outcome


def end_measuring(left: int, failed: int, out: Path | None) -> None:
    """End the command with exit code OUT_OF_TIME if points are ``left`` because the time of --minutes is
    over, or with exit code 1 if points have ``failed``. If points are left, the last line on stderr says how
    to continue.
    """
    if left:
        _say_how_to_continue(f"the time is over with {plural(left, 'point')} left", out)
    if left or failed:
        raise SystemExit(OUT_OF_TIME if left else 1)


def _print_outcome(request: SweepRequest, outcome: SweepOutcome) -> None:
    if outcome.rows:
        levels = None if request.path is None else read_levels([request.path])
        click.echo(rendered(summary(table(outcome.rows), levels)))
        for line in warnings(table(outcome.rows)):
            click.echo(f"warning: {line}", err=True)
    for line in decisions(outcome.rows, request.method.tie) if request.method.until_decided else ():
        click.echo(line, err=True)
    came = ", ".join(f"{count} {status}" for status, count in sorted(outcome.statuses.items()))
    came = came or ("none measured" if outcome.left else "nothing left to do")
    see = f"; see 'bfsbench report {request.path}'" if outcome.rows and request.path else ""
    click.echo(f"{plural(outcome.statuses.total(), 'point')}: {came}{see}", err=True)


def decisions(rows: Iterable[Mapping[str, str]], tie: float) -> Iterable[str]:
    """Yield a line for each graph and source. The line names the fastest search and the searches that differ
    from it by at most ``tie`` per cent. If the samples do not show which search is the fastest, the line
    names all candidates, and says by how much they may differ. Emulated kernels are left out, because their
    times say nothing about a GPU."""
    groups: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        if row["status"] == "ok" and row["backend"] != "cpu":
            groups.setdefault(", source ".join(filter(None, (row["graph"], row["source"]))), []).append(row)
    for name, group in groups.items():
        times = [[float(text) for text in row["search_ms_samples"].split(";")] for row in group]
        samples = plural(max(map(len, times)), "sample")
        best, others = contenders(times)
        if left := {place: percent for place, percent in others.items() if percent > tie}:
            shapes = ", ".join(_shape(group[place]) for place in (best, *left))
            if (widest := max(left.values())) < math.inf:
                most = math.ceil(10 * widest) / 10
                why = f"they differ by at most {most:g} % ('--resume --tie {most:g}' calls them equal)"
            else:
                why = f"some have fewer than {FEWEST_FOR_NOISE} samples: measure them again in another file"
            yield f"{name}: undecided after {samples}: {shapes}; {why}"
            continue
        won = f"{_shape(group[best])} is the fastest, with a median of {median(times[best]):.4g} ms"
        equal = ", ".join(_shape(group[place]) for place in others)
        also = f"; equal within {tie:g} %: {equal}" if others else ""
        yield f"{name}: decided by medians after {samples}: {won}{also}"


def _shape(row: Mapping[str, str]) -> str:
    return " ".join(filter(None, (row[name] for name in ("variant", "grid", "block", "knobs"))))


def print_plan(points: Sequence[Point], repeats: int) -> None:
    """Print a table with the number of points (configurations) for each graph, variant and backend."""
    from tabulate import tabulate

    counts = Counter((row_name(point.graph), with_aliases(point.variant), point.backend) for point in points)
    rows = [(*key, count) for key, count in counts.items()]
    click.echo(tabulate(rows, headers=["graph", "variant", "backend", "points"]))
    total, timed = plural(len(points), "point"), plural(repeats, "time")
    click.echo(f"\n{total}, each run once to check it and {timed} to time it")


def print_time(points: Sequence[Point], rows: Path) -> None:
    """Print an estimate of the time that these points (configurations) will take. The estimate is based on
    the earlier times in ``rows``, which is a result file or a folder of result files."""
    if not points:
        return
    seconds, guessed = expected_seconds(points, rows)
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= 2 * size or size == 1)
    how = f"if points take as long as in {rows}" if guessed < len(points) else ""
    backends = sorted({point.backend for point in points})
    rule = ", ".join(f"{UNKNOWN_S[backend]:g} s on {backend}" for backend in backends)
    guess = f"{guessed} of them counted as {rule}" if guessed else ""
    basis = "; ".join(filter(None, (how, guess)))
    click.echo(f"about {max(seconds / size, 1):.0f} {unit} without reading graphs, {basis}")


_UNITS = ((3600, "h"), (60, "min"), (1, "s"))


def print_memory(graphs: Sequence[GraphName], points: Sequence[Point]) -> None:
    """Print how much memory is needed to load each graph. For variants that declare a formula for their
    memory, also print how much memory their searches need."""
    click.echo("\npeak memory to open each graph:")
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


def require_no_obstacles(graphs: Sequence[GraphName], out: Path | None, resume: bool) -> None:
    """Raises UsageError if something would keep the sweep from running: a graph that is not fetched, or a
    result file that exists."""
    obstacles = [missing for graph in graphs if (missing := not_here(graph))]
    if out is not None and out.exists() and not resume:
        obstacles.append(f"{out} exists: add --resume to continue it, or choose another --out")
    if obstacles:
        raise UsageError("; ".join(obstacles))


@click.command(cls=KnobCommand)
@datasets_option(
    "Names, files or generators, with options after a colon: 'soc-Epinions1:symmetrised' (see docs/graphs.md "
    "in the repository)."
)
@click.option(
    "--family",
    type=click.Choice(list(all_families())),
    help="Problem to solve; by default the variants' problem.",
)
@variants_option(
    "Names, or 'all' of the family (see 'bfsbench list variants').", default=("all",), show_default=False
)
@launch_options(
    "Maximum number of blocks per launch; 'auto' fits the work.",
    "Threads per block; 'auto' is the variant's default, mostly 256.",
    default="auto",
)
@preset_option("Values of all other knobs")
@source_options("Seed that chooses the sources.")
@measuring_options()
@out_option("run")
@click.option("--minutes", type=POSITIVE, metavar="M", help="Begin no point after M minutes.")
@click.option("--dry-run", is_flag=True, help="Only print what would be measured.")
@click.option("--quiet", is_flag=True, help="Show only errors and points that failed.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,  # so that errors in the values of other options are events, too
    callback=JsonLines.asked,
    help="Print one line of JSON per event.",
)
@click.option(
    "--sanitizer",
    type=click.Choice(TOOLS),
    help="Run each point once under this tool of NVIDIA's compute-sanitizer.",
)
def run_command(
    datasets: tuple[str, ...],
    family: str | None,
    variants: tuple[str, ...],
    grid: list[int | None],
    block: list[int | None],
    preset: str,
    sources: Sources,
    measuring: Method,
    out: Path | None,
    minutes: float | None,
    dry_run: bool,
    quiet: bool,
    as_json: JsonLines | None,
    sanitizer: str | None,
    knobs: dict[str, list[KnobValue]],
) -> None:
    """Measure every combination of graph, source, variant, grid, block and knob values.

    Each combination is a point. It runs once, and its answer is checked by a sequential search or by SciPy.
    Then it is timed --repeats times. Each point becomes a row of the result file as soon as it is measured.
    Points that fail become rows that say why. Exit codes: 1 if a point failed, 2 if an option is wrong, 124
    if --minutes ended the sweep, 130 after an interrupt. A LIST has commas, and may contain the ranges
    FIRST:LAST:xFACTOR and FIRST:LAST:+STEP.
    """
    deadline = deadline_in(minutes)
    if as_json and quiet:
        raise UsageError("--quiet and --json exclude each other")
    progress = as_json or (Failures() if quiet else None)
    chosen = chosen_variants(names(variants, "--variant"), family)
    problem = family_of(chosen)
    choice = sources.choice(problem)
    if measuring.profile and not problem.profile:
        raise UsageError(f"--profile measures the steps of a run; {problem.title} have none")
    work = Crossing(graphs_named(datasets), Axes(chosen, grid, block, knobs, preset), choice)
    asked = replace(request(measuring, work, result_file(measuring, out, "run")), deadline=deadline)
    if sanitizer:
        if not sanitize(sanitizer, sys.argv[1:]):
            raise SystemExit(1)
    elif dry_run:
        points = preview(asked, real_sources=as_json is not None)
        if as_json:
            for point in points:
                click.echo(json.dumps(as_values(point.axes())))
        elif points:
            print_plan(points, measuring.repeats)
            print_time(points, asked.path if asked.path and asked.path.exists() else Path("results"))
            print_memory(work.graphs, points)
        else:
            click.echo("nothing left to do")
        if points:
            require_no_obstacles(work.graphs, out, measuring.resume)
    else:
        outcome = carry_out_points(asked, progress)
        end_measuring(outcome.left, outcome.failed, asked.path)


@click.command(cls=KnobCommand)
@datasets_option("Graphs, named as for 'bfsbench run'. Each variant is tuned on each graph.")
@variants_option("Names or aliases, or 'all'.", required=True)
@launch_options(
    "Grids to choose from; by default auto and 1, 2, 4 .. 32 blocks per multiprocessor.",
    "Blocks to choose from; by default 32, 64 .. 1024 threads.",
)
@preset_option("Initial values of knobs")
@source_options("Seed that chooses sources and configurations.")
@measuring_options(*NOT_TUNED)
@out_option("tune")
@click.option(
    "--points",
    type=click.IntRange(min=1),
    metavar="N",
    help="Points to measure for each variant and graph, including points that --resume finds in the file.",
)
@click.option(
    "--minutes",
    type=POSITIVE,
    metavar="M",
    help="Minutes for each variant and graph. No configuration begins after this time.",
)
@click.option(
    "--method",
    default=METHODS[0],
    type=click.Choice(METHODS),
    help="optuna varies one axis at a time, then uses Optuna's Bayesian optimisation ('pip install optuna'). "
    "axes varies one axis at a time, until a round changes nothing. restarts repeats this from random "
    "configurations. exhaustive measures every configuration. An axis is the grid, the block or one knob.",
)
@click.option("--dry-run", is_flag=True, help="Only print the values to choose from, and how many points.")
def tune_command(
    datasets: tuple[str, ...],
    variants: tuple[str, ...],
    grid: list[int | None],
    block: list[int | None],
    preset: str,
    sources: Sources,
    measuring: Method,
    out: Path | None,
    points: int | None,
    minutes: float | None,
    method: str,
    dry_run: bool,
    knobs: dict[str, list[KnobValue]],
) -> None:
    """For each variant and graph, find the fastest configuration, within --points or --minutes.

    Configurations are compared by the median of search_ms over the sources. Every point becomes a row of the
    result file, as from 'bfsbench run'. A knob without a list gets its choices, or its bounds and values
    around its default. Equal seeds choose equal configurations, so --resume continues where a tuning stopped.
    At the end the best configuration is printed as a 'bfsbench run' command. Host programs without knobs need
    only one point.

    For a kernel without a GPU, search_ms is the time of the emulator, which says nothing about a GPU. Such a
    tuning only shows which configurations fail. 'bfsbench explain' predicts the times of up to eight
    configurations.
    """
    every = chosen_variants(names(variants, "--variant"))
    check_knobs(every, knobs)
    tunings = []
    for graph, chosen in product(graphs_named(datasets), every):
        own = {knob.name: knobs[knob.name] for knob in chosen.knobs if knob.name in knobs}
        axes = Axes([chosen], grid, block, own, preset)
        choice = sources.choice(find_family(chosen.family))
        tunings.append(Tuning(graph, axes, choice, method, sources.seed, points, minutes))
    path = result_file(measuring, out, "tune")
    asked = request(measuring, Several(tunings), path)
    if dry_run:
        points_left = preview(asked)
        for tuning in tunings:
            _print_space(tuning)
        print_plan(points_left, measuring.repeats)
        click.echo("this is the largest number of points: the times of earlier points decide which follow")
        return
    carry_out(asked)
    found = [_say_what_was_found(tuning, path) for tuning in tunings]
    if not all(found):
        raise SystemExit(1)


def _print_space(tuning: Tuning) -> None:
    """Print the number of configurations of a planned tuning, and the values of each axis."""
    (variant,), space = tuning.variants, tuning.space
    click.echo(f"{variant.name} on {tuning.graph.full_name}: {plural(space.size, 'configuration')}")
    for axis in space.axes:
        values = ("auto" if value is None else str(value) for value in axis.values)
        click.echo(f"  {axis.name}: {', '.join(values)}")
    click.echo()


def _say_what_was_found(tuning: Tuning, path: Path | None) -> bool:
    """Print the best configuration of a tuning. Returns whether any configuration could be timed."""
    (variant,) = tuning.variants
    failed = sum(value is None for value in tuning.took.values())
    tried = f"{len(tuning.took)} of {tuning.space.size} configurations"
    tried += f", {failed} of them failed" if failed else ""
    click.echo(f"{variant.name} on {tuning.graph.locator}: {tried}; see 'bfsbench report {path}'", err=True)
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
    """Return the ``bfsbench run`` command line that measures a configuration again."""
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
