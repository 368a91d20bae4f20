"""Draws bars: the best times of variants, their speed-ups, and what each part of a search contributes.

The best times follow Springer's Fig. 7: one panel per graph, with times relative to the best. The bars of
contributions follow BFS-4K's Fig. 14.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.reports.measured import NothingToDrawError, TimedRows, ranking, ratios, told_apart
from bfsbench.reports.plots.picture import (
    COLOURS,
    HOST_COLOUR,
    MARKERS,
    NUMBER_SHARE,
    Picture,
    bar_axis,
    file_name,
    legend_below,
    legend_of_all,
    lined_pages,
    lined_panels,
    note,
    number,
    plain_log,
)
from bfsbench.reports.rows import SPEED_UP, STATISTIC, TYPICAL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STATISTIC_INCHES = 0.2
"""Height in inches of a line that names a statistic below an axis."""
_OTHERS = 0.55
"""Opacity of the bars."""


def bars(measured: TimedRows, *, title: str = "") -> Iterator[Picture]:
    """Yields pictures with one horizontal bar per search: its ``search_ms`` divided by the best time of the
    graph.

    The time in ms stands beside each bar. A mark shows ``median_ms`` divided by the best ``search_ms``.

    All panels of a picture share one axis, which is logarithmic where ratios are large. They also list the
    searches in one order: by the geometric mean of their ratios. Failed searches come last.
    """
    best = measured.compared()
    if best.empty:
        raise NothingToDrawError("bars need points with a time: all of these failed")
    best = best.assign(ratio=ratios(best).fillna(1))
    best = best.assign(typical=(best["ratio"] * best["median_ms"] / best["search_ms"]).fillna(best["ratio"]))
    order = ranking(best)
    heading = (title or "Best time of each search") + measured.heading
    for page, graphs in lined_pages(measured.among(best), len(measured.labels)):
        chosen = best[best["title"].isin(graphs)]
        tried = measured.rows[measured.rows["title"].isin(graphs)]
        shown = [label for label in [*order, *measured.labels] if label in set(tried["label"])]
        shown = list(dict.fromkeys(shown))
        titles = [measured.above(graph) for graph in graphs]
        figure, axes = lined_panels(heading, titles, shown, below=4 * STATISTIC_INCHES)
        for axis, graph in zip(axes, graphs, strict=True):
            here = set(tried["label"][tried["title"] == graph])
            _panel(axis, chosen[chosen["title"] == graph], shown, here, chosen["typical"].max())
            axis.set_xlabel(f"times the best of the graph\n({STATISTIC};\nmark: {TYPICAL})")
        legend = _legend(set(chosen["backend"]), emulated=measured.emulated)
        figure.legend(handles=legend, loc="outside lower center", ncols=4 if len(graphs) > 1 else 2)
        yield Picture(file_name(f"bars{measured.suffix}", page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str], tried: set[str], longest: float) -> None:
    bar_axis(axis, 1, longest)
    axis.set_xlim(left=1)
    places = [shown.index(label) for label in best["label"]]
    columns = (best[name] for name in ("ratio", "typical", "search_ms", "backend"))
    for place, ratio, typical, time, backend in zip(places, *columns, strict=True):
        colour = HOST_COLOUR if backend == "host" else COLOURS[0]
        axis.barh(place, ratio - 1, left=1, color=colour, alpha=_OTHERS, height=0.75)
        axis.plot([typical], [place], "|", color="black", markersize=7)
        note(axis, f"{number(time)} ms", typical, place, weight="bold" if ratio == 1 else "normal")
    for place in set(range(len(shown))).difference(places):
        note(axis, "failed" if shown[place] in tried else "not run", 1, place)
    axis.grid(visible=False, axis="y")


def _legend(backends: set[str], *, emulated: bool) -> list[Artist]:
    """Returns the legend's entries for the colours that are used and for the mark of the median repeat."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    kernel = "emulated kernel" if emulated else "GPU kernel"
    meanings = [(kernel, COLOURS[0])] if backends != {"host"} else []
    meanings += [("CPU program", HOST_COLOUR)] if "host" in backends else []
    patches = [Patch(color=colour, alpha=_OTHERS, label=text) for text, colour in meanings]
    mark = Line2D([], [], color="black", linestyle="", marker="|", label="median repeat")
    return [*patches, mark]


PARALLEL = "cpu_parallel"
"""The CPU program that uses all cores."""


