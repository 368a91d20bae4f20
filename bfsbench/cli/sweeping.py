"""Provide options, the display of progress and the final summary for all commands that sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bfsbench.bench import axes as axis_language
from bfsbench.bench.options import OPTIONS, Method
from bfsbench.cli.help import KNOB_PREFIX
from bfsbench.cli.options import Declaration, measuring_option, together
from bfsbench.support.errors import UsageError, plural
from bfsbench.variants import add_folder, all_variants, find
from bfsbench.variants.base import PRESETS

if TYPE_CHECKING:
    from bfsbench.bench.plan import SourceChoice, Work
    from bfsbench.bench.sweep import SweepOutcome, SweepProgress, SweepRequest
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
    from bfsbench.cluster.address import runner_maker

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
    from bfsbench.graphs.load import known_vertices, memory_lines
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
