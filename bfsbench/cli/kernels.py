"""Define the commands that run kernels on the CPU: ``check``, ``explain`` and ``lab``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli.options import (
    SectionedCommand,
    completer,
    datasets_option,
    format_option,
    knob_options,
    rendered,
)
from bfsbench.cli.sweeps import (
    given_knobs,
    graphs_named,
    names,
    preset_option,
    source_choice,
    variants_of,
)
from bfsbench.reports.table import FORMATS
from bfsbench.support.errors import UsageError
from bfsbench.support.paths import H200_CEILINGS
from bfsbench.variants import family_of

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.reports.table import Table
    from bfsbench.rows.ceilings import Ceilings
    from bfsbench.rows.counters import Counters
    from bfsbench.rows.point import KnobValue, Point
    from bfsbench.tools.check import Report
    from bfsbench.tools.lab import Exercise


_ARGUMENTS = "bfsbench.program_arguments"
_SUFFIXES = (".cu", ".cpp", ".cc", ".c")


class ProgramCommand(SectionedCommand):
    """A command that passes the words after ``--`` to a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[_ARGUMENTS] = tuple(args[place + 1 :])
            args = args[:place]
        return super().parse_args(ctx, args)


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for compiling a program to a command: ``-I`` and ``-D``."""
    folders = click.option(
        "-I", "include", multiple=True, metavar="DIR", help="Folder with headers of a program."
    )
    macros = click.option(
        "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for compiling a program."
    )
    return folders(macros(command))


def refuse_program_options(context: click.Context) -> None:
    """Raise UsageError for options, or words after ``--``, that apply only to programs."""
    names = {"include": "-I", "defines": "-D", "as_json": "--json", "stop": "--stop-at-first"}
    given = [option for name, option in names.items() if context.params.get(name)]
    if given or arguments_of(context):
        raise UsageError(f"{(given or ['--'])[0]} is for programs: name a .cu file")


def arguments_of(context: click.Context) -> tuple[str, ...]:
    """Return the words after ``--``."""
    found: tuple[str, ...] = context.meta.get(_ARGUMENTS, ())
    return found


def program_files(words: Sequence[str]) -> list[Path]:
    """Return the words as paths, if they are the source files of a CUDA program.

    Returns an empty list if the first word is not the name of a CUDA file, or if no file mentions ``main``.
    Raises UsageError for a file that is missing or that is not a source file.
    """
    if not words or Path(words[0]).suffix != ".cu":
        return []
    for word in words:
        if Path(word).suffix not in _SUFFIXES or not Path(word).is_file():
            raise UsageError(f"{word}: no such source file of a program")
    sources = [Path(word) for word in words]
    has_main = any("main" in source.read_text(encoding="utf-8", errors="replace") for source in sources)
    return sources if has_main else []


def options_of(include: Sequence[str], defines: Sequence[str]) -> list[str]:
    """Return the compiler's options for folders of headers and for macros."""
    return [*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in defines)]


def check_program(
    sources: Sequence[Path],
    options: Sequence[str],
    arguments: Sequence[str],
    seeds: int,
    *,
    stop: bool,
    as_json: bool,
    benign: bool,
) -> bool:
    """Check a program and print the findings. Returns whether nothing was found."""
    from bfsbench.emulator.program_run import Runs, check_program as check
    from bfsbench.support.errors import plural

    runs: Runs = check(sources, options, arguments, seeds, stop=stop)
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
    number = len(undeclared) + len(runs.failures)
    codes = ", ".join(map(str, sorted(set(runs.statuses))))
    verdict = f"{number} found" if number else "nothing found"
    click.echo(f"{sources[0].name}: {verdict} in {plural(seeds, 'run')}; the program's exit code: {codes}")
    shown = list(runs.findings.values()) if benign else undeclared
    for one, times in sorted(shown, key=lambda item: -item[1]):
        click.echo(f"  {one} [{times} of {seeds} runs]")
        for line in dict.fromkeys(one.lines):
            if line and line.text():
                click.echo(f"        {line}: {line.text()}")
    for message, times in runs.failures.items():
        click.echo(f"  {message} [{times} of {seeds} runs]")
    return runs.clean


