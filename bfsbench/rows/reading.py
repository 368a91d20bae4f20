"""Read files of rows as data frames, at the speed of pandas' parser.

A sweep that continues a file keeps in memory only the columns that identify its rows. A million whole rows
would take gigabytes. The rest of a row is read from the file when needed.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import warnings
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bfsbench.rows.columns import ADDED, AMOUNTS, AXES, appended_columns, columns_of_numbers
from bfsbench.rows.results import SCHEMA_VERSION, csv_line, read_header, read_rows
from bfsbench.support.errors import InputError, UsageError, printable
from bfsbench.variants import find_family

if TYPE_CHECKING:
    import pandas as pd

_PORTION = 4096
"""Number of rows that are parsed at a time. This many rows fit into the processor's cache. If a column has
equal texts in these rows, pandas makes one object of them, which saves memory."""

_LARGEST = 1e18
"""The largest accepted time, energy, power or memory size. Sums and ratios of larger numbers could be
infinite."""


def read_tables(
    files: Iterable[Path], columns: Sequence[str], leave_out: Collection[str] = ()
) -> pd.DataFrame:
    """Return the rows of all ``files`` as one DataFrame. Columns of numbers have the dtype float64.

    ``columns`` are the columns that each file must have. To save memory, columns in ``leave_out`` are not
    read, except ``schema``. The added column ``file`` names the file of each row. Raises InputError for files
    that ``read_results`` refuses.
    """
    import pandas as pd

    numbers, counts = columns_of_numbers()
    frames = []
    for path in files:
        frame = _read(path, columns, numbers, {*leave_out} - {"schema"})
        if "schema" in frame:
            require_schemas(frame["schema"].tolist(), path)
        _check_families(frame, path)
        _check_numbers(frame, numbers, counts, path)
        frame["file"] = printable(str(path))
        frames.append(frame)
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    if len(filled) == 1:
        return filled[0]
    whole = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=[*columns, "file"])
    texts = {name: "" for name in appended_columns(tuple(columns)) if name in whole and name not in numbers}
    whole = whole.fillna(texts) if texts else whole
    return whole[[*(name for name in whole if name != "file"), "file"]]


def read_texts(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> dict[str, list[str]]:
    """Return the ``wanted`` columns of a file as text. Missing columns get their defaults from ADDED.

    Raises InputError if the file cannot be read, if its columns are wrong, or if a row has a wrong number of
    cells.
    """
    others = {*columns, *appended_columns(tuple(columns))} - {*wanted}
    frame = _read(path, columns, set(), others)
    return {name: frame[name].tolist() for name in wanted}


def _read(path: Path, columns: Sequence[str], numbers: set[str], leave_out: Collection[str]) -> pd.DataFrame:
    """Return the rows of one file.

    If the fast parser suspects an error, ``read_rows`` reads the file instead.
    """
    header = read_header(path, columns)
    try:
        frame = _parsed(path, header, numbers, leave_out)
    except _SuspiciousError:
        frame = _checked(path, columns, numbers).drop(columns=[*leave_out], errors="ignore")
    for name in {*columns} & {*ADDED} - {*header, *leave_out}:
        frame[name] = math.nan if name in numbers else ADDED[name]
    order = [*(name for name in columns if name in frame), *(name for name in frame if name not in columns)]
    return frame if [*frame] == order else frame[order]


class _SuspiciousError(Exception):
    """Raised when a row of a file may have the wrong length, or when a cell of a numeric column is not a
    number.
    """


def _parsed(path: Path, header: Sequence[str], numbers: set[str], leave_out: Collection[str]) -> pd.DataFrame:
    """Read the rows of a file in chunks with pandas' parser, and return them. Raises _SuspiciousError if the
    file may be malformed.
    """
    import pandas as pd

    if not header:
        raise _SuspiciousError
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in header if name not in leave_out}
    ends_empty = False
    types: dict[str, str | type[object]] = {name: "float64" if name in numbers else object for name in header}
    # pandas also reads the columns to leave out, but only one byte per cell. Without these columns, it would
    # not notice rows that are too long.
    types |= {name: "S1" for name in header[:-1] if name in leave_out}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            portions = pd.read_csv(
                path,
                header=0,
                names=[*header],
                dtype=types,
                keep_default_na=False,
                na_values={name: [""] for name in header if name in numbers},
                index_col=False,
                skip_blank_lines=False,
                encoding="utf-8",  # a byte order mark is skipped, too, and "utf-8-sig" takes longer
                chunksize=_PORTION,
                low_memory=False,
            )
            for portion in portions:
                last = portion[header[-1]]
                ends_empty = ends_empty or bool(last.isna().any() or (last == "").any())
                for name, parts in columns.items():
                    cells = portion[name].to_numpy()
                    parts.append(cells if name in numbers else _escaped(cells))
        if ends_empty and not _all_have(len(header), path):
            raise _SuspiciousError  # pandas fills a row that is too short with missing values
    except (ValueError, csv.Error, pd.errors.ParserWarning) as error:
        raise _SuspiciousError from error
    frame = pd.DataFrame(index=pd.RangeIndex(sum(map(len, columns[header[0]]))))
    for name in [*columns]:
        parts = columns.pop(name)
        kind = np.float64 if name in numbers else object
        frame[name] = pd.Series(np.concatenate(parts) if parts else [], dtype=kind)
    return frame


def _all_have(num_cells: int, path: Path) -> bool:
    """Return whether every row of a CSV file has ``num_cells`` cells."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return all(len(cells) == num_cells for cells in csv.reader(file))


