"""Draws the time of each search over commits, with one panel per graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bfsbench.reports.history import CHANGES, NO_HISTORY, over_commits
from bfsbench.reports.measured import NothingToDrawError, TimedRows, wrapped
from bfsbench.reports.plots.picture import (
    Picture,
    file_name,
    legend_of_all,
    look,
    pages,
    panels,
    time_axis,
)
from bfsbench.reports.rows import short_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 9
"""Most panels of a picture."""
_DIGITS = 7
"""Characters of a commit that label the axis."""


def histories(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one line per search. The horizontal axis has the commits in the order of their
    first rows. A ring marks a commit at which a search became faster or slower.

    ``measured`` holds rows of ``bfsbench.reports.history.by_commit``.
    """
    if measured.emulated:
        raise NothingToDrawError("times of emulated kernels have no history")
    found = over_commits(measured.rows, measured.family)
    if found.empty:
        raise NothingToDrawError(f"a history needs rows of several commits: {NO_HISTORY}")
    heading = (title or "Times over commits") + measured.heading
    searches = list(dict.fromkeys(found["variant"]))
    names = short_names(found["graph"])
    for page, graphs in pages(list(names), _PANELS):
        figure, axes = panels(heading, len(graphs), across=3, size=(3.6, 2.8), about=[measured.quantity])
        for axis, graph in zip(axes, graphs, strict=True):
            axis.set_title(wrapped(names[graph]))
            _panel(axis, found[found["graph"] == graph], searches)
        legend_of_all(figure)
        yield Picture(file_name(f"history{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, found: pd.DataFrame, searches: list[str]) -> None:
    commits = list(dict.fromkeys(found.sort_values("date", kind="stable")["commit"]))
    for (search, *_), line in found.groupby(["variant", "backend", "device", "graph_checksum"], sort=False):
        colour, marker = look(searches.index(str(search)))
        places = line["commit"].map(commits.index)
        axis.plot(places, line["search_ms"], color=colour, marker=marker, ms=5, label=search)
        changed = line["verdict"].isin(CHANGES)
        ring: dict[str, Any] = {"s": 120, "facecolors": "none", "edgecolors": colour, "linewidths": 1.5}
        axis.scatter(places[changed], line["search_ms"][changed], **ring)
    axis.set_xticks(range(len(commits)), [commit[:_DIGITS] for commit in commits], rotation=45)
    time_axis(axis, found["search_ms"].min(), found["search_ms"].max())
