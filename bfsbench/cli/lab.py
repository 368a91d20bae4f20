"""Define the command ``bfsbench lab``, which offers broken and slow kernels as exercises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bfsbench.cli.options import format_option, rendered

if TYPE_CHECKING:
    from bfsbench.reports.table import Table


@click.command(short_help="Learn with broken and slow kernels of the papers' figures.")
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
def command(name: str | None, folder: Path | None, hand_ins: Path | None, style: str) -> None:
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
            rendered([table(hand_ins) if hand_ins else _list()], style, narrow="another format"), nl=False
        )
        return
    exercise = find(name)
    copied = hand_out(exercise, folder or Path(name))
    click.echo(f"{copied} ({exercise.origin})\n\n{exercise.question}\n\nbfsbench check {copied.parent}")


def _list() -> Table:
    from bfsbench.reports.table import Cell, Table
    from bfsbench.tools.lab import exercises

    rows: list[tuple[Cell, ...]] = [
        (one.name, "slow" if one.cost else "broken", one.origin, one.question) for one in exercises().values()
    ]
    return Table("lab", "Exercises", ("name", "kind", "origin", "question"), rows)
