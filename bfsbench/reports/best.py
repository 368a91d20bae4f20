"""Makes tables of the best times.

One table shows the best time of every variant on every graph, with the configuration that gave it. Another
table shows the times by grid and block for every variant and graph, like Fig. 8 in Springer's paper on
breadth-first search with CUDA. A third table lists the time of every setting.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import TimedRows
from bfsbench.reports.rows import (
    GRAPH,
    SETTING,
    SHAPE,
    SPEED_UP,
    STATISTIC,
    TYPICAL,
    Kind,
    Results,
    configurations,
    fastest,
    kinds,
    measured_on,
)
from bfsbench.reports.table import HEAT_LEGEND, Cell, Table
from bfsbench.rows.results import read_results
from bfsbench.support import paths
from bfsbench.variants import all_variants, with_aliases

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.programs.families.base import Family

_TIMES = ("search_ms", "median_ms", "repeats", "spread", "prepare_ms")
_MEANINGS = {
    "search_ms": f"search ms: {STATISTIC}, of all its repeats",
    "median_ms": f"median ms: {TYPICAL}",
    "repeats": "repeats: timed runs from each source, or from the source with the fewest",
    "spread": "spread: slowest / fastest sample",
    "times_best": "x best: the time divided by the time of the fastest search of the graph, both of equally "
    "many repeats; empty if the search lacks a time from a source",
    "points": "points: configurations whose answers were right",
}
_NOTE_ON_PREPARATION = (
    "prepare ms: the time from opening the graph to the first search, at the setting whose time is shown. It "
    "includes allocation, upload, conversion and trial searches, but no compilation. It is no part of search "
    "ms."
)
_NOTE_ON_KNOBS = "Knobs are shown where they differ from their variant's default."
COUNTS = ("points", "failed")
RECORDED = "h200_ms"
_LONG = 40
"""The largest number of lines in a brief table that lists all searches. A longer table is shortened to the
best searches of each graph."""
_FEW = 5
"""Number of searches per graph in a shortened table."""


def best_times(results: Results, levels: pd.DataFrame | None = None, *, brief: bool = False) -> list[Table]:
    """Returns up to three tables of the best times for each family of problems: times with warm caches, times
    with cold caches, and emulated kernels. Tables without rows are left out.

    If level profiles are given in ``levels``, the tables also have columns with sums over the levels (steps)
    of a run. If ``brief`` is true, the text layout shows only times, rates and ratios to the best time. The
    command ``run`` prints this brief layout at the end of a sweep. The text layout never shows emulated
    times. For emulated kernels it shows counts, and times recorded on the project's own GPU.
    """
    tables = []
    for kind in results.kinds:
        known, note_on_recorded = recorded(kind)
        frame = _best(kind, levels, known)
        title = f"Best time per variant and graph{kind.heading}"
        drawings = _drawings(frame, kind, brief)
        legend = _meanings(drawings, kind, note_on_recorded)
        notes = () if brief else _notes(frame, kind)
        measured = () if brief or kind.emulated or frame.empty else (f"{measured_on(frame)}.",)
        table = Table.of(f"best{kind.suffix}", title, frame, notes, drawings, [*measured, *legend])
        tables.append(replace(table, captioned=measured))
    return tables


def _best(kind: Kind, levels: pd.DataFrame | None, known: Mapping[Hashable, float]) -> pd.DataFrame:
    """Returns one row for each graph, variant and device: the fastest configuration. The rows of a graph are
    consecutive, with the fastest first.

    ``known`` maps a graph's checksum and a variant to the time in ms that the variant took on the project's
    own GPU.
    """
    import pandas as pd

    frame = fastest(kind.configurations, SETTING).sort_values([*GRAPH, "search_ms"])
    frame = frame.merge(_times_best(kind), how="left", on=[*SETTING])
    ok = kind.rows["status"] == "ok"
    searches = kind.rows.assign(points=ok, failed=~ok).groupby([*GRAPH, "variant", "backend"])
    frame = frame.merge(searches[[*COUNTS]].sum().reset_index())
    figures = [name for figure in kind.family.figures for name in figure.table_columns]
    totals = [column.name for column in kind.family.profile if column.total]
    steps = TimedRows.of(kind, levels).levels if totals and levels is not None and len(levels) else None
    if steps is not None and len(steps):
        frame = frame.merge(_totals(steps, totals), how="left", on=[*_POINT])
    searched = zip(frame["graph_checksum"], frame["variant"], strict=True)
    times = pd.Series([known.get(search, math.nan) for search in searched], dtype="float64")
    times = times.mask(frame["backend"] == "host")
    if times.notna().any():
        frame[RECORDED] = times
    more = [name for name in (*totals, RECORDED) if name in frame]
    columns = [*SETTING, *SHAPE, "sources", *_TIMES, *figures, "speedup", "times_best", *COUNTS, *more]
    return frame[columns]


def _times_best(kind: Kind) -> pd.DataFrame:
    """Returns one row for each search and graph. The column ``times_best`` is the search's time divided by
    the best time of any search on the graph.

    All times on a graph are from the same sources and of equally many repeats. Searches that lack a time from
    one of these sources are left out (see ``comparable``). The column is NaN for emulated kernels, and on a
    graph whose best time is 0.
    """
    whole = fastest(kind.comparable, SETTING)
    least = whole.groupby([*GRAPH])["search_ms"].transform("min")
    meant = math.nan if kind.emulated else whole["search_ms"] / least.where(least > 0)
    return whole.assign(times_best=meant)[[*SETTING, "times_best"]]


_POINT = ("graph", "variant", "backend", *SHAPE)
"""Columns that identify the level profile of a configuration."""


def _totals(steps: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Adds up the values of all steps (such as levels) of a run, for each column in ``names``. Returns one
    row per configuration, with the median of these sums over the sources.

    The sum of a run is NaN if a step of the run has no number.
    """
    of_run = steps.groupby([*_POINT, "source"], dropna=False)
    complete = of_run[names].count().eq(of_run.size(), axis=0)
    runs = of_run[names].sum().where(complete).reset_index()
    found = runs.groupby([*_POINT], dropna=False, as_index=False)[names].median()
    return found.astype({name: "Int64" for name in names if (found[name].dropna() % 1 == 0).all()})


