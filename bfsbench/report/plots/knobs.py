"""What the values of a knob do to the time: a picture a variant, a panel a knob, a line a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bfsbench.bench.point import knob_values
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import COLOURS, MARKERS, Picture, file_name, pages, panels, time_axis
from bfsbench.report.rows import fastest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 6
_ACROSS = 3


def knob_sweeps(measured: Measured, *, title: str = "", knobs: Sequence[str] = ()) -> Iterator[Picture]:
    """Best time of a variant on each graph for each value of a knob, whatever the other knobs, grid and
    block; ``knobs`` says which, by default all that have several values."""
    times = measured.configurations()
    drawn = False
    for label in measured.labels:
        part = times[times["label"] == label]
        varied = {
            name: values
            for name, values in _values(part["knobs"]).items()
            if len(values) > 1 and (not knobs or name in knobs)
        }
        heading = f"{title or 'Knobs'}: {label}{measured.heading}"
        for page, names in pages(list(varied), _PANELS):
            drawn = True
            figure, axes = panels(heading, len(names), across=_ACROSS, size=(3.8, 3.0))
            for axis, name in zip(axes, names, strict=True):
                _panel(axis, part, name, varied[name], measured.among(part))
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=min(2, len(names)))
            yield Picture(file_name(f"knobs{measured.suffix}", label, page), heading, figure)
    if not drawn:
        raise NothingToDrawError("knob sweeps need a variant timed with several values of a knob")


def told_apart(measured: Measured) -> Iterator[tuple[str, list[str], Measured]]:
    """Every variant timed with several settings of its knobs, with the settings, which are its series then:
    they are named by the knobs that differ. Rows of other variants stay as they are."""
    for label in measured.labels:
        rows = measured.rows[measured.rows["label"] == label]
        if rows["knobs"].nunique() > 1:
            names = settings_of(rows["knobs"])
            labels = names.reindex(measured.rows.index).fillna(measured.rows["label"])
            yield (
                label,
                list(dict.fromkeys(names)),
                replace(measured, rows=measured.rows.assign(label=labels)),
            )


def settings_of(knobs: pd.Series[str]) -> pd.Series[str]:
    """The values of those knobs that differ among the settings."""
    varied = [name for name, values in _values(knobs).items() if len(values) > 1]
    return knobs.map(knob_values).map(lambda found: " ".join(f"{k}={found[k]}" for k in varied if k in found))


def search_names(levels: pd.DataFrame) -> pd.Series[str]:
    """What tells searches apart: their series, and grid, block and knobs as far as a series has several."""
    names = levels["label"]
    for _, rows in levels.groupby("label"):
        more = settings_of(rows["knobs"])
        for name in ("grid", "block"):
            if rows[name].nunique() > 1:
                more = more + f" {name} " + rows[name].map("{:g}".format if name == "block" else str)
        names = names.mask(names.index.isin(rows.index), (names + " " + more).str.strip())
    return names


def _values(knobs: pd.Series[str]) -> Mapping[str, list[str]]:
    """The values that each knob has among these rows: numbers in order, before words."""
    found: dict[str, set[str]] = {}
    for setting in map(knob_values, knobs.unique()):
        for name, value in setting.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values, key=_order) for name, values in found.items()}


def _order(value: str) -> tuple[bool, float, str]:
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def _panel(axis: Axes, times: pd.DataFrame, knob: str, values: Sequence[str], graphs: Sequence[str]) -> None:
    """Values at equal distances: they are mostly powers of two, or words."""
    given = times["knobs"].map(lambda text: knob_values(text).get(knob))
    best = fastest(times.assign(value=given).dropna(subset=["value"]), ("title", "value"))
    for index, graph in enumerate(graphs):
        line = best[best["title"] == graph]
        line = line.assign(place=line["value"].map(values.index)).sort_values("place")
        style = (COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])
        axis.plot(line["place"], line["search_ms"], color=style[0], marker=style[1], ms=5, label=graph)
    axis.set_xticks(range(len(values)), values)
    axis.set_xlabel(knob)
    axis.set_ylabel("time of a search (ms)")
    time_axis(axis)
