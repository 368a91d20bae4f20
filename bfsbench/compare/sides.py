"""A side of a comparison: rows of a file, of a folder, of a revision in git, of a commit."""

from __future__ import annotations

import io
import math
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, SupportsFloat

from bfsbench.bench.columns import AXES, NUMERIC
from bfsbench.bench.point import knob_values
from bfsbench.bench.results import parse_rows, read_rows, result_files
from bfsbench.errors import InputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]


@dataclass(frozen=True)
class Side:
    """Result rows with a name for messages."""

    name: str
    rows: list[Row]


def read_side(operand: str) -> Side:
    """The rows of ``FILE``, of all result files in ``FOLDER``, or of ``FILE@REVISION`` as git has it.

    Raises InputError, also for cells that are no numbers or knobs; UsageError.
    """
    name, at, revision = operand.rpartition("@")
    if at and name and revision and not Path(operand).exists():
        return Side(operand, _checked(operand, _rows_in_git(operand, Path(name), revision)))
    files = result_files(Path(operand))
    return Side(operand, [row for file in files for row in _checked(str(file), read_rows(file))])


def of_frame(rows: pd.DataFrame, name: str) -> Side:
    """The rows of a sweep or of ``read_results`` as text, as files have them. Raises UsageError,
    and InputError for cells that are no numbers or knobs."""
    missing = [column for column in AXES if column not in rows]
    if missing:
        raise UsageError(f"side {name} has no result rows: it lacks {', '.join(missing)}")
    records = rows.to_dict("records")
    texts = [{str(column): _text(value) for column, value in row.items()} for row in records]
    return Side(name, _checked(f"side {name}", texts))


def _checked(name: str, rows: list[Row]) -> list[Row]:
    """The rows; raises InputError for a cell that is no number where it should be, and for knobs."""
    for column in NUMERIC:
        for text in {row.get(column, "") for row in rows}:
            try:
                float(text or 0)
            except ValueError:
                raise InputError(f"{name}: column {column} is not numeric: '{text}'") from None
    for text in {row["knobs"] for row in rows}:
        try:
            knob_values(text)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    return rows


def _text(value: object) -> str:
    """A cell as files have it: whole numbers without a decimal point, samples between semicolons."""
    if isinstance(value, list):
        return ";".join(map(str, value))
    if isinstance(value, str):
        return value
    number = float(value) if isinstance(value, SupportsFloat) else math.nan  # pandas.NA is no number
    if math.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() else str(number)


def of_commits(side: Side, first: str, second: str) -> tuple[Side, Side]:
    """The rows of a side that were taken at either of two commits. Raises UsageError."""
    found = (_commit_called(commit, side) for commit in (first, second))
    a, b = (Side(name, [row for row in side.rows if row["commit"] == name]) for name in found)
    return a, b


def _commit_called(wanted: str, side: Side) -> str:
    """The commit in a side's rows that equals or begins with ``wanted``."""
    counts = Counter(row["commit"] for row in side.rows)
    if wanted in counts:
        return wanted
    found = [commit for commit in counts if commit.startswith(wanted) and wanted]
    if len(found) == 1:
        return found[0]
    among = found or list(counts)
    told = ", ".join(f"{commit or 'none'} ({counts[commit]} rows)" for commit in among)
    problem = "is ambiguous" if found else "has no rows"
    raise UsageError(f"commit '{wanted}' {problem} in {side.name}: there are {told}")


def _rows_in_git(operand: str, path: Path, revision: str) -> list[Row]:
    """The rows of a file as they were at a revision of the repository that its folder belongs to."""
    if not path.parent.is_dir():
        raise InputError(f"cannot read {operand}: there is no folder {path.parent}")
    command = ["git", "-C", str(path.parent), "show", "--end-of-options", f"{revision}:./{path.name}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise UsageError(f"cannot read {operand}: git cannot be run ({error.strerror})") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise InputError(f"cannot read {operand}: {said[0].removeprefix('fatal: ')}")
    text = io.StringIO(done.stdout.decode("utf-8-sig", errors="replace"), newline="")
    return parse_rows(text, operand)
