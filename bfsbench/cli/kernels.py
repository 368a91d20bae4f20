"""Define the commands that run kernels on the CPU: ``check`` and ``explain``."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product, takewhile
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bfsbench.bench.child import in_child
from bfsbench.bench.plan import Axes, check_axes, chosen_variants, plan
from bfsbench.cli.lab import explained_hand_ins, graded_kernel, require_no_exercise
from bfsbench.cli.options import (
    PATH,
    POSITIVE,
    KnobCommand,
    Sources,
    completer,
    datasets_option,
    format_option,
    gathered,
    graphs_named,
    launch_options,
    limited,
    names,
    preset_option,
    refuse_given,
    rendered,
    variants_of,
)
from bfsbench.emulator import ENDING_LAUNCH, Finding
from bfsbench.emulator.program_run import HostFinding, built, check_program, on_ended_threads, run
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import GraphName, load_parsed
from bfsbench.graphs.statistics import describe
from bfsbench.programs import Variant
from bfsbench.reports.table import FORMATS
from bfsbench.rows.ceilings import Ceilings, read_ceilings
from bfsbench.rows.counters import Counted, Counters, write_counters
from bfsbench.rows.point import KnobValue, Point
from bfsbench.support.errors import KernelError, UsageError, plural
from bfsbench.support.paths import H200_CEILINGS
from bfsbench.tools.lab import hand_in
from bfsbench.variants import family_of

if TYPE_CHECKING:
    from bfsbench.tools.check import Report

_MAIN = re.compile(r"\bmain\s*\(")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](.+?)[>"]', re.MULTILINE)
_SUFFIXES = (".cu", ".cpp", ".cc", ".c")
_MOST = 8
"""The largest number of searches that one call of ``explain`` accepts."""


class ProgramCommand(KnobCommand):
    """A click command that takes variants or a CUDA program.

    Words after ``--`` on the command line are for the program. The command gets them as the argument
    ``arguments``.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = list(takewhile(lambda word: word != "--", args))
        arguments = args[len(own) + 1 :]
        rest = super().parse_args(ctx, own)
        ctx.params["arguments"] = arguments
        return rest


class Program(NamedTuple):
    """A CUDA program with its own main function, the options to compile it, and the arguments to run it
    with."""

    sources: Sequence[Path]
    options: Sequence[str]
    """The compiler's options."""
    arguments: Sequence[str]


compiler_options = gathered(
    "options",
    lambda include, defines: [*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in defines)],
    {
        "include": click.option(
            "-I", "include", multiple=True, metavar="DIR", help="Folder with headers of a program."
        ),
        "defines": click.option(
            "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for compiling a program."
        ),
    },
)
"""Options of the compiler for a program with its own main function. A command gets them as the argument
``options``, a list."""


def _program(
    words: Sequence[str], options: Sequence[str], arguments: Sequence[str], **flags: bool
) -> Program | None:
    """Return the CUDA program whose source files are ``words``, or None if the words name anything else. They
    name a program if the first word is a CUDA file and one of the files has a function ``main``, or includes
    a file of the user's that may have it. Raises UsageError for a file that is missing or that is not a
    source file. ``options``, ``arguments`` and ``flags`` are allowed for programs only. If any of them is
    given and the words do not name a program, raises UsageError.
    """
    if words and Path(words[0]).suffix == ".cu":
        for word in words:
            if hand_in(Path(word)) is None:
                _require_source(word, words)
        sources = [Path(word) for word in words if Path(word).is_file()]
        texts = [source.read_text(encoding="utf-8", errors="replace") for source in sources]
        is_exercise = hand_in(sources[0]) is not None
        folders = [source.parent for source in sources]
        folders += [Path(option[2:]) for option in options if option.startswith("-I")]
        included = [folder / name for name in _INCLUDE.findall("\n".join(texts)) for folder in folders]
        if any(map(_MAIN.search, texts)) or (not is_exercise and any(map(Path.is_file, included))):
            return Program(sources, options, arguments)
        if not is_exercise:
            raise UsageError(
                f"{words[0]} has no main function. A program has one, a kernel of the lab keeps its file's "
                "name, and a search is named by the folder of its kernel."
            )
    given = [option[:2] for option in options] + [option for option, on in flags.items() if on]
    if given or arguments:
        raise UsageError(f"{[*given, '--'][0]} is for programs: name a .cu file")
    return None


def _require_source(word: str, words: Sequence[str]) -> None:
    """Raises UsageError if ``word``, one of the ``words`` of a command, is not a source file that exists."""
    is_source = Path(word).suffix in _SUFFIXES
    if is_source and Path(word).is_file():
        return
    message = f"there is no source file {word}"
    if not is_source and not Path(word).exists():
        arguments = " ".join(words[words.index(word) :])
        message += f". Words for the program follow --, as in '{words[0]} -- {arguments}'"
    raise UsageError(message)


