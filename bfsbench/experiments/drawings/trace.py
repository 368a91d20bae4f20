"""Small graphs, followed thread by thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from bfsbench.experiments.drawings.base import Chart
from bfsbench.experiments.outcome import Outcome
from bfsbench.experiments.trace_tables import trace_tables
from bfsbench.report.table import Table


class Trace(Chart, frozen=True, kw_only=True, tag="trace"):
    """Small graphs: matrices, levels, and which threads of which kernels do what."""

    needs_graphs: ClassVar[bool] = True

    sources: list[int]

    def tables_of_graphs(self, outcome: Outcome) -> Iterator[Table]:
        yield from trace_tables(outcome, self)