def _notes(frame: pd.DataFrame, kind: Kind) -> Iterator[str]:
    if frame.empty:
        yield "No point has a time."
        return
    if any(frame["speedup"].notna()):
        yield f"x sequential: speed-up over {kind.family.baseline} on the same machine, {SPEED_UP}."
    if any(frame["sources"] > 1):
        yield _note_on_sources(kind.family)
    if any(frame["prepare_ms"].notna()) and not kind.emulated:
        yield _NOTE_ON_PREPARATION
    yield from kind.family.advice(kind.rows)


def _meanings(drawings: Iterable[Table], kind: Kind, note_on_recorded: str) -> Iterator[str]:
    """Yields sentences that explain the columns of a table. ``drawings`` contains the text layouts of the
    table. A column is explained only if one of the layouts shows it."""
    drawn = {column for table in drawings for column in table.columns}
    yield from (f"{text}." for column, text in _MEANINGS.items() if column in drawn)
    if "knobs" in drawn:
        yield _NOTE_ON_KNOBS
    for column in kind.family.profile:
        if column.name in drawn:
            yield f"{column.total}: {column.meaning}."
    if RECORDED in drawn:
        yield note_on_recorded


def _note_on_sources(family: Family) -> str:
    note = "Over several sources: the median of these"
    for figure in family.figures:
        if figure.quartiles:
            mean = "harmonic mean and median" if figure.harmonic else "median"
            note += (
                f", and {figure.headings[figure.name]} as {mean} (CSV and JSON have the quartiles as well)"
            )
    return f"{note}."


def _figures_shown(kind: Kind, num_sources: int, brief: bool) -> list[str]:
    """Returns the columns that the text layout shows, such as times, rates and counts. If ``brief`` is true,
    it shows only the first rate. Tables of searches from several sources show only the rates that have
    quartiles."""
    totals = [*(column.name for column in kind.family.profile if column.total), RECORDED]
    if kind.emulated:
        return ["points", "failed", *totals]
    shown = [figure for figure in kind.family.figures if figure.shown]
    if brief:
        return [*_TIMES[:3], *(figure.name for figure in shown[:1]), "times_best", "failed", *totals]
    figures = [figure.name for figure in shown]
    if num_sources > 1:
        spread = [figure.name for figure in shown if figure.quartiles]
        figures = [*spread, *(f"{name}_median" for name in spread)]
    return [*_TIMES, *figures, "speedup", "times_best", "failed", *totals]