def explain_program(
    sources: Sequence[Path], options: Sequence[str], arguments: Sequence[str], seed: int, ceilings: Path
) -> None:
    """Print the costs of a program's kernels by launch and by line, and the predicted time."""
    from bfsbench.emulator.program_run import built, run
    from bfsbench.rows.ceilings import read_ceilings
    from bfsbench.tools.explain.counters import of_program
    from bfsbench.tools.explain.tables import LEGEND, level_table, listing_lines, predict

    device = read_ceilings(ceilings)
    with built(sources, options, "counting") as program:
        report = run(program, arguments, seed, quiet=False, stop=False)
    if not report.launches:
        click.echo("the program has launched no kernel")
        return
    counted = of_program(sources[0].name, report.counts, report.launches)
    predicted = predict(counted, device)
    time = f"{predicted.search_ms:.3g} ms, bound by {predicted.bound}"
    click.echo(f"\npredicted time of {len(report.launches)} launches: {time}")
    click.echo(rendered([level_table(counted)]), nl=False)
    click.echo(f"\n{LEGEND}")
    for line in listing_lines(counted, None, max(80, shutil.get_terminal_size((120, 24)).columns)):
        click.echo(line)


@click.command(cls=ProgramCommand)
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="NAME|FOLDER|PROGRAM.cu...",
    shell_complete=completer("variants or all"),
)
@click.option(
    "--seeds", default=4, show_default=True, type=click.IntRange(1), help="Schedules of threads to try."
)
@datasets_option("Graphs, named as for 'run', instead of the default small graphs.", required=False)
@click.option("--grid", metavar="LIST", help="Blocks per launch; by default the seed chooses from several.")
@click.option("--block", metavar="LIST", help="Threads per block; by default the seed chooses from several.")
@click.option("--benign", is_flag=True, help="Also show faults that comments declare benign.")
@program_options
@click.option("--json", "as_json", is_flag=True, help="Show the findings of a program as JSON.")
@click.option("--stop-at-first", "stop", is_flag=True, help="End a launch of a program at its first fault.")
@click.pass_context
def check(
    context: click.Context,
    /,
    what: tuple[str, ...],
    seeds: int,
    datasets: tuple[str, ...],
    grid: str | None,
    block: str | None,
    benign: bool,
    include: tuple[str, ...],
    defines: tuple[str, ...],
    as_json: bool,
    stop: bool,
    **knobs: str | None,
) -> None:
    """Run kernels on the CPU with every memory access watched, and report faults by source line.

    The check finds data races: accesses that no barrier, fence with atomics, or launch puts in order. It
    finds accesses outside of buffers and of variables in shared memory, use after free, and reads of memory
    that was never written. It finds divergent barriers, wrong masks, deadlocks, endless launches, and child
    kernels whose refused launch goes unnoticed. It also finds wrong answers.

    A FOLDER holds variants of your own, like a folder that BFSBENCH_VARIANTS names. All its variants are
    checked. A FOLDER from 'bfsbench lab' holds the kernel of an exercise, which is graded. PROGRAM.cu and
    more files are a CUDA program with its own main function. It is built and run with the words after '--',
    and the findings follow its output.

    Unless knobs are given, every second run of the package's own kernels uses knob values that reach code
    which the defaults do not reach. A finding names these values.

    A race is benign if a comment says so: '// benign race: why'. It stands on the line of the plain store, or
    on the line above. If the other accesses are atomic stores, it stands at the plain load. '// benign
    unwritten: why' declares a read of memory that was never written. A comment whose line ran without the
    declared fault is listed, too. The exit code is 1 if anything else was found.
    """
    from bfsbench.bench.plan import Axes, check_axes
    from bfsbench.tools.check import check as check_variant, runs_of, usual_graphs
    from bfsbench.tools.lab import hand_in

    if sources := program_files(what):
        options = options_of(include, defines)
        words = arguments_of(context)
        if not check_program(sources, options, words, seeds, stop=stop, as_json=as_json, benign=benign):
            raise SystemExit(1)
        return
    refuse_program_options(context)
    named = names(what, "NAME")
    hand_ins = {word: found for word in named if (found := hand_in(Path(word)))}
    graded = [_graded(exercise, kernel) for exercise, kernel in hand_ins.values()]
    chosen = variants_of([word for word in named if word not in hand_ins])
    grids = axis_language.grids(grid or "auto") if grid or block else []
    blocks = axis_language.blocks(block or "auto") if grid or block else []
    axes = Axes(chosen, grids, blocks, given_knobs(knobs))
    check_axes(axes, None)
    given = graphs_named(datasets) if datasets else None
    clean = all(graded)
    for variant in chosen:
        graphs = given or usual_graphs(variant, axes)
        runs = runs_of(variant, axes, graphs, seeds)
        with click.progressbar(length=runs, label=variant.name, file=sys.stderr) as bar:
            report = check_variant(variant, axes, graphs, seeds, lambda: bar.update(1))
        clean &= report.clean
        click.echo("\n".join(_lines(report, benign)))
    if not clean:
        raise SystemExit(1)


