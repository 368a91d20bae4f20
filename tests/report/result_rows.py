"""Artificial result rows for tests, written and read back as a sweep's rows are."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bfsbench.reports import Table, tables
from bfsbench.rows.results import SCHEMA_VERSION, ResultWriter, read_results

EDGES_TRAVERSED = 1000


def row(search_ms: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A successful row of a GPU, with samples of 1, 1.1 and 1.5 times ``search_ms``."""
    filled: dict[str, Any] = {
        **{"graph": "grid:directed", "source": 0, "variant": "pull", "backend": "cuda"},
        **{"grid": "auto", "block": 256, "knobs": "", "family": "bfs"},
        **{"status": "ok", "reason": "", "search_ms": search_ms, "search_ms_median": search_ms * 1.1},
        **{"search_ms_max": search_ms * 1.5, "wall_ms": search_ms * 2, "depth": 4, "reached": 90},
        "edges_traversed": EDGES_TRAVERSED,
        "mteps": EDGES_TRAVERSED / search_ms / 1000 if search_ms else "",
        **{"num_vertices": 100, "num_edges": 250, "graph_checksum": "c" * 64, "source_checksum": "s" * 64},
        **{"gpu": "NVIDIA H200", "compute_capability": "9.0", "driver": "580.1", "cuda": "13.0"},
        **{"sm_clock_mhz": 1980, "memory_clock_mhz": 3201, "throttle": "none"},
        **{"host": "node1", "host_cpu": "Xeon", "python": "3.12.1", "version": "1.0", "commit": "abc"},
        **{"method": "", "warnings": "", "code": ""},
        **{"schema": SCHEMA_VERSION, "taken_at": "2026-11-21T10:00:00Z"},
    }
    return {**filled, **changes}


def host_row(search_ms: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A successful row of the sequential CPU program."""
    cpu = {"variant": "cpu_queue", "backend": "host", "grid": "", "block": "", "gpu": "", "driver": ""}
    return row(search_ms, **{**cpu, "compute_capability": "", "cuda": "", **changes})


def emulated_row(search_ms: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A successful row of kernels emulated on the CPU."""
    return row(search_ms, **{"backend": "cpu", "gpu": "", "compute_capability": "", **changes})


def failed_row(
    status: str = "cannot launch", reason: str = "too many threads", **changes: Any
) -> dict[str, Any]:
    """A row without a time."""
    figures = ("search_ms", "search_ms_median", "search_ms_max", "wall_ms", "depth", "reached", "mteps")
    return {**row(), **dict.fromkeys(figures, ""), "status": status, "reason": reason, **changes}


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A result file of these rows, in the place of one that is there."""
    path.unlink(missing_ok=True)
    writer = ResultWriter(path, resume=False)
    writer.append(*rows)
    writer.close()
    return path


def frame(folder: Path, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """These rows as a report gets them."""
    return read_results([write(folder / "rows.csv", rows)])


def records(table: Table) -> list[dict[str, Any]]:
    """Its rows by the names of its columns."""
    return [dict(zip(table.columns, line, strict=True)) for line in table.rows]


def drawings(table: Table) -> tuple[Table, ...]:
    """The tables that people read in its place."""
    assert table.drawings is not None
    return table.drawings


def table_of(name: str, folder: Path, rows: Iterable[Mapping[str, Any]]) -> Table:
    """The one table of this name that a report of these rows has."""
    return only(tables(frame(folder, rows), [name]))


def only(made: list[Table]) -> Table:
    """The one table of a list."""
    (table,) = made
    return table
