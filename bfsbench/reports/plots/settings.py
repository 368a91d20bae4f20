"""Plots search times against the settings of a search: heat maps for grid and block, and line plots for the
values of knobs (a variant's own parameters).

There is one picture of heat maps per graph, with one panel per variant, as in Fig. 8 of Springer's paper on
breadth-first search with CUDA. There is one picture of line plots per variant, with one panel per knob and
one line per graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from bfsbench.reports.best import grid_order
from bfsbench.reports.measured import NothingToDrawError, TimedRows, value_order, values_of_knobs, wrapped
from bfsbench.reports.plots.picture import (
    FAILED_HATCH,
    PAGE_INCHES,
    ROWS,
    Picture,
    columns_of,
    file_name,
    legend_of_all,
    letters_in,
    look,
    number,
    pages,
    panels,
    rows_that_fit,
    scaled,
    side_by_side,
    time_axis,
)
from bfsbench.reports.rows import STATISTIC, fastest
from bfsbench.rows.point import knob_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_MAPS = 6
"""Maximum number of heat maps per picture."""
_DARKEST, _LEAST_DARKEST = 10.0, 1.25
"""The darkest colour of a heat map stands for the worst ratio to the best time. For the colours, this ratio
is limited to at most ``_DARKEST`` and at least ``_LEAST_DARKEST``."""
_WHITE_SHARE = 0.45
"""Cells darker than this share of the logarithmic colour range have white numbers."""
_TICKS = (1.1, 1.25, 1.5, 2, 3, 5)


def heat_maps(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields heat maps of times in ms by grid and block.

    A cell shows the time with the best knob values. The cell's colour shows the ratio to the best time of the
    map. A cell is hatched if all its runs failed, and blank if it was not tried.

    A map needs at least two grids and two blocks. If only the grid or only the block varied, the function
    ``knob_sweeps`` draws it as a line.
    """
    kernels = measured.rows[measured.rows["backend"] != "host"]
    cells = measured.best(("title", "label", "grid", "block"))
    cells = cells[cells["backend"] != "host"]
    sizes = cells.groupby(["title", "label"])[["grid", "block"]].nunique().min(axis="columns")
    if not (sizes > 1).any():
        raise NothingToDrawError("heat maps need a kernel timed at several grids and several blocks")
    heading = (title or "Search time (ms) over grid and block") + measured.heading
    for graph in measured.graphs:
        shown = [label for label in measured.labels if sizes.get((graph, label), 0) > 1]
        width, height = _map_inches(kernels[(kernels["title"] == graph) & kernels["label"].isin(shown)])
        rows = max(1, int(PAGE_INCHES / scaled(height)))
        for page, labels in pages(shown, min(_MAPS, rows * side_by_side(width))):
            about = (measured.short[graph], measured.compared_from(graph))
            chosen = cells[(cells["title"] == graph) & cells["label"].isin(labels)]
            tried = kernels[(kernels["title"] == graph) & kernels["label"].isin(labels)]
            drawn = _figure(heading, about, labels, chosen, tried)
            name = f"{heading}: {', '.join(about)}"
            devices = tuple(chosen["device"].unique())
            yield Picture(file_name(f"heatmap{measured.suffix}", graph, page), name, drawn, devices=devices)


def _map_inches(tried: pd.DataFrame) -> tuple[float, float]:
    """Returns the usual width and height in inches of a heat map that shows these rows."""
    return max(3.4, 0.55 * tried["block"].nunique() + 1.2), max(2.4, 0.32 * tried["grid"].nunique() + 1.1)