@click.command(cls=ProgramCommand)
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="NAME|FOLDER|PROGRAM.cu...",
    shell_complete=completer("variants or all"),
)
@click.option("--seeds", default=4, type=click.IntRange(1), help="Number of orders of threads to try.")
@datasets_option("Graphs, named as for 'run', instead of the default small graphs.", required=False)
@launch_options(
    "Blocks per launch; by default each seed chooses one of several numbers.",
    "Threads per block; by default each seed chooses one of several numbers.",
)
@click.option("--benign", is_flag=True, help="Also show faults that comments declare benign.")
@compiler_options
@click.option("--json", "as_json", is_flag=True, help="Show the findings of a program as JSON.")
@click.option("--stop-at-first", "stop", is_flag=True, help="End a launch of a program at its first fault.")
@click.option("--hint", is_flag=True, help="Show the hint of an exercise of the lab that is not passed.")
def check_command(
    what: tuple[str, ...],
    seeds: int,
    datasets: tuple[str, ...],
    grid: list[int | None],
    block: list[int | None],
    benign: bool,
    options: list[str],
    as_json: bool,
    stop: bool,
    hint: bool,
    arguments: list[str],
    knobs: dict[str, list[KnobValue]],
) -> None:
    """Run kernels on the CPU with every memory access watched, and report faults by source line.

    The check finds data races, which are pairs of accesses whose order no barrier, fence, atomic or launch
    determines. It finds accesses outside of buffers or shared variables, use after free, and reads of memory
    that was never written. It finds divergent barriers, wrong masks, deadlocks, endless launches, and failed
    launches of child kernels whose error is not read. It also finds wrong answers.

    A FOLDER holds variants of your own, like a folder that BFSBENCH_VARIANTS names. All its variants are
    checked. A FOLDER from 'bfsbench lab' holds the kernel of an exercise, which is graded. PROGRAM.cu and
    more files are a CUDA program with its own main function. It is built and run with the words after '--',
    and the findings follow its output.

    Unless knobs are given, every second run of the package's own kernels uses knob values that reach code
    which the defaults do not reach. A finding names these values.

    A race is benign if a comment says so: '// benign race: why'. The comment stands on the line of the plain
    store, or on the line above. If all stores are atomic, the comment stands at the plain load. The comment
    '// benign unwritten: why' declares a read of memory that was never written. A comment whose line ran
    without the declared fault is listed, too. The exit code is 1 if anything was found that no comment
    declares.
    """
    program = _program(what, options, arguments, **{"--json": as_json, "--stop-at-first": stop})
    named = [] if program else names(what, "NAME")
    hand_ins = {word: found for word in named if (found := hand_in(Path(word)))}
    if hint and not hand_ins:
        raise UsageError("--hint is for exercises: name the folder or the .cu file of a kernel of the lab")
    if program:
        refuse_given("datasets", "grid", "block")
        clean = _check_program(program, seeds, stop, as_json, benign)
    else:
        graded = [graded_kernel(exercise, kernel, hint) for exercise, kernel in hand_ins.values()]
        others = [word for word in named if word not in hand_ins]
        require_no_exercise(others)
        chosen = variants_of(others)
        if grid or block:
            grid, block = grid or [None], block or [None]
        axes = Axes(chosen, grid, block, knobs)
        check_axes(axes, None)
        graphs = graphs_named(datasets) if datasets else None
        clean = all([*graded, *(_checked(one, axes, graphs, seeds, benign) for one in chosen)])
    if not clean:
        raise SystemExit(1)


