"""Result files as tables, on the command line and in a notebook::

    from bfsbench.rows.results import read_results
    from bfsbench.reports import select, tables

    rows = select(read_results(["results/a.csv"]), graphs=["soc-Epinions1"], backends=["cuda", "host"])
    for table in tables(rows, ["best"]):
        display(table.title, table.frame())

Each table is a function of this package from rows (as ``read_results`` gives them) to a list of ``Table``;
:mod:`bfsbench.reports.table` makes text of them. Times of emulated kernels get tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from bfsbench.reports.best import best_times
from bfsbench.reports.heatmap import NAME, heat_maps
from bfsbench.reports.levels import level_tables
from bfsbench.reports.listed import failed_points, graph_counts
from bfsbench.reports.provenance import origins, warnings, with_footnotes
from bfsbench.reports.ranking import matrices, rankings
from bfsbench.reports.rows import EMULATED, as_read, select
from bfsbench.reports.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NOT_IN_TABLES", "NOT_ON_PAGES", "TABLES", "Table", "select", "summary", "tables", "warnings"]

TABLES: dict[str, Callable[[pd.DataFrame], list[Table]]] = {
    "datasets": graph_counts,
    "ranking": rankings,
    "matrix": matrices,
    "best": best_times,
    "levels": level_tables,
    "heatmap": heat_maps,
    "failures": failed_points,
    "provenance": origins,
}
"""All tables by name, in the order they are shown."""


NOT_IN_TABLES = (
    *("wall_ms", "wall_ms_samples", "reset_ms", "parents_ms"),
    *("source_checksum", "gpu_bus_id"),
)
"""Columns of result files that no table needs; they are not read when tables are made of many rows."""

NOT_ON_PAGES = ("wall_ms_samples", "parents_ms", "source_checksum", "gpu_bus_id")
"""Columns that an HTML page does not need."""


def tables(
    rows: pd.DataFrame, names: Iterable[str] | None = None, levels: pd.DataFrame | None = None
) -> list[Table]:
    """The tables of these names made from rows of result files, and from the level profiles beside them.

    None means all but levels and the matrix, with a ranking where there are several graphs, heat maps drawn
    only for the fastest search on each graph, and without those of emulated kernels, whose times do not
    depend on the launch as on a GPU.
    """
    rows = as_read(rows)
    makers = TABLES | {
        "best": partial(best_times, levels=levels),
        "levels": partial(level_tables, levels=levels),
    }
    if names is not None:
        return with_footnotes((table for name in names for table in makers[name](rows)), rows)
    del makers["levels"], makers["matrix"]
    measured = rows[rows["backend"] != "cpu"]
    if len(measured[["graph", "graph_checksum"]].drop_duplicates()) < 2:
        del makers["ranking"]
    makers["heatmap"] = partial(heat_maps, brief=True)
    made = with_footnotes((table for make in makers.values() for table in make(rows)), rows)
    return [table for table in made if not (table.name.startswith(NAME) and table.name.endswith(EMULATED))]


def summary(rows: pd.DataFrame, levels: pd.DataFrame | None = None) -> list[Table]:
    """What a sweep ends with: of each graph the best of each search, in short, and the failures if any."""
    rows = as_read(rows)
    made = with_footnotes(best_times(rows, levels, brief=True), rows)
    return made if (rows["status"] == "ok").all() else [*made, *failed_points(rows)]
