"""Provides the data of pictures: comparable result rows, grouped by graph and by series. A series is a set of
rows that becomes one line or one bar."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bfsbench.reports.rows import (
    GRAPH,
    STATISTIC,
    Kind,
    called,
    comparable,
    fastest,
    in_words,
    names_of_sources,
    sources_of,
    with_device,
    without_shared_options,
)
from bfsbench.rows.columns import AXES
from bfsbench.rows.point import knob_values
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


_SHORT = 8
"""Number of characters of a graph's checksum that are shown if two graphs have the same name."""


class NothingToDrawError(UsageError):
    """Raised if rows have no data for a kind of picture. The message says what the kind needs."""


@dataclass(frozen=True)
class TimedRows(Kind):
    """Comparable result rows of one family of problems, with the columns ``label`` and ``title`` added.

    ``label`` is the name of a row's series, which becomes one line or one bar. It includes the device if the
    rows come from several devices. ``title`` is the name of the row's graph. ``levels`` are the level
    profiles of these rows, with ``label`` and ``title``.
    """

    levels: pd.DataFrame | None

    also: ClassVar[tuple[str, ...]] = ("title", "label")

    @classmethod
    def of(cls, kind: Kind, levels: pd.DataFrame | None) -> TimedRows:
        """Returns the rows of one kind of measurement, such as times with warm caches, and the level profiles
        that belong to these rows. The rows get the columns ``label`` and ``title``."""
        rows = kind.rows.assign(title=_titles(kind.rows), label=_labels(kind.rows))
        if levels is not None:
            keys = [*AXES, "gpu"]
            named = rows[[*keys, "title", "label"]].drop_duplicates()
            levels = levels.drop_duplicates([*keys, "level"], keep="last").merge(named, on=keys)
        return cls(kind.family, kind.suffix, kind.heading, rows, levels)

    @property
    def quantity(self) -> str:
        """The label of an axis that shows ``search_ms``, with its unit."""
        statistic = STATISTIC if self.family.from_sources else "the fastest repeat"
        return f"time of {self.family.one} (ms):\n{statistic}"

    @cached_property
    def graphs(self) -> list[str]:
        """Titles of the graphs, in the order in which they appear in the rows."""
        return list(dict.fromkeys(self.rows["title"]))

    @property
    def devices(self) -> list[str]:
        """The names of the GPUs and CPUs on which the rows were measured."""
        return [str(device) for device in self.runs["device"].unique() if device]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the series, in the order in which they appear in the rows."""
        return list(dict.fromkeys(self.rows["label"]))

    def best(self, by: Sequence[str] = ("title", "label")) -> pd.DataFrame:
        """Returns the fastest configuration for each combination of values of the columns ``by``. By default
        that is the fastest configuration of every series on every graph."""
        return fastest(self.configurations, by)

    def compared(self, baseline: str = "") -> pd.DataFrame:
        """Returns the fastest configuration of every series on every graph, among the configurations that may
        be compared.

        Configurations may be compared if they have times from the same sources and equally many repeats (see
        ``rows.comparable``). ``baseline`` is the CPU program whose time is divided by other times to compute
        speed-ups. By default it is the baseline of the family.
        """
        whole = self.comparable
        if baseline:
            whole = comparable(self.rows, self.family, also=self.also, baseline=baseline)
        return fastest(whole, self.also)

    def among(self, frame: pd.DataFrame) -> list[str]:
        """Returns the titles of the graphs that have rows in ``frame``, in the order of ``graphs``."""
        present = set(frame["title"])
        return [graph for graph in self.graphs if graph in present]

    def above(self, title: str, width: int = 34) -> str:
        """Returns the text above a graph's panel: the graph's short title and its sources. A line has at most
        ``width`` letters."""
        return f"{wrapped(self.short.get(title, title), width)}\n{self.compared_from(title)}"

    @property
    def short(self) -> dict[str, str]:
        """Maps each graph's title to a shorter title, without the options in ``shared_options``."""
        return self._short_and_shared[0]

    @property
    def shared_options(self) -> str:
        """The reading options that all graphs share, as text such as ``symmetrised``."""
        return self._short_and_shared[1]

    @cached_property
    def _short_and_shared(self) -> tuple[dict[str, str], str]:
        return without_shared_options(self.graphs)

    def compared_from(self, title: str) -> str:
        """Returns the sources from which a graph's searches are compared, in words such as ``64 sources``."""
        return in_words(self._sources.get(title, []), self.family, self._vertices.get(title, {}))

    def source(self, title: str, source: Any) -> str:
        """Returns a source vertex of a graph as text, with the vertex's name if it has one."""
        return called(int(source), self._vertices.get(title, {}))

    @cached_property
    def _vertices(self) -> dict[Hashable, dict[int, str]]:
        """The names of each graph's source vertices, from ``names_of_sources``. The keys are the titles of
        graphs."""
        return names_of_sources(self.rows, "title")

    @cached_property
    def _sources(self) -> dict[Hashable, list[int]]:
        """The source vertices from which the searches on each graph are compared, as ``rows.comparable``
        chooses them. The keys are the titles of graphs."""
        titles = self.rows[[*GRAPH, "title"]].drop_duplicates()
        return sources_of(self.counting.merge(titles), "title")


