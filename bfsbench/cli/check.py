"""``bfsbench check``: finds faults of kernels, without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.bench import axes as axis_language
from bfsbench.cli import completion
from bfsbench.cli.help import SectionedCommand, knob_options
from bfsbench.cli.sweep_options import given_knobs, locators, names
from bfsbench.errors import UsageError
from bfsbench.variants import add_folder, all_variants, find

if TYPE_CHECKING:
    from bfsbench.checks import Found, Report
    from bfsbench.lab import Exercise
    from bfsbench.programs import Variant


@click.command(cls=SectionedCommand, short_help="Find data races and other faults of kernels.")
@click.argument(
    "what", nargs=-1, required=True, metavar="NAME|FOLDER...", shell_complete=completion.variants_or_all
)
@click.option(
    "--seeds", default=4, show_default=True, type=click.IntRange(1), help="Schedules of threads to try."
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="LIST",
    shell_complete=completion.datasets,
    help="Graphs instead of the usual small ones, named as for 'run'.",
)
@click.option("--grid", metavar="LIST", help="Blocks per launch; by default the seed chooses from several.")
@click.option("--block", metavar="LIST", help="Threads per block; by default the seed chooses from several.")
@click.option("--benign", is_flag=True, help="Show what is declared benign, too.")
def check(
    what: tuple[str, ...],
    seeds: int,
    datasets: tuple[str, ...],
    grid: str | None,
    block: str | None,
    benign: bool,
    **knobs: str | None,
) -> None:
    """Run kernels on the CPU with every memory access watched, and report faults by source line.

    Found are data races (between accesses that no barrier, fence with atomics, or launch puts in order),
    accesses outside of buffers and of variables in shared memory, use after free, reads of what was never
    written, divergent barriers, wrong masks, deadlocks, launches without end, launches of child kernels that
    were refused unnoticed, and wrong answers. A FOLDER holds variants of your own, like those that
    BFSBENCH_VARIANTS names; all of them are checked. A FOLDER from 'bfsbench lab' holds the kernel of an
    exercise, which is graded.

    Unless knobs are given, every second run of our own kernels takes some that lead through what they do not
    do by default; a finding names them.

    A race is benign if a comment says so on the line of the plain store (where others are atomic, of the
    plain load), or on the one above: '// benign race: why'. '// benign unwritten: why' does the same for a
    read of memory that was never written. Such comments beside lines that ran without what they declare are
    listed, too. The exit code is 1 if anything else was found.
    """
    from bfsbench.bench.plan import Axes, check_axes
    from bfsbench.checks import check as check_variant
    from bfsbench.checks import runs_of, usual_graphs
    from bfsbench.lab import hand_in

    words = names(what, "NAME")
    hand_ins = {word: found for word in words if (found := hand_in(Path(word)))}
    graded = [_graded(exercise, kernel) for exercise, kernel in hand_ins.values()]
    chosen = _chosen([word for word in words if word not in hand_ins])
    grids = axis_language.grids(grid or "auto") if grid or block else []
    blocks = axis_language.blocks(block or "auto") if grid or block else []
    axes = Axes(chosen, grids, blocks, given_knobs(knobs))
    check_axes(axes, None)
    given = locators(datasets) if datasets else None
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
    from bfsbench.lab.grading import grade, runs_of

    with click.progressbar(length=runs_of(exercise), label=exercise.name, file=sys.stderr) as bar:
        found = grade(exercise, kernel, lambda: bar.update(1))
    if not found.problems:
        click.echo(f"{exercise.name}: passed")
        return True
    click.echo(f"{exercise.name}: not yet: {'; '.join(found.problems)}\n  {exercise.question}")
    click.echo(f"  Hint: {exercise.hint}")
    return False


def _chosen(words: Sequence[str]) -> list[type[Variant]]:
    """Variants by name, and all that folders declare. Raises UsageError."""
    chosen: list[type[Variant]] = []
    for word in words:
        if Path(word).suffix in (".cu", ".py") and Path(word).is_file():
            raise UsageError(f"{word} is a file: name the folder with the kernel and its declaration")
        if word == "all":
            chosen += [variant for variant in all_variants().values() if variant.launched]
        else:
            chosen += add_folder(Path(word)) if Path(word).is_dir() else [find(word)]
    return list(dict.fromkeys(chosen))


def _lines(report: Report, benign: bool) -> Iterator[str]:
    declared = f", {len(report.benign)} declared benign" if report.benign else ""
    verdict = "nothing found" if report.clean else f"{len(report.undeclared) + len(report.failures)} found"
    yield f"{report.variant}: {verdict} in {report.runs} runs{declared}"
    for found in sorted(report.undeclared, key=lambda found: -found.runs):
        yield from _finding(found, report.runs)
    for message, runs in sorted(report.failures.items()):
        yield f"  {message} [{runs} of {report.runs} runs]"
    for line in sorted(report.unmet):
        yield f"  declared benign, but not seen in these runs: {line}"
    if benign:
        for found in sorted(report.benign, key=lambda found: -found.runs):
            yield "  benign:"
            yield from _finding(found, report.runs)


def _finding(found: Found, runs: int) -> Iterator[str]:
    first = found.first
    knobs = f", with {found.knobs}" if found.knobs else ""
    yield f"  {first.fault} on {first.where}, kernel '{first.kernel}' [{found.runs} of {runs} runs{knobs}]"
    for actor in (first.actor, first.other):
        if actor is not None:
            yield f"    {actor}"
            if actor.line and actor.line.text():
                yield f"        {actor.line.text()}"


command = knob_options(check)
