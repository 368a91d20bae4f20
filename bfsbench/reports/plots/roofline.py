"""Draws how close each search comes to the measured limits (ceilings) of its device, with one panel per
graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.reports.levels import read_levels
from bfsbench.reports.measured import NothingToDrawError, TimedRows
from bfsbench.reports.plots.picture import COLOURS, Picture, legend_of, lined_pictures, note, scaled
from bfsbench.reports.roofline import BOUNDS, COUNTED, MODELLED, held_against
from bfsbench.support.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from bfsbench.rows.ceilings import Ceilings

_MEANINGS = {
    "latency": "launches, barriers, dependent loads",
    "random": "random access",
    "bandwidth": "bandwidth",
}
_UNKNOWN = "edges unknown"
_HATCH = "////"
"""Hatching of bars for which the work of the search is estimated by a model instead of counted."""


def rooflines(measured: TimedRows, *, title: str = "", ceilings: Ceilings | None = None) -> Iterator[Picture]:
    """Yields pictures with one horizontal bar per search. The bar shows the search's share of the device's
    ceiling, in per cent.

    The share is the shortest time that the device's limits allow, divided by the measured time.
    ``bfsbench.reports.roofline`` defines it. The colour shows which limit bounds the search. A bar is hatched
    if the work is estimated by a model instead of counted. A search without a bar has a text that says why.

    If there are several sources, the bar shows the source with the median share. By default ``ceilings`` are
    read from the file of ceilings beside the result files.
    """
    frame = _shares(measured, ceilings)
    if frame["share"].isna().all():
        raise NothingToDrawError("a roofline needs kernels that were timed on a GPU and edges that are known")
    frame = frame.assign(title=frame["graph"], label=frame["variant"])
    means = frame.groupby("label")["share"].mean().sort_values(ascending=False)
    graphs, labels = list(dict.fromkeys(frame["title"])), [str(label) for label in means.index]
    title = title or "Share of the device's ceiling"
    drawn, meaning = (measured, frame, labels, _panel), " ".join(_notes(measured, frame))
    for picture, shown in lined_pictures("roofline", title, *drawn, graphs=graphs, meaning=meaning):
        legend_of(picture.figure, _legend(shown))
        yield picture


def _notes(measured: TimedRows, frame: pd.DataFrame) -> Iterator[str]:
    """Yields sentences that say why some searches have no bar."""
    if any(frame["share"].isna()):
        yield f"{_UNKNOWN}: a level profile ('bfsbench run --profile') counts the edges of most searches."
    others = [label for label in measured.labels if label not in set(frame["label"])]
    if others:
        yield f"Not drawn, because ceilings apply only to GPU kernels of bfsbench: {', '.join(others)}."


def _shares(measured: TimedRows, ceilings: Ceilings | None) -> pd.DataFrame:
    """Compares each search with the device's ceilings (measured limits). The share is NaN if the
    edges of a search are unknown.

    Raises NothingToDrawError if there are no ceilings, or if they belong to another device.
    """
    from bfsbench.rows.ceilings import ceilings_beside, read_ceilings

    levels = read_levels([]) if measured.levels is None else measured.levels
    try:
        if ceilings is None:
            files = dict.fromkeys(map(Path, measured.rows["file"]))
            ceilings = read_ceilings(ceilings_beside(files))
        return held_against(measured.rows, levels, ceilings)
    except InputError as error:
        raise NothingToDrawError(str(error)) from error


def _panel(axis: Axes, frame: pd.DataFrame, shown: Sequence[str], _: pd.DataFrame) -> None:
    """Draws the bars of one graph. If a search has several sources, its bar shows the source whose share of
    the ceiling is the median."""
    known = frame.dropna(subset=["share"])
    for missing in set(shown).difference(known["label"]):
        reason = _UNKNOWN if missing in set(frame["label"]) else "no time"
        note(axis, reason, 0, shown.index(missing))
    for label, group in known.groupby("label"):
        search = group.sort_values("share").iloc[(len(group) - 1) // 2]
        colour = COLOURS[BOUNDS.index(search["bound"])]
        hatch = None if search["edges_from"] == COUNTED else _HATCH
        place, percent = shown.index(str(label)), float(search["share"]) * 100
        bar = axis.barh(
            place, percent, color=colour, hatch=hatch, edgecolor="white", linewidth=0, height=0.75
        )
        axis.bar_label(bar, [f"{percent:.2g}"], padding=3, fontsize=scaled(8))
    axis.set_xlim(0, max(110.0, axis.get_xlim()[1]))
    axis.axvline(100, color="#555555", linewidth=1)
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("share of the ceiling (%)")


def _legend(frame: pd.DataFrame) -> list[Patch]:
    """Returns the legend's entries for the colours and the hatching that the bars in ``frame`` have."""
    from matplotlib.patches import Patch

    used = [bound for bound in BOUNDS if bound in set(frame["bound"])]
    patches = [Patch(color=COLOURS[BOUNDS.index(bound)], label=_MEANINGS[bound]) for bound in used]
    if any(frame["edges_from"] == MODELLED):
        patches.append(Patch(facecolor="#999999", hatch=_HATCH, edgecolor="white", label="work modelled"))
    return patches
