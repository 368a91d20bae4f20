"""The best time of every variant beside the best of all, a panel a graph, as in Springer's Fig. 7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.plots.measured import Measured, NothingToDrawError, ranking, ratios
from bfsbench.report.plots.picture import (
    COLOURS,
    HOST_COLOUR,
    Picture,
    bar_axis,
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
    """Horizontal bars of ``search_ms`` / the best of the graph, with the time in ms beside each.

    The panels of a picture have one axis, logarithmic where ratios are large, and the same series in the same
    line: those first that come nearest to the best of the graphs, in the geometric mean; those that failed
    last."""
    best = measured.best()
    if best.empty:
        raise NothingToDrawError("bars need points with a time: all of these failed")
    best = best.assign(ratio=ratios(best).fillna(1))
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
            _panel(axis, chosen[chosen["title"] == graph], shown, here, chosen["ratio"].max())
            axis.set_xlabel("times the best of the graph")
        legend = _legend(set(chosen["backend"]), emulated=measured.emulated)
        figure.legend(handles=legend, loc="outside lower center", ncols=3)
        yield Picture(file_name(f"bars{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str], tried: set[str], longest: float) -> None:
    bar_axis(axis, 1, longest)
    start = axis.get_xlim()[0]
    places = [shown.index(label) for label in best["label"]]
    columns = (best[name] for name in ("ratio", "search_ms", "backend"))
    for place, ratio, time, backend in zip(places, *columns, strict=True):
        colour = HOST_COLOUR if backend == "host" else COLOURS[0]
        axis.barh(place, ratio, color=colour, alpha=1 if ratio == 1 else _OTHERS, height=0.75)
        note(axis, f"{number(time)} ms", ratio, place, weight="bold" if ratio == 1 else "normal")
    for place in set(range(len(shown))).difference(places):
        note(axis, "failed" if shown[place] in tried else "not run", start, place)
    axis.axvline(1, color="#555555", linewidth=1)
    axis.grid(visible=False, axis="y")


def _legend(backends: set[str], *, emulated: bool) -> list[Patch]:
    """Legend of the colours used."""
    from matplotlib.patches import Patch

    kernel = "emulated kernel" if emulated else "GPU kernel"
    meanings = [(kernel, COLOURS[0])] if backends != {"host"} else []
    meanings += [("CPU program", HOST_COLOUR)] if "host" in backends else []
    patches = [Patch(color=colour, alpha=_OTHERS, label=text) for text, colour in meanings]
    return [*patches, Patch(color=meanings[0][1], label="best of the graph")]
