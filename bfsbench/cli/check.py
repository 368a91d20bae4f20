"""Define the command ``bfsbench check``, which finds faults of kernels without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.help import knob_options
from bfsbench.cli.options import datasets_option
from bfsbench.cli.programs import (
    ProgramCommand,
    arguments_of,
    check_program,
    options_of,
    program_files,
    program_options,
    refuse_program_options,
)
from bfsbench.cli.sweeping import given_knobs, graphs_named, names, variants_of

if TYPE_CHECKING:
    from bfsbench.tools.check import Report
    from bfsbench.tools.lab import Exercise


@click.command(cls=ProgramCommand, short_help="Find data races and other faults of kernels.")
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="NAME|FOLDER|PROGRAM.cu...",
    shell_complete=completion.variants_or_all,
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


command = knob_options(check)
