"""Levels by the kernels that ran them."""

from __future__ import annotations

from collections.abc import Iterator

from bfsbench.experiments.drawings.base import Plot
from bfsbench.experiments.outcome import Outcome
from bfsbench.report.table import Cell, Table


class Profile(Plot, frozen=True, kw_only=True, tag="profile"):
    """Frontier size and time a level, the kernel or layer that ran it marked."""

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        yield _level_table(outcome, self)


def _level_table(outcome: Outcome, drawing: Profile) -> Table:
    """How many levels each kernel or layer ran, and what they cost."""
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        for series in outcome.series_of(drawing):
            for kernel, group in outcome.levels_of(series, name).groupby("kernel", sort=False):
                largest, total = group["frontier_size"].max(), group["time_us"].sum()
                facts = (outcome.title(name), series.title, str(kernel), len(group))
                lines.append((*facts, int(largest), float(total)))
    columns = ("graph", "series", "kernel", "levels", "largest_frontier", "time_us")
    return Table("levels", f"Levels by kernel{outcome.heading}", columns, lines)
