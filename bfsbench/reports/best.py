"""Makes tables of the best time of every variant on every graph, with the configuration that gave it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bfsbench.reports.measured import TimedRows
from bfsbench.reports.recorded import Recorded, recorded
from bfsbench.reports.rows import (
    EMULATED,
    SETTING,
    SHAPE,
    SPEED_UP,
    STATISTIC,
    TYPICAL,
    Kind,
    comparable,
    fastest,
    kinds,
)
from bfsbench.reports.table import Table
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.programs.families.base import Family

_TIMES = ("search_ms", "median_ms", "spread", "prepare_ms")
_MEANINGS = {
    "search_ms": f"search ms: {STATISTIC}, of all its repeats",
    "median_ms": f"median ms: {TYPICAL}",
    "spread": "spread: slowest / fastest sample",
    "times_best": "x best: the time over that of the fastest search of the graph, of equally many repeats; "
    "empty where sources are missing",
    "points": "points: configurations whose answers were right",
}
_NOTE_ON_PREPARATION = (
    "prepare ms: from the graph on disk to readiness, once per graph, of the setting whose time is shown: "
    "allocation, upload, own formats, probes, tuning; neither compilation nor part of search ms."
)
_NOTE_ON_KNOBS = "Knobs are shown where they differ from their variant's default."
COUNTS = ("points", "failed")
RECORDED = "h200_ms"
_GRAPH = ["graph", "graph_checksum"]
_LONG = 40
"""Number of lines of all searches and graphs above which a brief table shows only the best searches of each
graph."""
_FEW = 5
"""Number of searches of each graph that a shortened brief table shows."""


def best_times(rows: pd.DataFrame, levels: pd.DataFrame | None = None, *, brief: bool = False) -> list[Table]:
    """Returns a table of measured times and a table of emulated times, as far as there are rows.

    ``levels`` are the level profiles beside the rows. With them, there are columns for sums over the steps of
    a run. ``brief`` shows only what the end of a sweep shows: times, rates, and ratios to the best time. Text
    never shows emulated times, only counts and times of the project's GPU.
    """
    tables = []
    for kind in kinds(rows):
        known = recorded(kind)
        frame = _best(kind, levels, known)
        title = f"Best time per variant and graph{kind.heading}"
        drawings = _drawings(frame, kind, brief)
        legend = _meanings(drawings, kind, known)
        notes = () if brief else _notes(frame, kind)
        tables.append(Table.of(f"best{kind.suffix}", title, frame, notes, drawings, legend=legend))
    return tables


def _best(kind: Kind, levels: pd.DataFrame | None, known: Recorded) -> pd.DataFrame:
    """Returns the fastest configuration of each variant, sorted by graph and time.

    ``known`` are times that the searches took on the project's GPU.
    """
    frame = fastest(kind.configurations(), SETTING).sort_values([*_GRAPH, "search_ms"])
    frame = frame.merge(_times_best(kind), how="left", on=[*SETTING])
    frame = frame.assign(**_counts(frame, kind.rows))
    figures = [name for figure in kind.family.figures for name in figure.table_columns]
    totals = [column.name for column in kind.family.profile if column.total]
    steps = TimedRows.of(kind, levels).levels if totals else None
    if steps is not None and len(steps):
        frame = frame.merge(_totals(steps, totals), how="left", on=[*_POINT])
    if not all(map(math.isnan, known.of(frame))):
        frame[RECORDED] = known.of(frame)
    more = [name for name in (*totals, RECORDED) if name in frame]
    columns = [*SETTING, *SHAPE, "sources", *_TIMES, *figures, "speedup", "times_best", *COUNTS, *more]
    return frame[columns]


def _times_best(kind: Kind) -> pd.DataFrame:
    """Returns ``times_best`` of each search: its time divided by the best time of the graph.

    Searches without a time from some source are left out (see ``comparable``). The values are NaN for
    emulated kernels.
    """
    whole = fastest(comparable(kind.rows, kind.family), SETTING)
    least = whole.groupby(_GRAPH)["search_ms"].transform("min")
    meant = math.nan if _is_emulated(kind) else whole["search_ms"] / least.where(least > 0)
    return whole.assign(times_best=meant)[[*SETTING, "times_best"]]


_POINT = ("graph", "variant", "backend", *SHAPE)
"""Columns that identify the level profile of a configuration."""


def _is_emulated(kind: Kind) -> bool:
    """Returns whether the times are of emulated kernels, which say nothing about speed."""
    return kind.suffix.endswith(EMULATED)


def _totals(steps: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Returns sums over the steps of a run for each configuration, as the median over its sources.

    A sum is NaN if the number of some step is missing.
    """
    of_run = steps.groupby([*_POINT, "source"], dropna=False)
    complete = of_run[names].count().eq(of_run.size(), axis=0)
    runs = of_run[names].sum().where(complete).reset_index()
    found = runs.groupby([*_POINT], dropna=False, as_index=False)[names].median()
    return found.astype({name: "Int64" for name in names if (found[name].dropna() % 1 == 0).all()})


