"""Draws level profiles, as in BFS-4K's Fig. 7: the vertices, arcs and time of each level, and the kernel that
ran it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.reports.measured import NothingToDrawError, TimedRows, search_names
from bfsbench.reports.plots.picture import (
    COLOURS,
    MARKERS,
    Picture,
    file_name,
    legend_of_all,
    level_axis,
    pages,
    panels,
    plain_log,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEARCHES = len(COLOURS)
"""Most searches per picture: the number of colours."""
_QUANTITIES = {
    "frontier_size": "frontier (vertices)",
    "edges_inspected": "inspected (arcs)",
    "time_us": "time (µs)",
}
"""The panels of a picture: columns of level profiles, and their labels."""
MANY = 100
"""Number of levels from which on markers are small."""
_NO_PROFILE = "no level profile belongs to these rows: take one with 'bfsbench run --profile'"


def profiled(measured: TimedRows) -> pd.DataFrame:
    """Returns the rows of the level profiles. Raises NothingToDrawError if there are none."""
    if measured.levels is None or measured.levels.empty:
        raise NothingToDrawError(_NO_PROFILE)
    return measured.levels


def of_fastest_launch(levels: pd.DataFrame) -> pd.DataFrame:
    """Returns the level profiles of each search at its fastest grid and block.

    Searches that differ only in grid and block count as one. The fastest of them has the least total time of
    all levels.
    """
    search = ["title", "source", "label", "knobs"]
    launch = [*search, "grid", "block"]
    totals = levels.groupby(launch, dropna=False)["time_us"].sum().reset_index()
    best = totals.sort_values("time_us", kind="stable").drop_duplicates(search)
    return levels.merge(best[launch], on=launch)


def profiles(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with three panels: the vertices of the frontier, the arcs inspected, and the time of
    each level.

    Each line is a search at its fastest grid and block. If a search has several kernels or layers, markers
    show which one ran a level. A picture holds the searches of one graph from one source.
    """
    levels = of_fastest_launch(profiled(measured))
    heading = (title or "Level profile") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        searches = [(str(name), rows) for name, rows in found.groupby(search_names(found), sort=False)]
        about = (str(graph), f"source {measured.source(str(graph), source)}")
        for page, shown in pages(searches, _SEARCHES):
            figure = _figure(heading, about, shown)
            names = file_name(f"profile{measured.suffix}", str(graph), f"{source:.0f}", page)
            yield Picture(names, f"{heading}: {', '.join(about)}", figure)


def _figure(heading: str, about: Sequence[str], searches: Sequence[tuple[str, pd.DataFrame]]) -> Figure:
    """Draws one figure. A quantity without values in any search has no panel."""
    known = [name for name in _QUANTITIES if any((rows[name] > 0).any() for _, rows in searches)]
    mixed = (rows["kernel"] for _, rows in searches if rows["kernel"].nunique() > 1)
    kernels = sorted({kernel for names in mixed for kernel in names})
    figure, axes = panels(heading, len(known), across=1, size=(8.4, 2.2), about=about, sharex=True)
    for axis, column in zip(axes, known, strict=True):
        for (label, rows), colour in zip(searches, COLOURS, strict=False):
            _line(axis, label, rows.sort_values("level"), column, colour, kernels)
        plain_log(axis, "y")
        axis.set_ylabel(_QUANTITIES[column])
    level_axis(axes[-1])
    for kernel in kernels:
        marker = _marker(kernel, kernels)
        axes[0].plot([], [], marker=marker, color="#777777", linestyle="", label=f"level by {kernel}")
    legend_of_all(figure)
    return figure


def _marker(kernel: str, kernels: Sequence[str]) -> str:
    """Returns the marker of a kernel if it is one of ``kernels``, else a dot."""
    return MARKERS[kernels.index(kernel) % len(MARKERS)] if kernel in kernels else "."


def _line(
    axis: Axes, label: str, rows: pd.DataFrame, column: str, colour: str, kernels: Sequence[str]
) -> None:
    """Draws one quantity of a search over its levels. A level without a value leaves a gap."""
    values = rows[column].where(rows[column] > 0)
    axis.plot(rows["level"], values, color=colour, linewidth=0.9, label=label)
    area = 20 if len(rows) < MANY else 3
    for kernel, part in rows.assign(value=values).groupby("kernel", sort=True):
        marker = _marker(str(kernel), kernels)
        axis.scatter(part["level"], part["value"], s=area, c=colour, marker=marker, linewidths=0)
