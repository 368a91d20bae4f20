"""A quadratic algorithm made faster, against one that grows more slowly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bfsbench.experiments.drawings.base import Chart
from bfsbench.experiments.outcome import Outcome
from bfsbench.report.plots import Picture, matplotlib_style
from bfsbench.report.plots.picture import COLOURS, file_name, look, panels, plain_log
from bfsbench.report.table import Cell, Table
from bfsbench.toml_files import Factor


class Growth(Chart, frozen=True, kw_only=True, tag="growth"):
    """An accelerated quadratic algorithm against n log n, with measured times of ``series`` over V."""

    acceleration: Factor = 1000.0

    def tables_of_rows(self, outcome: Outcome) -> Iterator[Table]:
        yield _growth_table(outcome, self)

    def pictures(self, outcome: Outcome, title: str) -> Iterator[Picture]:
        with matplotlib_style():
            made = [_growth(kind, self, title) for kind in outcome.by_kind()]
        yield from made


def _growth_table(outcome: Outcome, drawing: Growth) -> Table:
    """The two model curves at the sizes of the graphs, and our times."""
    series = outcome.series_of(drawing)
    best = [outcome.best(one)["search_ms"] for one in series]
    lines: list[tuple[Cell, ...]] = []
    for name in outcome.graphs_of(drawing):
        n = int(outcome.rows.loc[outcome.rows["graph"] == name, "num_vertices"].iloc[0])
        times = (float(found[name]) if name in found.index else None for found in best)
        lines.append((outcome.title(name), n, n * n / drawing.acceleration, n * math.log2(n), *times))
    notes = [
        f"Steps of a quadratic algorithm made {drawing.acceleration:g} times faster, and of n log n, which "
        f"overtakes it at n = {crossing(drawing.acceleration):,}; measured times in ms."
    ]
    columns = ("graph", "n", "accelerated_n2_steps", "n_log_n_steps", *(f"{one.title}_ms" for one in series))
    return Table("growth", f"Growth{outcome.heading}", columns, lines, tuple(notes))


def crossing(acceleration: float) -> int:
    """The smallest n > 1 at which n^2 / acceleration exceeds n log2 n."""
    n = 2
    while n <= acceleration * math.log2(n):
        n += max(1, n // 1000)
    return n


def _growth(outcome: Outcome, drawing: Growth, title: str) -> Picture:
    """The two model curves with the place where they cross; and times over the number of vertices."""
    heading = title + outcome.heading
    figure, (model, measured) = panels(heading, 2, across=2, size=(4.8, 3.6))
    n = np.logspace(1, 7, 200)
    meeting = crossing(drawing.acceleration)
    model.plot(n, n * n / drawing.acceleration, color=COLOURS[0], label=f"n² / {drawing.acceleration:g}")
    model.plot(n, n * np.log2(n), color=COLOURS[4], linestyle="--", label="n log₂ n")
    model.axvline(meeting, color="#777777", linewidth=0.8, label=f"equal at n = {meeting:,}")
    model.set(xscale="log", yscale="log", xlabel="n")
    model.set_ylabel("steps")
    sizes = outcome.rows.drop_duplicates("graph").set_index("graph")["num_vertices"]
    for place, series in enumerate(outcome.series_of(drawing)):
        best = outcome.best(series)["search_ms"]
        times = sorted((sizes[name], best[name]) for name in outcome.graphs_of(drawing) if name in best.index)
        if times:
            at, ms = zip(*times, strict=True)
            colour, marker = look(place)
            measured.plot(at, ms, color=colour, marker=marker, ms=5, label=series.title)
    measured.set_xlabel("vertices")
    measured.set_ylabel("time of a search (ms)")
    plain_log(measured, "x")
    plain_log(measured, "y")
    for axis in (model, measured):
        axis.legend(fontsize=8)
    return Picture(file_name("growth", "emulated" if outcome.emulated else ""), heading, figure)
