"""Draws pictures with one panel per graph, in which each search has a horizontal line or bar.

There are pictures of best times, of speed-ups, of the contribution of each feature of a search, and of the
spread of the samples. The pictures of best times follow Fig. 7 in Springer's paper on breadth-first search
with CUDA, but show times relative to the best time. The pictures of contributions follow Fig. 14 in the
BFS-4K paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import NothingToDrawError, TimedRows, ranking, ratios, told_apart
from bfsbench.reports.plots.picture import (
    COLOURS,
    HOST_COLOUR,
    MARGIN,
    MARKERS,
    NUMBER_SHARE,
    Picture,
    bar_axis,
    end_of,
    legend_of,
    legend_of_all,
    lined_pictures,
    note,
    number,
    plain_log,
    scaled,
)
from bfsbench.reports.rows import SPEED_UP, STATISTIC, TYPICAL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_STATISTIC_INCHES = 0.2
"""Height in inches of a line that names a statistic below an axis."""
_OTHERS = 0.55
"""Opacity of the bars in pictures of best times."""
_FRAME: dict[str, Any] = {"fill": False, "edgecolor": COLOURS[4], "linewidth": 2.0}
"""Look of the frame around the bar of a graph's best search."""


def bars(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one horizontal bar per search. The bar shows the search's ``search_ms`` divided by
    the best time of the graph.

    The bar of a graph's best search has a frame. The time in ms is printed beside each bar. A short
    vertical line shows ``median_ms`` divided by the graph's best ``search_ms``.

    All panels of a picture share one axis, which starts at 0, or is logarithmic if ratios are large. All
    panels list the searches in the same order, sorted by the geometric mean of their ratios. Failed searches
    come last.
    """
    import pandas as pd

    best = measured.compared()
    if best.empty:
        raise NothingToDrawError("bars need points with a time: all of these failed")
    best = best.assign(ratio=ratios(best).fillna(1))
    best = best.assign(typical=(best["ratio"] * best["median_ms"] / best["search_ms"]).fillna(best["ratio"]))
    labels = list(dict.fromkeys([*ranking(best), *measured.labels]))
    place = ["title", "label"]
    tried = measured.rows.loc[measured.rows["title"].isin(best["title"]), [*place, "status"]]
    tried = tried.sort_values("status", key=lambda status: status != "ok", kind="stable")
    bars_and_gaps = pd.concat([best, tried]).drop_duplicates(
        place
    )  # a search without a bar has NaN as its ratio
    title = title or "Best time of each search"
    label, meaning = "times the best of the graph", f"bar: {STATISTIC}; line: {TYPICAL}"
    drawn = (measured, bars_and_gaps, labels, _panel)
    pictures = lined_pictures("bars", title, *drawn, label=label, meaning=meaning)
    for picture, rows in pictures:
        legend = _legend(set(rows["backend"].dropna()), emulated=measured.emulated)
        legend_of(picture.figure, legend)
        yield picture


def _panel(axis: Axes, rows: pd.DataFrame, shown: Sequence[str], together: pd.DataFrame) -> None:
    bar_axis(axis, 1, together["typical"].max())
    start = axis.get_xlim()[0]
    best = rows[rows["ratio"].notna()]
    places = [shown.index(label) for label in best["label"]]
    columns = (best[name] for name in ("ratio", "typical", "search_ms", "backend"))
    for place, ratio, typical, time, backend in zip(places, *columns, strict=True):
        colour = HOST_COLOUR if backend == "host" else COLOURS[0]
        axis.barh(place, ratio - start, left=start, color=colour, alpha=_OTHERS, height=0.75)
        if ratio == 1:
            axis.barh(place, ratio - start, left=start, height=0.75, **_FRAME)
        axis.plot([typical], [place], "|", color="black", markersize=7)
        note(axis, f"{number(time)} ms", typical, place, offset=6, weight="bold" if ratio == 1 else "normal")
    reasons = dict(zip(rows["label"], rows["status"], strict=True))
    for place in set(range(len(shown))).difference(places):
        reason = reasons.get(shown[place], "not run")
        note(axis, "from other sources" if reason == "ok" else reason, start, place)
    axis.grid(visible=False, axis="y")


def _legend(backends: set[str], *, emulated: bool) -> list[Artist]:
    """Returns the legend's entries: the colours of ``backends``, the frame of the best search, and the line
    at the median repeat."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    kernel = "emulated kernel" if emulated else "GPU kernel"
    meanings = [(kernel, COLOURS[0])] if backends != {"host"} else []
    meanings += [("CPU program", HOST_COLOUR)] if "host" in backends else []
    patches = [Patch(color=colour, alpha=_OTHERS, label=text) for text, colour in meanings]
    mark = Line2D([], [], color="black", linestyle="", marker="|", label="median repeat")
    return [*patches, Patch(label="best of the graph", **_FRAME), mark]


PARALLEL = "cpu_parallel"
"""The CPU program that uses all cores."""


def speed_ups(measured: TimedRows, *, title: str = "", baselines: Sequence[str] = ()) -> Iterator[Picture]:
    """Yields pictures of the speed-ups of all series over CPU programs, on a logarithmic axis.

    A speed-up is the time of a baseline divided by the best time of the series. Both times were measured on
    the same machine and from the same sources. ``baselines`` names the CPU programs, by default the family's
    baseline and ``cpu_parallel``. All panels of a picture share one axis. A series right of the line at 1 is
    faster than the baseline.
    """
    import pandas as pd

    baselines = baselines or (measured.family.baseline, PARALLEL)
    times = [measured.compared(name).dropna(subset=["speedup"]).assign(over=name) for name in baselines]
    best = pd.concat(times)
    best = best[best["variant"] != best["over"]]
    if best.empty:
        names = " or ".join(baselines)
        raise NothingToDrawError(f"speed-ups need rows of {names} beside others, from one machine")
    known = [name for name in baselines if name in set(best["over"])]
    order, draw = ranking(measured.compared()), partial(_speed_up_panel, known)
    title = title or "Speed-up over CPU programs"
    over = f" over {known[0]}" if len(known) == 1 else ""
    drawn, label = (measured, best, order, draw), f"speed-up{over} (times as fast)"
    for picture, _ in lined_pictures("speedup", title, *drawn, label=label, meaning=SPEED_UP):
        if len(known) > 1:
            legend_of_all(picture.figure)
        yield picture


def _speed_up_panel(
    baselines: Sequence[str], axis: Axes, rows: pd.DataFrame, shown: Sequence[str], together: pd.DataFrame
) -> None:
    """Draws one graph's speed-ups as markers. If there is only one baseline, the speed-up is printed beside
    each marker."""
    for name, colour, marker in zip(baselines, COLOURS, MARKERS, strict=False):
        part = rows[rows["over"] == name]
        places = [shown.index(label) for label in part["label"]]
        axis.scatter(part["speedup"], places, s=30, c=colour, marker=marker, label=f"over {name}")
        if len(baselines) == 1:
            for place, value in zip(places, part["speedup"], strict=True):
                note(axis, number(value), value, place, offset=6)
    axis.axvline(1, color="#555555", linewidth=1)
    low, high = limits = min(1.0, together["speedup"].min()), max(1.0, together["speedup"].max())
    plain_log(axis, "x", limits)
    room = (high / low) ** NUMBER_SHARE if len(baselines) == 1 else 1.2
    axis.set_xlim(low / 1.2, high * room)


_DASHES = ("--", ":", "-.")
_REFERENCE_INCHES = 0.2
"""Height in inches of one line of the legend under an ablation picture."""


def ablation(
    measured: TimedRows, *, title: str = "", baseline: str = "", references: Sequence[str] = ()
) -> Iterator[Picture]:
    """Yields pictures with one bar per series. The bar shows the series' speed-up over ``baseline``, a CPU
    program.

    A series is a set of rows named in the column ``series``. The bars are in the order of the series in the
    rows. ``references`` names series that are drawn as lines across the bars. All panels of a picture share
    one axis.

    If the rows have no column ``series``, each variant that was timed with several knob settings has a
    picture. The picture has one bar per setting.
    """
    baseline = baseline or measured.family.baseline
    if "series" in measured.rows:
        names = [name for name in measured.labels if name not in (baseline, *references)]
        parts = [("", names, measured)]
    else:
        parts = list(told_apart(measured))
    if not parts:
        raise NothingToDrawError(
            "an ablation needs a variant timed with several settings of its knobs on a graph"
        )
    title, below = title or "Ablation", _REFERENCE_INCHES * len(references) + _STATISTIC_INCHES
    label, meaning = f"times as fast as {baseline}", SPEED_UP
    for variant, names, settings in parts:
        known = settings.compared(baseline).dropna(subset=["speedup"])
        best, lines = known[known["label"].isin(names)], known[known["label"].isin(references)]
        if best.empty:
            raise NothingToDrawError(f"an ablation needs rows of {baseline} from the machine of the others")
        lines = lines.sort_values("label", key=lambda labels: labels.map(list(references).index))
        draw = partial(_ablation_panel, baseline, lines)
        drawn = (settings, best, names, draw)
        pictures = lined_pictures(
            "ablation", title, *drawn, label=label, meaning=meaning, below=below, part=variant
        )
        yield from (picture for picture, _ in pictures)


def _ablation_panel(
    baseline: str,
    references: pd.DataFrame,
    axis: Axes,
    best: pd.DataFrame,
    shown: Sequence[str],
    together: pd.DataFrame,
) -> None:
    """Draws one graph's bars, with a line across them for each of the graph's rows in ``references``."""
    lines = references[references["title"].isin(together["title"])]
    speedups = [1.0, *together["speedup"], *lines["speedup"]]
    bar_axis(axis, min(speedups), max(speedups))
    start = 1 if axis.get_xscale() == "log" else 0
    places = [shown.index(label) for label in best["label"]]
    axis.barh(places, best["speedup"] - start, left=start, color=COLOURS[0], height=0.7)
    for place, value in zip(places, best["speedup"], strict=True):
        note(axis, number(value), max(value, start), place)
    for place in set(range(len(shown))).difference(places):
        note(axis, "not run", start, place)
    here = lines[lines["title"].isin(best["title"])]
    for index, (label, value) in enumerate(zip(here["label"], here["speedup"], strict=True)):
        dashes = _DASHES[index % len(_DASHES)]
        axis.axvline(value, color=COLOURS[4], linestyle=dashes, label=f"{label} ({number(value)})")
    if len(here):
        _legend_below(axis)
    axis.axvline(1, color="#555555", linewidth=1, zorder=0.5)
    axis.grid(visible=False, axis="y")


_AXIS_INCHES = 0.4
"""Height in inches of the numbers and the label under a linear horizontal axis."""


def _legend_below(axes: Axes) -> None:
    """Adds a legend of one panel's lines, under the label of the panel's horizontal axis."""
    from matplotlib.transforms import ScaledTranslation

    assert axes.figure is not None
    lines = _STATISTIC_INCHES * (axes.get_xscale() == "log")  # "(logarithmic axis)" is a second line
    inches = -scaled(_AXIS_INCHES + lines)
    under = axes.transAxes + ScaledTranslation(0, inches, axes.figure.dpi_scale_trans)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=under, fontsize=scaled(8))