def _check_program(program: Program, seeds: int, stop: bool, as_json: bool, benign: bool) -> bool:
    """Check a CUDA program and print the findings. Returns True if there are no findings, or if comments
    declare all of them benign.
    """
    runs = check_program(*program, seeds, stop=stop, apart=as_json)
    undeclared = list(runs.undeclared())
    if as_json:
        found = [
            {
                "fault": one.fault,
                "text": str(one),
                "lines": [f"{line.file}:{line.number}" for line in one.lines if line],
                "runs": number,
            }
            for one, number in undeclared
        ]
        failures = [{"text": text, "runs": number} for text, number in runs.failures.items()]
        result = {"exit_codes": runs.statuses, "runs": seeds, "findings": found, "failures": failures}
        click.echo(json.dumps(result, indent=2))
        return runs.clean
    verdict = f"{len(undeclared) + len(runs.failures) or 'nothing'} found in {plural(seeds, 'run')}"
    codes = ", ".join(map(str, sorted(set(runs.statuses))))
    click.echo(f"{program.sources[0].name}: {verdict}; the program's exit code: {codes}")
    shown = list(runs.findings.values()) if benign else undeclared
    for one, times in sorted(shown, key=lambda item: -item[1]):
        click.echo(f"  {one} [{times} of {seeds} runs]")
        for line in dict.fromkeys(one.lines):
            if line and line.text():
                click.echo(f"        {line}: {line.text()}")
    for message, times in runs.failures.items():
        click.echo(f"  {message} [{times} of {seeds} runs]")
    if runs.failures or any(one.fault in ENDING_LAUNCH for one, _ in undeclared):
        click.echo(_ON_ENDED_LAUNCHES)
    if runs.ended_threads and len(undeclared) + len(runs.failures) > 1:
        click.echo(
            f"{on_ended_threads(runs.ended_threads)} With --stop-at-first, a launch ends at its first fault."
        )
    for advice in _on_races([one for one, _ in undeclared]):
        click.echo(advice)
    return runs.clean


def _on_races(found: Sequence[Finding | HostFinding]) -> Iterator[str]:
    """Yields advice on the races among the findings."""
    if any(one.lacks_barrier for one in found):
        yield (
            "  In shared memory, two threads of a block race because no __syncthreads() or other barrier "
            "orders their accesses."
        )
    if any(one.fault == "race" for one in found):
        yield (
            "  To declare a race that does no harm, write '// benign race: REASON' on the line of the store."
        )


_ON_ENDED_LAUNCHES = (
    "  A launch ends at a fault such as a divergent barrier or a failed assertion. "
    "The rest of this launch was not checked."
)


def _checked(
    variant: type[Variant], axes: Axes, graphs: Sequence[GraphName] | None, seeds: int, benign: bool
) -> bool:
    """Check a variant and print the findings. Small graphs are used if no ``graphs`` are given. Returns True
    if there are no findings, or if comments declare all of them benign."""
    from bfsbench.tools.check import check, runs_of, usual_graphs

    graphs = graphs or usual_graphs(variant, axes)
    length = runs_of(variant, axes, graphs, seeds)
    with click.progressbar(length=length, label=variant.name, file=sys.stderr) as bar:
        report = check(variant, axes, graphs, seeds, lambda: bar.update(1))
    click.echo("\n".join(_lines(report, benign)))
    return report.clean


def _lines(report: Report, benign: bool) -> Iterator[str]:
    declared = f", {len(report.benign)} declared benign" if report.benign else ""
    number = len(report.undeclared) + len(report.failures) or "nothing"
    yield f"{report.variant}: {number} found in {report.runs} runs{declared}"
    for fault in sorted(report.undeclared, key=lambda fault: -fault.runs):
        yield from fault.shown(report.runs)
    for message, runs in sorted(report.failures.items()):
        yield f"  {message} [{runs} of {report.runs} runs]"
    yield from _on_races([found.first for found in report.undeclared])
    for line in sorted(report.unmet):
        yield f"  declared benign, but not seen in these runs: {line}"
    if benign:
        for fault in sorted(report.benign, key=lambda fault: -fault.runs):
            yield "  benign:"
            yield from fault.shown(report.runs)


