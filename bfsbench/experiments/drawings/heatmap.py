"""Maps of time by grid and block."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.experiments.drawings.base import Plot
from bfsbench.experiments.outcome import Outcome
from bfsbench.report import TABLES
from bfsbench.report.table import Table


class HeatMap(Plot, frozen=True, kw_only=True, tag="heatmap"):
    """Time over grid x block, a map a graph and series."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        if not outcome.emulated:
            yield from TABLES["heatmap"](outcome.rows)
