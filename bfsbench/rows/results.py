"""Read and write result files: CSV files with one row per measured configuration, flushed to disk as rows are
made.

Every row is complete by itself. It contains the configuration, the outcome, all samples, and the machine on
which they were measured. A process that is killed while it writes leaves at most one unfinished last line. A
sweep that continues the file removes this line.
"""

from __future__ import annotations

import csv
import errno
import io
import itertools
import math
import mmap
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfsbench.rows.columns import ADDED, AXES, COLUMNS, SAMPLES, appended_columns, columns_of_numbers
from bfsbench.support import storage
from bfsbench.support.errors import InputError, OptionError, UsageError, printable

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
"""Added columns (ADDED) do not change the version, because older files can still be read."""
RESULT_FILE = f"result file of schema {SCHEMA_VERSION}"

LEVELS_SUFFIX = ".levels.csv"
"""Suffix of the level profiles beside a result file."""

COUNTERS_SUFFIX = ".counters.csv"
"""Suffix of files with the counters of emulated kernels, which 'bfsbench explain' writes."""

CEILINGS_SUFFIX = "ceilings.csv"
"""Suffix of files with a device's ceilings, beside result files."""
OTHER_SUFFIXES = (LEVELS_SUFFIX, CEILINGS_SUFFIX, COUNTERS_SUFFIX)
"""Suffixes of the CSV files beside result files that contain no result rows."""


def axes_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a row that identify its point (configuration), in the order of the columns
    AXES."""
    return tuple(row[name] for name in AXES)


def csv_line(values: Iterable[str]) -> bytes:
    """Return these values as one line of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode()


