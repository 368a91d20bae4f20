"""The best time of every variant on every graph, and the configuration that gave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.report.rows import (
    SETTING,
    SHAPE,
    Kind,
    fastest,
    in_words,
    kinds,
    sources_of,
)
from bfsbench.report.table import Table
from bfsbench.variants import all_variants

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.families.base import Family

_TIMES = ("search_ms", "median_ms", "spread", "preprocess_ms")
_NOTE = "search ms: the fastest sample; median ms: the samples' median; spread: slowest / fastest sample."
_NOTE_ON_PREPROCESSING = "preprocess ms: time to preprocess the graph, once per graph; not part of search ms."
_NOTE_ON_KNOBS = "Knobs that have their variant's default value are left out."


def best_times(rows: pd.DataFrame) -> list[Table]:
    """One table of measured times and one of emulated ones, as far as there are rows."""
    tables = []
    for kind in kinds(rows):
        chosen = fastest(kind.configurations(), SETTING)
        frame = chosen.sort_values(["graph", "graph_checksum", "search_ms"])
        figures = [name for figure in kind.family.figures for name in figure.table_columns]
        frame = frame[[*SETTING, *SHAPE, "sources", *_TIMES, *figures, "speedup"]]
        title = f"Best time per variant and graph{kind.heading}"
        drawings = _drawings(frame, kind)
        tables.append(Table.of(f"best{kind.suffix}", title, frame, _notes(frame, kind), drawings))
    return tables


def _notes(frame: pd.DataFrame, kind: Kind) -> Iterator[str]:
    if frame.empty:
        yield "No point has a time."
        return
    yield _NOTE
    if any(frame["speedup"].notna()):
        yield f"x sequential: speed-up over {kind.family.baseline} on the same machine."
    if any(frame["sources"] > 1):
        yield _note_on_sources(kind.family)
    if any(frame["preprocess_ms"].notna()):
        yield _NOTE_ON_PREPROCESSING
    if list(frame["knobs"]) != _told_knobs(frame):
        yield _NOTE_ON_KNOBS
    yield from kind.family.advice(kind.rows)


def _note_on_sources(family: Family) -> str:
    note = "Over several sources: the median of these"
    for figure in family.figures:
        if figure.quartiles:
            mean = "harmonic mean and median" if figure.harmonic else "median"
            note += (
                f", and {figure.headings[figure.name]} as {mean} (CSV and JSON have the quartiles as well)"
            )
    return f"{note}."


def _figures_shown(family: Family, num_sources: int) -> list[str]:
    """Columns of times and figures in text; over several sources fewer of them."""
    shown = [figure for figure in family.figures if figure.shown]
    if num_sources < 2:
        return [*_TIMES, *(figure.name for figure in shown), "speedup"]
    times = [name for name in _TIMES if name != "median_ms"]
    medians = [f"{figure.name}_median" for figure in shown if figure.quartiles]
    return [*times, *(figure.name for figure in shown if figure.quartiles), *medians, "speedup"]


def _drawings(frame: pd.DataFrame, kind: Kind) -> Iterator[Table]:
    """One table per graph, variants sorted by time; columns without information are left out."""
    searched = sources_of(kind.rows)
    frame = frame.assign(knobs=_told_knobs(frame))
    for (graph, checksum), group in frame.groupby(["graph", "graph_checksum"], sort=False):
        where = [name for name in ("backend", "host_cpu") if group[name].nunique() > 1]
        if group.groupby("backend")["device"].nunique().max() > 1:
            where.append("device")
        sources = searched[graph, checksum]
        figures = _figures_shown(kind.family, len(sources))
        known = [name for name in figures if name in group and group[name].notna().any()]
        if group["sources"].nunique() > 1:
            known.insert(0, "sources")
        title = f"{graph}, {in_words(sources, kind.family)}"
        shape = [name for name in SHAPE if name != "knobs" or any(group[name])]
        yield Table.of("", title, group[["variant", *where, *shape, *known]])


def _told_knobs(frame: pd.DataFrame) -> list[str]:
    """The knobs of each row, without those at the default of a known variant."""
    usual = {
        name: {f"{knob.name}={knob.default}" for knob in variant.knobs}
        for name, variant in all_variants().items()
    }
    return [
        " ".join(setting for setting in knobs.split() if setting not in usual.get(variant, ()))
        for variant, knobs in zip(frame["variant"], frame["knobs"], strict=True)
    ]