def _figure(
    title: str, about: Sequence[str], labels: Sequence[str], cells: pd.DataFrame, tried: pd.DataFrame
) -> Figure:
    blocks = sorted(tried["block"].dropna().unique())
    grids = sorted(tried["grid"].unique(), key=grid_order)
    figure, axes = panels(title, len(labels), size=_map_inches(tried), about=about)
    ratios = cells["search_ms"] / cells.groupby("label")["search_ms"].transform("min")
    darkest = min(_DARKEST, max(_LEAST_DARKEST, float(ratios.max())))
    for axis, label in zip(axes, labels, strict=True):
        here = tried[tried["label"] == label]
        failed = set(zip(here["grid"], here["block"], strict=True))
        image = _map(axis, cells[cells["label"] == label], failed, grids, blocks, darkest)
        axis.set_title(wrapped(label))
    side: Literal["bottom", "right"] = "bottom" if columns_of(axes[0]) == 1 else "right"
    legend = figure.colorbar(image, ax=axes, location=side, shrink=0.8, pad=0.02, extend="max")
    ticks = [tick for tick in _TICKS if tick**2 > darkest**0.5 and tick < darkest**0.9]
    names = ["1 (best)", *(f"{tick:g}" for tick in ticks), f"{darkest:.3g}"]
    legend.set_ticks([1, *ticks, darkest], labels=names, minor=False)
    legend.ax.minorticks_off()
    legend.set_label(f"times the best of the map;\nms: {STATISTIC}")
    return figure


def _map(
    axis: Axes,
    cells: pd.DataFrame,
    tried: set[tuple[str, float]],
    grids: Sequence[str],
    blocks: Sequence[float],
    darkest: float,
) -> AxesImage:
    """Draws a heat map of one search's times, with one row per grid and one column per block size. If a pair
    (grid, block) in ``tried`` has no time, its cell is marked as failed."""
    import numpy as np
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    times = np.full((len(grids), len(blocks)), np.nan)
    for grid, block, time in zip(cells["grid"], cells["block"], cells["search_ms"], strict=True):
        times[grids.index(grid), blocks.index(block)] = time
    ratios = times / np.nanmin(times)
    image = axis.imshow(ratios, cmap="cividis_r", norm=LogNorm(1, darkest), aspect="auto")
    for line, column in zip(*np.nonzero(~np.isnan(times)), strict=True):
        ratio = ratios[line, column]
        text = number(times[line, column])
        weight = "bold" if ratio == 1 else "normal"
        colour = "white" if ratio > darkest**_WHITE_SHARE else "black"
        look_of: dict[str, Any] = {"color": colour, "weight": weight, "fontsize": scaled(8)}
        axis.text(column, line, text, ha="center", va="center", **look_of)
    for grid, block in tried:
        line, column = grids.index(grid), blocks.index(block)
        if np.isnan(times[line, column]):
            corner = (column - 0.5, line - 0.5)
            axis.add_patch(Rectangle(corner, 1, 1, fill=False, hatch=FAILED_HATCH, edgecolor="#999999", lw=0))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axis.text(column, line, "failed", ha="center", va="center", fontsize=scaled(7), bbox=box)
    axis.set_xticks(range(len(blocks)), [f"{block:g}" for block in blocks])
    axis.set_yticks(range(len(grids)), grids)
    axis.set_xlabel("block (threads)")
    axis.set_ylabel("grid (blocks)")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return image


_TITLE_LINES = 3
"""Usual number of lines above a picture of knobs: the title, the devices, and the options of the graphs."""
_PANEL = (3.8, 3.0)
"""Usual width and height in inches of a panel with times over the values of a knob."""
_Sweep = tuple[str, str, "pd.DataFrame"]
"""The data of one panel: the label of a search, a knob, and the search's configurations on the graphs where
the knob has several values. The column ``value`` holds the knob's values."""