def speed_ups(measured: TimedRows, *, title: str = "", baselines: Sequence[str] = ()) -> Iterator[Picture]:
    """Yields pictures of the speed-ups of all series over CPU programs, on a logarithmic axis.

    A speed-up is the time of a baseline divided by the best time of the series. Both times were taken on one
    machine and from equal sources. ``baselines`` names the CPU programs, by default the family's baseline and
    ``cpu_parallel``. All panels of a picture share one axis. A series right of the line at 1 is faster than
    the baseline.
    """
    baselines = baselines or (measured.baseline, PARALLEL)
    found = {name: measured.compared(name).dropna(subset=["speedup"]) for name in baselines}
    found = {name: best[best["variant"] != name] for name, best in found.items()}
    compared = {name: best for name, best in found.items() if len(best)}
    if not compared:
        names = " or ".join(baselines)
        raise NothingToDrawError(f"speed-ups need rows of {names} beside others, from one machine")
    heading = (title or "Speed-up over CPU programs") + measured.heading
    order = ranking(measured.compared())
    graphs = list(dict.fromkeys(graph for best in compared.values() for graph in measured.among(best)))
    for page, portion in lined_pages(graphs, len(order)):
        parts = {name: best[best["title"].isin(portion)] for name, best in compared.items()}
        ratios = [1.0, *(ratio for part in parts.values() for ratio in part["speedup"])]
        shown = [label for label in order if any(label in set(part["label"]) for part in parts.values())]
        titles = [measured.above(graph) for graph in portion]
        figure, axes = lined_panels(heading, titles, shown, below=STATISTIC_INCHES)
        for axis, graph in zip(axes, portion, strict=True):
            here = {name: part[part["title"] == graph] for name, part in parts.items()}
            _speed_up_panel(axis, here, shown, (min(ratios), max(ratios)))
        if len(parts) > 1:
            legend_of_all(figure)
        yield Picture(file_name(f"speedup{measured.suffix}", page), heading, figure)


def _speed_up_panel(
    axis: Axes, parts: dict[str, pd.DataFrame], shown: list[str], limits: tuple[float, float]
) -> None:
    """Draws one graph's speed-ups as points. Each point has its number if there is only one baseline."""
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
    axis.set_xlabel(f"speed-up{over} (times as fast):\n{SPEED_UP}")


_DASHES = ("--", ":", "-.")
_REFERENCE_INCHES = 0.2
"""Height in inches of one reference series in a legend."""


def ablation(
    measured: TimedRows, *, title: str = "", baseline: str = "", references: Sequence[str] = ()
) -> Iterator[Picture]:
    """Yields pictures with one bar per series: its speed-up over ``baseline``, a CPU program.

    The series keep their order. ``references`` names series that are drawn as lines across the bars. All
    panels of a picture share one axis.

    Without a column ``series`` in the rows, there is one picture per variant that was timed with several knob
    settings. Each setting then has a bar.
    """
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
    measured: TimedRows,
    heading: str,
    variant: str,
    names: Sequence[str],
    baseline: str,
    references: Sequence[str],
) -> Iterator[Picture]:
    """Yields the ablation pictures of the series ``names``, with one bar per series."""
    known = measured.compared(baseline).dropna(subset=["speedup"])
    best, lines = known[known["label"].isin(names)], known[known["label"].isin(references)]
    lines = lines.sort_values("label", key=lambda labels: labels.map(list(references).index))
    if best.empty:
        raise NothingToDrawError(f"an ablation needs rows of {baseline} from the machine of the others")
    below = _REFERENCE_INCHES * len(references) + STATISTIC_INCHES
    for page, graphs in lined_pages(measured.among(best), len(names)):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in names if label in set(chosen["label"])]
        told = lines[lines["title"].isin(graphs)]
        speedups = [1.0, *chosen["speedup"], *told["speedup"]]
        titles = [measured.above(graph) for graph in graphs]
        figure, axes = lined_panels(heading, titles, shown, below=below)
        for axis, graph in zip(axes, graphs, strict=True):
            here, beside = chosen[chosen["title"] == graph], told[told["title"] == graph]
            _ablation_panel(axis, here, shown, beside, (min(speedups), max(speedups)))
            axis.set_xlabel(f"speed-up over {baseline} (times as fast):\n{SPEED_UP}")
        yield Picture(file_name(f"ablation{measured.suffix}", variant, page), heading, figure)


def _ablation_panel(
    axis: Axes, best: pd.DataFrame, shown: list[str], references: pd.DataFrame, limits: tuple[float, float]
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