def _counts(frame: pd.DataFrame, rows: pd.DataFrame) -> dict[str, list[int]]:
    """Returns how many points of each variant on each graph have a time, and how many have none."""
    by = [*_GRAPH, "variant", "backend"]
    keys = list(zip(*(frame[name] for name in by), strict=True))
    ok = rows["status"] == "ok"
    sizes = [rows[some].groupby(by).size() for some in (ok, ~ok)]
    return {name: [int(size.get(key, 0)) for key in keys] for name, size in zip(COUNTS, sizes, strict=True)}


def _notes(frame: pd.DataFrame, kind: Kind) -> Iterator[str]:
    if frame.empty:
        yield "No point has a time."
        return
    if any(frame["speedup"].notna()):
        yield f"x sequential: speed-up over {kind.family.baseline} on the same machine, {SPEED_UP}."
    if any(frame["sources"] > 1):
        yield _note_on_sources(kind.family)
    if any(frame["prepare_ms"].notna()) and not _is_emulated(kind):
        yield _NOTE_ON_PREPARATION
    yield from kind.family.advice(kind.rows)


def _meanings(drawings: Iterable[Table], kind: Kind, known: Recorded) -> Iterator[str]:
    """Yields explanations of the columns that the drawings have."""
    drawn = {column for table in drawings for column in table.columns}
    yield from (f"{text}." for column, text in _MEANINGS.items() if column in drawn)
    if "knobs" in drawn:
        yield _NOTE_ON_KNOBS
    for column in kind.family.profile:
        if column.name in drawn:
            yield f"{column.total}: {column.meaning}."
    if RECORDED in drawn:
        yield known.note


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
    """Returns the columns of times and figures that text shows. There are fewer of them over several
    sources."""
    totals = [*(column.name for column in kind.family.profile if column.total), RECORDED]
    if _is_emulated(kind):
        return ["points", "failed", *totals]
    shown = [figure for figure in kind.family.figures if figure.shown]
    if brief:
        return ["search_ms", *(figure.name for figure in shown[:1]), "times_best", "failed", *totals]
    last = ["speedup", "times_best", "failed", *totals]
    if num_sources < 2:
        return [*_TIMES, *(figure.name for figure in shown), *last]
    times = list(_TIMES)
    medians = [f"{figure.name}_median" for figure in shown if figure.quartiles]
    return [*times, *(figure.name for figure in shown if figure.quartiles), *medians, *last]


def _drawings(frame: pd.DataFrame, kind: Kind, brief: bool) -> list[Table]:
    """Returns one table per graph, with variants sorted by time. Columns without information are left out."""
    frame = frame.assign(knobs=_told_knobs(frame))
    if _is_emulated(kind) and RECORDED in frame:
        frame = frame.sort_values([*_GRAPH, RECORDED], kind="stable")
    short = brief and len(frame) > _LONG
    made = []
    for (graph, checksum), group in frame.groupby(_GRAPH, sort=False):
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
        shape = [] if _is_emulated(kind) else list(SHAPE if any(group["knobs"]) else SHAPE[:2])
        made.append(Table.of("", title, group[["variant", *where, *shape, *known]]))
    return made


def _says_something(column: pd.Series[Any]) -> bool:
    return bool(column.any() if column.name == "failed" else column.notna().any())


def _told_knobs(frame: pd.DataFrame) -> list[str]:
    """Returns the knobs of each row as text, without knobs at the default of their variant."""
    usual = {
        name: {f"{knob.name}={knob.default}" for knob in variant.knobs}
        for name, variant in all_variants().items()
    }
    return [
        " ".join(setting for setting in knobs.split() if setting not in usual.get(variant, ()))
        for variant, knobs in zip(frame["variant"], frame["knobs"], strict=True)
    ]
