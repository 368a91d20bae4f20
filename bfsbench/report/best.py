"""The best time of every variant on every graph, and the configuration that gave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.rows import (
    SETTING,
    SHAPE,
    Kind,
    configurations,
    fastest,
    in_words,
    kinds,
    sources_of,
    succeeded,
)
from bfsbench.report.table import Table
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

_FIGURES = {
    "bfs": (
        *("search_ms", "median_ms", "spread", "preprocess_ms"),
        *("mteps", "mteps_q1", "mteps_median", "mteps_q3", "mteps_graph500", "speedup"),
    ),
    "apsp": ("search_ms", "median_ms", "spread", "preprocess_ms", "gops", "speedup"),
}
"""By family."""
_ONE_SOURCE = ("search_ms", "median_ms", "spread", "preprocess_ms", "mteps", "gops", "speedup")
_MANY_SOURCES = ("search_ms", "spread", "preprocess_ms", "mteps", "mteps_median", "speedup")
_NOTE = "search ms: the fastest sample; median ms: the samples' median; spread: slowest / fastest sample."
_NOTE_ON_SOURCES = (
    "Over several sources: the median of these, and MTEPS as harmonic mean and median (CSV and JSON have the "
    "quartiles as well)."
)
_NOTE_ON_PREPROCESSING = (
    "preprocess ms: what putting the graph in order took beforehand, once a graph; not part of search ms."
)
_NOTE_ON_KNOBS = "Knobs that have their variant's default value are left out."
_BARELY = 0.01
"""Share of the vertices below which a search says little about the graph."""


def best_times(rows: pd.DataFrame) -> list[Table]:
    """One table of measured times and one of emulated ones, as far as there are rows."""
    tables = []
    for kind in kinds(rows):
        chosen = fastest(configurations(kind.rows, baseline=kind.family.baseline), SETTING)
        frame = chosen.sort_values(["graph", "graph_checksum", "search_ms"])
        frame = frame[[*SETTING, *SHAPE, "sources", *_FIGURES[kind.family.name]]]
        title = f"Best time per variant and graph{kind.heading}"
        drawings = _drawings(frame, kind.rows)
        tables.append(Table.of(f"best{kind.suffix}", title, frame, _notes(frame, kind), drawings))
    return tables


def _notes(frame: pd.DataFrame, kind: Kind) -> Iterator[str]:
    if frame.empty:
        yield "No point has a time."
        return
    yield _NOTE
    if any(frame["speedup"].notna()):
        yield f"x sequential: how many times as fast as {kind.family.baseline} on the same machine."
    if any(frame["sources"] > 1):
        yield _NOTE_ON_SOURCES
    if any(frame["preprocess_ms"].notna()):
        yield _NOTE_ON_PREPROCESSING
    if list(frame["knobs"]) != _told_knobs(frame):
        yield _NOTE_ON_KNOBS
    yield from _short_searches(kind.rows)


def _short_searches(rows: pd.DataFrame) -> Iterator[str]:
    """For each graph the sources that reach next to nothing: they rule a harmonic mean."""
    searched = succeeded(rows).drop_duplicates(["graph", "graph_checksum", "source"])
    short = searched["reached"] < _BARELY * searched["num_vertices"]
    for (graph, _), found in short.groupby([searched["graph"], searched["graph_checksum"]]):
        if found.any():
            count = f"{found.sum()} of {len(found)} sources" if len(found) > 1 else "the source"
            advice = "; the harmonic mean is theirs, look at the median" if len(found) > 1 else ""
            yield f"Warning: {graph}: {count} reached less than 1 % of the vertices{advice}."


def _drawings(frame: pd.DataFrame, rows: pd.DataFrame) -> Iterator[Table]:
    """One table a graph, variants by their times; columns that would say nothing are left out."""
    searched = sources_of(rows)
    frame = frame.assign(knobs=_told_knobs(frame))
    for (graph, checksum), group in frame.groupby(["graph", "graph_checksum"], sort=False):
        where = [name for name in ("backend", "host_cpu") if group[name].nunique() > 1]
        if group.groupby("backend")["device"].nunique().max() > 1:
            where.append("device")
        sources = searched[graph, checksum]
        figures = _MANY_SOURCES if len(sources) > 1 else _ONE_SOURCE
        known = [name for name in figures if name in group and group[name].notna().any()]
        if group["sources"].nunique() > 1:
            known.insert(0, "sources")
        title = f"{graph}, {in_words(sources)}"
        shape = [name for name in SHAPE if name != "knobs" or any(group[name])]
        yield Table.of("", title, group[["variant", *where, *shape, *known]])


def _told_knobs(frame: pd.DataFrame) -> list[str]:
    """The knobs of each row without those that have the default of a variant known here."""
    usual = {
        name: {f"{knob.name}={knob.default}" for knob in variant.knobs}
        for name, variant in all_variants().items()
    }
    return [
        " ".join(setting for setting in knobs.split() if setting not in usual.get(variant, ()))
        for variant, knobs in zip(frame["variant"], frame["knobs"], strict=True)
    ]
