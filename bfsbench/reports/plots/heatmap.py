"""Draws times over grid and block, with one picture per graph and one panel per variant, as in Springer's
Fig. 8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.reports.heatmap import grid_order
from bfsbench.reports.measured import NothingToDrawError, TimedRows, wrapped
from bfsbench.reports.plots.picture import FAILED_HATCH, Picture, file_name, number, pages, panels
from bfsbench.reports.rows import STATISTIC

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_PANELS = 6
_ACROSS = 3
_DARKEST, _LEAST_DARKEST = 10.0, 1.25
"""The colours end at the worst ratio to the best time, but never above the first and never below the second
of these numbers."""
_WHITE_SHARE = 0.45
"""Share of the logarithmic colour range above which numbers are written in white."""
_TICKS = (1.1, 1.25, 1.5, 2, 3, 5)


def heat_maps(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields heat maps of times in ms over grid and block.

    A cell shows the time with the best knob values. Its colour shows the ratio to the best time of the map.
    Cells of failed points are hatched, and cells that were not tried are blank.

    A map needs at least two grids and two blocks. Where only one of the two varied, the pictures of knobs
    show it instead.
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
        for page, labels in pages(shown, _PANELS):
            about = (graph, measured.searched(graph))
            chosen = cells[(cells["title"] == graph) & cells["label"].isin(labels)]
            tried = kernels[(kernels["title"] == graph) & kernels["label"].isin(labels)]
            drawn = _figure(heading, about, labels, chosen, tried)
            name = f"{heading}: {', '.join(about)}"
            yield Picture(file_name(f"heatmap{measured.suffix}", graph, page), name, drawn)


def _figure(
    title: str, about: Sequence[str], labels: Sequence[str], cells: pd.DataFrame, tried: pd.DataFrame
) -> Figure:
    blocks = sorted(tried["block"].dropna().unique())
    grids = sorted(tried["grid"].unique(), key=grid_order)
    size = (max(3.4, 0.55 * len(blocks) + 1.2), max(2.4, 0.32 * len(grids) + 1.1))
    figure, axes = panels(title, len(labels), across=_ACROSS, size=size, about=about)
    ratios = cells["search_ms"] / cells.groupby("label")["search_ms"].transform("min")
    darkest = min(_DARKEST, max(_LEAST_DARKEST, float(ratios.max())))
    for axis, label in zip(axes, labels, strict=True):
        here = tried[tried["label"] == label]
        failed = set(zip(here["grid"], here["block"], strict=True))
        image = _map(axis, cells[cells["label"] == label], failed, grids, blocks, darkest)
        axis.set_title(wrapped(label))
    legend = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02, extend="max")
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
    """Draws one map. A pair (grid, block) in ``tried`` that has no time is marked as failed."""
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
        axis.text(column, line, text, ha="center", va="center", color=colour, weight=weight, fontsize=8)
    for grid, block in tried:
        line, column = grids.index(grid), blocks.index(block)
        if np.isnan(times[line, column]):
            corner = (column - 0.5, line - 0.5)
            axis.add_patch(Rectangle(corner, 1, 1, fill=False, hatch=FAILED_HATCH, edgecolor="#999999", lw=0))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axis.text(column, line, "failed", ha="center", va="center", fontsize=7, bbox=box)
    axis.set_xticks(range(len(blocks)), [f"{block:g}" for block in blocks])
    axis.set_yticks(range(len(grids)), grids)
    axis.set_xlabel("block (threads)")
    axis.set_ylabel("grid (blocks)")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return image
