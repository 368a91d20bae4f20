"""The content of an HTML page, as data for its scripts.

``kinds``: graphs, searches and best times of rows whose times are comparable (see
:mod:`bfsbench.report.html.searches`). ``maps``: times by grid and block of one series on one graph.
``profiles``: columns of the level profile of one search. ``tables``: name, title, notes, columns (key, label,
whether numbers, whether whole ones) and rows. Times are in ms, but for those of levels, which are in
microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bfsbench.report import TABLES, warnings
from bfsbench.report.footnotes import with_footnotes
from bfsbench.report.formats import header
from bfsbench.report.html.drawings import first_of, heat_maps, profile, searched
from bfsbench.report.html.headings import heading
from bfsbench.report.html.points import points
from bfsbench.report.html.searches import searches
from bfsbench.report.plots.measured import Measured
from bfsbench.report.rows import kinds
from bfsbench.report.table import Cell, Table
from bfsbench.variants import all_families, with_aliases

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = ("best", "datasets", "failures", "provenance")
"""Tables in the order of the page; the matrix replaces the ranking, pictures replace heat maps."""
_TIMES = ("search_ms", "times_best", "median_ms", "spread", "preprocess_ms")
_CHOICE = ("speedup", "grid", "block", "knobs", "sources")
_WHERE = ("backend", "device")


def content(rows: pd.DataFrame, levels: pd.DataFrame | None) -> dict[str, Any]:
    """All that the page shows."""
    parts = [Measured.of(kind, levels) for kind in kinds(rows)]
    profiles, left_out = first_of([found for part in parts for found in searched(part)])
    return {
        "warnings": [*warnings(rows), *left_out],
        "kinds": [searches(part) for part in parts],
        "maps": [found for part in parts if not part.emulated for found in heat_maps(part)],
        "profiles": [profile(search) for search in profiles],
        "tables": [_table(table) for table in (*_tables(rows), points(rows))],
    }


def _tables(rows: pd.DataFrame) -> Iterator[Table]:
    for name in _SHOWN:
        for table in with_footnotes(TABLES[name](rows), rows):
            if name == "best":
                columns = _best_columns(table)
                table = replace(table, columns=columns, rows=table.columns_of(*columns).rows)
            elif name == "provenance":
                numbered = [(number, *row) for number, row in enumerate(table.rows, 1)]
                table = replace(table, columns=("origin", *table.columns), rows=numbered)
            yield table


def _best_columns(table: Table) -> tuple[str, ...]:
    """Columns of the best times that have values; the checksums of graphs are in another table."""
    figures = [figure for family in all_families().values() for figure in family.figures]
    first = [figure.name for figure in figures if figure.shown]
    more = [name for figure in figures for name in figure.table_columns if name not in first]
    wanted = ("graph", "variant", *_TIMES, *first, *_CHOICE, *more, *_WHERE)
    known = [name for name in wanted if name in table.columns]
    cells = {name: [row[table.columns.index(name)] for row in table.rows] for name in known}
    return tuple(name for name in known if any(cell not in (None, "") for cell in cells[name]))


def _table(table: Table) -> dict[str, Any]:
    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    columns = [
        {
            "key": key,
            "label": heading(key),
            "number": any(isinstance(cell, int | float) for cell in column),
            "whole": not any(isinstance(cell, float) for cell in column),
        }
        for key, column in zip(table.columns, cells, strict=True)
    ]
    return {
        "name": table.name,
        "title": table.title,
        "notes": [_in_words(note, table) for note in table.notes],
        "columns": columns,
        "rows": _named(table),
    }


def _in_words(note: str, table: Table) -> str:
    """A note that explains a column, with the page's heading of that column."""
    for column in table.columns:
        if note.startswith(f"{header(column)}: "):
            return note.replace(header(column), heading(column), 1)
    return note


def _named(table: Table) -> list[tuple[Cell, ...]]:
    """The rows, with the aliases of variants after their names."""
    if "variant" not in table.columns:
        return table.rows
    place = table.columns.index("variant")
    return [(*row[:place], with_aliases(str(row[place])), *row[place + 1 :]) for row in table.rows]