def _escaped(texts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Return the texts with control characters escaped."""
    strange = {text: printable(text) for text in {*texts} if not text.isprintable()}
    return np.array([strange.get(text, text) for text in texts], object) if strange else texts


def _checked(path: Path, columns: Sequence[str], numbers: set[str]) -> pd.DataFrame:
    """Return the rows of a file as ``read_rows`` reads them.

    Raises InputError if a line or column is faulty. The message names the line or column.
    """
    import pandas as pd

    rows = read_rows(path, columns)
    frame = pd.DataFrame(rows, columns=list(rows[0] if rows else columns), dtype=object)
    for name in map(str, frame.columns):
        if name not in numbers:
            frame[name] = frame[name].map(printable)
            continue
        try:
            frame[name] = pd.to_numeric(frame[name].where(frame[name] != "", None)).astype("float64")
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{path}: column {name} is not numeric: {error}") from error
    return frame


def _check_families(frame: pd.DataFrame, path: Path) -> None:
    for name in frame["family"].unique() if "family" in frame else ():
        try:
            find_family(name)
        except UsageError as error:
            raise InputError(f"{path}: {error}") from error


def require_schemas(schemas: Sequence[str], path: Path) -> None:
    """Check that all rows have the current version of the file format. Raises InputError for a row of another
    version, because its columns may have other meanings.

    Rows without a version in the column ``schema`` are accepted.
    """
    known = {str(SCHEMA_VERSION), ""}
    if {*schemas} - known:
        row, found = next((row, text) for row, text in enumerate(schemas, 1) if text not in known)
        raise InputError(f"{path}: row {row} has schema '{found}', not {SCHEMA_VERSION}")


def _check_numbers(frame: pd.DataFrame, numbers: set[str], counts: set[str], path: Path) -> None:
    """Raise InputError for infinite numbers, negative amounts, and counts that are not whole numbers below
    2^63.
    """
    for name in numbers & {*frame.columns}:
        values = frame[name].to_numpy()
        wrong = np.isinf(values)
        if name in counts:
            wrong |= (values < 0) | (np.floor(values) < values) | (values >= 2.0**63)
        elif name in AMOUNTS:
            wrong |= (values < 0) | (values > _LARGEST)
        if wrong.any():
            row = int(wrong.argmax())
            value = values[row]
            what = "a count" if name in counts else "a finite number"
            least = f", 0 or more and at most {_LARGEST:g}" if name in AMOUNTS else ""
            where = f"{path}: row {row + 1}: column {name}"
            raise InputError(f"{where} has {value:g}, which is not {what}{least}")


_BRIEF = (
    *AXES,
    *("status", "reason", "parents_ms", "kernel_ms", "search_ms_samples"),
    *("graph_checksum", "gpu", "compute_capability", "host_cpu", "method", "code", "schema"),
)
"""Columns that KnownRows keeps in memory: the columns that identify a row, and a few more. Other columns are
read from the file when they are needed."""
Texts = Mapping[str, list[str]]
"""The texts of all rows, by the name of the column."""
_BLOCK = 1 << 24
"""Bytes read at a time."""


@dataclass(slots=True, eq=False)
class KnownRow(Mapping[str, str]):
    """One row of a KnownRows object, as a mapping from the names of columns to texts."""

    _rows: KnownRows
    _number: int

    def __getitem__(self, name: str) -> str:
        texts = self._rows.texts.get(name)
        return texts[self._number] if texts is not None else self._rows.whole(self._number)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.columns)

    def __len__(self) -> int:
        return len(self._rows.columns)


class KnownRows:
    """All rows that a file contains when this object is made.

    If the file grows or is replaced later, these rows are still read from the old file.
    """

    def __init__(self, path: Path, header: Sequence[str], columns: Sequence[str], texts: Texts) -> None:
        """Open the file at ``path``.

        ``header`` is its first line. ``columns`` are the columns of its rows, including columns of ADDED that
        are missing in the header. ``texts`` holds the columns in _BRIEF of all rows. These columns are kept
        in memory.
        """
        self.columns = tuple(columns)
        self.header = tuple(header)
        self.texts = texts
        self._path = path
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        self._size = os.fstat(self._file).st_size
        self._starts: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.texts[AXES[0]])

    def __iter__(self) -> Iterator[KnownRow]:
        return (KnownRow(self, number) for number in range(len(self)))

    def values(self, *names: str) -> Iterator[tuple[str, ...]]:
        """Yield the texts of the columns ``names`` for each row. The columns must be among the columns that
        are kept in memory (_BRIEF)."""
        return zip(*(self.texts[name] for name in names), strict=True)

    def taken(self, numbers: Sequence[int], header: Sequence[str]) -> KnownRows:
        """Return a KnownRows object with only the rows that have these ``numbers`` in this object. Call this
        after the file at this path was replaced by a file with only these rows and the header ``header``.
        """
        chosen = {name: [texts[number] for number in numbers] for name, texts in self.texts.items()}
        return KnownRows(self._path, header, header, chosen)

    def whole(self, number: int) -> dict[str, str]:
        """Return all columns of the row with this number. Raises InputError if any row of the file spans
        several lines.
        """
        (line,) = self.lines([number])
        (values,) = csv.reader([line.decode()])
        return self._completed(values, self.columns)

    def _completed(self, values: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
        """Return a row that has all ``columns``, given its values in the file.

        Columns that are missing in the file get their default from ADDED, or are empty.
        """
        row = dict(zip(self.header, values, strict=True))
        return {name: row.get(name, ADDED.get(name, "")) for name in columns}

    def lines(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Yield the rows with these numbers as lines of the file. Raises InputError if any row of the file
        spans several lines.
        """
        if self._starts is None:
            ends = [np.empty(0, np.int64)]
            for start in range(0, self._size, _BLOCK):
                block = os.pread(self._file, min(_BLOCK, self._size - start), start)
                ends.append(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + (start + 1))
            self._starts = np.concatenate(ends)
            if len(self._starts) != len(self) + 1:
                raise InputError(f"{self._path} has rows of several lines, which cannot be continued")
        starts = self._starts
        for number in numbers:
            yield os.pread(self._file, int(starts[number + 1] - starts[number]), int(starts[number]))

    def relaid(self, columns: Sequence[str]) -> Iterator[bytes]:
        """Yield all rows as lines of a new file, which has the columns ``columns``."""
        with os.fdopen(os.dup(self._file), newline="", encoding="utf-8") as file:
            file.seek(0)
            for values in itertools.islice(csv.reader(file), 1, len(self) + 1):
                yield csv_line(self._completed(values, columns).values())


def read_known(path: Path, columns: Sequence[str]) -> KnownRows:
    """Return the rows of a file that must have the columns ``columns``. Raises InputError if the file is not
    valid."""
    header = read_header(path, columns)
    names = (*columns, *(name for name in header if name not in columns))
    wanted = [name for name in _BRIEF if name in names]
    texts = read_texts(path, columns, wanted)
    require_schemas(texts.get("schema", ()), path)
    return KnownRows(path, header or names, names, texts)
