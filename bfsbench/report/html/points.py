"""The table of all points of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.report.provenance import origin_numbers
from bfsbench.report.rows import compact
from bfsbench.report.table import Table
from bfsbench.variants import all_families

if TYPE_CHECKING:
    import pandas as pd

_POINT = (
    "graph",
    "variant",
    "source",
    "source_id",
    "status",
    "search_ms",
    "search_ms_median",
    "search_ms_max",
)
_SHAPE = ("grid", "block", "knobs", "backend", "reason", "wall_ms", "reset_ms")
_ORIGIN = ("origin", "taken_at", "file")
_COUNTS = ("source", "block", "origin")
"""Counts beside those of families, which are read as floating-point numbers where some are missing."""
_MOST_POINTS = 20_000
"""Most rows of the table: about 8 MB, which a browser still sorts at once."""


def points(rows: pd.DataFrame) -> Table:
    """Every row, or the fastest of each search on each graph where there are too many for a page."""
    shown = _leading(rows.assign(origin=origin_numbers(rows)))
    frame = shown[_columns(shown)].replace("", None)
    frame = _whole(frame.dropna(axis="columns", how="all"))
    every = (
        "Every row of the result files"
        if len(shown) == len(rows)
        else f"{len(shown):,} of {len(rows):,} rows of the result files, of each search on each graph the "
        "fastest (other tables are made of all rows; --graph, --variant and --backend choose others)"
    )
    origin = "'origin' is a row of Provenance: device, driver, versions and commit."
    title = "All points" if len(shown) == len(rows) else "Fastest points"
    return Table.of("points", title, frame, [f"{every}, with all samples. {origin}"])


def _columns(rows: pd.DataFrame) -> list[str]:
    """Columns: the figures of families beside the times, then the others."""
    families = all_families().values()
    figures = [figure.name for family in families for figure in family.figures if figure.shown]
    facts = [column.name for family in families for column in family.columns if column.name not in figures]
    wanted = [*_POINT, "search_ms_samples", *figures, *_SHAPE, *facts, *_ORIGIN]
    return [name for name in wanted if name in rows]


def _leading(rows: pd.DataFrame) -> pd.DataFrame:
    """At most _MOST_POINTS rows, in their order: the fastest, equally many of each search on each graph."""
    if len(rows) <= _MOST_POINTS:
        return rows
    of_search = ["graph", "graph_checksum", "variant", "backend", "status"]
    groups = compact(rows[[*of_search, "search_ms"]], of_search).groupby(of_search, observed=True)
    place = groups["search_ms"].rank(method="first", na_option="bottom")
    return rows.loc[place.sort_values(kind="stable").index[:_MOST_POINTS].sort_values()]


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    columns = (column for family in all_families().values() for column in family.columns)
    counts = [*_COUNTS, *(column.name for column in columns if column.kind == "count")]
    present = [name for name in counts if name in frame]
    return frame.astype(dict.fromkeys(present, "Int64"))