def _graded(exercise: Exercise, kernel: Path) -> bool:
    from bfsbench.tools.lab.grading import grade, improvement, runs_of

    with click.progressbar(length=runs_of(exercise), label=exercise.name, file=sys.stderr) as bar:
        found = grade(exercise, kernel, lambda: bar.update(1))
    if not found.problems:
        click.echo(f"{exercise.name}: passed\n  {improvement(exercise, kernel)}")
        return True
    click.echo(f"{exercise.name}: not yet: {'; '.join(found.problems)}\n  {exercise.question}")
    click.echo(f"  Hint: {exercise.hint}")
    return False


def _lines(report: Report, benign: bool) -> Iterator[str]:
    declared = f", {len(report.benign)} declared benign" if report.benign else ""
    verdict = "nothing found" if report.clean else f"{len(report.undeclared) + len(report.failures)} found"
    yield f"{report.variant}: {verdict} in {report.runs} runs{declared}"
    for found in sorted(report.undeclared, key=lambda found: -found.runs):
        yield from found.shown(report.runs)
    for message, runs in sorted(report.failures.items()):
        yield f"  {message} [{runs} of {report.runs} runs]"
    for line in sorted(report.unmet):
        yield f"  declared benign, but not seen in these runs: {line}"
    if benign:
        for found in sorted(report.benign, key=lambda found: -found.runs):
            yield "  benign:"
            yield from found.shown(report.runs)


check_command = knob_options(check)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="New folder for the kernel; ./NAME by default.",
)
@click.option(
    "--class",
    "hand_ins",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Grade a class: FOLDER has one folder per student, with the student's kernels.",
)
@format_option()
def lab_command(name: str | None, folder: Path | None, hand_ins: Path | None, style: str) -> None:
    """List the exercises, or copy the kernel of one exercise and print its question.

    Change the kernel and have it graded: 'bfsbench check FOLDER' says whether it has passed, or gives a hint.
    No GPU is needed. Kernels of other people run with your rights, so grade a class only where that is safe.
    """
    from bfsbench.tools.lab import find, hand_out

    if (name and hand_ins) or (folder and not name):
        raise click.UsageError("--to goes with NAME, and --class without it")
    if not name:
        from bfsbench.tools.lab.grading import table

        click.echo(
            rendered([table(hand_ins) if hand_ins else _exercises()], style, narrow="another format"),
            nl=False,
        )
        return
    exercise = find(name)
    copied = hand_out(exercise, folder or Path(name))
    click.echo(f"{copied} ({exercise.origin})\n\n{exercise.question}\n\nbfsbench check {copied.parent}")


def _exercises() -> Table:
    from bfsbench.reports.table import Cell, Table
    from bfsbench.tools.lab import exercises

    rows: list[tuple[Cell, ...]] = [
        (one.name, "slow" if one.cost else "broken", one.origin, one.question) for one in exercises().values()
    ]
    return Table("lab", "Exercises", ("name", "kind", "origin", "question"), rows)


