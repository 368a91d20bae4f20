"""What each part of a search contributes: speed-ups as parts are added, as in BFS-4K's Fig. 14."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.report.plots.knobs import told_apart
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import (
    COLOURS,
    Picture,
    bar_axis,
    file_name,
    legend_below,
    lined_pages,
    lined_panels,
    note,
    number,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_DASHES = ("--", ":", "-.")
_REFERENCE_INCHES = 0.2
"""Height of a reference in a legend."""


def ablation(
    measured: Measured, *, title: str = "", baseline: str = "", references: Sequence[str] = ()
) -> Iterator[Picture]:
    """Speed-up of every series over ``baseline``, a host program, as a bar, the series in their order;
    ``references`` are series drawn as lines. The panels of a picture have one axis. Rows without a column
    ``series`` give a picture for every variant that was timed with several settings of its knobs, a bar a
    setting."""
    baseline = baseline or measured.baseline
    heading = (title or "Ablation") + measured.heading
    if "series" in measured.rows:
        names = [name for name in measured.labels if name not in (baseline, *references)]
        yield from _pictures(measured, heading, "", names, baseline, references)
        return
    drawn = False
    for variant, names, settings in told_apart(measured):
        drawn = True
        yield from _pictures(settings, f"{heading}: {variant}", variant, names, baseline, references)
    if not drawn:
        raise NothingToDrawError(
            "an ablation needs a variant timed with several settings of its knobs on a graph"
        )


def _pictures(
    measured: Measured,
    heading: str,
    variant: str,
    names: Sequence[str],
    baseline: str,
    references: Sequence[str],
) -> Iterator[Picture]:
    """Bars of the series ``names``."""
    known = measured.best(baseline=baseline).dropna(subset=["speedup"])
    best, lines = known[known["label"].isin(names)], known[known["label"].isin(references)]
    lines = lines.sort_values("label", key=lambda labels: labels.map(list(references).index))
    if best.empty:
        raise NothingToDrawError(f"an ablation needs rows of {baseline} from the machine of the others")
    below = _REFERENCE_INCHES * len(references)
    for page, graphs in lined_pages(measured.among(best), len(names)):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in names if label in set(chosen["label"])]
        told = lines[lines["title"].isin(graphs)]
        speedups = [1.0, *chosen["speedup"], *told["speedup"]]
        titles = [measured.above(graph) for graph in graphs]
        figure, axes = lined_panels(heading, titles, shown, below=below)
        for axis, graph in zip(axes, graphs, strict=True):
            here, beside = chosen[chosen["title"] == graph], told[told["title"] == graph]
            _panel(axis, here, shown, beside, (min(speedups), max(speedups)))
            axis.set_xlabel(f"speed-up over {baseline} (times as fast)")
        yield Picture(file_name(f"ablation{measured.suffix}", variant, page), heading, figure)


def _panel(
    axis: Axes,
    best: pd.DataFrame,
    shown: list[str],
    references: pd.DataFrame,
    limits: tuple[float, float],
) -> None:
    bar_axis(axis, *limits)
    start = 1 if axis.get_xscale() == "log" else 0
    places = [shown.index(label) for label in best["label"]]
    axis.barh(places, best["speedup"] - start, left=start, color=COLOURS[0], height=0.7)
    for place, value in zip(places, best["speedup"], strict=True):
        note(axis, number(value), max(value, start), place)
    for place in set(range(len(shown))).difference(places):
        note(axis, "not run", start, place)
    for index, (label, value) in enumerate(zip(references["label"], references["speedup"], strict=True)):
        dashes = _DASHES[index % len(_DASHES)]
        axis.axvline(value, color=COLOURS[4], linestyle=dashes, label=f"{label} ({number(value)})")
    if len(references):
        legend_below(axis)
    axis.axvline(1, color="#555555", linewidth=1, zorder=0.5)
    axis.grid(visible=False, axis="y")
