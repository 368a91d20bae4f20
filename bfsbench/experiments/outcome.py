"""Defines the outcome of an experiment: its result rows, grouped by graph and by series. A series is the set
of rows behind one bar, line or column.

All tables and plots of an experiment are made from its outcome alone. So they can be made again on any
machine that has the rows.
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

from bfsbench.experiments.series import ENTRIES, GROUPS, Series, every_series, series_called
from bfsbench.graphs.load import kind_of_graph, resolve
from bfsbench.graphs.marks import UNMARKED, split_marks
from bfsbench.programs.families.bfs.profile import parse_counters
from bfsbench.reports.levels import read_levels
from bfsbench.reports.rows import configurations, fastest, kinds, with_device
from bfsbench.rows.results import read_results, tables_below
from bfsbench.support.errors import InputError
from bfsbench.variants import all_variants, find_family

if TYPE_CHECKING:
    from bfsbench.experiments.declaration import Experiment, GraphUse
    from bfsbench.experiments.drawings import Chart
    from bfsbench.graphs.graph import Graph


@dataclass(frozen=True)
class Outcome:
    """The result rows of one experiment.

    ``rows`` are from :func:`bfsbench.rows.results.read_results`. ``levels`` are level profiles from
    :func:`bfsbench.reports.levels.read_levels`. ``loaded`` holds graphs by their full names, for drawings
    that show the graphs themselves.
    """

    experiment: Experiment
    rows: pd.DataFrame
    levels: pd.DataFrame
    known: pd.DataFrame
    """Rows of any variant from other result files, whose graph, source and device also occur in ``rows``.
    Their graphs are named as in ``rows``."""
    loaded: Mapping[str, Graph] = field(default_factory=dict)
    heading: str = ""
    """Suffix of every title. The suffix says whether the rows were measured with cold caches, or are of
    emulated kernels."""

    @cached_property
    def graphs(self) -> list[str]:
        """The full names of the graphs, in the experiment's order."""
        order = [use.title for use in self.experiment.graphs]
        return sorted(self.uses, key=lambda name: order.index(self.uses[name].title))

    @cached_property
    def uses(self) -> dict[str, GraphUse]:
        """A dictionary that maps the full names of graphs in the rows to graphs of the experiment. A stand-in
        is mapped to the graph that it replaces."""
        names = dict.fromkeys([*self.rows["graph"], *self.loaded])
        found = {name: use_of(self.experiment, name) for name in names}
        return {name: use for name, use in found.items() if use is not None}

    def title(self, graph: str) -> str:
        """Returns the title of a graph in the rows: the paper's name for the graph. If the searched graph is
        a stand-in or shrunk, the title says so in brackets."""
        plain, marks = split_marks(graph.rpartition(":")[0])
        use = use_of(self.experiment, graph)
        remarks = [f"stand-in {plain.partition('(')[0]}"] if marks.stands_for else []
        remarks += [f"shrunk to {marks.shrink:g}"] if marks.shrink < 1 else []
        title = use.title if use else marks.stands_for or graph
        return f"{title} ({', '.join(remarks)})" if remarks else title

    def graphs_of(self, chart: Chart) -> list[str]:
        """Returns the full names of the graphs that a drawing shows."""
        return [
            name
            for name in self.graphs
            if not chart.graphs or {self.uses[name].title, self.uses[name].name} & {*chart.graphs}
        ]

    def series_of(self, chart: Chart) -> list[Series]:
        """Returns the series that a drawing shows."""
        if chart.series:
            return [series_called(self.experiment, text) for text in chart.series]
        return self.series

    @cached_property
    def series(self) -> list[Series]:
        """All series of the experiment. If the experiment measures programs of other authors, each program
        that has rows is a separate series."""
        found = every_series(self.experiment)
        if _has_entries(self.experiment):
            have = {series.variant for series in found}
            found += [Series(name, name) for name in self.programs if name not in have]
        return found

    @cached_property
    def programs(self) -> list[str]:
        """The names of those programs of other authors that have rows."""
        return [*dict.fromkeys(self.rows.loc[self.rows["program"] != "", "variant"])]

    def num_settings(self, series: Series, graph: str) -> int:
        """Returns the number of settings (grid, block and knob values) with which a series was measured on a
        graph."""
        rows = series.select(self.rows[self.rows["graph"] == graph])
        return len(rows[["grid", "block", "knobs"]].drop_duplicates())

    def vertices(self, graph: str) -> int:
        """Returns the number of vertices of a graph, or 0 if the graph has no rows."""
        counts = self.rows.loc[self.rows["graph"] == graph, "num_vertices"]
        return 0 if counts.empty else int(counts.iloc[0])

    def host_times(self, graph: str) -> dict[str, float]:
        """Returns the best time in ms of each CPU program on a graph, from the experiment's rows and from
        ``known`` rows of other files."""
        times: dict[str, float] = {}
        for rows in (self.rows, self.known):
            found = rows[(rows["graph"] == graph) & (rows["backend"] == "host") & (rows["status"] == "ok")]
            for name, ms in zip(found["variant"], found["search_ms"], strict=True):
                times[name] = min(float(ms), times.get(name, math.inf))
        return times

    def best(self, series: Series) -> pd.DataFrame:
        """Returns the fastest configuration of a series on each graph, indexed by graph. Times are in ms.

        The columns are the columns of :func:`bfsbench.reports.rows.configurations`.
        """
        if series.title not in self._best:
            timed = configurations(series.select(self.rows), find_family(self.experiment.family))
            found = fastest(timed, ["graph"])
            self._best[series.title] = found.set_index("graph")
        return self._best[series.title]

    @cached_property
    def _best(self) -> dict[str, pd.DataFrame]:
        """A cache for ``best``. It maps the titles of series to their fastest configurations."""
        return {}

    def levels_of(self, series: Series, graph: str) -> pd.DataFrame:
        """Returns the level profiles of a series on a graph. Profiles from backends that do not occur in the
        result rows are left out."""
        levels = self.levels[self.levels["backend"].isin({*self.rows["backend"]})]
        return series.select(levels[levels["graph"] == graph])

    def counter_sums(self, series: Series, graph: str) -> Counter[str] | None:
        """Returns the counters of a series on a graph, summed over levels. Returns None if there is no level
        profile."""
        levels = self.levels_of(series, graph)
        if levels.empty:
            return None
        return sum((Counter(parse_counters(text)) for text in levels["counts"]), Counter())

    def drawn(self, chart: Chart) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Returns the result rows and the level profiles for a drawing.

        The rows belong to the series that the drawing shows, and to series for comparison, such as a
        baseline. The rows of a graph are in the order of the drawing's series. Graphs are named by their
        titles. Two columns are added: ``series`` names the series, and ``x`` is the graph's value on a
        horizontal axis. A row that belongs to several series occurs once for each series.
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
        """Returns one outcome for each kind of rows: measured with warm caches, measured with cold caches,
        and emulated. So no table or plot mixes their times."""
        return [
            replace(self, rows=kind.rows, heading=kind.heading)
            for kind in kinds(self.rows)
            if not kind.rows.empty
        ]

    @property
    def emulated(self) -> bool:
        """True if the times are of emulated kernels."""
        return bool(len(self.rows)) and bool((self.rows["backend"] == "cpu").all())


