"""The data of pictures: rows of one kind, grouped by graph and by series."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bfsbench.reports.rows import (
    EMULATED,
    GRAPH,
    STATISTIC,
    Kind,
    called,
    comparable,
    configurations,
    counting_sources,
    fastest,
    in_words,
    names_of_sources,
)
from bfsbench.rows.columns import AXES
from bfsbench.rows.point import knob_values
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.programs.families.base import Family

_SHORT = 8
"""Characters of a checksum that distinguish two graphs of one name."""


class NothingToDrawError(UsageError):
    """The rows have no data for this kind of picture; the message says what it needs."""


@dataclass(frozen=True)
class TimedRows:
    """Rows as ``read_results`` gives them with two columns more: ``label``, the name of their series (with
    the device where rows come from several), and ``title``, that of their graph. ``levels`` are those of
    their level profiles, with the same columns."""

    rows: pd.DataFrame
    levels: pd.DataFrame | None
    family: Family
    quantity: str
    """The axis label of ``search_ms``, with its unit."""
    suffix: str
    """Suffix of the names of pictures whose times are emulated."""
    heading: str
    """Suffix of their titles."""

    @classmethod
    def of(cls, kind: Kind, levels: pd.DataFrame | None) -> TimedRows:
        """Rows of one kind, and those of the level profiles that belong to them."""
        rows = kind.rows.assign(title=_titles(kind.rows), label=_labels(kind.rows))
        if levels is not None:
            keys = [*AXES, "gpu"]
            named = rows[[*keys, "title", "label"]].drop_duplicates()
            levels = levels.drop_duplicates([*keys, "level"], keep="last").merge(named, on=keys)
        quantity = f"time of {kind.family.one} (ms):\n{STATISTIC}"
        return cls(rows, levels, kind.family, quantity, kind.suffix, kind.heading)

    @cached_property
    def graphs(self) -> list[str]:
        """Titles of the graphs, in the order in which they appear."""
        return list(dict.fromkeys(self.rows["title"]))

    @property
    def devices(self) -> list[str]:
        """The GPUs and CPUs that the rows were taken on."""
        devices = self.rows["gpu"].where(self.rows["gpu"] != "", self.rows["host_cpu"])
        return [str(device) for device in dict.fromkeys(devices) if device]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the series, in the order in which they appear."""
        return list(dict.fromkeys(self.rows["label"]))

    @cached_property
    def configurations(self) -> pd.DataFrame:
        """The configurations, combined over sources (see ``rows.configurations``)."""
        return configurations(self.rows, self.family, also=("title", "label"))

    @property
    def emulated(self) -> bool:
        """Whether the rows are of kernels that the CPU emulated."""
        return self.suffix.endswith(EMULATED)

    @property
    def baseline(self) -> str:
        """The default baseline of speed-ups, a host program."""
        return self.family.baseline

    def best(self, by: Sequence[str] = ("title", "label")) -> pd.DataFrame:
        """The best configuration of every series on every graph, or for each value of ``by``."""
        return fastest(self.configurations, by)

    def compared(self, baseline: str = "") -> pd.DataFrame:
        """The best configuration of every series on every graph, of those with times from all sources that
        count there, and equally many repeats."""
        whole = comparable(self.rows, self.family, also=("title", "label"), baseline=baseline)
        return fastest(whole, ("title", "label"))

    def among(self, frame: pd.DataFrame) -> list[str]:
        """Titles of the graphs that ``frame`` has rows of."""
        present = set(frame["title"])
        return [graph for graph in self.graphs if graph in present]

    def above(self, title: str) -> str:
        """The title of a graph's panel."""
        return f"{wrapped(title)}\n{self.searched(title)}"

    def searched(self, title: str) -> str:
        """The sources that count on a graph, as text."""
        return in_words(self._sources.get(title, []), self.family, self._names.get(title, {}))

    def source(self, title: str, source: Any) -> str:
        """One of a graph's sources, a whole number, as text."""
        return called(int(source), self._names.get(title, {}))

    @cached_property
    def _names(self) -> dict[Hashable, dict[int, str]]:
        """See ``names_of_sources``, by titles."""
        return names_of_sources(self.rows, "title")

    @cached_property
    def _sources(self) -> dict[str, list[int]]:
        """The sources that count on each graph (see ``comparable``), by titles."""
        titles = self.rows[[*GRAPH, "title"]].drop_duplicates()
        searched = counting_sources(self.rows).merge(titles)[["title", "source"]].dropna()
        groups = searched.groupby("title")["source"]
        return {str(title): sorted(map(int, sources)) for title, sources in groups}


def ranking(best: pd.DataFrame) -> list[str]:
    """Series by the geometric mean of their best times relative to the best of each graph."""
    import numpy as np

    means = ratios(best).map(np.log).groupby(best["label"]).mean()
    return [str(label) for label in means.sort_values(kind="stable").index]


def ratios(best: pd.DataFrame) -> pd.Series[float]:
    """Each time / the best of its graph; NaN where that is 0."""
    least = best.groupby("title")["search_ms"].transform("min")
    return best["search_ms"] / least.where(least > 0)


def _titles(rows: pd.DataFrame) -> pd.Series[str]:
    """Names of graphs, with a piece of the checksum where one name stands for two."""
    graphs = rows[["graph", "graph_checksum"]].drop_duplicates()
    ambiguous = rows["graph"].isin(graphs["graph"][graphs["graph"].duplicated()])
    if not ambiguous.any():
        return rows["graph"]
    told_apart = rows["graph"] + " #" + rows["graph_checksum"].str[:_SHORT]
    return rows["graph"].where(~ambiguous, told_apart)


def _labels(rows: pd.DataFrame) -> pd.Series[str]:
    """Names of series, with the device where rows of a backend come from several; alike hosts are one."""
    series = rows["series"] if "series" in rows else rows["variant"]
    device = rows["gpu"].where(rows["gpu"] != "", rows["host_cpu"])
    used = rows[["backend"]].assign(device=device).drop_duplicates()
    several = rows["backend"].isin(used["backend"][used["backend"].duplicated()])
    if not several.any():
        return series
    return series.where(~several, series + " [" + device + "]")


def told_apart(measured: TimedRows) -> Iterator[tuple[str, list[str], TimedRows]]:
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
    varied = [name for name, values in values_of_knobs(settings).items() if len(values) > 1]
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


def values_of_knobs(settings: Iterable[Mapping[str, str]]) -> Mapping[str, list[str]]:
    """The values that each knob has among these settings: numbers in order, before words."""
    found: dict[str, set[str]] = {}
    for setting in settings:
        for name, value in setting.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values, key=value_order) for name, values in found.items()}


def value_order(value: str) -> tuple[bool, float, str]:
    """A key that sorts a knob's values: numbers by size, then words."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def wrapped(text: str, width: int = 34) -> str:
    """A name in lines of at most ``width`` letters, broken behind ``:`` and ``,`` if need be, but a remark in
    brackets only where it is too long for a line of its own."""
    lines = [""]
    for part in re.findall(r"(?<!\S)\([^()]*\)[:,\s]*|[^:,\s]+[:,\s]*", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    fitting = (textwrap.wrap(line, width, break_on_hyphens=False) for line in lines)
    return "\n".join(itertools.chain.from_iterable(fitting))
