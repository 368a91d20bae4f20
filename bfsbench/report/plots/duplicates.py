"""Duplicates in the frontiers of searches that count them, as in BFS-4K's Figs. 12 and 13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.bench.point import knob_values
from bfsbench.report.plots.knobs import search_names
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import (
    COLOURS,
    MARKERS,
    Picture,
    file_name,
    level_axis,
    log_or_zero,
    panels,
    wrapped,
)
from bfsbench.report.plots.profile import profiled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_COUNTERS = ("entries", "detected", "missed")
"""Of a level: entries of the next frontier, duplicates dropped before, and duplicates among the entries."""


def duplicates(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """Two panels a graph and source: entries of each frontier, duplicates included, beside its distinct
    vertices; and the duplicates that were dropped and kept. A line a search."""
    levels = _counted(profiled(measured))
    heading = (title or "Duplicates") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        name = f"{heading}: {graph}, source {source:.0f}"
        searches = list(found.groupby(search_names(found), sort=False))
        size = (5.0, 3.2 + 0.3 * len(searches))  # the legends stand below
        figure, (sizes, extra) = panels(wrapped(name, 90), 2, across=2, size=size)
        for index, (label, rows) in enumerate(searches):
            rows = rows.sort_values("level").assign(level=rows["level"] + 1)
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            if index == 0:
                distinct = rows["entries"] - rows["missed"]
                sizes.plot(
                    rows["level"], distinct, color="#000000", ls=":", zorder=5, label="distinct vertices"
                )
            _line(sizes, rows, rows["entries"], colour, marker, str(label))
            _line(extra, rows, rows["missed"], colour, marker, f"{label}, kept")
            _line(extra, rows, rows["detected"], colour, "", f"{label}, dropped")
        for axis, quantity in (
            (sizes, "entries of the frontier (vertices)"),
            (extra, "duplicates (vertices)"),
        ):
            level_axis(axis)
            axis.set_ylabel(quantity)
            log_or_zero(axis)
            axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        yield Picture(file_name(f"duplicates{measured.suffix}", str(graph), f"{source:.0f}"), name, figure)


def _counted(levels: pd.DataFrame) -> pd.DataFrame:
    """The levels of searches that count entries, with a column for each of _COUNTERS."""
    counts = levels["counts"].map(knob_values)
    counted = levels.assign(**{name: [float(found.get(name, 0)) for found in counts] for name in _COUNTERS})
    counted = counted[counted["counts"] != ""]
    if not (counted["entries"] > 0).any():
        raise NothingToDrawError("no search of these rows counts duplicates: bfs4k does, with --profile")
    return counted


def _line(
    axis: Axes, rows: pd.DataFrame, values: pd.Series[float], colour: str, marker: str, label: str
) -> None:
    style = "-" if marker else "--"
    axis.plot(rows["level"], values, color=colour, marker=marker, ls=style, ms=4, label=label)
