"""Result files as pictures, on the command line and in a notebook::

    from bfsbench.rows.results import read_results
    from bfsbench.reports.plots import draw

    for picture in draw("bars", read_results(["results/a.csv"])):
        picture.figure

To files: ``save(draw(...), Path("pictures"), "svg")``.

Each kind is a function of a module of this package: it takes ``TimedRows`` and its own options by keyword,
and yields pictures. Rows may have a column ``series`` that says which line or bar a row belongs to; by
default that is its variant. Graphs and series keep the order in which they first appear, unless what is drawn
is sorted by time. Times of emulated kernels get pictures of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import NothingToDrawError, TimedRows
from bfsbench.reports.plots.bars import ablation, bars, speed_ups
from bfsbench.reports.plots.curve import curves
from bfsbench.reports.plots.duplicates import duplicates
from bfsbench.reports.plots.heatmap import heat_maps
from bfsbench.reports.plots.knobs import knob_sweeps
from bfsbench.reports.plots.picture import (
    FORMATS,
    STYLE,
    WIDTH,
    Picture,
    mark_emulated,
    name_devices,
    save,
    saved,
)
from bfsbench.reports.plots.profile import profiles
from bfsbench.reports.plots.roofline import rooflines
from bfsbench.reports.plots.spread import spreads
from bfsbench.reports.rows import kinds
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMATS", "PLOTS", "NothingToDrawError", "Picture", "draw", "matplotlib_style", "save", "saved"]

PLOTS: dict[str, Callable[..., Iterator[Picture]]] = {
    "bars": bars,
    "heatmap": heat_maps,
    "profile": profiles,
    "roofline": rooflines,
    "duplicates": duplicates,
    "ablation": ablation,
    "knobs": knob_sweeps,
    "speedup": speed_ups,
    "curve": curves,
    "spread": spreads,
}
"""All kinds of pictures by name, in the order they are shown."""


def draw(
    kind: str,
    rows: pd.DataFrame,
    levels: pd.DataFrame | None = None,
    *,
    width: float | None = None,
    **options: Any,
) -> list[Picture]:
    """The pictures of one kind made from rows of result files, and from level profiles where it needs them.

    ``rows`` as ``read_results`` gives them, ``levels`` as ``read_levels``; ``width`` in inches is by default
    what the panels need; ``options`` are those of the kind's function. Raises NothingToDrawError when no
    picture would have anything in it, UsageError for an unknown kind and when matplotlib is missing.
    """
    if kind not in PLOTS:
        raise UsageError(f"unknown plot '{kind}': there are {', '.join(PLOTS)}")
    made: list[Picture] = []
    reasons: list[str] = []
    with matplotlib_style():
        for part in kinds(rows):  # measured rows, then emulated ones
            if kind not in part.family.pictures:
                reasons.append(f"rows of family {part.family.name} have nothing for '{kind}'")
                continue
            measured = TimedRows.of(part, levels)
            token = WIDTH.set(width)
            try:
                drawn = [*PLOTS[kind](measured, **options)]
            except NothingToDrawError as error:
                reasons.append(str(error))
                continue
            finally:
                WIDTH.reset(token)
            for picture in drawn:
                name_devices(picture.figure, measured.devices)
                if measured.emulated:
                    mark_emulated(picture.figure)
            made += drawn
    if not made:
        raise NothingToDrawError("; ".join(dict.fromkeys(reasons)))
    return made


def matplotlib_style() -> AbstractContextManager[None]:
    """The settings of all pictures, for as long as they are drawn. Raises UsageError without matplotlib."""
    try:
        from matplotlib import style
    except ImportError:
        raise UsageError("pictures need matplotlib: pip install 'bfsbench[plots]'") from None
    return style.context(STYLE)
