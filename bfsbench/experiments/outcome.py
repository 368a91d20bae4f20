"""The outcome of an experiment: result rows grouped by its graphs and series. All tables and plots are made
from this alone, so that they can be made again from the rows on any machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.bench.results import read_results
from bfsbench.experiments.choice import title_of, use_of
from bfsbench.experiments.series import Series, every_series, series_called
from bfsbench.families.bfs.profile import parse_counters
from bfsbench.report.levels import read_levels
from bfsbench.report.rows import configurations, fastest, kinds
from bfsbench.variants import find_family

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.experiments.declaration import Experiment, GraphUse
    from bfsbench.experiments.drawings.base import Chart
    from bfsbench.graphs.graph import Graph


@dataclass(frozen=True)
class Outcome:
    """Rows of one experiment.

    ``rows``: as :func:`bfsbench.bench.results.read_results` gives them; ``levels``: of the level profiles,
    as :func:`bfsbench.report.levels.read_levels` does; ``loaded``: graphs by their full names, for drawings
    that show the graphs themselves.
    """

    experiment: Experiment
    rows: pd.DataFrame
    levels: pd.DataFrame
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
        return every_series(self.experiment)

    def best(self, series: Series) -> pd.DataFrame:
        """The fastest configuration of a series on each graph, indexed by graph: columns of
        :func:`bfsbench.report.rows.configurations`, times in ms."""
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
        import pandas as pd

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


def read_outcome(experiment: Experiment, files: Sequence[Path], loaded: Mapping[str, Graph]) -> Outcome:
    """The rows of these result files, and of level profiles beside them, that belong to the experiment.

    Rows of other graphs and of variants that the experiment does not have are left out. Raises InputError.
    """
    rows, levels = read_results(files), read_levels(files)
    ours = {name for name in set(rows["graph"]) if use_of(experiment, name) is not None}
    variants = {series.variant for series in every_series(experiment)}
    rows = rows[rows["graph"].isin(ours) & rows["variant"].isin(variants)].reset_index(drop=True)
    levels = levels[levels["graph"].isin(ours) & levels["variant"].isin(variants)].reset_index(drop=True)
    return Outcome(experiment, rows, levels, loaded)
