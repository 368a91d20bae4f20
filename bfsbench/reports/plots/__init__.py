"""Draws result files as pictures, for the command line and for notebooks::

    from bfsbench.rows.results import read_results
    from bfsbench.reports.plots import draw

    for picture in draw("bars", read_results(["results/a.csv"])):
        picture.figure

``save(draw(...), Path("pictures"), "svg")`` writes pictures to files.

Each kind of picture has a function in a module of this package. The function takes ``TimedRows``, and its own
options as keyword arguments, and yields pictures.

A *series* is a set of rows that becomes one line or one bar. The column ``series`` of the rows may name it.
Without that column, each variant is a series. Graphs and series keep the order of their first rows, unless a
picture sorts them by time. Measured and emulated times are shown in separate pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bfsbench.reports.history import by_commit
from bfsbench.reports.measured import NothingToDrawError, TimedRows
from bfsbench.reports.plots.bars import ablation, bars, speed_ups, spreads
from bfsbench.reports.plots.curve import curves, histories
from bfsbench.reports.plots.overview import overviews
from bfsbench.reports.plots.picture import (
    FORMATS,
    WIDTH,
    Picture,
    add_lines,
    fit_page,
    mark_emulated,
    one_page,
    remove_title,
    save,
    saved,
    style_of_width,
)
from bfsbench.reports.plots.profile import duplicates, profiles
from bfsbench.reports.plots.roofline import rooflines
from bfsbench.reports.plots.settings import heat_maps, knob_sweeps
from bfsbench.reports.rows import NEVER_HOW_FAST, kinds
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.reports.names import Names

__all__ = [
    "FORMATS",
    "PLOTS",
    "NothingToDrawError",
    "Picture",
    "draw",
    "matplotlib_style",
    "one_page",
    "save",
    "saved",
]

PLOTS: dict[str, Callable[..., Iterator[Picture]]] = {
    "bars": bars,
    "overview": overviews,
    "heatmap": heat_maps,
    "profile": profiles,
    "roofline": rooflines,
    "duplicates": duplicates,
    "ablation": ablation,
    "knobs": knob_sweeps,
    "speedup": speed_ups,
    "curve": curves,
    "spread": spreads,
    "history": histories,
}
"""Maps each kind of picture to the function that draws it. ``report --help`` lists the kinds in this
order."""


def draw(
    kind: str,
    rows: pd.DataFrame,
    levels: pd.DataFrame | None = None,
    *,
    width: float | None = None,
    titled: bool = True,
    names: Names | None = None,
    **options: Any,
) -> list[Picture]:
    """Draws all pictures of one kind. Returns them as a list.

    ``rows`` are result rows from ``read_results``. ``levels`` are level profiles from ``read_levels``; only
    some kinds of pictures need them. ``width`` is the width of a picture in inches. By default the number of
    panels determines the width. If ``titled`` is false, the pictures have no title, only the attribute
    ``caption``. ``names`` replaces names of searches and graphs. ``options`` are passed to the function that
    draws this kind.

    Raises NothingToDrawError if the rows have no data for this kind. Raises UsageError for an unknown kind,
    and if matplotlib is missing.
    """
    if kind not in PLOTS:
        raise UsageError(f"unknown plot '{kind}': there are {', '.join(PLOTS)}")
    made: list[Picture] = []
    reasons: list[str] = []
    if kind == "history":
        rows = by_commit(rows)
    token = WIDTH.set(width)
    try:
        with matplotlib_style(), one_page():
            for part in kinds(rows):  # measured rows of each family come before emulated rows
                if kind not in part.family.pictures:
                    reasons.append(f"rows of family {part.family.name} have nothing for '{kind}'")
                    continue
                try:
                    named = replace(part, heading=part.heading.replace(NEVER_HOW_FAST, " (emulated)"))
                    made += _drawn(kind, TimedRows.of(named, levels), titled, options)
                except NothingToDrawError as error:
                    reasons.append(str(error))
    finally:
        WIDTH.reset(token)
    if not made:
        raise NothingToDrawError("; ".join(dict.fromkeys(reasons)))
    return made if names is None else [*map(names.in_picture, made)]


def _drawn(kind: str, measured: TimedRows, titled: bool, options: dict[str, Any]) -> Iterator[Picture]:
    """Draws pictures of the rows in ``measured``. The titles also name the devices, and the reading options
    that all graphs share. The attribute ``caption`` of a picture holds the text of its title."""
    for picture in PLOTS[kind](measured, **options):
        title = picture.figure.get_suptitle()
        known = picture.devices or measured.devices
        devices = ", ".join(device for device in known if device not in title)
        shared = measured.shared_options
        if measured.emulated:
            mark_emulated(picture.figure)
        add_lines(picture.figure, [*filter(None, (devices, shared and f"graphs: {shared}"))])
        shown = [f"shown: {', '.join(picture.graphs)}"] if picture.graphs else []
        caption = "; ".join([*picture.figure.get_suptitle().splitlines(), *shown])
        if not titled:
            remove_title(picture.figure)
        fit_page(picture.figure)
        yield replace(picture, caption=caption)


def matplotlib_style() -> AbstractContextManager[None]:
    """Returns a context manager that applies the matplotlib settings that all pictures share.

    Raises UsageError if matplotlib is missing.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise UsageError("pictures need matplotlib: pip install 'bfsbench[plots]'") from None
    return style.context(style_of_width())
