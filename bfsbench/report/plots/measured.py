"""The data of pictures: rows of one kind, grouped by graph and by series."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bfsbench.bench.columns import AXES
from bfsbench.errors import UsageError
from bfsbench.report.plots.picture import wrapped
from bfsbench.report.rows import (
    EMULATED,
    Kind,
    called,
    configurations,
    fastest,
    in_words,
    names_of_sources,
)

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.families.base import Family

_SHORT = 8
"""Characters of a checksum that distinguish two graphs of one name."""


class NothingToDrawError(UsageError):
    """The rows have no data for this kind of picture; the message says what it needs."""


@dataclass(frozen=True)
class Measured:
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
    def of(cls, kind: Kind, levels: pd.DataFrame | None) -> Measured:
        """Rows of one kind, and those of the level profiles that belong to them."""
        rows = kind.rows.assign(title=_titles(kind.rows), label=_labels(kind.rows))
        if levels is not None:
            keys = [*AXES, "gpu"]
            named = rows[[*keys, "title", "label"]].drop_duplicates()
            levels = levels.drop_duplicates([*keys, "level"], keep="last").merge(named, on=keys)
        quantity = f"time of {kind.family.one} (ms)"
        return cls(rows, levels, kind.family, quantity, kind.suffix, kind.heading)

    @cached_property
    def graphs(self) -> list[str]:
        """Titles of the graphs, in the order in which they appear."""
        return list(dict.fromkeys(self.rows["title"]))

    @cached_property
    def labels(self) -> list[str]:
        """Names of the series, in the order in which they appear."""
        return list(dict.fromkeys(self.rows["label"]))

    def configurations(self, baseline: str = "") -> pd.DataFrame:
        """The configurations, combined over sources (see ``rows.configurations``)."""
        return self._combined(baseline) if baseline else self._configurations

    @cached_property
    def _configurations(self) -> pd.DataFrame:
        return self._combined()

    def _combined(self, baseline: str = "") -> pd.DataFrame:
        return configurations(self.rows, self.family, also=("title", "label"), baseline=baseline)

    @property
    def emulated(self) -> bool:
        """Whether the rows are of kernels that the CPU emulated."""
        return self.suffix.endswith(EMULATED)

    @property
    def baseline(self) -> str:
        """The default baseline of speed-ups, a host program."""
        return self.family.baseline

    def best(self, by: Sequence[str] = ("title", "label"), baseline: str = "") -> pd.DataFrame:
        """The best configuration of every series on every graph, or for each value of ``by``."""
        return fastest(self.configurations(baseline), by)

    def among(self, frame: pd.DataFrame) -> list[str]:
        """Titles of the graphs that ``frame`` has rows of."""
        present = set(frame["title"])
        return [graph for graph in self.graphs if graph in present]

    def above(self, title: str) -> str:
        """The title of a graph's panel."""
        return f"{wrapped(title)}\n{self.searched(title)}"

    def searched(self, title: str) -> str:
        """The sources of a graph's searches, as text."""
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
        """The vertices from which each graph was searched, by titles."""
        searched = self.rows[["title", "source"]].drop_duplicates().dropna()
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