_LEAST_PERCENT = 1.0
"""The least end of the horizontal axis in pictures of spreads, in per cent. It applies if all samples are
almost equal."""
_LONGEST = 10
"""A line is cut off if it is more than this many times as long as three quarters of the lines."""


def spreads(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one line per search, from the fastest to the slowest sample of its best
    configuration.

    A dot marks the median sample. All values are in per cent above the fastest sample. If there are several
    sources, each value is the median over the sources. All panels of a picture share one axis. A line that is
    far longer than the other lines is cut off, with a note.
    """
    best = measured.compared()
    best = best[best["spread"] < math.inf]  # the spread is infinite if a sample is 0
    if best.empty:
        raise NothingToDrawError("the spread needs points with a time: all of these failed")
    title, label = title or "Spread of the samples", "above the fastest sample (%)"
    drawn = (measured, best, ranking(best), _spread)
    meaning = "the median over sources"
    for picture, _ in lined_pictures("spread", title, *drawn, label=label, meaning=meaning):
        legend_of_all(picture.figure)
        yield picture


def _spread(axis: Axes, best: pd.DataFrame, shown: Sequence[str], together: pd.DataFrame) -> None:
    percent = (together["spread"] - 1) * 100
    end = max(_LEAST_PERCENT, min(end_of(percent), _LONGEST * float(percent.quantile(0.75))))
    places = [shown.index(label) for label in best["label"]]
    slowest, median = ((best[name] - 1) * 100 for name in ("spread", "typical"))
    axis.hlines(places, 0, slowest, color=COLOURS[5], linewidth=4, label="fastest to slowest sample")
    axis.scatter(median, places, s=18, c=COLOURS[6], zorder=3, label="median sample")
    for place, value in zip(places, slowest, strict=True):
        if value > end:
            note(axis, f"{number(value)} (cut off) \N{RIGHTWARDS ARROW}", end * MARGIN, place, "right")
    axis.set_xlim(0, end * MARGIN)
