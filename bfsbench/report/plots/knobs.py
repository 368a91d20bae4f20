"""Time by the values of knobs: a picture per variant, a panel per knob, a line per graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bfsbench.bench.point import knob_values
from bfsbench.report.plots.measured import Measured, NothingToDrawError
from bfsbench.report.plots.picture import Picture, file_name, legend_of_all, look, pages, panels, time_axis
from bfsbench.report.rows import fastest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = 9
_ACROSS = 3


def knob_sweeps(measured: Measured, *, title: str = "", knobs: Sequence[str] = ()) -> Iterator[Picture]:
    """Best time of a variant on each graph for each value of a knob, whatever the other knobs, grid and
    block, as far as a graph was searched with several values; ``knobs`` says which, by default all. Where
    grids alone or blocks alone varied, that counts as a knob. Series of one variant share a picture, and its
    panels an axis."""
    times = measured.configurations()
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
    """The configurations of a series on those graphs where a knob has several values."""

    label: str
    knob: str
    times: pd.DataFrame
    """With a column ``value``."""

    @property
    def variant(self) -> str:
        return str(self.times["variant"].iloc[0])


def _varied(times: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every knob that has several values on one graph, and the configurations on such graphs; with them grid
    and block, as far as no heat map shows both."""
    settings = times["knobs"].map(knob_values)
    given_values = {
        knob: settings.map(lambda found, knob=knob: found.get(knob)) for knob in _values(settings)
    }
    for knob, values in [*_launches(times), *given_values.items()]:
        given = times.assign(value=values)
        several = given.groupby("title")["value"].transform("nunique") > 1
        if several.any():
            yield knob, given[several].dropna(subset=["value"])


def _launches(times: pd.DataFrame) -> Iterator[tuple[str, pd.Series[str]]]:
    """The grid, or the block, of configurations of kernels on graphs where the other one does not vary."""
    kernels = times[times["backend"] != "host"]
    several = kernels.groupby("title")[["grid", "block"]].transform("nunique") > 1
    shown = {"grid": kernels["grid"], "block": kernels["block"].map("{:g}".format)}
    yield "grid (blocks)", shown["grid"][several["grid"] & ~several["block"]]
    yield "block (threads)", shown["block"][several["block"] & ~several["grid"]]


def told_apart(measured: Measured) -> Iterator[tuple[str, list[str], Measured]]:
    """The variants that were timed with several settings of their knobs on a graph. Each setting becomes a
    series, named by the knobs that differ. The rows of other variants on these graphs are kept."""
    for label in measured.labels:
        rows = measured.rows[measured.rows["label"] == label]
        settings = rows.groupby("title")["knobs"].transform("nunique")
        rows = rows[settings > 1]
        if len(rows):
            names = settings_of(rows["knobs"])
            there = measured.rows[measured.rows["title"].isin(rows["title"])]
            labels = names.reindex(there.index).fillna(there["label"])
            yield label, list(dict.fromkeys(names)), replace(measured, rows=there.assign(label=labels))


def settings_of(knobs: pd.Series[str]) -> pd.Series[str]:
    """The values of those knobs that differ among the settings."""
    settings = knobs.map(knob_values)
    varied = [name for name, values in _values(settings).items() if len(values) > 1]
    return settings.map(lambda found: " ".join(f"{k}={found[k]}" for k in varied if k in found))


def search_names(levels: pd.DataFrame) -> pd.Series[str]:
    """Names that distinguish searches: their series, and grid, block and knobs where a series has several."""
    names = levels["label"]
    for _, rows in levels.groupby("label"):
        more = settings_of(rows["knobs"])
        for name in ("grid", "block"):
            if rows[name].nunique() > 1:
                more = more + f" {name} " + rows[name].map("{:g}".format if name == "block" else str)
        names = names.mask(names.index.isin(rows.index), (names + " " + more).str.strip())
    return names


def _values(settings: Iterable[Mapping[str, str]]) -> Mapping[str, list[str]]:
    """The values that each knob has among these settings: numbers in order, before words."""
    found: dict[str, set[str]] = {}
    for setting in settings:
        for name, value in setting.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values, key=_order) for name, values in found.items()}


def _order(value: str) -> tuple[bool, float, str]:
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def _panel(axis: Axes, sweep: _Sweep, measured: Measured) -> None:
    """Values at equal distances: they are mostly powers of two, or words."""
    values = sorted(set(sweep.times["value"]), key=_order)
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
