"""``bfsbench check``: finds faults of kernels, without a GPU."""

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
@datasets_option("Graphs instead of the usual small ones, named as for 'run'.", required=False)
@click.option("--grid", metavar="LIST", help="Blocks per launch; by default the seed chooses from several.")
@click.option("--block", metavar="LIST", help="Threads per block; by default the seed chooses from several.")
@click.option("--benign", is_flag=True, help="Show what is declared benign, too.")
@program_options
@click.option("--json", "as_json", is_flag=True, help="Of a program: show the findings as JSON.")
@click.option("--stop-at-first", "stop", is_flag=True, help="Of a program: end a launch at its first fault.")
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

    Found are data races (between accesses that no barrier, fence with atomics, or launch puts in order),
    accesses outside of buffers and of variables in shared memory, use after free, reads of what was never
    written, divergent barriers, wrong masks, deadlocks, launches without end, launches of child kernels that
    were refused unnoticed, and wrong answers. A FOLDER holds variants of your own, like those that
    BFSBENCH_VARIANTS names; all of them are checked. A FOLDER from 'bfsbench lab' holds the kernel of an
    exercise, which is graded. PROGRAM.cu and more files are a CUDA program with its own main function: it is
    built and run with the words behind '--', and its findings follow its output.

    Unless knobs are given, every second run of our own kernels takes some that lead through what they do not
    do by default; a finding names them.

    A race is benign if a comment says so on the line of the plain store (where others are atomic, of the
    plain load), or on the one above: '// benign race: why'. '// benign unwritten: why' does the same for a
    read of memory that was never written. Such comments beside lines that ran without what they declare are
    listed, too. The exit code is 1 if anything else was found.
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
    """Show the grade of an exercise; returns whether it is passed."""
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
