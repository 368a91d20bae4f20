"""Plots search times against the size, average degree or density of graphs, and against commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bfsbench.reports.history import CHANGES, NO_HISTORY, over_commits
from bfsbench.reports.measured import NothingToDrawError, TimedRows, wrapped
from bfsbench.reports.plots.picture import (
    ROWS,
    Picture,
    file_name,
    legend_of_all,
    look,
    pages,
    panels,
    plain,
    plain_log,
    side_by_side,
    time_axis,
)
from bfsbench.reports.rows import short_names
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = {
    "num_vertices": "vertices",
    "num_edges": "arcs",
    "degree": "average degree (arcs per vertex)",
    "density": "density (% of all possible arcs)",
    "given": "",
}
"""The quantities that a curve's horizontal axis can show, with their labels. For ``given``, the column ``x``
of the rows holds each graph's value."""

_LEAST_POINTS, _LEAST_RANGE = 3, 1.5
"""Conditions for drawing a curve: the minimum number of graphs, and the minimum ratio of the largest to the
smallest value on the horizontal axis."""
_SERIES = 8
"""Maximum number of lines per picture, which is the number of colours."""


def curves(
    measured: TimedRows,
    *,
    title: str = "",
    x: str = "",
    x_label: str = "",
    log_x: bool = True,
    log_y: bool = True,
) -> Iterator[Picture]:
    """Yields pictures that show the best time of every series against a property of the graphs, which is one
    of ``AXES``.

    A line joins the times of one series on graphs whose names differ only in numbers. ``x`` chooses the
    property. By default there is one picture for each property in which at least three of these graphs
    clearly differ. Raises UsageError for an unknown axis.
    """
    if x and x not in AXES:
        raise UsageError(f"unknown axis '{x}': there are {', '.join(AXES)}")
    best = measured.compared()
    best = best.assign(family=best["title"].str.replace(r"[\d.]+", "#", regex=True))
    drawn = False
    for name in [x] if x else [name for name in AXES if name != "given"]:
        placed = best.assign(x=best["title"].map(_places(measured.rows, name))).dropna(subset=["x"])
        if not x:
            families = {family for family, places in placed.groupby("family")["x"] if _tells(places)}
            placed = placed[placed["family"].isin(families)]
        if placed["x"].nunique() > 1:
            drawn = True
            label = x_label or AXES[name]
            heading = (title or f"Time by {label}") + measured.heading
            scales = {"log_x": log_x, "log_y": log_y}
            for page, figure in _figures(placed, measured.labels, heading, measured.quantity, **scales):
                figure.axes[0].set_xlabel(label)
                yield Picture(file_name(f"curve{measured.suffix}", name, page), heading, figure)
    if not drawn:
        raise NothingToDrawError("curves need graphs that differ in size, degree or density alone")


def _tells(places: pd.Series[float]) -> bool:
    """Returns whether graphs that have these values of the horizontal axis are worth a picture. There must be
    at least three different values. The largest value must be at least 1.5 times the smallest."""
    return bool(places.nunique() >= _LEAST_POINTS and places.max() >= _LEAST_RANGE * places.min())


def _figures(
    placed: pd.DataFrame, order: list[str], heading: str, quantity: str, *, log_x: bool, log_y: bool
) -> Iterator[tuple[str, Figure]]:
    limits = (placed["search_ms"].min(), placed["search_ms"].max())
    present = set(placed["label"])
    for page, labels in pages([label for label in order if label in present], _SERIES):
        figure, (axis,) = panels(heading, 1, across=1, size=(7.2, 4.6))
        for label in labels:
            colour, marker = look(label)
            lines = placed[placed["label"] == label].sort_values("x").groupby("family", sort=False)
            for nth, (_, line) in enumerate(lines):
                # matplotlib leaves labels that begin with "_" out of the legend, so it lists a series once.
                name = "_" * (nth > 0) + label
                axis.plot(line["x"], line["search_ms"], color=colour, marker=marker, ms=5, label=name)
        axis.set_ylabel(quantity)
        _scale(axis, limits, log_x=log_x, log_y=log_y)
        legend_of_all(figure)
        yield page, figure


def _scale(axis: Axes, limits: tuple[float, float], *, log_x: bool, log_y: bool) -> None:
    """Scales the axes of one picture. ``limits`` are the smallest and the largest time in all pictures."""
    if log_x:
        plain_log(axis, "x")
    else:
        plain(axis.xaxis)
    if log_y:
        plain_log(axis, "y")
        axis.set_ylim(limits[0] / 1.3, limits[1] * 1.3)
    else:
        axis.set_ylim(0, limits[1] * 1.05)


def _places(rows: pd.DataFrame, x: str) -> pd.Series[float]:
    """Returns each graph's value on the horizontal axis ``x``, which is one of AXES. The index of the result
    holds the graphs' titles."""
    graphs = rows.drop_duplicates("title").set_index("title")
    if x == "given":
        return graphs["x"]
    vertices, arcs = graphs["num_vertices"], graphs["num_edges"]
    if x == "degree":
        return arcs / vertices
    if x == "density":
        return 100 * arcs / (vertices * (vertices - 1))
    return graphs[x]


_PANEL = (3.6, 2.8)
"""Usual width and height in inches of a panel with times over commits."""
_DIGITS = 7
"""Number of characters of a commit's hash in the labels of the axis."""


def histories(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one line per search. The horizontal axis shows the commits in the order of their
    first rows. A ring marks a commit at which a search became faster or slower.

    ``measured`` must hold rows from ``bfsbench.reports.history.by_commit``.
    """
    if measured.emulated:
        raise NothingToDrawError("times of emulated kernels have no history")
    found = over_commits(measured.rows, measured.family)
    if found.empty:
        raise NothingToDrawError(f"a history needs rows of several commits: {NO_HISTORY}")
    heading = (title or "Times over commits") + measured.heading
    searches = list(dict.fromkeys(found["variant"]))
    names = short_names(found["graph"])
    for page, graphs in pages(list(names), ROWS * side_by_side(_PANEL[0])):
        drawn = found[found["graph"].isin(graphs)]
        rings = ["ring: the time changed"] if drawn["verdict"].isin(CHANGES).any() else []
        figure, axes = panels(heading, len(graphs), size=_PANEL, about=[measured.quantity, *rings])
        for axis, graph in zip(axes, graphs, strict=True):
            axis.set_title(wrapped(names[graph]))
            axis.set_ylabel("time (ms)")
            _history(axis, drawn[drawn["graph"] == graph], searches)
        legend_of_all(figure)
        shown = tuple(names[graph] for graph in graphs)
        yield Picture(file_name(f"history{measured.suffix}", page), heading, figure, graphs=shown)


def _history(axis: Axes, found: pd.DataFrame, searches: list[str]) -> None:
    commits = list(dict.fromkeys(found.sort_values("date", kind="stable")["commit"]))
    for (search, *_), line in found.groupby(["variant", "backend", "device", "graph_checksum"], sort=False):
        colour, marker = look(str(search))
        places = line["commit"].map(commits.index)
        axis.plot(places, line["search_ms"], color=colour, marker=marker, ms=5, label=search)
        changed = line["verdict"].isin(CHANGES)
        ring: dict[str, Any] = {"s": 120, "facecolors": "none", "edgecolors": colour, "linewidths": 1.5}
        axis.scatter(places[changed], line["search_ms"][changed], **ring)
    axis.set_xticks(range(len(commits)), [commit[:_DIGITS] for commit in commits], rotation=45)
    time_axis(axis, found["search_ms"].min(), found["search_ms"].max())
