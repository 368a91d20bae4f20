"""Draws the fastest, median and slowest sample of every search, with one panel per graph."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.reports.measured import NothingToDrawError, TimedRows, ranking
from bfsbench.reports.plots.bars import STATISTIC_INCHES
from bfsbench.reports.plots.picture import (
    COLOURS,
    MARGIN,
    Picture,
    end_of,
    file_name,
    legend_of_all,
    lined_pages,
    lined_panels,
    note,
    number,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LEAST_PERCENT = 1.0
"""Length of the shortest axis, in per cent, for samples that hardly differ."""


def spreads(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one line per search, from the fastest to the slowest sample of its best
    configuration.

    A dot marks the median sample. All values are in per cent above the fastest sample. Over several sources
    they are medians. All panels of a picture share one axis. A line that is far longer than the other lines
    is cut off, with a note.
    """
    best = measured.compared()
    best = best[best["spread"] < math.inf]  # infinite if a sample is 0
    if best.empty:
        raise NothingToDrawError("the spread needs points with a time: all of these failed")
    order = ranking(best)
    heading = (title or "Spread of the samples") + measured.heading
    for page, graphs in lined_pages(measured.among(best), len(order)):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in order if label in set(chosen["label"])]
        end = max(_LEAST_PERCENT, end_of((chosen["spread"] - 1) * 100))
        titles = [measured.above(graph) for graph in graphs]
        figure, axes = lined_panels(heading, titles, shown, below=STATISTIC_INCHES)
        for axis, graph in zip(axes, graphs, strict=True):
            _panel(axis, chosen[chosen["title"] == graph], shown, end)
        legend_of_all(figure)
        yield Picture(file_name(f"spread{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str], end: float) -> None:
    places = [shown.index(label) for label in best["label"]]
    slowest, median = ((best[name] - 1) * 100 for name in ("spread", "typical"))
    axis.hlines(places, 0, slowest, color=COLOURS[5], linewidth=4, label="fastest to slowest sample")
    axis.scatter(median, places, s=18, c=COLOURS[6], zorder=3, label="median sample")
    for place, value in zip(places, slowest, strict=True):
        if value > end:
            note(axis, f"{number(value)} (cut off) \N{RIGHTWARDS ARROW}", end * MARGIN, place, "right")
    axis.set_xlim(0, end * MARGIN)
    axis.set_xlabel("above the fastest sample (%):\nthe median over sources")
