"""Level profiles: frontier and time a level, with the kernel or layer that ran it, as in BFS-4K's Fig. 7."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bfsbench.report.plots.knobs import search_names
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import (
    Picture,
    file_name,
    level_axis,
    look,
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
MANY = 100
"""Number of levels from which markers are small."""
_NO_PROFILE = "no level profile belongs to these rows: take one with 'bfsbench run --profile'"


def profiled(measured: Measured) -> pd.DataFrame:
    """The rows of level profiles. Raises NothingToDrawError when there are none."""
    if measured.levels is None or measured.levels.empty:
        raise NothingToDrawError(_NO_PROFILE)
    return measured.levels


def profiles(measured: Measured, *, title: str = "") -> Iterator[Picture]:
    """Two panels a search: vertices at each level, and the time that the level took; colours and markers say
    which kernel or layer ran it. A picture has the searches of one graph from one source."""
    levels = profiled(measured)
    heading = (title or "Level profile") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        searches = list(found.groupby(search_names(found), sort=False))
        for page, shown in pages(searches, _SEARCHES):
            about = (str(graph), f"source {source:.0f}")
            figure, axes = panels(
                heading, 2 * len(shown), across=2, size=(4.8, 2.3), about=about, sharex=True
            )
            for line, (label, rows) in enumerate(shown):
                _panel(axes[2 * line], rows, "frontier_size", "frontier (vertices)")
                _panel(axes[2 * line + 1], rows, "time_us", "time (µs)")
                axes[2 * line].set_title(wrapped(str(label), 50), loc="left")
                _legend(axes[2 * line + 1], len(rows))
            for axis in axes[-2:]:
                level_axis(axis)
            names = file_name(f"profile{measured.suffix}", str(graph), f"{source:.0f}", page)
            yield Picture(names, f"{heading}: {', '.join(about)}", figure)


def _legend(axis: Axes, levels: int) -> None:
    """Kernels or layers over a panel, with markers that are as large for many levels as for few."""
    scale = math.sqrt(_marker(0) / _marker(levels))
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, markerscale=scale)


def _marker(levels: int) -> float:
    """Area of the marker of a level, in square points."""
    return 26 if levels < MANY else 4


def _panel(axis: Axes, rows: pd.DataFrame, column: str, quantity: str) -> None:
    """One quantity over levels, on a logarithmic axis; levels without a value leave a gap."""
    rows = rows.sort_values("level")
    axis.plot(rows["level"], rows[column].where(rows[column] > 0), color="#bbbbbb", linewidth=0.8, zorder=1)
    for place, (kernel, part) in enumerate(rows.groupby("kernel", sort=True)):
        colour, marker = look(place)
        part = part[part[column] > 0]
        style: dict[str, Any] = {"s": _marker(len(rows)), "c": colour, "marker": marker, "linewidths": 0}
        axis.scatter(part["level"], part[column], zorder=2, label=kernel, **style)
    plain_log(axis, "y")
    axis.set_ylabel(quantity)
