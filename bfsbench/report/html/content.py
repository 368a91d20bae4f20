"""The content of an HTML page, as data for its scripts.

``tables``: name, title, notes, columns (key, label, whether numbers, whether whole ones) and rows. ``maps``:
times by grid and block of one series on one graph. ``profiles``: columns of the level profile of one search.
Times are in ms, but for those of levels, which are in microseconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bfsbench.report import TABLES, warnings
from bfsbench.report.formats import header
from bfsbench.report.heatmap import grid_order
from bfsbench.report.plots.knobs import search_names
from bfsbench.report.plots.measured import Measured
from bfsbench.report.provenance import origin_numbers
from bfsbench.report.rows import compact, kinds
from bfsbench.report.table import Cell, Table
from bfsbench.variants import all_families, with_aliases

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = ("best", "datasets", "failures", "provenance")
"""Tables of every report, in the order of the page; heat maps are drawn instead."""
_TIMES = ("search_ms", "median_ms", "spread", "preprocess_ms")
_CHOICE = ("speedup", "grid", "block", "knobs", "sources")
_WHERE = ("backend", "device")
_POINT = ("graph", "source", "variant", "status", "search_ms", "search_ms_median", "search_ms_max")
_SHAPE = ("grid", "block", "knobs", "backend", "reason", "wall_ms", "reset_ms")
_ORIGIN = ("origin", "taken_at", "file")
_COUNTS = ("source", "block", "origin")
"""Counts beside those of families, which are read as floating-point numbers where some are missing."""


_MOST_POINTS = 20_000
"""Most rows of the table of all points: about 8 MB, which a browser still sorts at once."""
_MOST_LEVELS = 50_000
"""Most levels of all profiles together; each is a point of a picture."""


def content(rows: pd.DataFrame, levels: pd.DataFrame | None) -> dict[str, Any]:
    """All that the page shows."""
    parts = [Measured.of(kind, levels) for kind in kinds(rows)]
    profiles, left_out = _some([found for part in parts for found in _searches(part)])
    return {
        "warnings": [*warnings(rows), *left_out],
        "tables": [*(_table(table) for table in _tables(rows)), _points(rows)],
        "maps": [found for part in parts if not part.suffix for found in _maps(part)],
        "profiles": [_profile(search) for search in profiles],
    }


def _tables(rows: pd.DataFrame) -> Iterator[Table]:
    for name in _SHOWN:
        for table in TABLES[name](rows):
            if name == "best":
                columns = _best_columns(table)
                table = replace(table, columns=columns, rows=table.columns_of(*columns).rows)
            elif name == "provenance":
                numbered = [(number, *row) for number, row in enumerate(table.rows, 1)]
                table = replace(table, columns=("origin", *table.columns), rows=numbered)
            yield table


def _best_columns(table: Table) -> tuple[str, ...]:
    """Columns of the best times; the checksums of graphs are in another table."""
    figures = [figure for family in all_families().values() for figure in family.figures]
    first = [figure.name for figure in figures if figure.shown]
    more = [name for figure in figures for name in figure.table_columns if name not in first]
    wanted = ("graph", "variant", *_TIMES, *first, *_CHOICE, *more, *_WHERE)
    return tuple(name for name in wanted if name in table.columns)


def _point_columns(rows: pd.DataFrame) -> list[str]:
    """Columns of all points: the figures of their families beside the times, then the others."""
    families = all_families().values()
    figures = [figure.name for family in families for figure in family.figures if figure.shown]
    facts = [column.name for family in families for column in family.columns if column.name not in figures]
    wanted = [*_POINT, "search_ms_samples", *figures, *_SHAPE, *facts, *_ORIGIN]
    return [name for name in wanted if name in rows]


def _table(table: Table) -> dict[str, Any]:
    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    columns = [
        {
            "key": key,
            "label": header(key),
            "number": any(isinstance(cell, int | float) for cell in column),
            "whole": not any(isinstance(cell, float) for cell in column),
        }
        for key, column in zip(table.columns, cells, strict=True)
    ]
    return {
        "name": table.name,
        "title": table.title,
        "notes": table.notes,
        "columns": columns,
        "rows": _named(table),
    }


def _named(table: Table) -> list[tuple[Cell, ...]]:
    """The rows, with the aliases of variants after their names."""
    if "variant" not in table.columns:
        return table.rows
    place = table.columns.index("variant")
    return [(*row[:place], with_aliases(str(row[place])), *row[place + 1 :]) for row in table.rows]


def _points(rows: pd.DataFrame) -> dict[str, Any]:
    shown = _leading(rows.assign(origin=origin_numbers(rows)))
    frame = shown[_point_columns(shown)].replace("", None)
    frame = _whole(frame.dropna(axis="columns", how="all"))
    every = (
        "Every row of the result files"
        if len(shown) == len(rows)
        else f"{len(shown):,} of {len(rows):,} rows of the result files, of each search on each graph the "
        "fastest (other tables are made of all rows; --graph, --variant and --backend choose others)"
    )
    origin = "'origin' is a row of Provenance: device, driver, versions and commit."
    title = "All points" if len(shown) == len(rows) else "Fastest points"
    return _table(Table.of("points", title, frame, [f"{every}, with all samples. {origin}"]))


def _leading(rows: pd.DataFrame) -> pd.DataFrame:
    """At most _MOST_POINTS rows, in their order: the fastest, equally many of each search on each graph."""
    if len(rows) <= _MOST_POINTS:
        return rows
    of_search = ["graph", "graph_checksum", "variant", "backend", "status"]
    groups = compact(rows[[*of_search, "search_ms"]], of_search).groupby(of_search, observed=True)
    place = groups["search_ms"].rank(method="first", na_option="bottom")
    return rows.loc[place.sort_values(kind="stable").index[:_MOST_POINTS].sort_values()]


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    families = all_families().values()
    columns = (column for family in families for column in (*family.columns, *family.profile))
    counts = [*_COUNTS, *(column.name for column in columns if column.kind == "count")]
    present = [name for name in counts if name in frame]
    return frame.astype(dict.fromkeys(present, "Int64"))


def _maps(measured: Measured) -> Iterator[dict[str, Any]]:
    """Heat maps of more than one cell: a time with its knobs, ``failed``, or null where nothing was tried."""
    cells = measured.best(("title", "label", "grid", "block"))
    tried = measured.rows[["title", "label", "variant", "graph", "backend", "grid", "block"]]
    tried = tried[tried["backend"] != "host"]
    for (graph, label), found in tried.groupby(["title", "label"], sort=False):
        timed = cells[(cells["title"] == graph) & (cells["label"] == label)]
        if len(timed) < 2:
            continue
        grids = sorted(found["grid"].unique(), key=grid_order)
        blocks = sorted(found["block"].dropna().astype(int).unique().tolist())
        lines: list[list[Any]] = [[None] * len(blocks) for _ in grids]
        launches = found[["grid", "block"]].drop_duplicates()
        for grid, block in zip(launches["grid"], launches["block"], strict=True):
            lines[grids.index(grid)][blocks.index(block)] = "failed"
        columns = (timed[name] for name in ("grid", "block", "search_ms", "knobs", "sources"))
        for grid, block, time, knobs, sources in zip(*columns, strict=True):
            shown = {"ms": float(time), "knobs": knobs, "sources": int(sources)}
            lines[grids.index(grid)][blocks.index(block)] = shown
        yield {
            "graph": graph,
            "series": label,
            "variant": with_aliases(found["variant"].iloc[0]),
            "name": found["graph"].iloc[0],
            "searched": measured.searched(str(graph)),
            "grids": grids,
            "blocks": blocks,
            "cells": lines,
        }


@dataclass(frozen=True)
class _Searched:
    """The level profile of one search."""

    graph: str
    name: str
    levels: pd.DataFrame


def _searches(measured: Measured) -> Iterator[_Searched]:
    levels = measured.levels
    if levels is None or levels.empty:
        return
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        for name, search in found.groupby(search_names(found), sort=False):
            yield _Searched(f"{graph}, source {source:.0f}", f"{name}{measured.heading}", search)


def _some(searches: list[_Searched]) -> tuple[list[_Searched], list[str]]:
    """The first searches, with at most _MOST_LEVELS levels together, and a line that says how many."""
    sizes = itertools.accumulate(len(search.levels) for search in searches)
    shown = [search for search, size in zip(searches, sizes, strict=True) if size <= _MOST_LEVELS]
    if len(shown) == len(searches):
        return shown, []
    told = f"{len(shown):,} of {len(searches):,} level profiles are on this page, the first of the files"
    return shown, [f"{told}; --graph, --variant and --backend choose others"]


def _profile(searched: _Searched) -> dict[str, Any]:
    search = _whole(searched.levels.sort_values("level"))
    first = search.iloc[0]
    where = first["gpu"] or "emulated"
    return {
        "graph": searched.graph,
        "search": searched.name,
        "origin": f"{where}, commit {first['commit']}, {first['taken_at']}, {first['file']}",
        "kernel": search["kernel"].tolist(),
        **{
            column: _table_column(search[column])
            for column in ("level", "frontier_size", "edges_inspected", "time_us")
        },
    }


def _table_column(values: pd.Series[Any]) -> list[Any]:
    """The values as numbers, None where there is none."""
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()
