"""Draws the costs of each level of a search, as two kinds of pictures.

One kind shows, for each level, its vertices, arcs, time and kernel, like Fig. 7 in the BFS-4K paper. The
other kind shows the duplicates in frontiers, like Figs. 12 and 13 in the BFS-4K paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import NothingToDrawError, TimedRows, search_names
from bfsbench.reports.plots.picture import (
    COLOURS,
    MARKERS,
    Picture,
    file_name,
    legend_of_all,
    level_axis,
    look,
    pages,
    panels,
    plain,
    plain_log,
    scaled,
)
from bfsbench.rows.point import knob_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEARCHES = len(COLOURS)
"""Maximum number of searches per picture of level profiles, which is the number of colours."""
_QUANTITIES = {
    "frontier_size": "frontier (vertices)",
    "edges_inspected": "inspected (arcs)",
    "time_us": "time (µs)",
}
"""The panels of a picture of level profiles: one per column, with the label of its axis."""
MANY = 100
"""From this number of levels on, the markers of a search are small or left out."""
_NO_PROFILE = "no level profile belongs to these rows: take one with 'bfsbench run --profile'"


def profiled(measured: TimedRows) -> pd.DataFrame:
    """Returns the rows of the level profiles. Raises NothingToDrawError if there are none."""
    if measured.levels is None or measured.levels.empty:
        raise NothingToDrawError(_NO_PROFILE)
    return measured.levels


def of_fastest_launch(levels: pd.DataFrame) -> pd.DataFrame:
    """Returns the level profiles of each search, but only at the grid and block with the shortest total time
    over all levels. Rows that differ only in grid and block belong to the same search."""
    search = ["title", "source", "label", "knobs"]
    launch = [*search, "grid", "block"]
    totals = levels.groupby(launch, dropna=False)["time_us"].sum().reset_index()
    best = totals.sort_values("time_us", kind="stable").drop_duplicates(search)
    return levels.merge(best[launch], on=launch)


def profiles(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with three panels: the vertices of the frontier, the arcs inspected, and the time of
    each level.

    Each line is a search at its fastest grid and block. If a search has several kernels, or a kernel has
    several ways to run a level, the marker of a level shows how it ran. A picture holds the searches of one
    graph from one source.
    """
    levels = of_fastest_launch(profiled(measured))
    heading = (title or "Level profile") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        searches = [(str(name), rows) for name, rows in found.groupby(search_names(found), sort=False)]
        about = (measured.short[str(graph)], f"source {measured.source(str(graph), source)}")
        for page, shown in pages(searches, _SEARCHES):
            figure = _figure(heading, about, shown)
            names = file_name(f"profile{measured.suffix}", str(graph), f"{source:.0f}", page)
            yield Picture(names, f"{heading}: {', '.join(about)}", figure)


def _figure(heading: str, about: Sequence[str], searches: Sequence[tuple[str, pd.DataFrame]]) -> Figure:
    """Returns a figure with one panel for each quantity in ``_QUANTITIES``. A quantity for which no search
    has values gets no panel."""
    known = [name for name in _QUANTITIES if any((rows[name] > 0).any() for _, rows in searches)]
    mixed = (rows["kernel"] for _, rows in searches if rows["kernel"].nunique() > 1)
    kernels = sorted({kernel for names in mixed for kernel in names})
    figure, axes = panels(heading, len(known), across=1, size=(8.4, 2.2), about=about, sharex=True)
    for axis, column in zip(axes, known, strict=True):
        for label, rows in searches:
            _line(axis, label, rows.sort_values("level"), column, look(label)[0], kernels)
        plain_log(axis, "y")
        axis.set_ylabel(_QUANTITIES[column])
    level_axis(axes[-1])
    for kernel in kernels:
        marker = _marker(kernel, kernels)
        axes[0].plot([], [], marker=marker, color="#777777", linestyle="", label=f"level by {kernel}")
    legend_of_all(figure)
    return figure


