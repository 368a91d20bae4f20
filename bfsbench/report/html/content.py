"""What an HTML page shows, as plain data for its scripts.

``tables``: name, title, notes, columns (key, label, whether numbers, whether whole ones) and rows. ``maps``:
times by grid and block of one series on one graph. ``profiles``: columns of the level profile of one search.
Times are in ms, but for those of levels, which are in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bfsbench.report import TABLES, warnings
from bfsbench.report.formats import header
from bfsbench.report.heatmap import grid_order
from bfsbench.report.plots.knobs import search_names
from bfsbench.report.plots.measured import Measured
from bfsbench.report.provenance import origin_numbers
from bfsbench.report.rows import kinds
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


def content(rows: pd.DataFrame, levels: pd.DataFrame | None) -> dict[str, Any]:
    """All that the page shows."""
    parts = [Measured.of(kind, levels) for kind in kinds(rows)]
    return {
        "warnings": warnings(rows),
        "tables": [*(_table(table) for table in _tables(rows)), _points(rows)],
        "maps": [found for part in parts if not part.suffix for found in _maps(part)],
        "profiles": [found for part in parts for found in _profiles(part)],
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
    """Of the best times, what is compared first. The checksums of graphs stand in another table."""
    figures = [figure for family in all_families().values() for figure in family.figures]
    first = [figure.name for figure in figures if figure.shown]
    more = [name for figure in figures for name in figure.table_columns if name not in first]
    wanted = ("graph", "variant", *_TIMES, *first, *_CHOICE, *more, *_WHERE)
    return tuple(name for name in wanted if name in table.columns)


def _point_columns(rows: pd.DataFrame) -> list[str]:
    """Of all points, the figures of their families beside the times, and the other columns after them."""
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
    """The rows, with the aliases of variants beside their names."""
    if "variant" not in table.columns:
        return table.rows
    place = table.columns.index("variant")
    return [(*row[:place], with_aliases(str(row[place])), *row[place + 1 :]) for row in table.rows]


def _points(rows: pd.DataFrame) -> dict[str, Any]:
    numbered = rows.assign(origin=origin_numbers(rows))
    frame = numbered[_point_columns(numbered)].replace("", None)
    frame = _whole(frame.dropna(axis="columns", how="all"))
    notes = [
        "Every row of the result files, with all samples. 'origin' is a row of Provenance: device, driver, "
        "versions and commit."
    ]
    return _table(Table.of("points", "All points", frame, notes))


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    families = all_families().values()
    columns = (column for family in families for column in (*family.columns, *family.profile))
    counts = [*_COUNTS, *(column.name for column in columns if column.kind == "count")]
    present = [name for name in counts if name in frame]
    return frame.astype(dict.fromkeys(present, "Int64"))


def _maps(measured: Measured) -> Iterator[dict[str, Any]]:
    """Heat maps of more than one cell: a time with its knobs, ``failed``, or null where nothing was tried."""
    cells = measured.best(("title", "label", "grid", "block"))
    tried = measured.rows[measured.rows["backend"] != "host"]
    for (graph, label), found in tried.groupby(["title", "label"], sort=False):
        timed = cells[(cells["title"] == graph) & (cells["label"] == label)]
        if len(timed) < 2:
            continue
        grids = sorted(found["grid"].unique(), key=grid_order)
        blocks = sorted(found["block"].dropna().astype(int).unique().tolist())
        lines: list[list[Any]] = [[None] * len(blocks) for _ in grids]
        for grid, block in zip(found["grid"], found["block"], strict=True):
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


def _profiles(measured: Measured) -> Iterator[dict[str, Any]]:
    levels = measured.levels
    if levels is None or levels.empty:
        return
    for (graph, source), found in levels.groupby(["title", "source"], sort=False):
        for name, search in found.groupby(search_names(found), sort=False):
            search = _whole(search.sort_values("level"))
            first = search.iloc[0]
            where = first["gpu"] or "emulated"
            yield {
                "graph": f"{graph}, source {source:.0f}",
                "search": f"{name}{measured.heading}",
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