def _drawings(frame: pd.DataFrame, kind: Kind, brief: bool) -> list[Table]:
    """Returns the text layout of the best times, which is one table for each graph, with the fastest variant
    first. For emulated kernels, the order follows the times recorded on the project's own GPU.

    Columns without information are left out.
    """
    frame = frame.assign(knobs=_told_knobs(frame))
    if kind.emulated and RECORDED in frame:
        frame = frame.sort_values([*GRAPH, RECORDED], kind="stable")
    short = brief and len(frame) > _LONG
    made = []
    for (graph, checksum), group in frame.groupby([*GRAPH], sort=False):
        title = f"{graph}, {kind.searched(str(graph), str(checksum))}"
        if short and len(group) > _FEW:
            title += f", the best {_FEW} of {len(group)}"
            group = group[:_FEW]
        where = [name for name in ("backend", "host_cpu") if group[name].nunique() > 1]
        if group.groupby("backend")["device"].nunique().max() > 1:
            where.append("device")
        figures = _figures_shown(kind, len(kind.sources[graph, checksum]), brief)
        known = [name for name in figures if name in group and _says_something(group[name])]
        if group["sources"].nunique() > 1:
            known.insert(0, "sources")
        shape = [] if kind.emulated else list(SHAPE if any(group["knobs"]) else SHAPE[:2])
        made.append(Table.of("", title, group[["variant", *where, *shape, *known]]))
    return made


def _says_something(column: pd.Series[Any]) -> bool:
    return bool(column.any() if column.name in ("failed", "repeats") else column.notna().any())


def _told_knobs(frame: pd.DataFrame) -> list[str]:
    """Returns the knob values of each row as text. Knobs that have their default values are left out."""
    usual = {
        name: {f"{knob.name}={knob.default}" for knob in variant.knobs}
        for name, variant in all_variants().items()
    }
    return [
        " ".join(setting for setting in knobs.split() if setting not in usual.get(variant, ()))
        for variant, knobs in zip(frame["variant"], frame["knobs"], strict=True)
    ]


FILE = paths.BUNDLED / "h200.csv"
"""A bundled file of times that searches took on the project's own GPU, for readers who have no GPU of that
model."""


def recorded(kind: Kind) -> tuple[dict[Hashable, float], str]:
    """Returns the best times in ms of searches on the project's own GPU. The key of a time is a pair: the
    graph's checksum and the variant. Also returns a note that names the origin of these times.

    ``kind`` contains the rows of the table that will show these times. Times on a graph are returned only if
    the project's GPU searched the graph from the sources in these rows. No times are returned if any of these
    rows was measured on the project's model of GPU.
    """
    rows = _rows()
    if (kind.rows["gpu"] == rows["gpu"].iloc[0]).any():
        return {}, ""
    wanted, there = (some.groupby("graph_checksum")["source"].agg(set) for some in (kind.runs, rows))
    same = [checksum for checksum, sources in wanted.items() if sources == there.get(checksum)]
    rows = rows[rows["graph_checksum"].isin(same)]
    if rows.empty:
        return {}, ""
    times = configurations(rows, kind.family).groupby(["graph_checksum", "variant"])["search_ms"].min()
    first = rows.iloc[0]
    note = (
        f"{first['gpu']} ms: not measured here, but on our GPU on {first['taken_at'][:10]}, with these "
        f"kernels at commit {first['commit'][:12]}, at the best of the block sizes 64, 256 and the variant's "
        f"default: {STATISTIC}."
    )
    return times.to_dict(), note


@cache
def _rows() -> pd.DataFrame:
    return read_results([FILE])


_NOTE_ON_SETTINGS = (
    f"search ms: {STATISTIC}. x best: the time divided by the search's time at its best setting. Settings "
    "that failed are in the table of failures."
)


def all_settings(results: Results) -> list[Table]:
    """Returns a table with one row for each setting (grid, block and knob values) of each search on each
    graph, for each family of problems and kind of time. The best setting of a search comes first."""
    tables = []
    for kind in results.kinds:
        frame = kind.configurations
        least = frame.groupby([*SETTING], dropna=False)["search_ms"].transform("min")
        frame = frame.assign(least=least, times_best=frame["search_ms"] / least.where(least > 0))
        frame = frame.sort_values([*GRAPH, "least", *SETTING, "search_ms"], kind="stable")
        frame = frame[[*SETTING, *SHAPE, "sources", *_TIMES[:4], "times_best"]]
        drawings = []
        told = frame.assign(knobs=_told_knobs(frame))
        for (graph, checksum), group in told.groupby([*GRAPH], sort=False):
            where = [name for name in ("backend", "device") if group[name].nunique() > 1]
            shape = SHAPE if any(group["knobs"]) else SHAPE[:2]
            columns = ["variant", *where, *shape, "search_ms", "median_ms", "times_best"]
            title = f"{graph}, {kind.searched(str(graph), str(checksum))}"
            drawings.append(Table.of("", title, group[columns]))
        notes = ["No point has a time."] if frame.empty else [_NOTE_ON_SETTINGS]
        legend = [_NOTE_ON_KNOBS] if any("knobs" in table.columns for table in drawings) else []
        tables.append(
            Table.of(f"settings{kind.suffix}", f"Every setting{kind.heading}", frame, notes, drawings, legend)
        )
    return tables