_MOST = 8
"""The most searches that one command explains."""


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
@click.option("--grid", default="auto", show_default=True, metavar="LIST", help="Most blocks per launch.")
@click.option("--block", default="auto", show_default=True, metavar="LIST", help="Threads per block.")
@preset_option("Values of knobs that have no option of their own here")
@click.option(
    "--level", type=click.IntRange(0), metavar="N", help="List only this level; by default all levels."
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="The order in which threads and blocks run. Equal seeds give equal counters.",
)
@click.option(
    "--ceilings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ceilings from 'bfsbench probe' of the GPU whose times are predicted; by default of an H200.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the counters to this file, for 'bfsbench compare'."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the listings as a page, side by side.",
)
@format_option([name for name in FORMATS if name != "csv"])  # there are several tables; --out writes CSV
@program_options
@click.pass_context
def explain(
    context: click.Context,
    /,
    variants: tuple[str, ...],
    dataset: str | None,
    source: str | None,
    grid: str,
    block: str,
    preset: str,
    level: int | None,
    seed: int,
    ceilings: Path | None,
    out: Path | None,
    html: Path | None,
    style: str,
    include: tuple[str, ...],
    defines: tuple[str, ...],
    **knobs: str | None,
) -> None:
    """Count what the memory accesses of searches would cost a GPU, and list the source with these costs.

    In this model the lanes of each warp run in lockstep. Counters are kept for each level, kernel and source
    line. They show divergence, by executions of a warp and the lanes that take part. They show coalescing, by
    requests and sectors of global memory. They also count bank conflicts, atomics that meet on one word, and
    barriers. Several variants, blocks or knob values stand side by side. 'bfsbench compare' compares the
    files that --out writes.

    The counters and the ceilings of a GPU give a predicted time. It is not a measurement: half of the
    predictions for an H200 are wrong by more than a factor of 1.4. A FOLDER holds variants of your own.
    PROGRAM.cu and more files are a CUDA program with its own main function, which is run with the words after
    '--'.
    """
    from bfsbench.rows.ceilings import read_ceilings
    from bfsbench.rows.counters import write_counters

    if sources := program_files(variants):
        options = options_of(include, defines)
        explain_program(sources, options, arguments_of(context), seed, ceilings or H200_CEILINGS)
        return
    refuse_program_options(context)
    if dataset is None:
        raise UsageError("name a graph: --dataset GRAPH")
    device = read_ceilings(ceilings or H200_CEILINGS)
    graph, points = _points(variants, dataset, source, grid, block, preset, given_knobs(knobs))
    counted = list(_count(points, graph, seed))
    if level is not None and not any((of.lines["level"] == level).any() for of in counted):
        raise UsageError(f"--level {level}: the search has no such level")
    if out is not None:
        write_counters(out, counted)
    if html is not None:
        from bfsbench.tools.explain.tables import write_page

        write_page(html, counted, device)
    click.echo(rendered(_tables(counted, device), style), nl=False)
    if style == "text":
        _print_lines(counted, level)


def _points(
    variants: Sequence[str],
    dataset: str,
    source: str | None,
    grid: str,
    block: str,
    preset: str,
    knobs: dict[str, list[KnobValue]],
) -> tuple[Graph, list[Point]]:
    from bfsbench.bench.plan import Axes, check_axes, chosen_variants, plan
    from bfsbench.graphs.load import load_parsed
    from bfsbench.graphs.statistics import describe

    chosen = chosen_variants([variant.name for variant in variants_of(names(variants, "VARIANT"))])
    for variant in chosen:
        if not variant.launched:
            raise UsageError(f"variant {variant.name} has no kernels to explain")
    axes = Axes(chosen, axis_language.grids(grid), axis_language.blocks(block), knobs, preset)
    check_axes(axes, None)
    (named, *more) = graphs_named([dataset])
    if more:
        raise UsageError("--dataset names several graphs: explain takes one")
    graph = load_parsed(named)
    sources = source_choice(family_of(chosen), source, None, None, 0).choose(graph)
    statistics = {named.locator: describe(graph)} if preset == "auto" else {}
    points = plan(axes, {named.locator: sources}, statistics, "cpu")
    if len(points) > _MOST:
        raise UsageError(f"these are {len(points)} searches: explain takes at most {_MOST}")
    return graph, points


def _count(points: Sequence[Point], graph: Graph, seed: int) -> Iterator[Counters]:
    from bfsbench.bench.child import in_child
    from bfsbench.tools.explain.counters import count

    with click.progressbar(points, label="counting", file=sys.stderr) as bar:
        for point in bar:
            yield in_child(lambda _step, point=point: count(point, graph, seed))  # type: ignore[misc]


def _tables(counted: Sequence[Counters], device: Ceilings) -> list[Table]:
    from dataclasses import replace

    from bfsbench.tools.explain.tables import level_table, prediction_table, side_by_side

    predicted = prediction_table(counted, device)
    levels = [level_table(of) for of in counted]
    if len(counted) == 1:
        return [predicted, *levels]
    numbered = [replace(table, name=f"levels_{place}") for place, table in enumerate(levels, 1)]
    return [side_by_side(counted), predicted, *numbered]


def _print_lines(counted: Sequence[Counters], level: int | None) -> None:
    from bfsbench.tools.explain.tables import LEGEND, beside

    width = shutil.get_terminal_size((120, 24)).columns
    click.echo(f"\n{LEGEND}")
    for line in beside(counted, level, max(width, 80)):
        click.echo(line)


explain_command = knob_options(explain)
