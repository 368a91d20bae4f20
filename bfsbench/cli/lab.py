"""Define the command ``lab``, and how ``check`` and ``explain`` treat the kernels of exercises."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bfsbench.bench.child import in_child
from bfsbench.cli.options import EXISTING_FOLDER, FOLDER, format_option, graphs_named, limited, rendered
from bfsbench.graphs.load import load_parsed
from bfsbench.reports.table import Cell, Table
from bfsbench.rows.counters import Counters
from bfsbench.rows.point import Point
from bfsbench.support.errors import UsageError
from bfsbench.tools.lab import Exercise, exercises, find, hand_out


@click.command()
@click.argument("name", required=False)
@click.option("--to", "folder", type=FOLDER, help="New folder for the kernel; ./NAME by default.")
@click.option(
    "--class",
    "hand_ins",
    type=EXISTING_FOLDER,
    metavar="FOLDER",
    help="Grade a class: FOLDER has one folder per student, with the student's kernels.",
)
@format_option()
def lab_command(name: str | None, folder: Path | None, hand_ins: Path | None, style: str) -> None:
    """List the exercises, or copy the kernel of one exercise and print its question.

    The list has the grades of the kernels that are in this folder, or in a folder NAME of this folder.

    Change the kernel and have it graded: 'bfsbench check FOLDER' says whether it has passed. 'check FOLDER
    --hint' also gives a hint if the kernel has not passed. No GPU is needed. A kernel runs as your user, so
    grade kernels that others have written only where that is safe.
    """
    if (name and hand_ins) or (folder and not name):
        raise click.UsageError("--to needs the NAME of an exercise, and --class takes no NAME")
    if name:
        from bfsbench.tools.lab.grading import launches

        exercise = find(name)
        if folder is None and Path(exercise.file).is_file():
            raise UsageError(
                f"this folder has {exercise.file}: grade it with 'bfsbench check {exercise.file}', or choose "
                "another folder with --to"
            )
        copied = hand_out(exercise, folder or Path(name))
        commands = ("check", "explain") if exercise.cost else ("check",)
        parts = [
            f"{copied} ({exercise.origin})",
            exercise.question,
            launches(),
            "\n".join(f"bfsbench {command} {copied.parent}" for command in commands),
        ]
        click.echo("\n\n".join(parts))
        return
    if hand_ins:
        from bfsbench.tools.lab.grading import table

        shown = table(hand_ins)
    else:
        shown = _listed()
    click.echo(rendered([shown], style, narrow="another format"), nl=False)


def _listed() -> Table:
    """Grade the kernels in this folder. Returns a table of all exercises, with the grades."""
    from bfsbench.tools.lab.grading import in_a_word

    copies = {
        one.name: kernel
        for one in exercises().values()
        for kernel in (Path(one.file), Path(one.name, one.file))
        if kernel.is_file()
    }
    grades: dict[str, str] = {}
    if copies:
        with click.progressbar(copies.items(), label="grading", file=sys.stderr) as bar:
            grades = {name: in_a_word(kernel) for name, kernel in bar}
    columns = ("name", "kind", "grade", "origin", "question")
    rows: list[tuple[Cell, ...]] = [
        (one.name, "slow" if one.cost else "broken", grades.get(one.name, ""), one.origin, one.question)
        for one in exercises().values()
    ]
    return Table("lab", "Exercises", columns, rows)


def require_no_exercise(words: Sequence[str]) -> None:
    """Raises UsageError if one of ``words`` is the name of an exercise of ``bfsbench lab``. The message says
    which command to use instead."""
    command = click.get_current_context().info_name
    for exercise in filter(None, map(exercises().get, words)):
        if Path(exercise.file).is_file():
            raise UsageError(
                f"{exercise.name} is an exercise, and its kernel is in this folder: "
                f"bfsbench {command} {exercise.file}"
            )
        raise UsageError(
            f"{exercise.name} is an exercise, but its kernel is not here. 'bfsbench lab {exercise.name}' "
            "copies its kernel into a new folder of this name"
        )


def graded_kernel(exercise: Exercise, kernel: Path, hint: bool) -> bool:
    """Grade the kernel of an exercise, and print the result. If the kernel does not pass and ``hint`` is
    true, also print the hint of the exercise. Returns whether the kernel passes."""
    from bfsbench.tools.lab.grading import grade, improvement, runs_of

    with click.progressbar(length=runs_of(exercise), label=exercise.name, file=sys.stderr) as bar:
        found = grade(exercise, kernel, lambda: bar.update(1))
    if not found.problems:
        click.echo(f"{exercise.name}: passed\n  {improvement(exercise, kernel)}")
        return True
    click.echo(f"{exercise.name}: not yet: {'; '.join(found.problems)}\n  {exercise.question}")
    click.echo(f"  Hint: {exercise.hint}" if hint else "  To see a hint, add --hint.")
    return False


def explained_hand_ins(
    hand_ins: Sequence[tuple[Exercise, Path]], dataset: str | None, seed: int, timeout: float
) -> tuple[list[Counters], list[str]]:
    """Count the costs of kernels that solve exercises. Returns the counters. Some exercises set a limit on a
    cost. For each kernel of such an exercise, also returns a line with the cost that ``check`` compares with
    the limit.

    Raises UsageError if the user names no graph and the exercises have different graphs.
    """
    from bfsbench.tools.lab.grading import measure

    graph, *others = {dataset or exercise.graphs[-1] for exercise, _ in hand_ins}
    if others:
        raise UsageError("these exercises have different graphs: name a graph with --dataset")
    alone = len(hand_ins) == 1
    counted, measures = [], []
    for exercise, kernel in hand_ins:
        title = exercise.name if alone else str(kernel)
        counted.append(_count_hand_in(exercise, kernel, title, graph, seed, timeout))
        if exercise.cost and exercise.graphs[-1] == graph:
            with limited(f"the search of {exercise.graphs[-1]}", timeout):
                measures.append(f"{'' if alone else f'{kernel}: '}{measure(exercise, kernel, timeout)}")
    return counted, measures


def _count_hand_in(
    exercise: Exercise, kernel: Path, title: str, graph_name: str, seed: int, timeout: float
) -> Counters:
    """Search from vertex 0 with the kernel of an exercise, and count the costs of its memory accesses.
    Returns the counters. In the counters, the kernel is called ``title``."""
    from bfsbench.tools.explain import count
    from bfsbench.tools.lab.grading import BLOCK, variant_of

    named, *_ = graphs_named([graph_name])
    graph, variant = load_parsed(named), variant_of(exercise, kernel)
    point = Point(named.locator, 0, title, "cpu", None, BLOCK)
    with limited(f"the search of {named.full_name}", timeout):
        return in_child(lambda _step: count(point, graph, seed, variant), limit_s=timeout)