@click.command(cls=ProgramCommand)
@click.argument(
    "variants",
    nargs=-1,
    required=True,
    metavar="VARIANT|FOLDER|PROGRAM.cu...",
    shell_complete=completer("variants"),
)
@click.option(
    "--dataset",
    metavar="GRAPH",
    shell_complete=completer("datasets"),
    help="One graph, named as for 'run'. Take a small graph: counting takes five to thirty times as long "
    "as a run.",
)
@click.option("--source", metavar="VERTEX", help="Source vertex; by default the vertex that 'run' chooses.")
@launch_options("Maximum number of blocks per launch.", "Threads per block.", default="auto")
@preset_option("Values of knobs that have no option of their own here")
@click.option(
    "--level",
    type=click.IntRange(0),
    metavar="N",
    help="List the costs of this level, or of this launch of a program; by default of all.",
)
@click.option(
    "--seed",
    default=0,
    type=click.IntRange(min=0),
    help="Seed of the order in which threads and blocks run. Equal seeds give equal counters.",
)
@click.option(
    "--timeout",
    default=60.0,
    type=POSITIVE,
    metavar="S",
    help="Seconds after which a search or a program that has not ended is an error.",
)
@click.option(
    "--ceilings",
    type=PATH,
    metavar="FILE",
    help="Ceilings from 'bfsbench probe' of the GPU whose times are predicted; by default of an H200.",
)
@click.option("--out", type=PATH, help="Write the counters to this file (CSV), for 'bfsbench compare'.")
@click.option("--html", type=PATH, metavar="FILE", help="Write the listings as a page, side by side.")
@format_option(
    [name for name in FORMATS if name != "csv"]
)  # no --format csv, because there are several tables; --out writes CSV
@compiler_options
def explain_command(
    variants: tuple[str, ...],
    dataset: str | None,
    source: str | None,
    grid: list[int | None],
    block: list[int | None],
    preset: str,
    level: int | None,
    seed: int,
    timeout: float,
    ceilings: Path | None,
    out: Path | None,
    html: Path | None,
    style: str,
    options: list[str],
    arguments: list[str],
    knobs: dict[str, list[KnobValue]],
) -> None:
    """Count what the memory accesses of searches would cost a GPU, and list the source with these costs.

    The costs follow a model in which the lanes of each warp run in lockstep. Counters are kept for each
    level, kernel and source line. The numbers of warp executions and of active lanes show divergence. The
    numbers of requests and sectors of global memory show coalescing. Other counters are bank conflicts,
    atomics of several lanes on one word, and barriers. Several variants, blocks or knob values are shown side
    by side. 'bfsbench compare' compares the files that --out writes.

    The counters and the ceilings of a GPU give a predicted time. It is not a measurement: half of the
    predictions for an H200 are wrong by more than a factor of 1.4. A FOLDER holds variants of your own, or
    the kernel of an exercise of 'bfsbench lab', whose graph is used unless --dataset names another.
    PROGRAM.cu and more files are a CUDA program with its own main function, which is run with the words after
    '--'. Each launch of a program counts as a level. A macro that is given several times, as in '-D TILE=16
    -D TILE=32', makes one run for each value. With --format json, the table 'lines' has the counters of each
    source line, and the program's own output goes to stderr.
    """
    if out is not None and out.suffix == ".html":
        raise UsageError(f"--out writes counters (CSV); for a page, write --html {out}")
    device = read_ceilings(ceilings or H200_CEILINGS)
    if program := _program(variants, options, arguments):
        refuse_given("dataset", "source", "grid", "block", "preset")
        runs, failures = _count_runs(program, seed, timeout, apart=style != "text")
        if runs:
            if out is not None:
                write_counters(out, runs)
            _explain(runs, device, level, html, style)
        else:
            nothing = "there is nothing to count: the program has run no kernel that accesses memory"
            click.echo(nothing, err=style != "text")
        if failures:
            raise KernelError("; ".join(failures))
        return
    measures: list[str] = []
    named = names(variants, "VARIANT")
    hand_ins = [found for word in named if (found := hand_in(Path(word)))]
    if len(hand_ins) == len(named):
        refuse_given("source", "grid", "block", "preset")
        if len(hand_ins) > _MOST:
            raise UsageError(f"these are {len(hand_ins)} kernels: explain takes at most {_MOST}")
        searches, measures = explained_hand_ins(hand_ins, dataset, seed, timeout)
    else:
        if hand_ins:
            raise UsageError(f"{hand_ins[0][1]} is a kernel of the lab: explain it without variants")
        require_no_exercise(named)
        chosen = chosen_variants([variant.name for variant in variants_of(named)])
        if dataset is None:
            raise UsageError("name a graph: --dataset GRAPH")
        graph, points = _points(Axes(chosen, grid, block, knobs, preset), dataset, source)
        searches = list(_count(points, graph, seed, timeout))
    if out is not None:
        write_counters(out, searches)
    if style == "text" and measures:
        click.echo("\n".join([*measures, ""]))
    _explain(searches, device, level, html, style)


def _explain(
    counted: Sequence[Counted], device: Ceilings, level: int | None, html: Path | None, style: str
) -> None:
    """Print the costs of searches or of a program for each level and source line, and the predicted times.
    For one search or program, a summary comes first. For several, what bounds each of them comes first."""
    from bfsbench.tools.explain import beside, tables
    from bfsbench.tools.explain.advice import bounds, summary
    from bfsbench.tools.explain.page import write_page

    if level is not None and not any((of.lines["level"] == level).any() for of in counted):
        raise UsageError(f"--level {level}: the {counted[0].name} has no such {counted[0].level_name}")
    if html is not None:
        write_page(html, counted, device)
    alone = style == "text" and len(counted) == 1
    begin, further = summary(counted[0], device, level) if alone else (bounds(counted, device, level), [])
    if style == "text":
        click.echo("\n".join([*begin, ""]))
    click.echo(rendered(tables(counted, device, level, with_lines=style == "json"), style), nl=False)
    if style == "text":
        _print_listing(partial(beside, counted, level), _UNLIMITED if alone else _BESIDE)
    if further:
        heading = "Further remarks"
        click.echo("\n".join(["", heading, "=" * len(heading), *further]))