class ResultWriter:
    """Appends rows to a result file, or to another file with ``columns``. When ``append`` returns, rows are
    on disk.

    ``rows`` are the rows that the file had at the beginning, or when ``read_again`` was last called. Columns
    of ADDED that are missing in the file are added to it. Raises UsageError if the file has rows and
    ``resume`` is false, if it cannot be written, or if another run is writing it. Raises InputError if it is
    not a result file of the current format.
    """

    def __init__(self, path: Path, *, resume: bool, columns: Sequence[str] = COLUMNS) -> None:
        from bfsbench.rows.reading import read_known

        self.path = path
        self._first_columns = self.columns = tuple(columns)
        self._file = self._open()
        self._new = os.fstat(self._file).st_size == 0
        try:
            storage.remove_parts(storage.real(path))
            with path.open("rb") as file:
                first = file.readline()
            if not self._new and not (read_header(path, columns) and first.endswith(b"\n")):
                raise InputError(f"{path} is not a {RESULT_FILE}: its first line is not a complete header")
            if not resume and len(first) < os.fstat(self._file).st_size:
                wrong = "{path} exists: add {resume} to continue it, or choose another {out}"
                raise OptionError(wrong, path=path)
            if not self._new:
                _cut_unfinished_line(path)
            self.rows = read_known(path, columns)
            self.columns = self.rows.columns
            if self._new:
                self._write(csv_line(self.columns))
            elif self.rows.header != self.columns:
                self._rewrite(self.rows.relaid(self.columns), range(len(self.rows)))
        except BaseException:
            self.close()
            raise

    def _open(self) -> int:
        """Open the file and lock it, so that no second sweep writes it. The lock ends when this process
        ends.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise UsageError(f"cannot write {self.path}: it is not a file")
            return storage.open_alone(self.path)
        except BlockingIOError:
            raise UsageError(f"{self.path} is being written by another run") from None
        except OSError as error:
            raise self._unwritable(error) from error
        except ValueError as error:  # a name with a null character
            raise UsageError(f"cannot write {self.path}: {error}") from error

    def _unwritable(self, error: OSError) -> UsageError:
        why = error.strerror or error
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space there, then continue with {resume}, or " if is_full else ""
        text = f"cannot write {{path}}: {{why}}; {remedy}choose another place by {{out}}"
        return OptionError(text, path=self.path, why=why)

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Write all of the given rows or none of them. Raises UsageError if writing fails, as on a full disk.

        If a family of problems has columns of its own, its first row adds these columns to the file.
        """
        others = [name for name in appended_columns(self._first_columns) if name not in self.columns]
        if appended := [name for name in others if any(name in row for row in rows)]:
            self.read_again()
            self.columns = (*self.columns, *appended)
            self._rewrite(self.rows.relaid(self.columns), range(len(self.rows)))
        self._write(b"".join(csv_line(str(row.get(name, "")) for name in self.columns) for row in rows))

    def read_again(self) -> None:
        """Read the rows of the file again into ``rows``, including rows that were appended."""
        from bfsbench.rows.reading import read_known

        self.rows = read_known(self.path, self._first_columns)

    def keep_only(self, wanted: Callable[[Mapping[str, str]], bool]) -> None:
        """Keep only the rows for which ``wanted`` returns true. If any row is dropped, a new file replaces
        the old file."""
        kept = [number for number, row in enumerate(self.rows) if wanted(row)]
        if len(kept) < len(self.rows):
            self._rewrite(self.rows.lines(kept), kept)

    def _rewrite(self, lines: Iterable[bytes], numbers: Sequence[int]) -> None:
        """Replace the file by a new file with these lines, and keep only the rows with these ``numbers`` in
        ``rows``.

        The new file is locked before it is renamed, so that no other run can open it in between. Raises
        UsageError if the file cannot be replaced, or if it has a second hard link, which would keep the old
        rows.
        """
        names = os.fstat(self._file).st_nlink
        if names > 1:
            raise UsageError(f"cannot rewrite {self.path}: it has {names} names; put a copy in its place")
        with ExitStack() as obsolete:
            try:
                with storage.replacing(self.path) as file:
                    file.writelines(itertools.chain([csv_line(self.columns)], lines))
                    replacement = storage.open_alone(Path(file.name))
                    obsolete.callback(os.close, replacement)
            except OSError as error:
                raise self._unwritable(error) from error
            obsolete.pop_all()
            obsolete.callback(os.close, self._file)
        self._file = replacement
        self.rows = self.rows.taken(numbers, self.columns)

    def _write(self, data: bytes) -> None:
        start = os.fstat(self._file).st_size
        try:
            if os.write(self._file, data) != len(data):
                os.ftruncate(self._file, start)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the file. If the file is new and has no row, remove it."""
        empty = os.fstat(self._file).st_size <= len(csv_line(self.columns))
        if self._new and empty and storage.is_called(self._file, self.path):
            storage.real(self.path).unlink(missing_ok=True)  # a killed parent may have removed its folder
        os.close(self._file)


def _cut_unfinished_line(path: Path) -> None:
    """Remove the text after the last line break of a file. This text is part of a row that a killed process
    did not finish."""
    with path.open("r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            size, end = len(text), text.rfind(b"\n") + 1
        if end != size:
            file.truncate(end)


def _is_header(names: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether ``names`` are a valid header of a file with ``columns``.

    The columns in ADDED may be absent. After the last of ``columns``, there may be columns that families of
    problems append.
    """
    expected = [name for name in columns if name in names or name not in ADDED]
    own, more = [*names[: len(expected)]], names[len(expected) :]
    return own == expected and (not more or set(more) <= set(appended_columns(tuple(columns))))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Return a context manager that raises InputError if its ``with`` block fails to read the file
    ``name``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:  # the content is not UTF-8, or the name has a null character
        raise InputError(f"cannot read {name}: {error}") from error


def read_header(path: Path, columns: Sequence[str] = COLUMNS) -> list[str]:
    """Return the column names in the first line of a result file, or an empty list for an empty file. Raises
    InputError if the file cannot be read, or if its columns are wrong.
    """
    with _readable(str(path)), path.open(newline="", encoding="utf-8-sig") as file:
        return _header(csv.reader(file), str(path), columns, RESULT_FILE)


