"""What each part of a search is worth: speed-ups as parts are added, as in BFS-4K's Fig. 14."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bfsbench.report.plots.knobs import told_apart
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import COLOURS, Picture, file_name, note, number, pages, panels, wrapped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 2
_DASHES = ("--", ":", "-.")


def ablation(
    measured: Measured, *, title: str = "", baseline: str = "", references: Sequence[str] = ()
) -> Iterator[Picture]:
    """Speed-up of every series over ``baseline``, a host program, as a bar, the series in their order;
    ``references`` are series drawn as lines. Rows without a column ``series`` give a picture for every
    variant that was timed with several settings of its knobs, a bar a setting."""
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
        raise NothingToDrawError("an ablation needs a variant timed with several settings of its knobs")


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
    if best.empty:
        raise NothingToDrawError(f"an ablation needs rows of {baseline} from the machine of the others")
    for page, graphs in pages(measured.among(best), _PANELS):
        chosen = best[best["title"].isin(graphs)]
        shown = [label for label in names if label in set(chosen["label"])]
        size = (5.2, 0.3 * len(shown) + 1.4)
        figure, axes = panels(wrapped(heading, 90), len(graphs), across=_PANELS, size=size, sharey=True)
        for axis, graph in zip(axes, graphs, strict=True):
            _panel(axis, chosen[chosen["title"] == graph], shown, lines[lines["title"] == graph])
            axis.set_xlabel(f"speed-up over {baseline} (times as fast)")
            axis.set_title(f"{wrapped(graph)}\n{measured.searched(graph)}")
        yield Picture(file_name(f"ablation{measured.suffix}", variant, page), heading, figure)


def _panel(axis: Axes, best: pd.DataFrame, shown: list[str], references: pd.DataFrame) -> None:
    places = [shown.index(label) for label in best["label"]]
    axis.barh(places, best["speedup"], color=COLOURS[0], height=0.7)
    for place, value in zip(places, best["speedup"], strict=True):
        note(axis, number(value), value, place)
    for index, (label, value) in enumerate(zip(references["label"], references["speedup"], strict=True)):
        dashes = _DASHES[index % len(_DASHES)]
        axis.axvline(value, color=COLOURS[4], linestyle=dashes, label=f"{label} ({number(value)})")
    if len(references):
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=8)
    axis.set_yticks(range(len(shown)), [wrapped(label, 44) for label in shown])
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlim(0, max([*best["speedup"], *references["speedup"]]) * 1.15)
    axis.grid(visible=False, axis="y")
