"""Makes tables of result files, for the command line and for notebooks::

    from bfsbench.rows.results import read_results
    from bfsbench.reports import select, tables

    rows = select(read_results(["results/a.csv"]), graphs=["soc-Epinions1"], backends=["cuda", "host"])
    for table in tables(rows, ["best"]):
        display(table.title, table.frame())

Each table is made by a function of this package, which takes ``Results`` and returns a list of ``Table``.
``Results`` hold rows from ``read_results``. :mod:`bfsbench.reports.table` turns tables into text. Measured
and emulated times are shown in separate tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from bfsbench.reports.best import HEAT_MAP, all_settings, best_times, heat_maps
from bfsbench.reports.history import histories
from bfsbench.reports.levels import level_tables
from bfsbench.reports.provenance import failed_points, graph_counts, origins, warnings, with_footnotes
from bfsbench.reports.ranking import matrices, rankings
from bfsbench.reports.rows import EMULATED, GRAPH, Results, as_read, select
from bfsbench.reports.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NOT_IN_TABLES",
    "NOT_ON_PAGES",
    "TABLES",
    "Table",
    "select",
    "summary",
    "tables",
    "warnings",
]

TABLES: dict[str, Callable[[Results], list[Table]]] = {
    "datasets": graph_counts,
    "ranking": rankings,
    "matrix": matrices,
    "best": best_times,
    "settings": all_settings,
    "levels": level_tables,
    "heatmap": heat_maps,
    "history": histories,
    "failures": failed_points,
    "provenance": origins,
}
"""Maps the name of each table to the function that makes it, in the order in which the tables are shown."""


NOT_IN_TABLES = (
    *("wall_ms", "wall_ms_samples", "reset_ms", "parents_ms"),
    *("kernel_ms", "kernel_launches", "source_checksum", "gpu_bus_id"),
)
"""Columns of result files that no table needs. ``report`` skips them to read large files faster."""

NOT_ON_PAGES = ("wall_ms_samples", "parents_ms", "source_checksum", "gpu_bus_id")
"""Columns of result files that an HTML page does not need."""


_IN_PAPERS = ("datasets", "ranking", "matrix", "failures", "provenance")
"""The tables that a LaTeX file of several graphs has by default. The matrix has one line per search, but
the best times would have several tables per graph."""


def tables(
    rows: pd.DataFrame,
    names: Iterable[str] | None = None,
    levels: pd.DataFrame | None = None,
    style: str | None = None,
) -> list[Table]:
    """Returns the tables with these ``names``, made from result rows and from level profiles.

    Without ``names``, the result contains all tables except the levels, the matrix and the history. The
    ranking is also left out if there is only one graph. If there are several graphs and the tables will have
    the format (``style``) ``latex``, the result contains the tables of _IN_PAPERS instead.

    Without ``names``, heat maps show only the fastest search on each graph, and no emulated kernels, because
    emulated times say nothing about grid and block.
    """
    rows = as_read(rows)
    if names is None and style == "latex" and rows["graph"].nunique() > 1:
        names = _IN_PAPERS
    results = Results.of(rows)
    makers = TABLES | {
        "best": partial(best_times, levels=levels),
        "levels": partial(level_tables, levels=levels),
    }
    if names is not None:
        return with_footnotes((table for name in names for table in makers[name](results)), rows)
    for name in ("settings", "levels", "matrix", "history"):
        del makers[name]
    measured = rows.loc[rows["backend"] != "cpu", [*GRAPH]]
    if len(measured.drop_duplicates()) < 2:
        del makers["ranking"]
    makers["heatmap"] = partial(heat_maps, brief=True)
    made = with_footnotes((table for make in makers.values() for table in make(results)), rows)
    return [
        table for table in made if not (table.name.startswith(HEAT_MAP) and table.name.endswith(EMULATED))
    ]


def summary(rows: pd.DataFrame, levels: pd.DataFrame | None = None) -> list[Table]:
    """Returns the tables that ``run`` prints when a sweep ends: a short table of the best times, and the
    failures if there are any."""
    rows = as_read(rows)
    results = Results.of(rows)
    made = with_footnotes(best_times(results, levels, brief=True), rows)
    return made if (rows["status"] == "ok").all() else [*made, *failed_points(results)]
