"""Draws the duplicates in the frontiers of searches that count them, as in BFS-4K's Figs. 12 and 13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import NothingToDrawError, TimedRows, search_names
from bfsbench.reports.plots.picture import (
    Picture,
    file_name,
    legend_of_all,
    level_axis,
    log_or_zero,
    look,
    panels,
    plain,
)
from bfsbench.reports.plots.profile import MANY, of_fastest_launch, profiled
from bfsbench.rows.point import knob_values

if TYPE_CHECKING:
    import pandas as pd

_COUNTERS = ("entries", "detected", "missed")
"""Counters of a level: entries of the next frontier, duplicates dropped, and duplicates that remain among the
entries."""


def duplicates(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields one picture for each graph and source, with two panels over the levels.

    The first panel shows the entries of each frontier, duplicates included, beside its distinct vertices. The
    second panel shows the number of duplicates kept, and the number of duplicates that the search found and
    dropped. Each search has a colour. Its fastest grid and block are shown.
    """
    levels = of_fastest_launch(_with_counters(profiled(measured)))
    heading = (title or "Duplicates") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        about = (str(graph), f"source {measured.source(str(graph), source)}")
        searches = list(found.groupby(search_names(found), sort=False))
        figure, (sizes, extra) = panels(heading, 2, across=2, size=(5.0, 3.6), about=about)
        for index, (label, rows) in enumerate(searches):
            rows = rows.sort_values("level").assign(level=rows["level"] + 1)
            colour, marker = look(index)
            style: dict[str, Any] = {"color": colour, "marker": marker if len(rows) < MANY else "", "ms": 4}
            sizes.plot(rows["level"], rows["entries"], label=str(label), **style)
            extra.plot(rows["level"], rows["missed"], **style)
            if rows["detected"].any():
                extra.plot(rows["level"], rows["detected"], **style | {"marker": "", "ls": "--"})
        distinct = rows["entries"] - rows["missed"]
        sizes.plot(rows["level"], distinct, color="#000000", ls=":", zorder=5, label="distinct vertices")
        extra.set_title("kept (solid) and dropped (dashed)", fontsize=9)
        for axis, quantity in (
            (sizes, "entries of the frontier (vertices)"),
            (extra, "duplicates (vertices)"),
        ):
            level_axis(axis)
            axis.set_ylabel(quantity)
        plain(sizes.yaxis)
        sizes.set_ylim(bottom=0)
        log_or_zero(extra)
        legend_of_all(figure)
        name = f"{heading}: {', '.join(about)}"
        yield Picture(file_name(f"duplicates{measured.suffix}", str(graph), f"{source:.0f}"), name, figure)


def _with_counters(levels: pd.DataFrame) -> pd.DataFrame:
    """Returns the levels of searches that count entries, with a column for each of ``_COUNTERS``.

    Raises NothingToDrawError if no search counts duplicates.
    """
    counts = levels["counts"].map(knob_values)
    with_counters = levels.assign(
        **{name: [float(found.get(name, 0)) for found in counts] for name in _COUNTERS}
    )
    with_counters = with_counters[with_counters["counts"] != ""]
    if not (with_counters["entries"] > 0).any():
        raise NothingToDrawError("no search of these rows counts duplicates: bfs4k does, with --profile")
    return with_counters