def _marker(kernel: str, kernels: Sequence[str]) -> str:
    """Returns the marker for a kernel in ``kernels``, or a dot for any other kernel."""
    return MARKERS[kernels.index(kernel) % len(MARKERS)] if kernel in kernels else "."


def _line(
    axis: Axes, label: str, rows: pd.DataFrame, column: str, colour: str, kernels: Sequence[str]
) -> None:
    """Draws one quantity of a search over its levels, as a line with markers. A level without a value leaves
    a gap."""
    values = rows[column].where(rows[column] > 0)
    axis.plot(rows["level"], values, color=colour, linewidth=0.9, label=label)
    area = 20 if len(rows) < MANY else 3
    for kernel, part in rows.assign(value=values).groupby("kernel", sort=True):
        marker = _marker(str(kernel), kernels)
        axis.scatter(part["level"], part["value"], s=area, c=colour, marker=marker, linewidths=0)


_COUNTERS = ("entries", "detected", "missed")
"""Counters of a level: the entries of the next frontier, the duplicates that the search dropped, and the
duplicates that remain among the entries."""


def duplicates(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields one picture for each graph and source, with two panels over the levels.

    The first panel shows the entries of each frontier, duplicates included, beside its distinct vertices. The
    second panel shows how many duplicates stayed in the frontier, and how many the search found and dropped.
    Each search has a colour, and is shown at its fastest grid and block.
    """
    levels = of_fastest_launch(_with_counters(profiled(measured)))
    heading = (title or "Duplicates") + measured.heading
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        about = (measured.short[str(graph)], f"source {measured.source(str(graph), source)}")
        searches = list(found.groupby(search_names(found), sort=False))
        figure, (sizes, extra) = panels(heading, 2, across=2, size=(5.0, 3.6), about=about)
        for label, rows in searches:
            rows = rows.sort_values("level").assign(level=rows["level"] + 1)
            colour, marker = look(str(label))
            style: dict[str, Any] = {"color": colour, "marker": marker if len(rows) < MANY else "", "ms": 4}
            sizes.plot(rows["level"], rows["entries"], label=str(label), **style)
            extra.plot(rows["level"], rows["missed"], **style)
            if rows["detected"].any():
                extra.plot(rows["level"], rows["detected"], **style | {"marker": "", "ls": "--"})
        distinct = rows["entries"] - rows["missed"]
        sizes.plot(rows["level"], distinct, color="#000000", ls=":", zorder=5, label="distinct vertices")
        extra.set_title("kept (solid) and dropped (dashed)", fontsize=scaled(9))
        for axis, quantity in (
            (sizes, "entries of the frontier (vertices)"),
            (extra, "duplicates (vertices)"),
        ):
            level_axis(axis)
            axis.set_ylabel(quantity)
        plain(sizes.yaxis)
        sizes.set_ylim(bottom=0)
        extra.set_yscale("symlog", linthresh=1)  # a logarithmic axis cannot show 0, but the counts may be 0
        plain(extra.yaxis)
        extra.set_ylim(bottom=-0.1)
        legend_of_all(figure)
        name = f"{heading}: {', '.join(about)}"
        yield Picture(file_name(f"duplicates{measured.suffix}", str(graph), f"{source:.0f}"), name, figure)


def _with_counters(levels: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of ``levels`` that have counters, with an added column for each counter in
    ``_COUNTERS``. A counter that a row lacks is 0.

    Raises NothingToDrawError if no search counts the entries of its frontiers.
    """
    counts = levels["counts"].map(knob_values)
    with_counters = levels.assign(
        **{name: [float(found.get(name, 0)) for found in counts] for name in _COUNTERS}
    )
    with_counters = with_counters[with_counters["counts"] != ""]
    if not (with_counters["entries"] > 0).any():
        raise NothingToDrawError("no search of these rows counts duplicates: bfs4k does, with --profile")
    return with_counters
