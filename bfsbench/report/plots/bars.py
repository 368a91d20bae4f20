"""The best time of every variant, a panel per graph, as in Springer's Fig. 7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.plots.measured import Measured, NothingToDrawError, ranking
from bfsbench.report.plots.picture import (
    COLOURS,
    HOST_COLOUR,
    MARGIN,
    Picture,
    end_of,
    file_name,
    lined_pages,
    lined_panels,
    note,
    number,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

_OTHERS = 0.55
"""Opacity of bars that are not the best of their panel."""


def bars(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """Horizontal bars of ``search_ms`` from 0, the same series in the same line of every panel, sorted by the
    geometric mean of their ratio to the best time of each graph. The best bar of a panel is solid, its number
    bold; a bar far longer than all others is cut off and marked. Series that failed stand last.
    """
    best = measured.best()
    if best.empty:
        raise NothingToDrawError("bars need points with a time: all of these failed")
    order = ranking(best)
    heading = (title or "Best time of each search") + measured.heading
    for page, graphs in lined_pages(measured.among(best), len(measured.labels)):
        chosen = best[best["title"].isin(graphs)]
        tried = measured.rows[measured.rows["title"].isin(graphs)]
        shown = [label for label in [*order, *measured.labels] if label in set(tried["label"])]
        shown = list(dict.fromkeys(shown))
        figure, axes = lined_panels(heading, [measured.above(graph) for graph in graphs], shown)
        for axis, graph in zip(axes, graphs, strict=True):
            here = set(tried["label"][tried["title"] == graph])
            _panel(axis, chosen[chosen["title"] == graph], shown, here)
            axis.set_xlabel(measured.quantity)
        figure.legend(handles=_legend(set(chosen["backend"])), loc="outside lower center", ncols=3)
        yield Picture(file_name(f"bars{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str], tried: set[str]) -> None:
    least, longest = best["search_ms"].min(), end_of(best["search_ms"])
    places = [shown.index(label) for label in best["label"]]
    for place, time, backend in zip(places, best["search_ms"], best["backend"], strict=True):
        colour = HOST_COLOUR if backend == "host" else COLOURS[0]
        axis.barh(place, time, color=colour, alpha=1 if time == least else _OTHERS, height=0.75)
        if time <= longest:
            note(axis, number(time), time, place, weight="bold" if time == least else "normal")
        else:
            note(axis, f"{number(time)} (cut off) \N{RIGHTWARDS ARROW}", longest * MARGIN, place, "right")
    for place in set(range(len(shown))).difference(places):
        note(axis, "failed" if shown[place] in tried else "not run", 0, place)
    axis.set_xlim(0, longest * MARGIN)
    axis.grid(visible=False, axis="y")


def _legend(backends: set[str]) -> list[Patch]:
    """Legend of the colours used."""
    from matplotlib.patches import Patch

    meanings = [("GPU kernel", COLOURS[0])] if backends != {"host"} else []
    meanings += [("CPU program", HOST_COLOUR)] if "host" in backends else []
    patches = [Patch(color=colour, alpha=_OTHERS, label=text) for text, colour in meanings]
    return [*patches, Patch(color=meanings[0][1], label="best of the graph")]
