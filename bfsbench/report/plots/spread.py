"""Fastest, median and slowest sample of every search, a panel a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.plots.measured import Measured, NothingToDrawError, ranking
from bfsbench.report.plots.picture import (
    COLOURS,
    MARGIN,
    Picture,
    end_of,
    file_name,
    note,
    number,
    pages,
    panels,
    wrapped,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 3
_LEAST_PERCENT = 1.0
"""Length of an axis of samples that hardly differ."""


def spreads(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """A line from the fastest sample of the best configuration to the slowest, with a dot at the median, all
    in per cent above the fastest; over several sources the medians of these."""
    best = measured.best()
    if best.empty:
        raise NothingToDrawError("the spread needs points with a time: all of these failed")
    order = ranking(best)
    heading = (title or "Spread of the samples") + measured.heading
    for page, graphs in pages(measured.among(best), _PANELS):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in order if label in set(chosen["label"])]
        figure, axes = panels(
            heading, len(graphs), across=_PANELS, size=(4.2, 0.2 * len(shown) + 1.3), sharey=True
        )
        for axis, graph in zip(axes, graphs, strict=True):
            _panel(axis, chosen[chosen["title"] == graph], shown)
            axis.set_title(f"{wrapped(graph)}\n{measured.searched(graph)}")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        yield Picture(file_name(f"spread{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str]) -> None:
    places = [shown.index(label) for label in best["label"]]
    slowest, median = ((best[name] - 1) * 100 for name in ("spread", "typical"))
    end = max(end_of(slowest), _LEAST_PERCENT)
    axis.hlines(places, 0, slowest, color=COLOURS[5], linewidth=4, label="fastest to slowest sample")
    axis.scatter(median, places, s=18, c=COLOURS[6], zorder=3, label="median sample")
    for place, value in zip(places, slowest, strict=True):
        if value > end:
            note(axis, f"{number(value)} (cut off) \N{RIGHTWARDS ARROW}", end * MARGIN, place, "right")
    axis.set_yticks(range(len(shown)), shown)
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlim(0, end * MARGIN)
    axis.set_xlabel("above the fastest sample (%)")
