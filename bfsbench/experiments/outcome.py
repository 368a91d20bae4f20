"""The outcome of an experiment: result rows grouped by its graphs and series. All tables and plots are made
from this alone, so that they can be made again from the rows on any machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from bfsbench.experiments.choice import title_of, use_of
from bfsbench.experiments.series import ENTRIES, GROUPS, Series, every_series, series_called
from bfsbench.programs.families.bfs.profile import parse_counters
from bfsbench.reports.levels import read_levels
from bfsbench.reports.rows import configurations, fastest, kinds, with_device
from bfsbench.rows.results import OTHER_SUFFIXES, read_results
from bfsbench.support.errors import InputError
from bfsbench.variants import all_variants, find_family

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment, GraphUse
    from bfsbench.experiments.drawings import Chart
    from bfsbench.graphs.graph import Graph


@dataclass(frozen=True)
class Outcome:
    """Rows of one experiment.

    ``rows``: as :func:`bfsbench.rows.results.read_results` gives them; ``levels``: of the level profiles,
    as :func:`bfsbench.reports.levels.read_levels` does; ``loaded``: graphs by their full names, for drawings
    that show the graphs themselves.
    """

    experiment: Experiment
    rows: pd.DataFrame
    levels: pd.DataFrame
    known: pd.DataFrame
    """Rows of other result files, of every variant, that were taken on the same graphs, sources and devices.
    They have the names of the experiment's graphs."""
    loaded: Mapping[str, Graph] = field(default_factory=dict)
    heading: str = ""
    """Suffix of every title where the rows are of emulated kernels."""

    @cached_property
    def graphs(self) -> list[str]:
        """Full names of the graphs, in the experiment's order."""
        order = [use.title for use in self.experiment.graphs]
        return sorted(self.uses, key=lambda name: order.index(self.uses[name].title))

    @cached_property
    def uses(self) -> dict[str, GraphUse]:
        """The experiment's graph that each graph is or replaces, by full names."""
        names = dict.fromkeys([*self.rows["graph"], *self.loaded])
        found = {name: use_of(self.experiment, name) for name in names}
        return {name: use for name, use in found.items() if use is not None}

    def title(self, graph: str) -> str:
        """The title of a graph: the paper's name for it, marked where it is shrunk or a stand-in."""
        return title_of(self.experiment, graph)

    def graphs_of(self, chart: Chart) -> list[str]:
        """The graphs that a drawing shows."""
        return [
            name
            for name in self.graphs
            if not chart.graphs or {self.uses[name].title, self.uses[name].name} & {*chart.graphs}
        ]

    def series_of(self, chart: Chart) -> list[Series]:
        """The series that a drawing shows."""
        if chart.series:
            return [series_called(self.experiment, text) for text in chart.series]
        return self.series

    @cached_property
    def series(self) -> list[Series]:
        """All series of the experiment, and the programs of others that its rows are of."""
        found = every_series(self.experiment)
        if _has_entries(self.experiment):
            have = {series.variant for series in found}
            found += [Series(name, name) for name in self.programs if name not in have]
        return found

    @cached_property
    def programs(self) -> list[str]:
        """The programs of others that have rows."""
        return [*dict.fromkeys(self.rows.loc[self.rows["program"] != "", "variant"])]

    def num_settings(self, series: Series, graph: str) -> int:
        """With how many settings a series was measured on a graph."""
        rows = series.select(self.rows[self.rows["graph"] == graph])
        return len(rows[["grid", "block", "knobs"]].drop_duplicates())

    def vertices(self, graph: str) -> int:
        """The number of vertices of a graph; 0 without rows."""
        counts = self.rows.loc[self.rows["graph"] == graph, "num_vertices"]
        return 0 if counts.empty else int(counts.iloc[0])

    def host_times(self, graph: str) -> dict[str, float]:
        """The best time in ms of each program of the CPU on a graph, in the rows and in those known."""
        times: dict[str, float] = {}
        for rows in (self.rows, self.known):
            found = rows[(rows["graph"] == graph) & (rows["backend"] == "host") & (rows["status"] == "ok")]
            for name, ms in zip(found["variant"], found["search_ms"], strict=True):
                times[name] = min(float(ms), times.get(name, math.inf))
        return times

    def best(self, series: Series) -> pd.DataFrame:
        """The fastest configuration of a series on each graph, indexed by graph: columns of
        :func:`bfsbench.reports.rows.configurations`, times in ms."""
        if series.title not in self._best:
            timed = configurations(series.select(self.rows), find_family(self.experiment.family))
            found = fastest(timed, ["graph"])
            self._best[series.title] = found.set_index("graph")
        return self._best[series.title]

    @cached_property
    def _best(self) -> dict[str, pd.DataFrame]:
        """The best configurations, by the titles of series."""
        return {}

    def levels_of(self, series: Series, graph: str) -> pd.DataFrame:
        """The level profiles of a series on a graph, measured or emulated like the rows."""
        levels = self.levels[self.levels["backend"].isin({*self.rows["backend"]})]
        return series.select(levels[levels["graph"] == graph])

    def counter_sums(self, series: Series, graph: str) -> Counter[str] | None:
        """The counters of a series on a graph, summed over levels; None without a profile."""
        levels = self.levels_of(series, graph)
        if levels.empty:
            return None
        return sum((Counter(parse_counters(text)) for text in levels["counts"]), Counter())

    def drawn(self, chart: Chart) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Rows and level profiles of the series of a drawing and those it compares with, in its order.

        Graphs are called by their titles; two more columns are ``series`` and ``x``, the graph's place on a
        given axis. Rows that belong to several series are there once for each.
        """
        shown = self.series_of(chart)
        have = {series.title for series in shown}
        compared = (series_called(self.experiment, name) for name in chart.compared)
        shown += [series for series in compared if series.title not in have]
        tables = []
        for rows in (self.rows, self.levels):
            parts = [rows.assign(series="", x=math.nan).iloc[:0]]
            for graph in self.graphs_of(chart):
                of_graph = rows[rows["graph"] == graph]
                of_graph = of_graph.assign(graph=self.title(graph), x=self.uses[graph].x)
                chosen = (series.select(of_graph).assign(series=series.title) for series in shown)
                parts += [part for part in chosen if len(part)]
            tables.append(pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0])
        return tables[0], tables[1]

    def by_kind(self) -> list[Outcome]:
        """The outcome with measured rows only, and with emulated ones only, where there are any: no table or
        plot mixes their times."""
        return [
            replace(self, rows=kind.rows, heading=kind.heading)
            for kind in kinds(self.rows)
            if not kind.rows.empty
        ]

    @property
    def emulated(self) -> bool:
        """Whether the times are of emulated kernels."""
        return bool(len(self.rows)) and bool((self.rows["backend"] == "cpu").all())


def _has_entries(experiment: Experiment) -> bool:
    return any(ENTRIES in sweep.variants for sweep in experiment.sweeps)


def read_outcome(
    experiment: Experiment,
    files: Sequence[Path],
    loaded: Mapping[str, Graph],
    folder: Path | None = None,
) -> Outcome:
    """The rows of these result files, and of level profiles beside them, that belong to the experiment.

    Rows of other graphs and of variants that the experiment does not have are left out. For
    ``Experiment.all_rows``, those of all result files in ``folder`` are added that were taken on the same
    graphs, sources and devices. Raises InputError.
    """
    rows, levels = read_results(files), read_levels(files)
    ours = {name for name in set(rows["graph"]) if use_of(experiment, name) is not None}
    variants = {series.variant for series in every_series(experiment)}
    of_series = rows["variant"].isin(variants)
    if _has_entries(experiment):
        of_series |= rows["program"] != ""
    rows = rows[rows["graph"].isin(ours) & of_series].reset_index(drop=True)
    levels = levels[levels["graph"].isin(ours) & levels["variant"].isin(variants)].reset_index(drop=True)
    known = rows.iloc[:0]
    if folder is not None and len(rows) and _needs_known(experiment):
        known = _same_points(rows, known_rows(folder))
    competing = known[known["variant"].isin(variants)]
    if experiment.all_rows and len(competing):
        rows = pd.concat([rows, competing], ignore_index=True)
    return Outcome(experiment, rows, levels, known, loaded)


_PLACE = ["graph_checksum", "source", "device"]


def known_rows(folder: Path) -> pd.DataFrame:
    """The rows of all result files in a folder and its subfolders; files of another kind are left out."""
    paths = (path.resolve() for path in folder.rglob("*.csv") if not path.name.endswith(OTHER_SUFFIXES))
    return _read_known(tuple((path, path.stat().st_mtime_ns) for path in sorted(paths)))


@lru_cache(maxsize=1)
def _read_known(files: tuple[tuple[Path, int], ...]) -> pd.DataFrame:
    """The rows of these files, which are read again if the time of one has changed."""
    found = []
    for path, _ in files:
        with suppress(InputError):
            found.append(read_results([path]))
    return pd.concat(found, ignore_index=True) if found else read_results([])


def _needs_known(experiment: Experiment) -> bool:
    """Whether rows of other files count: where searches are tuned alike, and where a claim names a program of
    the CPU, beside which a faster one may be known."""
    hosts = {variant.name for variant in all_variants().values() if variant.host}
    named = [name for claim in experiment.claims for name in (claim.series, *claim.versus)]
    named = [name for name in named if name not in (*GROUPS, "others")]
    return experiment.all_rows or any(series_called(experiment, name).variant in hosts for name in named)


def _same_points(rows: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """The known measured rows of the graphs, sources and devices of ``rows``, under the graphs' names there.
    Rows with cold caches are left out."""
    usual = (known["backend"] != "cpu") & ~known["method"].str.contains(r"\bcold\b")
    rows, known = with_device(rows), with_device(known[usual])
    places = rows[[*_PLACE, "graph"]].drop_duplicates().rename(columns={"graph": "ours"})
    found = known.merge(places, on=_PLACE)
    return found.assign(graph=found["ours"]).drop(columns=["ours", "device"]).drop_duplicates()