def ranking(best: pd.DataFrame) -> list[str]:
    """Returns the labels of the series, sorted by a mean ratio. The mean ratio of a series is the geometric
    mean, over the graphs, of its time divided by the graph's best time."""
    import numpy as np

    means = ratios(best).map(np.log).groupby(best["label"]).mean()
    return [str(label) for label in means.sort_values(kind="stable").index]


def ratios(best: pd.DataFrame) -> pd.Series[float]:
    """Returns each row's ``search_ms`` divided by the smallest ``search_ms`` of the row's graph. The ratio is
    NaN if the smallest time is 0."""
    least = best.groupby("title")["search_ms"].transform("min")
    return best["search_ms"] / least.where(least > 0)


def _titles(rows: pd.DataFrame) -> pd.Series[str]:
    """Returns the title of each row's graph: the graph's name. If two graphs have the same name, a part of
    the checksum is appended."""
    graphs = rows[["graph", "graph_checksum"]].drop_duplicates()
    ambiguous = rows["graph"].isin(graphs["graph"][graphs["graph"].duplicated()])
    if not ambiguous.any():
        return rows["graph"]
    told_apart = rows["graph"] + " #" + rows["graph_checksum"].str[:_SHORT]
    return rows["graph"].where(~ambiguous, told_apart)


def _labels(rows: pd.DataFrame) -> pd.Series[str]:
    """Returns the label of each row's series. If the rows of a backend come from several devices, the label
    also names the device.

    Hosts with equal CPUs count as one device.
    """
    series = rows["series"] if "series" in rows else rows["variant"]
    rows = with_device(rows)
    used = rows[["backend", "device"]].drop_duplicates()
    several = rows["backend"].isin(used["backend"][used["backend"].duplicated()])
    if not several.any():
        return series
    return series.where(~several, series + " [" + rows["device"] + "]")


def told_apart(measured: TimedRows) -> Iterator[tuple[str, list[str], TimedRows]]:
    """Finds the variants that were timed with several knob settings on at least one graph.

    For each of these variants, yields its label, the labels of its settings, and the rows of all variants on
    these graphs. In the rows, each setting of the variant is a separate series. The label of a setting names
    only the knobs that differ.
    """
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
    """Returns each row's knob values as text. Knobs that have one value in all rows are left out."""
    settings = knobs.map(knob_values)
    varied = [name for name, values in values_of_knobs(settings).items() if len(values) > 1]
    return settings.map(lambda found: " ".join(f"{k}={found[k]}" for k in varied if k in found))


def search_names(levels: pd.DataFrame) -> pd.Series[str]:
    """Returns a name for each row's search: the label of its series, followed by the row's settings.

    The settings are the values of knobs, grid and block. A setting is named only if the rows with this label
    have several values of it.
    """
    names = levels["label"]
    for _, rows in levels.groupby("label"):
        more = settings_of(rows["knobs"])
        for name in ("grid", "block"):
            if rows[name].nunique() > 1:
                more = more + f" {name} " + rows[name].map("{:g}".format if name == "block" else str)
        names = names.mask(names.index.isin(rows.index), (names + " " + more).str.strip())
    return names


def values_of_knobs(settings: Iterable[Mapping[str, str]]) -> Mapping[str, list[str]]:
    """Returns the values that occur for each knob. ``settings`` contains dictionaries from knob to value.
    Numbers are sorted by size and come before words."""
    found: dict[str, set[str]] = {}
    for setting in settings:
        for name, value in setting.items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values, key=value_order) for name, values in found.items()}


def value_order(value: str) -> tuple[bool, float, str]:
    """Returns a key that sorts a knob's values: numbers by size, then words."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def wrapped(text: str, width: int = 34) -> str:
    """Returns a name broken into lines of at most ``width`` letters, after ``:`` and ``,``.

    A part in brackets is broken only if it is longer than ``width``.
    """
    lines = [""]
    for part in re.findall(r"(?<!\S)\([^()]*\)[:,\s]*|[^:,\s]+[:,\s]*", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    fitting = (textwrap.wrap(line, width, break_on_hyphens=False) for line in lines)
    return "\n".join(itertools.chain.from_iterable(fitting))
