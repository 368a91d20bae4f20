"""The best time of every variant, a panel a graph, as in Springer's Fig. 7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import (
    COLOURS,
    HOST_COLOUR,
    Picture,
    file_name,
    number,
    pages,
    panels,
    wrapped,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

_PANELS = 3
_LINE_INCHES = 0.2
_OUTLYING = 4.0
"""Times the next shorter bar from which one is cut off."""
_FEW = 3
"""Bars of which none is cut off."""
_MARGIN = 1.18
"""Length of the axis / longest bar: room for its number."""
_OTHERS = 0.55
"""Opacity of bars that are not the best of their panel."""


def bars(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """Horizontal bars of ``search_ms`` from 0, the same series in the same line of every panel: those first
    that come nearest to the best time of the graphs, in the geometric mean. The best bar of a panel is solid,
    and one far longer than all others is cut off and says so.
    """
    best = measured.best()
    if best.empty:
        raise NothingToDrawError("bars need points with a time: all of these failed")
    order = _order(best)
    heading = (title or "Best time of each search") + measured.heading
    for page, graphs in pages([graph for graph in measured.graphs if graph in set(best["title"])], _PANELS):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in order if label in set(chosen["label"])]
        size = (5.0 if len(graphs) == 1 else 4.2, _LINE_INCHES * len(shown) + 1.2)
        figure, axes = panels(heading, len(graphs), across=_PANELS, size=size, sharey=True)
        for axis, graph in zip(axes, graphs, strict=True):
            _panel(axis, chosen[chosen["title"] == graph], shown)
            axis.set_title(f"{wrapped(graph)}\n{measured.searched(graph)}")
        figure.legend(handles=_legend(set(chosen["backend"])), loc="outside lower center", ncols=3)
        yield Picture(file_name(f"bars{measured.suffix}", page), heading, figure)


def _order(best: pd.DataFrame) -> list[str]:
    """Series by the geometric mean of their times relative to the best of each graph."""
    import numpy as np

    relative = best["search_ms"] / best.groupby("title")["search_ms"].transform("min")
    means = relative.map(np.log).groupby(best["label"]).mean()
    return [str(label) for label in means.sort_values(kind="stable").index]


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str]) -> None:
    least, longest = best["search_ms"].min(), _longest(best["search_ms"].tolist())
    places = [shown.index(label) for label in best["label"]]
    for place, time, backend in zip(places, best["search_ms"], best["backend"], strict=True):
        colour = HOST_COLOUR if backend == "host" else COLOURS[0]
        axis.barh(place, time, color=colour, alpha=1 if time == least else _OTHERS, height=0.75)
        if time <= longest:
            _note(axis, number(time), time, place)
        else:
            _note(axis, f"{number(time)} (cut off) \N{RIGHTWARDS ARROW}", longest * _MARGIN, place, "right")
    for place in set(range(len(shown))).difference(places):
        _note(axis, "no time", 0, place)
    axis.set_yticks(range(len(shown)), shown)
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlim(0, longest * _MARGIN)
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("time of a search (ms)")


def _longest(times: list[float]) -> float:
    """The largest of the times that leaves the others something to be seen of."""
    times = sorted(times)
    while len(times) > _FEW and times[-1] > _OUTLYING * times[-2]:
        times.pop()
    return times[-1]


def _note(axis: Axes, text: str, time: float, place: int, side: Literal["left", "right"] = "left") -> None:
    """A text whose ``side`` is at the end of a bar."""
    offset = (3 if side == "left" else -3, 0)
    axis.annotate(text, (time, place), offset, textcoords="offset points", va="center", ha=side, fontsize=8)


def _legend(backends: set[str]) -> list[Patch]:
    """What colours mean, as far as they are used."""
    from matplotlib.patches import Patch

    meanings = [("GPU kernel", COLOURS[0])] if backends != {"host"} else []
    meanings += [("CPU program", HOST_COLOUR)] if "host" in backends else []
    patches = [Patch(color=colour, alpha=_OTHERS, label=text) for text, colour in meanings]
    return [*patches, Patch(color=meanings[0][1], label="best of the graph")]