_MOST_TIMES = 2
"""Rows of a stand-in graph count in verdicts only if its number of vertices differs from the replaced graph's
by at most this factor."""


def unlike(full_name: str, num_vertices: int) -> str:
    """Returns the reason why rows of a stand-in do not count in verdicts. A stand-in is a similar graph that
    replaces a missing one. The rows of a stand-in do not count if it is of another kind (such as ``road``)
    than the missing graph. They do not count either if the numbers of vertices differ by more than the factor
    _MOST_TIMES.

    Returns "" if the rows count, and for a graph that is not a stand-in.
    """
    plain, marks = split_marks(full_name.rpartition(":")[0])
    original = resolve(marks.stands_for).dataset if marks.stands_for else None
    if original is None:
        return ""
    if (kind := kind_of_graph(plain)) != original.kind:
        return f"the class of the stand-in is {kind}, that of {original.name} is {original.kind}"
    there = original.num_vertices or num_vertices
    if max(there, num_vertices) > _MOST_TIMES * min(there, num_vertices):
        return f"the stand-in has {num_vertices:,} vertices, {original.name} has {there:,}"
    return ""


def use_of(experiment: Experiment, full_name: str) -> GraphUse | None:
    """Returns the experiment's graph whose rows have the graph name ``full_name``. If this is the name of a
    stand-in, returns the graph that the stand-in replaces. Returns None if the experiment has no such
    graph."""
    name, _, direction = full_name.rpartition(":")
    plain, marks = split_marks(name)
    for use in experiment.graphs:
        request = resolve(use.name)
        if marks.stands_for:
            is_this = request.dataset is not None and request.dataset.name == marks.stands_for
        else:
            is_this = replace(request, marks=UNMARKED).locator == f"{plain}:{direction}"
        if is_this:
            return use
    return None