def _header(lines: Iterator[list[str]], name: str, columns: Sequence[str], kind: str) -> list[str]:
    """Return the column names in the first line of a file called ``name``. Raises InputError if they are
    wrong.
    """
    header = next(lines, [])
    if not header or _is_header(header, columns):
        return header
    if "" in header:
        raise InputError(f"{name} has a column without a name{NOT_BY_TO_CSV}")
    if "file" in header:
        raise InputError(f"{name} has the column file, which read_results adds: drop it before writing rows")
    strange = [column for column in header if column not in {*columns, *appended_columns(tuple(columns))}]
    if not _is_header([column for column in header if column not in strange], columns):
        missing = [column for column in columns if column not in {*header, *ADDED}]
        few = len(missing) <= len(columns) // 2
        lacks = f": it lacks the columns {', '.join(missing)}" if missing and few else ""
        raise InputError(f"{name} is not a {kind}{lacks}")
    raise InputError(
        f"{name} has columns of no family that is known here: {', '.join(strange)} "
        "(BFSBENCH_VARIANTS may name the folder of one)"
    )


def read_rows(path: Path, columns: Sequence[str] = COLUMNS, kind: str = RESULT_FILE) -> list[dict[str, str]]:
    """Return all rows, as text, of a result file or of another CSV file with the given ``columns``. ``kind``
    names the kind of file in error messages.

    Missing columns of ADDED are filled in. Raises InputError if the file cannot be read, if its columns are
    wrong, or if a row has a wrong number of cells.
    """
    with _readable(str(path)), path.open(newline="", encoding="utf-8-sig") as file:
        return parse_rows(file, str(path), columns, kind)


def parse_rows(
    lines: Iterable[str], name: str, columns: Sequence[str] = COLUMNS, kind: str = RESULT_FILE
) -> list[dict[str, str]]:
    """Return the rows in the lines of a file called ``name``. Columns of ADDED may be absent and are filled
    in. Raises InputError if the columns are wrong, or if a row has a wrong number of cells.
    """
    with _readable(name):
        reader = csv.reader(lines)
        header = _header(reader, name, columns, kind)
        names = [*columns, *(name for name in header if name not in columns)]
        rows = []
        for values in reader:
            if len(values) != len(header):
                where = f"{name}:{reader.line_num}"
                raise InputError(f"{where}: expected {len(header)} columns, found {len(values)}")
            row = dict(zip(header, values, strict=True))
            rows.append({column: row.get(column, ADDED.get(column, "")) for column in names})
        return rows


def result_files(path: Path) -> list[Path]:
    """Return the path itself or, if it is a folder, all result files in it. The first line of a result file
    has the columns graph, variant, search_ms and schema.

    Raises InputError if the folder has no result file, and for a name that no file can have. Also raises
    InputError for a file of level profiles, whose rows are not results.
    """
    with _readable(str(path)):
        folder = path.is_dir()
    if not folder:
        if path.name.endswith(LEVELS_SUFFIX):
            raise InputError(f"{path} holds level profiles: name its result file, or the folder of both")
        return [path]
    found = [file for file in _tables(path) if _has_results(file)]
    if not found:
        raise InputError(f"no result files in {path}")
    return found


def tables_below(folder: Path) -> list[Path]:
    """Return the CSV files in a folder and its subfolders, without files that only lie beside result
    files."""
    return sorted(path for path in folder.rglob("*.csv") if not path.name.endswith(OTHER_SUFFIXES))


def _has_results(path: Path) -> bool:
    with _readable(str(path)), path.open(encoding="utf-8", errors="replace") as file:
        return {"graph", "variant", "search_ms", "schema"} <= {*next(csv.reader([file.readline()]), ())}


def left_out(path: Path) -> list[Path]:
    """Return the CSV files of a folder that are neither result files nor files that accompany a result file,
    such as level profiles. Returns an empty list if ``path`` is a file."""
    if not path.is_dir():
        return []
    return [file for file in _tables(path) if not _has_results(file)]


def _tables(folder: Path) -> list[Path]:
    """Return the CSV files of a folder. Files that only accompany a result file, such as its level profiles,
    are left out."""
    return sorted(file for file in folder.glob("*.csv") if not file.name.endswith(OTHER_SUFFIXES))