def knob_sweeps(measured: TimedRows, *, title: str = "", knobs: Sequence[str] = ()) -> Iterator[Picture]:
    """Yields pictures that show the best time of each variant on each graph against the values of a knob. All
    other knobs, the grid and the block have the values that give the best time. A knob is shown on the graphs
    on which several of its values were measured while all other settings were equal. ``knobs`` names the
    knobs to draw, by default all. If only the grid or only the block varied, it is drawn like a knob. All
    searches of one variant share a picture, and all panels of a picture share a time axis."""
    times = measured.configurations
    sweeps: dict[str, list[_Sweep]] = {}
    for label in measured.labels:
        for knob, part in _varied(times[times["label"] == label]):
            if not knobs or knob in knobs:
                sweeps.setdefault(str(part["variant"].iloc[0]), []).append((label, knob, part))
    if not sweeps:
        raise NothingToDrawError("knob sweeps need a variant timed with several values of a knob on a graph")
    across = side_by_side(_PANEL[0])
    # The legend has about as many columns as there are panels side by side.
    rows = min(ROWS, rows_that_fit(_PANEL[1], _TITLE_LINES, math.ceil(len(measured.graphs) / across)))
    for variant, of_variant in sweeps.items():
        labels = {label for label, _, _ in of_variant}
        name = variant if len(labels) > 1 else of_variant[0][0]
        heading = f"{title or 'Knobs'}: {name}{measured.heading}"
        for page, shown in pages(of_variant, across * rows):
            figure, axes = panels(heading, len(shown), size=_PANEL, sharey=True)
            quantity = f"{measured.quantity}, all other settings equal"
            letters = letters_in(scaled(_PANEL[1]))
            axes[0].set_ylabel("\n".join(wrapped(line, letters) for line in quantity.splitlines()))
            for axis, (label, knob, part) in zip(axes, shown, strict=True):
                _panel(axis, knob, part, measured)
                if len(labels) > 1 and label != knob:
                    axis.set_title(label)
            drawn = [ms for _, _, part in shown for ms in part["search_ms"]]
            time_axis(axes[0], min(drawn), max(drawn))
            legend_of_all(figure)
            yield Picture(file_name(f"knobs{measured.suffix}", name, page), heading, figure)


def _varied(times: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields each knob that was varied, with the configurations that show its effect. Such configurations
    differ in the knob, but were measured on the same graph, with all other settings equal. The column
    ``value`` is added, and holds the values of the knob. On graphs where only the grid was varied, the grid
    is treated as a knob. On graphs where only the block was varied, the block is treated as a knob."""
    settings = times["knobs"].map(knob_values)
    given_values = {
        knob: settings.map(lambda found, knob=knob: found.get(knob)) for knob in values_of_knobs(settings)
    }
    launches = ((label, values, ()) for label, values in _launches(times))
    knobs = ((knob, values, ("grid", "block")) for knob, values in given_values.items())
    for knob, values, launch in (*launches, *knobs):
        given = times.assign(value=values, others=settings.map(partial(_others, knob)))
        equal = given.groupby(["title", "others", *launch], dropna=False)
        several = equal["value"].transform("nunique") > 1
        if several.any():
            yield knob, given[several].dropna(subset=["value"])


def _others(knob: str, settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item for item in settings.items() if item[0] != knob))


def _launches(times: pd.DataFrame) -> Iterator[tuple[str, pd.Series[str]]]:
    """Yields a label for the grid with grid sizes, and then a label for the block with block sizes. The grid
    sizes are taken from the rows of graphs on which only the grid varied. The block sizes are taken from the
    rows of graphs on which only the block varied."""
    kernels = times[times["backend"] != "host"]
    several = kernels.groupby("title")[["grid", "block"]].transform("nunique") > 1
    shown = {"grid": kernels["grid"], "block": kernels["block"].map("{:g}".format)}
    yield "grid (blocks)", shown["grid"][several["grid"] & ~several["block"]]
    yield "block (threads)", shown["block"][several["block"] & ~several["grid"]]


def _panel(axis: Axes, knob: str, times: pd.DataFrame, measured: TimedRows) -> None:
    """Draws one panel: times against the values of a knob, with one line per graph. The knob's values have
    equal distances on the axis, because most of them are powers of two or words."""
    values = sorted(set(times["value"]), key=value_order)
    best = fastest(times, ("title", "value"))
    for graph in measured.graphs:
        line = best[best["title"] == graph]
        line = line.assign(place=line["value"].map(values.index)).sort_values("place")
        colour, marker = look(graph)
        if len(line):
            name = measured.short[graph]
            axis.plot(line["place"], line["search_ms"], color=colour, marker=marker, ms=5, label=name)
    axis.set_xticks(range(len(values)), values)
    axis.set_xlim(-0.3, len(values) - 0.7)
    axis.set_xlabel(knob)