def _has_entries(experiment: Experiment) -> bool:
    return any(ENTRIES in sweep.variants for sweep in experiment.sweeps)


def read_outcome(
    experiment: Experiment,
    files: Sequence[Path],
    loaded: Mapping[str, Graph],
    folder: Path | None = None,
) -> Outcome:
    """Reads result files, and the level profiles beside them. Returns the rows that belong to the experiment.

    Rows of other graphs and other variants are left out. If the experiment sets ``all_rows``, further rows
    come from the other result files in ``folder`` and its subfolders. A further row is included only if
    ``files`` contain a row with the same graph, source and device. Raises InputError if a file cannot be
    read.
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


def why_no_row_fits(experiment: Experiment, files: Sequence[Path]) -> str:
    """Returns the reason why no row of these result files belongs to the experiment, or "" if a row belongs
    to it. If the files have a graph of the experiment, but with other reading options, the reason names this
    graph."""
    if not read_outcome(experiment, files, {}).rows.empty:
        return ""
    locators = [resolve(use.name).locator for use in experiment.graphs]
    wanted = {locator.partition(":")[0]: locator for locator in locators}
    for graph in read_results(files)["graph"].unique():
        name = split_marks(graph.rpartition(":")[0])[0].partition(":")[0]
        if name in wanted and graph not in locators:
            return (
                f"no row fits, because the files have {graph} and the experiment searches {wanted[name]}: "
                "the reading options differ"
            )
    return "no row fits: the files lack the experiment's graphs or its searches"


_PLACE = ["graph_checksum", "source", "device"]


def known_rows(folder: Path) -> pd.DataFrame:
    """Returns the rows of all result files in a folder and its subfolders. Files that are not valid result
    files are left out."""
    paths = map(Path.resolve, tables_below(folder))
    return _read_known(tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=1)
def _read_known(files: tuple[tuple[Path, int], ...]) -> pd.DataFrame:
    """Returns the rows of all valid result files in ``files``. A file is given as a pair: its path and its
    time of modification. The result is cached until a file is modified."""
    found = []
    for path, _ in files:
        with suppress(InputError):
            found.append(read_results([path]))
    return pd.concat(found, ignore_index=True) if found else read_results([])


def _needs_known(experiment: Experiment) -> bool:
    """Returns whether the experiment uses rows of other result files.

    An experiment with ``all_rows`` uses them. So does an experiment with a claim that names a CPU program,
    because another file may have a faster CPU program.
    """
    hosts = {variant.name for variant in all_variants().values() if variant.host}
    named = [name for claim in experiment.claims for name in (claim.series, *claim.versus)]
    named = [name for name in named if name not in (*GROUPS, "others")]
    return experiment.all_rows or any(series_called(experiment, name).variant in hosts for name in named)


def _same_points(rows: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows in ``known`` whose combination of graph, source and device also occurs in ``rows``.
    Result files may use different names for one graph, so graphs are matched by checksum. In the returned
    rows, a graph has its name from ``rows``. Rows of emulated kernels and rows taken with cold caches are
    left out.
    """
    usual = (known["backend"] != "cpu") & ~known["method"].str.contains(r"\bcold\b")
    rows, known = with_device(rows), with_device(known[usual])
    places = rows[[*_PLACE, "graph"]].drop_duplicates().rename(columns={"graph": "ours"})
    found = known.merge(places, on=_PLACE)
    return found.assign(graph=found["ours"]).drop(columns=["ours", "device"]).drop_duplicates()
