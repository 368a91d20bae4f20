"""Speed-up of each search over CPU programs, a panel per graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.report.plots.measured import Measured, NothingToDrawError, ranking
from bfsbench.report.plots.picture import (
    COLOURS,
    MARKERS,
    NUMBER_SHARE,
    Picture,
    file_name,
    legend_of_all,
    lined_pages,
    lined_panels,
    note,
    number,
    plain_log,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PARALLEL = "cpu_parallel"
"""The program that uses all cores of the CPU."""


def speed_ups(measured: Measured, *, title: str = "", baselines: Sequence[str] = ()) -> Iterator[Picture]:
    """Time of each of the ``baselines``, host programs, / best time of the series, on a logarithmic axis,
    taken on the same machine and from the same sources; one axis for all panels of a picture. Right of the
    line at 1 the series is faster."""
    baselines = baselines or (measured.baseline, PARALLEL)
    found = {name: measured.best(baseline=name).dropna(subset=["speedup"]) for name in baselines}
    found = {name: best[best["variant"] != name] for name, best in found.items()}
    compared = {name: best for name, best in found.items() if len(best)}
    if not compared:
        names = " or ".join(baselines)
        raise NothingToDrawError(f"speed-ups need rows of {names} beside others, from one machine")
    heading = (title or "Speed-up over CPU programs") + measured.heading
    order = ranking(measured.best())
    graphs = list(dict.fromkeys(graph for best in compared.values() for graph in measured.among(best)))
    for page, portion in lined_pages(graphs, len(order)):
        parts = {name: best[best["title"].isin(portion)] for name, best in compared.items()}
        ratios = [1.0, *(ratio for part in parts.values() for ratio in part["speedup"])]
        shown = [label for label in order if any(label in set(part["label"]) for part in parts.values())]
        figure, axes = lined_panels(heading, [measured.above(graph) for graph in portion], shown)
        for axis, graph in zip(axes, portion, strict=True):
            here = {name: part[part["title"] == graph] for name, part in parts.items()}
            _panel(axis, here, shown, (min(ratios), max(ratios)))
        if len(parts) > 1:
            legend_of_all(figure)
        yield Picture(file_name(f"speedup{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, parts: dict[str, pd.DataFrame], shown: list[str], limits: tuple[float, float]) -> None:
    """Points, with their numbers where there is one baseline."""
    for index, (name, part) in enumerate(parts.items()):
        places = [shown.index(label) for label in part["label"]]
        axis.scatter(
            part["speedup"], places, s=30, c=COLOURS[index], marker=MARKERS[index], label=f"over {name}"
        )
        if len(parts) == 1:
            for place, value in zip(places, part["speedup"], strict=True):
                note(axis, number(value), value, place, offset=6)
    axis.axvline(1, color="#555555", linewidth=1)
    low, high = limits
    plain_log(axis, "x", limits)
    room = (high / low) ** NUMBER_SHARE if len(parts) == 1 else 1.2
    axis.set_xlim(low / 1.2, high * room)
    over = f" over {next(iter(parts))}" if len(parts) == 1 else ""
    axis.set_xlabel(f"speed-up{over} (times as fast)")
