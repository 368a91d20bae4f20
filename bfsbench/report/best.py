"""The best time of every variant on every graph, and the configuration that gave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.rows import SETTING, SHAPE, configurations, fastest, in_words, kinds, sources_of
from bfsbench.report.table import Table

if TYPE_CHECKING:
    import pandas as pd

_FIGURES = (
    *("search_ms", "median_ms", "spread"),
    *("mteps", "mteps_q1", "mteps_q3", "mteps_graph500", "speedup"),
)
_ONE_SOURCE = ("search_ms", "median_ms", "spread", "mteps", "speedup")
_MANY_SOURCES = ("sources", "search_ms", "spread", "mteps", "mteps_q1", "mteps_q3", "speedup")
_NOTES = (
    "search ms: the fastest sample; median ms: the samples' median; spread: slowest / fastest sample.",
    "Over several sources: the median of these, and MTEPS as harmonic mean with quartiles.",
)


def best_times(rows: pd.DataFrame) -> list[Table]:
    """One table of measured times and one of emulated ones, as far as there are rows."""
    tables = []
    for kind in kinds(rows):
        chosen = fastest(configurations(kind.rows), SETTING)
        frame = chosen.sort_values(["graph", "graph_checksum", "search_ms"])
        frame = frame[[*SETTING, *SHAPE, "sources", *_FIGURES]]
        title = f"Best time per variant and graph{kind.heading}"
        notes = _NOTES if len(frame) else ("No point has a time.",)
        tables.append(Table.of(f"best{kind.suffix}", title, frame, notes, _drawings(frame, kind.rows)))
    return tables


def _drawings(frame: pd.DataFrame, rows: pd.DataFrame) -> Iterator[Table]:
    """One table a graph, variants by their times; columns that would say nothing are left out."""
    searched = sources_of(rows)
    for (graph, checksum), group in frame.groupby(["graph", "graph_checksum"], sort=False):
        where = [name for name in ("backend", "host") if group[name].nunique() > 1]
        if group.groupby("backend")["device"].nunique().max() > 1:
            where.append("device")
        sources = searched[graph, checksum]
        figures = _MANY_SOURCES if len(sources) > 1 else _ONE_SOURCE
        known = [name for name in figures if group[name].notna().any()]
        title = f"{graph}, {in_words(sources)}"
        yield Table.of("", title, group[["variant", *where, *SHAPE, *known]])
