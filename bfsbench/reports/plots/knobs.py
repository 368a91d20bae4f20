"""Draws times by the values of knobs, with one picture per variant, one panel per knob, and one line per
graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bfsbench.reports.measured import NothingToDrawError, TimedRows, value_order, values_of_knobs
from bfsbench.reports.plots.picture import Picture, file_name, legend_of_all, look, pages, panels, time_axis
from bfsbench.reports.rows import fastest
from bfsbench.rows.point import knob_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 9
_ACROSS = 3


def knob_sweeps(measured: TimedRows, *, title: str = "", knobs: Sequence[str] = ()) -> Iterator[Picture]:
    """Yields pictures of the best time of each variant on each graph, for each value of a knob.

    The best time is taken over all values of the other knobs, the grid and the block. Only graphs that were
    searched with several values are shown. ``knobs`` names the knobs to draw, by default all. The grid or the
    block counts as a knob if only one of the two varied. All series of one variant share a picture, and all
    panels of a picture share a time axis.
    """
    times = measured.configurations
    varied = [
        _Sweep(label, knob, part)
        for label in measured.labels
        for knob, part in _varied(times[times["label"] == label])
        if not knobs or knob in knobs
    ]
    if not varied:
        raise NothingToDrawError("knob sweeps need a variant timed with several values of a knob on a graph")
    for variant in dict.fromkeys(sweep.variant for sweep in varied):
        sweeps = [sweep for sweep in varied if sweep.variant == variant]
        of = [label for label in measured.labels if any(sweep.label == label for sweep in sweeps)]
        heading = f"{title or 'Knobs'}: {variant if len(of) > 1 else of[0]}{measured.heading}"
        for page, shown in pages(sweeps, _PANELS):
            figure, axes = panels(heading, len(shown), across=_ACROSS, size=(3.8, 3.0), sharey=True)
            axes[0].set_ylabel(measured.quantity)
            for axis, sweep in zip(axes, shown, strict=True):
                _panel(axis, sweep, measured)
                if len(of) > 1 and sweep.label != sweep.knob:
                    axis.set_title(sweep.label)
            low = min(float(sweep.times["search_ms"].min()) for sweep in shown)
            time_axis(axes[0], low, max(float(sweep.times["search_ms"].max()) for sweep in shown))
            legend_of_all(figure)
            name = variant if len(of) > 1 else of[0]
            yield Picture(file_name(f"knobs{measured.suffix}", name, page), heading, figure)


@dataclass(frozen=True, eq=False)
class _Sweep:
    """The configurations of one series, on the graphs where one knob has several values."""

    label: str
    knob: str
    times: pd.DataFrame
    """The configurations, with a column ``value``: the value of the knob."""

    @property
    def variant(self) -> str:
        return str(self.times["variant"].iloc[0])


def _varied(times: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields each knob that has several values on some graph, with the configurations on these graphs.

    The grid and the block count as knobs if only one of them varied.
    """
    settings = times["knobs"].map(knob_values)
    given_values = {
        knob: settings.map(lambda found, knob=knob: found.get(knob)) for knob in values_of_knobs(settings)
    }
    for knob, values in [*_launches(times), *given_values.items()]:
        given = times.assign(value=values)
        several = given.groupby("title")["value"].transform("nunique") > 1
        if several.any():
            yield knob, given[several].dropna(subset=["value"])


def _launches(times: pd.DataFrame) -> Iterator[tuple[str, pd.Series[str]]]:
    """Yields the grids on graphs where the block did not vary, and the blocks on graphs where the grid did
    not."""
    kernels = times[times["backend"] != "host"]
    several = kernels.groupby("title")[["grid", "block"]].transform("nunique") > 1
    shown = {"grid": kernels["grid"], "block": kernels["block"].map("{:g}".format)}
    yield "grid (blocks)", shown["grid"][several["grid"] & ~several["block"]]
    yield "block (threads)", shown["block"][several["block"] & ~several["grid"]]


def _panel(axis: Axes, sweep: _Sweep, measured: TimedRows) -> None:
    """Draws one panel. The values stand at equal distances, because most of them are powers of two or
    words."""
    values = sorted(set(sweep.times["value"]), key=value_order)
    best = fastest(sweep.times, ("title", "value"))
    for index, graph in enumerate(measured.graphs):
        line = best[best["title"] == graph]
        line = line.assign(place=line["value"].map(values.index)).sort_values("place")
        colour, marker = look(index)
        if len(line):
            axis.plot(line["place"], line["search_ms"], color=colour, marker=marker, ms=5, label=graph)
    axis.set_xticks(range(len(values)), values)
    axis.set_xlim(-0.3, len(values) - 0.7)
    axis.set_xlabel(sweep.knob)