HEAT_MAP = "heatmap"
"""The prefix of the names of tables with heat maps."""
_LAUNCH = ("grid", "block")
_COLUMNS = ("knobs", "sources", "search_ms", "times_best")
_MAPPED = (*GRAPH, "variant", "backend", "gpu", "host_cpu", "source", "source_id", "status", *_LAUNCH)
"""Columns of result rows that the drawings of heat maps need."""
_NOTE_ON_MAP = f"Search ms by grid (down) and block (across), each with its best knobs: {STATISTIC}."
_IN_BRIEF = "Of each graph the fastest search is drawn; --table heatmap draws all."


def heat_maps(results: Results, *, brief: bool = False) -> list[Table]:
    """Returns up to three tables of times by grid and block for each family of problems: times with warm
    caches, times with cold caches, and times of emulated kernels. Each table has one row per variant, graph,
    grid and block. Tables without rows are left out. If no table has rows, one empty table is returned.

    The text layout shows the times as matrices of grid by block. If ``brief`` is true, it shows only the
    fastest variant of each graph.
    """
    tables = []
    kernels = [kind for kind in results.kinds if kind.rows["block"].notna().any()]
    for kind in kernels or kinds(results.rows[:0]):
        cells = fastest(kind.launches, [*SETTING, *_LAUNCH])
        least = cells.groupby(list(SETTING), dropna=False)["search_ms"].transform("min")
        cells = cells.assign(times_best=cells["search_ms"] / least)
        cells = cells.assign(order=cells["grid"].map(grid_order)).sort_values([*SETTING, "order", "block"])
        drawings = list(_maps(_leading(cells) if brief else cells, kind))
        figures = [figure.name for figure in kind.family.figures if figure.shown]
        frame = cells[[*SETTING, *_LAUNCH, *_COLUMNS, *figures]]
        notes = _notes_on_map(cells, len(drawings), brief)
        tables.append(
            Table.of(f"{HEAT_MAP}{kind.suffix}", f"Grid x block{kind.heading}", frame, notes, drawings)
        )
    return tables


def _notes_on_map(cells: pd.DataFrame, num_drawn: int, brief: bool) -> Iterator[str]:
    if cells.empty:
        yield "No kernel has a time."
    elif not num_drawn:
        yield "No search has times of several grids or blocks, which a map needs."
    else:
        yield _NOTE_ON_MAP
        if brief and cells["variant"].nunique() > 1:
            yield _IN_BRIEF
        yield HEAT_LEGEND


def _leading(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of the fastest variant on each graph. Variants with times at only one grid and block
    are ignored."""
    several = cells[cells.groupby(list(SETTING), dropna=False)["search_ms"].transform("size") > 1]
    best = several.sort_values("search_ms", kind="stable").drop_duplicates(["graph", "graph_checksum"])
    return cells.merge(best[list(SETTING)], on=list(SETTING))


def grid_order(grid: str) -> float:
    """Returns a key that sorts grids by size. The grid ``auto`` comes first."""
    return 0 if grid == "auto" else float(grid) if grid.isdecimal() else math.inf


def _maps(cells: pd.DataFrame, kind: Kind) -> Iterator[Table]:
    kind = replace(kind, rows=kind.rows.loc[kind.rows["block"].notna(), [*_MAPPED]])
    without_time = kind.rows[kind.rows["status"] != "ok"]
    failed = dict(iter(without_time.groupby(["graph", "variant", "backend"])))
    for (graph, checksum, variant, backend, *machine), group in cells.groupby(list(SETTING), sort=False):
        if len(group) == 1:
            continue
        where = ", ".join(str(name) for name in machine if name)
        searching = kind.searched(str(graph), str(checksum))
        title = f"{with_aliases(str(variant))} on {graph}, {searching}; {where}"
        yield _matrix(title, group, failed.get((graph, variant, backend), without_time[:0]))


def _matrix(title: str, group: pd.DataFrame, failed: pd.DataFrame) -> Table:
    """Returns a table with grids as rows and blocks as columns.

    A cell holds the time, or ``fail`` if no run succeeded. A cell is empty if its grid and block were not
    tried.
    """
    cells: dict[tuple[str, float], Cell] = dict.fromkeys(
        zip(failed["grid"], failed["block"], strict=True), "fail"
    )
    cells.update(zip(zip(group["grid"], group["block"], strict=True), group["search_ms"], strict=True))
    grids = sorted({grid for grid, _ in cells}, key=grid_order)
    blocks = sorted({block for _, block in cells})
    columns = ("grid \\ block", *(f"{block:g}" for block in blocks))
    lines = [(grid, *(cells.get((grid, block)) for block in blocks)) for grid in grids]
    return Table("", title, columns, lines, heat=True)
