"""Counters as files: CSV, a row for each level, kernel, source line and kind of access."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.bench.columns import AXES
from bfsbench.bench.results import COUNTERS_SUFFIX, read_rows
from bfsbench.errors import InputError, UsageError
from bfsbench.explain.counters import COUNTERS, KEY, Counters
from bfsbench.storage import output

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (*AXES, "graph_checksum", *KEY, *COUNTERS)
_NUMBERS = ("level", "line", *COUNTERS)


def is_counters_file(path: Path) -> bool:
    """Whether a file is named so."""
    return path.name.endswith(COUNTERS_SUFFIX)


def write_counters(path: Path, counted: Sequence[Counters]) -> None:
    """Write all counters to one file. Raises UsageError for a name that reports would take for results."""
    if not is_counters_file(path):
        raise UsageError(f"--out {path}: a file of counters needs a name that ends in '{COUNTERS_SUFFIX}'")
    with output(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for of in counted:
            axes = (*of.point.axes().values(), of.graph_checksum)
            writer.writerows((*axes, *row) for row in of.lines.itertuples(index=False))


def read_counters(path: Path) -> pd.DataFrame:
    """All rows of a file, with COLUMNS; counters are int64. Raises InputError."""
    import pandas as pd

    frame = pd.DataFrame(read_rows(path, COLUMNS, "file of counters"), columns=list(COLUMNS))
    for name in _NUMBERS:
        try:
            frame[name] = frame[name].astype("int64")
        except (ValueError, OverflowError) as error:
            raise InputError(f"{path}: column {name} has what is no whole number: {error}") from None
    return frame
