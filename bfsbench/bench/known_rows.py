"""The rows that a file already has, as far as continuing it needs them. A million whole rows would take
gigabytes. Only the identifying columns are read at first, each distinct text stored once; the rest of a row
is read from the file on demand.
"""

from __future__ import annotations

import csv
import io
import itertools
import operator
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from bfsbench.bench.columns import ADDED, AXES
from bfsbench.bench.reading import read_texts
from bfsbench.bench.results import read_header
from bfsbench.errors import InputError

_BRIEF = (
    *AXES,
    *("status", "parents_ms", "graph_checksum", "gpu", "compute_capability", "host_cpu", "method", "code"),
)
"""Columns that are kept in memory."""
Texts = Mapping[str, list[str]]
"""Columns by name."""
_PORTION = 10_000
"""Rows written at a time."""
_BLOCK = 1 << 24
"""Bytes read at a time."""


class KnownRow(Mapping[str, str]):
    """A row by the names of its columns."""

    __slots__ = ("_number", "_rows")

    def __init__(self, rows: KnownRows, number: int) -> None:
        self._rows = rows
        self._number = number

    def __getitem__(self, name: str) -> str:
        texts = self._rows.texts.get(name)
        return texts[self._number] if texts is not None else self._rows.whole(self._number)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.columns)

    def __len__(self) -> int:
        return len(self._rows.columns)


class KnownRows(Sequence[KnownRow]):
    """All rows that a file has when this is constructed. If the file grows or is replaced afterwards, its
    rows are still read from the old file."""

    def __init__(self, path: Path, header: Sequence[str], columns: Sequence[str], texts: Texts) -> None:
        """``header``: the first line; ``columns``: those, and those ADDED since; ``texts``: of _BRIEF."""
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

    @overload
    def __getitem__(self, place: int) -> KnownRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[KnownRow]: ...
    def __getitem__(self, place: int | slice) -> KnownRow | list[KnownRow]:
        numbers = range(len(self))[place]
        return KnownRow(self, numbers) if isinstance(numbers, int) else [KnownRow(self, n) for n in numbers]

    def __iter__(self) -> Iterator[KnownRow]:
        return (KnownRow(self, number) for number in range(len(self)))

    def taken(self, numbers: Sequence[int], header: Sequence[str]) -> KnownRows:
        """The rows that were kept when the file was rewritten under a new ``header``."""
        chosen = {name: [texts[number] for number in numbers] for name, texts in self.texts.items()}
        return KnownRows(self._path, header, header, chosen)

    def whole(self, number: int) -> dict[str, str]:
        """A row with all its columns. Raises InputError where rows have several lines."""
        (line,) = self.lines([number])
        (values,) = csv.reader([line.decode()])
        row = dict(zip(self.header, values, strict=True))
        return {name: row.get(name, ADDED.get(name, "")) for name in self.columns}

    def lines(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Rows as lines of the file. Raises InputError where rows have several lines."""
        starts = self._line_starts()
        for number in numbers:
            yield os.pread(self._file, int(starts[number + 1] - starts[number]), int(starts[number]))

    def relaid(self, columns: Sequence[str]) -> Iterator[bytes]:
        """All rows as lines with other columns; missing columns get their default in ADDED, or are empty."""
        places = {name: place for place, name in enumerate(self.header)}
        more = [ADDED.get(name, "") for name in columns if name not in places]
        after = itertools.count(len(self.header))
        pick = operator.itemgetter(*(places[name] if name in places else next(after) for name in columns))
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        with os.fdopen(os.dup(self._file), newline="", encoding="utf-8") as file:
            file.seek(0)
            rows = itertools.islice(csv.reader(file), 1, len(self) + 1)
            while portion := list(itertools.islice(rows, _PORTION)):
                writer.writerows(pick(values + more) for values in portion)
                yield lines.getvalue().encode()
                lines.seek(0)
                lines.truncate()

    def _line_starts(self) -> npt.NDArray[np.int64]:
        """Byte offsets where each row begins and the last one ends. Raises InputError where a row has several
        lines."""
        if self._starts is None:
            ends = [np.empty(0, np.int64)]
            for start in range(0, self._size, _BLOCK):
                block = os.pread(self._file, min(_BLOCK, self._size - start), start)
                ends.append(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + (start + 1))
            self._starts = np.concatenate(ends)
            if len(self._starts) != len(self) + 1:
                raise InputError(f"{self._path} has rows of several lines, which cannot be continued")
        return self._starts


def read_known(path: Path, columns: Sequence[str]) -> KnownRows:
    """The rows of a file of these columns. Raises InputError as ``read_rows`` does."""
    header = read_header(path, columns)
    names = (*columns, *(name for name in header if name not in columns))
    wanted = [name for name in _BRIEF if name in names]
    if not header:
        return KnownRows(path, names, names, {name: [] for name in wanted})
    return KnownRows(path, header, names, read_texts(path, columns, wanted))
