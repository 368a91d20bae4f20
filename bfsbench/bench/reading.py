"""Files of rows as data frames, at the speed of pandas' parser."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfsbench.bench.columns import ADDED, AMOUNTS, COUNTS, appended_columns
from bfsbench.bench.results import SCHEMA_VERSION, read_header, read_rows
from bfsbench.errors import InputError, UsageError
from bfsbench.variants import all_families, find_family
from bfsbench.wording import printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

_PORTION = 100_000
"""Rows parsed at a time: memory is needed for their texts, and for each distinct text once."""

_BEYOND = "beyond the last column"


def read_tables(
    files: Iterable[Path],
    columns: Sequence[str],
    numeric: Sequence[str],
    leave_out: Collection[str] = (),
) -> pd.DataFrame:
    """The rows of files of these columns, some of them ``numeric``, in one table; see ``read_results``.

    Columns in ``leave_out`` are not read, which saves memory, but for ``schema``.
    """
    import pandas as pd

    appended = appended_columns(tuple(columns))
    numbers = {*numeric, *(name for name, column in appended.items() if column.numeric)}
    frames = []
    for path in files:
        frame = _read(path, columns, numbers, {*leave_out} - {"schema"})
        _check_schema(frame, path)
        _check_families(frame, path)
        _check_numbers(frame, numbers, path)
        frame["file"] = printable(str(path))
        frames.append(frame)
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    if len(filled) == 1:
        return filled[0]
    whole = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=[*columns, "file"])
    texts = {name: "" for name in appended if name in whole and name not in numbers}
    whole = whole.fillna(texts) if texts else whole
    return whole[[*(name for name in whole if name != "file"), "file"]]


def read_texts(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> dict[str, list[str]]:
    """Some columns of a file as text; missing ones get their default in ADDED. Raises InputError like
    ``read_rows``."""
    header = read_header(path, columns)
    try:
        frame = _parsed(path, header, set(), {*header} - {*wanted})
        size = len(frame)
        found = {str(name): frame[name].tolist() for name in frame}
    except _SuspiciousError:
        rows = read_rows(path, columns)
        size = len(rows)
        found = {name: [row[name] for row in rows] for name in wanted}
    return {name: found[name] if name in found else [ADDED[name]] * size for name in wanted}


def _read(path: Path, columns: Sequence[str], numbers: set[str], leave_out: Collection[str]) -> pd.DataFrame:
    """The rows of one file, by the fast parser, or by ``read_rows`` where the file may be malformed."""
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
    """A row may have the wrong length, or a cell is not a number."""


def _parsed(path: Path, header: Sequence[str], numbers: set[str], leave_out: Collection[str]) -> pd.DataFrame:
    """The file as pandas' parser reads it, in chunks. Raises _SuspiciousError."""
    import numpy as np
    import pandas as pd

    if not header:
        raise _SuspiciousError
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in header if name not in leave_out}
    shared: dict[str, str] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            portions = pd.read_csv(
                path,
                header=0,
                names=[*header, _BEYOND],
                usecols=[*{*columns, header[-1], _BEYOND}],
                dtype={name: "float64" if name in numbers else object for name in header},
                keep_default_na=False,
                na_values={name: [""] for name in header if name in numbers},
                index_col=False,
                skip_blank_lines=False,
                encoding="utf-8-sig",
                chunksize=_PORTION,
            )
            for portion in portions:
                last = portion[header[-1]]
                if last.isna().any() or (last == "").any() or portion[_BEYOND].notna().any():
                    raise _SuspiciousError  # a row that is too short or too long looks like this
                for name, parts in columns.items():
                    numeric = name in numbers
                    parts.append(portion[name].to_numpy() if numeric else _texts(portion[name], shared))
    except (ValueError, pd.errors.ParserWarning) as error:
        raise _SuspiciousError from error
    frame = pd.DataFrame(index=pd.RangeIndex(sum(map(len, columns[header[0]]))))
    for name in [*columns]:
        parts = columns.pop(name)
        kind = np.float64 if name in numbers else object
        frame[name] = pd.Series(np.concatenate(parts) if parts else [], dtype=kind)
    return frame


def _texts(column: pd.Series[Any], shared: dict[str, str]) -> npt.NDArray[np.object_]:
    """The texts of a column, printable; equal ones are one object, also between columns."""
    import numpy as np
    import pandas as pd

    codes, found = pd.factorize(column)
    if len(found) > len(column) / 2 and all(map(str.isprintable, found)):
        return column.to_numpy(object)  # samples, of which no two are equal
    known = np.empty(len(found), object)
    known[:] = [shared.setdefault(text, text) for text in map(printable, found)]
    return known[codes]


def _checked(path: Path, columns: Sequence[str], numbers: set[str]) -> pd.DataFrame:
    """The file as ``read_rows`` reads it, whose errors name the place. Raises InputError."""
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
    """Raises InputError for rows of families that are not known here."""
    for name in frame["family"].unique() if "family" in frame else ():
        try:
            find_family(name)
        except UsageError as error:
            raise InputError(f"{path}: {error}") from error


def _check_schema(frame: pd.DataFrame, path: Path) -> None:
    """Raises InputError for a row of another schema, whose columns may mean something else. A row may name
    none."""
    if "schema" not in frame:
        return
    wrong = ~frame["schema"].isin([str(SCHEMA_VERSION), ""]).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        found = frame["schema"].iloc[row]
        raise InputError(f"{path}: row {row + 1} has schema '{found}', not {SCHEMA_VERSION}")


def _check_numbers(frame: pd.DataFrame, numbers: set[str], path: Path) -> None:
    """Raises InputError for infinite numbers, counts that are none or have over 63 bits, negative amounts."""
    counts = {*COUNTS, *_counts_of_families()}
    for name in numbers & {*frame.columns}:
        known = frame[name].dropna()
        wrong = known.abs() == math.inf
        if name in counts:
            wrong |= (known < 0) | (known % 1 != 0) | (known >= 2.0**63)
        elif name in AMOUNTS:
            wrong |= known < 0
        if wrong.any():
            row, value = known[wrong].index[0], known[wrong].iloc[0]
            what = "a count" if name in counts else "a finite number"
            least = ", 0 or more" if name in AMOUNTS else ""
            raise InputError(
                f"{path}: row {row + 1}: column {name} has {value:g}, which is not {what}{least}"
            )


def _counts_of_families() -> Iterable[str]:
    families: Mapping[str, Any] = all_families()
    return (
        column.name
        for family in families.values()
        for column in (*family.columns, *family.profile)
        if column.kind == "count"
    )
