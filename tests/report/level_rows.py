"""Artificial level profiles for tests, written beside result rows as a sweep writes them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from result_rows import row, write

from bfsbench.rows.columns import PROFILE_COLUMNS as COLUMNS
from bfsbench.rows.results import LEVELS_SUFFIX, ResultWriter


def level(number: int, **changes: Any) -> Mapping[str, Any]:
    """A row of the profile of ``row()``, whose frontier is twice the level before."""
    shared = {name: row().get(name, "") for name in COLUMNS}
    costs = {"kernel": "pull", "frontier_size": 2**number, "edges_inspected": 7, "time_us": 10.0 + number}
    return {**shared, "level": number, **costs, **changes}


def profiled(folder: Path, rows: Iterable[Mapping[str, Any]], levels: Iterable[Mapping[str, Any]]) -> Path:
    """A result file with level profiles beside it."""
    path = write(folder / "profiled.csv", rows)
    writer = ResultWriter(path.with_name("profiled" + LEVELS_SUFFIX), resume=False, columns=COLUMNS)
    writer.append(*levels)
    writer.close()
    return path