def read_results(paths: Iterable[os.PathLike[str] | str], leave_out: Collection[str] = ()) -> pd.DataFrame:
    """Return the rows of several result files, or of all result files in folders, as one table.

    The table's columns are COLUMNS and the columns that families append, except the columns in ``leave_out``.
    The last column is ``file``. Numeric columns are float64, with NaN for a missing value. All other columns
    are text, with control characters escaped. Raises InputError if a file cannot be read, has wrong columns,
    or is of another version of the format. Also raises InputError for an unknown family, for text or infinity
    in a numeric column, for negative amounts, and for fractional counts.
    """
    from bfsbench.rows.reading import read_tables

    files = dict.fromkeys(file for path in paths for file in result_files(Path(path)))
    return read_tables(files, COLUMNS, leave_out)


def typed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows from ``read_results`` with the column types that the function ``table`` uses. Raises
    InputError if a sample is not a number."""
    import pandas as pd

    _, counts = columns_of_numbers()
    made: dict[str, Any] = {name: rows[name].astype("Int64") for name in counts if name in rows}
    for name in SAMPLES:
        lists = []
        for file, text in zip(rows["file"], rows[name], strict=True):
            try:
                lists.append(_samples(text))
            except ValueError as error:
                raise InputError(
                    f"{file}: a sample in {name} is not a number{NOT_BY_TO_CSV}: {error}"
                ) from error
        made[name] = pd.Series(lists, rows.index, dtype=object)
    return rows.assign(**made)


NOT_BY_TO_CSV = " (bfsbench.write_results writes result files, DataFrame.to_csv does not)"
"""The end of messages about files that ``DataFrame.to_csv`` may have written."""


def _samples(text: str) -> list[float]:
    return [float(sample) for sample in text.split(";") if sample]


def as_values(row: Mapping[str, str]) -> dict[str, object]:
    """Return a result row with the types of JSON: numbers, lists of numbers, and text. A missing number is
    None."""
    numbers, counts = columns_of_numbers()
    values: dict[str, object] = dict(row)
    for name in numbers & row.keys():
        number = int if name in counts else float
        values[name] = number(row[name]) if row[name] else None
    return values | {name: _samples(row[name]) for name in SAMPLES if name in row}


def table(rows: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return result rows as a table for analysis. Raises InputError if a numeric column holds text.

    Counts have the type Int64, with NA for a missing value. Other numbers are float64, with NaN for a missing
    value. Columns of ``SAMPLES`` are lists of floats, which may be empty. All other columns are text.
    """
    import pandas as pd

    numbers, counts = columns_of_numbers()
    names = [*COLUMNS, *(name for name in appended_columns(COLUMNS) if any(name in row for row in rows))]
    frame = pd.DataFrame([[row.get(name, "") for name in names] for row in rows], columns=names)
    for name in names:
        texts = frame[name]
        try:
            if name in SAMPLES:
                frame[name] = [_samples(text) for text in texts]
            elif name in counts:
                frame[name] = pd.array([int(text) if text else None for text in texts], dtype="Int64")
            elif name in numbers:
                frame[name] = [float(text) if text else math.nan for text in texts]
        except (ValueError, OverflowError) as error:
            raise InputError(f"column {name} is not numeric: {printable(str(error))}") from error
    return frame


def write(rows: pd.DataFrame, path: Path) -> None:
    """Write rows of ``table`` or ``typed`` as a result file. The column ``file`` is left out. Raises
    UsageError if columns are missing, for columns that result files do not have, and if the file cannot be
    written."""
    import pandas as pd

    if missing := [name for name in COLUMNS if name not in rows and name not in ADDED]:
        raise UsageError(f"rows of a result file need the columns {', '.join(missing)}")
    names = [name for name in (*COLUMNS, *appended_columns(COLUMNS)) if name in rows]
    if unknown := [str(name) for name in rows if name not in {*names, "file"}]:
        raise UsageError(f"a result file cannot have the columns {', '.join(unknown)}: drop them first")

    def text(cell: object) -> str:
        if isinstance(cell, list):
            return ";".join(map(str, cell))
        return "" if cell is None or cell is pd.NA or cell != cell else str(cell)

    with storage.output(path) as file:
        csv.writer(file, lineterminator="\n").writerows(
            [names, *(map(text, row) for row in rows[names].itertuples(index=False, name=None))]
        )