def _count_runs(
    program: Program, seed: int, timeout: float, *, apart: bool
) -> tuple[list[Counted], list[str]]:
    """Count the memory accesses of a program once for each combination of values of its macros. A macro that
    is defined several times has several values. Returns the counters of the runs, and a message for each run
    that failed. Raises UsageError for too many runs.
    """
    values: dict[str, list[str]] = {}
    for option in dict.fromkeys(program.options):
        values.setdefault(option.partition("=")[0] if option.startswith("-D") else option, []).append(option)
    if (number := prod(map(len, values.values()))) > _MOST:
        raise UsageError(f"these are {number} runs of the program: explain takes at most {_MOST}")
    counted, failures = [], []
    for options in product(*values.values()):
        varied = [option for option, given in zip(options, values.values(), strict=True) if len(given) > 1]
        macros = " ".join(option.removeprefix("-D") for option in varied)
        of, failure = _count_program(program._replace(options=options), macros, seed, timeout, apart=apart)
        counted += [of] if of else []
        if failure:
            failures.append(f"{macros}: {failure}" if macros else failure)
    return counted, failures


def _count_program(
    program: Program, macros: str, seed: int, timeout: float, *, apart: bool
) -> tuple[Counted | None, str]:
    """Run a CUDA program whose memory accesses are counted. Returns its counters, or None if no kernel has
    accessed memory. Also returns a message that says how the program has failed. The message is empty if the
    program has exit code 0 and no kernel failed. Raises KernelError if the program has not ended after
    ``timeout`` seconds. If ``apart`` is true, the program's output goes to stderr. ``macros`` distinguishes
    this run from other runs of the program."""
    from bfsbench.tools.explain import of_program

    with (
        built(program.sources, program.options, "counting") as built_program,
        limited("the program", timeout),
    ):
        words = program.arguments
        report = run(built_program, words, seed, quiet=False, stop=False, apart=apart, limit_s=timeout)
    click.echo(err=apart)
    failure = "; ".join(report.failures)
    if not failure and report.status:
        failure = f"the program's exit code is {report.status}, so the counters may lack some of its work"
    if not report.counts:
        return None, failure
    name = program.sources[0].name
    return of_program(name, macros, report), failure


def _points(axes: Axes, dataset: str, source: str | None) -> tuple[Graph, list[Point]]:
    """Load a graph. Returns the graph and the points (searches) to explain.

    Raises UsageError for variants without kernels, for several graphs, and for too many searches.
    """
    for variant in axes.variants:
        if not variant.launched:
            raise UsageError(f"variant {variant.name} has no kernels to explain")
    check_axes(axes, None)
    (named, *more) = graphs_named([dataset])
    if more:
        raise UsageError("--dataset names several graphs: explain takes one")
    graph = load_parsed(named)
    sources = Sources(source).choice(family_of(axes.variants)).choose(graph)
    statistics = {named.locator: describe(graph)} if axes.preset == "auto" else {}
    points = plan(axes, {named.locator: sources}, statistics, "cpu")
    if len(points) > _MOST:
        raise UsageError(f"these are {len(points)} searches: explain takes at most {_MOST}")
    return graph, points


def _count(points: Sequence[Point], graph: Graph, seed: int, timeout: float) -> Iterator[Counters]:
    with click.progressbar(points, label="counting", file=sys.stderr) as bar:
        for point in bar:
            with limited(f"{point.variant} on {graph.full_name}", timeout):
                counted = in_child(partial(_counted, point, graph, seed), limit_s=timeout)
            yield counted


def _counted(point: Point, graph: Graph, seed: int, _step: Callable[[], None]) -> Counters:
    from bfsbench.tools.explain import count

    return count(point, graph, seed)


_UNLIMITED, _BESIDE = 1 << 20, 120
"""Widths in columns, if the output does not go to a terminal: of one listing, and of several listings side by
side."""


def _print_listing(listing: Callable[[int], Iterator[str]], piped: int) -> None:
    """Print a listing of source lines with costs. ``listing`` is a function that takes a width in columns and
    yields the lines. The width is ``piped`` if the output does not go to a terminal.
    """
    from bfsbench.tools.explain import LEGEND

    width = max(80, shutil.get_terminal_size((piped, 24)).columns)
    click.echo("\n".join(["", LEGEND, *listing(width)]))
