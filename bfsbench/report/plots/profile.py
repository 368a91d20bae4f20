"""Level profiles: frontier and time a level, with the kernel or layer that ran it, as in BFS-4K's Fig. 7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.plots.knobs import search_names
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import (
    COLOURS,
    MARKERS,
    Picture,
    file_name,
    level_axis,
    pages,
    panels,
    plain_log,
    wrapped,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SEARCHES = 4
"""To a picture."""
_NO_PROFILE = "no level profile belongs to these rows: take one with 'bfsbench run --profile'"


def profiled(measured: Measured) -> pd.DataFrame:
    """The rows of level profiles. Raises NothingToDrawError when there are none."""
    if measured.levels is None or measured.levels.empty:
        raise NothingToDrawError(_NO_PROFILE)
    return measured.levels


def profiles(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """Two panels a search: vertices at each level, and the time that the level took; colours and markers say
    which kernel or layer ran it. A picture holds the searches of one graph from one source."""
    levels = profiled(measured)
    heading = (title or "Level profile") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        searches = list(found.groupby(search_names(found), sort=False))
        for page, shown in pages(searches, _SEARCHES):
            name = f"{heading}: {graph}, source {source:.0f}"
            figure, axes = panels(wrapped(name, 90), 2 * len(shown), across=2, size=(4.8, 2.3), sharex="col")
            for line, (label, rows) in enumerate(shown):
                _panel(axes[2 * line], rows, "frontier_size", "frontier (vertices)")
                _panel(axes[2 * line + 1], rows, "time_us", "time (µs)")
                axes[2 * line].set_title(wrapped(str(label), 50), loc="left")
                axes[2 * line + 1].legend(loc="upper left", bbox_to_anchor=(0, 1.17), ncols=3, fontsize=8)
            for axis in axes[-2:]:
                level_axis(axis)
            names = file_name(f"profile{measured.suffix}", str(graph), f"{source:.0f}", page)
            yield Picture(names, name, figure)


def _panel(axis: Axes, rows: pd.DataFrame, column: str, quantity: str) -> None:
    """One quantity over levels, on a logarithmic axis; levels without a value leave a gap."""
    rows = rows.sort_values("level")
    axis.plot(rows["level"], rows[column].where(rows[column] > 0), color="#bbbbbb", linewidth=0.8, zorder=1)
    size = 26 if len(rows) < 100 else 4
    for place, (kernel, part) in enumerate(rows.groupby("kernel", sort=True)):
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        part = part[part[column] > 0]
        axis.scatter(
            part["level"], part[column], s=size, c=colour, marker=marker, linewidths=0, zorder=2, label=kernel
        )
    plain_log(axis, "y")
    axis.set_ylabel(quantity)
