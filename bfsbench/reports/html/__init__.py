"""Makes a report as one self-contained HTML page, which any browser opens from disk.

The page holds its styles, scripts and data. Its scripts draw a matrix, bars, heat maps, level profiles and
tables from JSON. A content security policy in the page's head forbids loading anything.

The function ``content`` computes the JSON, an object with these keys. ``warnings`` holds lines of text.
``kinds`` holds graphs, searches and best times, for the page's matrix and bars. Each element of ``kinds``
comes from rows whose times may be compared: all measured with warm caches, with cold caches, or all emulated.
``maps`` holds times by grid and block, one map per search and graph. ``profiles`` holds the columns of level
profiles, one profile per search. ``tables`` holds each table's name, title, notes, columns and rows. Each
column of a table has a key, a label, and two flags: whether it holds numbers, and whether these numbers are
whole.

Times are in ms, except that times of levels are in microseconds.
"""

from __future__ import annotations

import html
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from statistics import geometric_mean
from string import Template
from typing import TYPE_CHECKING, Any

from bfsbench import __version__
from bfsbench.reports import TABLES, warnings
from bfsbench.reports.best import COUNTS, RECORDED, best_times, grid_order
from bfsbench.reports.changes import changed_knobs, note_on_changes
from bfsbench.reports.measured import TimedRows, ratios, search_names
from bfsbench.reports.plots.profile import of_fastest_launch
from bfsbench.reports.provenance import footnotes_of, origin_numbers, with_footnotes
from bfsbench.reports.rows import (
    DAY,
    EMULATED,
    STATISTIC,
    TYPICAL,
    Results,
    compact,
    fastest,
    kinds,
    of_one_setting,
    short_names,
    with_device,
    without_shared_options,
)
from bfsbench.reports.table import Cell, Table, header
from bfsbench.rows.provenance import now
from bfsbench.variants import all_families, with_aliases

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {
    "search_ms": "time (ms)",
    "search_ms_median": "median time (ms)",
    "search_ms_max": "slowest time (ms)",
    "search_ms_samples": "all times (ms)",
    "median_ms": "median time (ms)",
    "prepare_ms": "preparation (ms)",
    "wall_ms": "time on the host's clock (ms)",
    "reset_ms": "reset (ms)",
    "spread": "slowest / fastest",
    "speedup": "times as fast as one CPU core",
    "times_best": "times the best of the graph",
    "num_vertices": "vertices",
    "num_edges": "arcs",
    "grid": "grid (blocks)",
    "block": "block (threads)",
    "mteps": "million arcs per second",
    "mteps_q1": "million arcs per second, first quartile",
    "mteps_median": "million arcs per second, median",
    "mteps_q3": "million arcs per second, third quartile",
    "mteps_graph500": "million arcs per second, as Graph500 counts",
    "gops": "billion operations per second",
    "backend": "runs on",
    "taken_at": "taken at",
    "edges_traversed": "arcs traversed",
    "edges_inspected": "arcs inspected",
    "graph_checksum": "checksum of the graph",
    "energy_j": "energy (J)",
    "power_w": "power (W)",
    "kernel_ms": "time of kernels (ms)",
    "kernel_launches": "kernels launched",
}


def heading(column: str) -> str:
    """Returns a column's name in words, with its unit."""
    return _WORDS.get(column) or header(column)


_POINT = (
    *("graph", "variant", "source", "source_id", "status"),
    *("search_ms", "search_ms_median", "search_ms_max", "search_ms_samples"),
)
_SHAPE = (
    *("grid", "block", "knobs", "backend", "reason", "wall_ms", "reset_ms"),
    *("kernel_ms", "kernel_launches"),
)
_ORIGIN = ("origin", "taken_at", "file")
_TIMES = ("search_ms", "search_ms_median", "search_ms_max", "search_ms_samples", "wall_ms", "reset_ms")
"""Columns of times. For emulated kernels the page leaves these columns and all rates empty, because the
emulator's times do not show how fast a kernel is on a GPU."""
_COUNTS = ("source", "block", "kernel_launches", "origin")
"""Columns of whole numbers that do not belong to a family of problems. pandas reads a column with missing
cells as floating-point numbers, so the page converts these columns."""
_MOST_POINTS = 20_000
"""Maximum number of rows in the page's table of all rows. This many rows are about 8 MB, which a browser
still sorts without delay."""


def points(rows: pd.DataFrame) -> Table:
    """Returns the page's table of all result rows. If there are more than ``_MOST_POINTS`` rows, the table
    holds only the fastest rows of each search on each graph.
    """
    shown = _leading(rows.assign(origin=origin_numbers(rows)))
    frame = shown[_columns(shown)].replace("", None)
    rates = {figure.name for family in all_families().values() for figure in family.figures}
    times = [name for name in frame if name in _TIMES or name in rates]
    frame[times] = frame[times].mask(shown["backend"] == "cpu")
    frame = _whole(frame.dropna(axis="columns", how="all"))
    every = (
        "Every row of the result files"
        if len(shown) == len(rows)
        else f"{len(shown):,} of {len(rows):,} rows of the result files, of each search on each graph the "
        "fastest (other tables are made of all rows; --graph, --variant and --backend choose others)"
    )
    time = "A time is that of the fastest repeat from one source."
    origin = "'origin' is a row of Provenance: device, driver, versions and commit."
    title = "All points" if len(shown) == len(rows) else "Fastest points"
    return Table.of("points", title, frame, [f"{every}, with all samples. {time} {origin}"])


def _columns(rows: pd.DataFrame) -> list[str]:
    """Returns the columns of the page's table of all result rows, in order. Rates, such as edges per second,
    are next to the times."""
    families = all_families().values()
    figures = [figure.name for family in families for figure in family.figures if figure.shown]
    facts = [column.name for family in families for column in family.columns if column.name not in figures]
    wanted = [*_POINT, *figures, *_SHAPE, *facts, *_ORIGIN]
    return [name for name in wanted if name in rows]


def _leading(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns at most ``_MOST_POINTS`` result rows, in their original order.

    If rows must be left out, each search on each graph keeps its fastest rows, and all searches keep about
    the same number of rows.
    """
    if len(rows) <= _MOST_POINTS:
        return rows
    of_search = ["graph", "graph_checksum", "variant", "backend", "status"]
    groups = compact(rows[[*of_search, "search_ms"]], of_search).groupby(of_search, observed=True)
    place = groups["search_ms"].rank(method="first", na_option="bottom")
    return rows.loc[place.sort_values(kind="stable").index[:_MOST_POINTS].sort_values()]


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    columns = (column for family in all_families().values() for column in family.columns)
    counts = [*_COUNTS, *(column.name for column in columns if column.kind == "count")]
    present = [name for name in counts if name in frame]
    return frame.astype(dict.fromkeys(present, "Int64"))


SearchCell = dict[str, Any] | str | None
"""One cell of the page's matrix of searches by graphs. It holds the best time with its configuration, or a
text that says why there is no time. None means that the search was not run on the graph."""

FAILED = "failed"
"""The matrix cell of a search that was run on the graph but has no time."""
OTHER_SOURCES = "other sources"
"""The matrix cell of a search that lacks a time from some source, although other searches have times from
this source."""


def searches(measured: TimedRows) -> dict[str, Any]:
    """Returns the graphs and searches of the page's matrix, as a dictionary for JSON.

    Searches with times on more graphs come first. Among searches with times on equally many graphs, a smaller
    ``mean`` comes first. A graph is ``compared`` if several searches have times from all its sources. The
    values of a search refer to the compared graphs only. ``mean`` is the geometric mean of the ratios of the
    search's time to the best time on each graph. ``typical`` is this mean for medians of repeats instead of
    minima. ``best`` is the number of graphs on which the search is the fastest. ``worst`` is the search's
    largest ratio to a graph's best time. ``prepared`` is the median preparation time in ms.

    ``against_first`` is the geometric mean of the ratios of the search's time to the time of the first search
    in the list. ``notes`` say what the clocks of other authors' programs cover.
    """
    timed = measured.compared()
    best = of_one_setting(timed)
    several = best.groupby("title")["label"].transform("nunique") > 1
    best = best[several & ratios(best).notna()]
    typical = best["median_ms"] / best.groupby("title")["median_ms"].transform("min")
    compared = best.assign(ratio=ratios(best), typical=typical)
    cells = _cells(measured, compared, timed)
    present = set(compared["title"])
    short = short_names(title for title in measured.graphs if title in present)
    graphs = [
        {
            "title": title,
            "short": short.get(title, title),
            "searched": measured.compared_from(title),
            "compared": title in present,
        }
        for title in measured.graphs
    ]
    series = measured.rows[["label", "variant", "backend"]].drop_duplicates().groupby("label", sort=False)
    made = [_search(str(label), of, compared[compared["label"] == label]) for label, of in series]
    for search in made:
        search["cells"] = [cells.get((graph, search["label"])) for graph in measured.graphs]
    made.sort(key=lambda search: (-search["graphs"], search["mean"] or math.inf))
    for search in made:
        search["against_first"] = _against(made[0]["cells"], search["cells"])
    return {
        "key": measured.suffix,
        "heading": measured.heading.strip(" ()"),
        "emulated": measured.emulated,
        "statistic": STATISTIC,
        "typical": TYPICAL,
        "notes": [*footnotes_of(measured.rows), *filter(None, [note_on_changes(timed)])],
        "graphs": graphs,
        "searches": made,
    }


def _against(first: Sequence[SearchCell], cells: Sequence[SearchCell]) -> float | None:
    """Returns the geometric mean of the ratios of one search's times to the times of the matrix's first
    search. ``cells`` and ``first`` are the rows of these two searches in the matrix.

    Graphs on which either search has no comparable time are left out. Returns None if no graph remains.
    """
    found = [
        mine["ratio"] / its["ratio"]
        for its, mine in zip(first, cells, strict=True)
        if isinstance(its, dict) and isinstance(mine, dict) and its["ratio"] and mine["ratio"]
    ]
    return geometric_mean(found) if found else None


def _search(label: str, rows: pd.DataFrame, compared: pd.DataFrame) -> dict[str, Any]:
    found = compared["ratio"]
    variant = str(rows["variant"].iloc[0])
    return {
        "label": label,
        "name": label.replace(variant, with_aliases(variant), 1),
        "host": bool((rows["backend"] == "host").all()),
        "graphs": len(compared),
        "mean": geometric_mean(found) if len(found) else None,
        "typical": geometric_mean(compared["typical"]) if len(found) else None,
        "best": int((found == 1).sum()),
        "worst": float(found.max()) if len(found) else None,
        "prepared": _finite(compared["prepare_ms"].median()),
    }


def _cells(
    measured: TimedRows, compared: pd.DataFrame, timed: pd.DataFrame
) -> dict[tuple[str, str], SearchCell]:
    """Returns the cells of the page's matrix, as a dictionary from the graph's title and the search's label
    to the cell.

    A cell holds the best configuration, or the reason why there is no time, as text. ``timed`` contains the
    best configuration of each cell that has a time. ``compared`` contains the configurations whose times may
    be compared, with the ratio of each time to the graph's best time. If a configuration is only in
    ``timed``, the ``ratio`` of its cell is None.
    """
    import pandas as pd

    places = ["title", "label"]
    cells: dict[tuple[str, str], SearchCell] = {}
    for frame, text in ((measured.rows, FAILED), (measured.best(), OTHER_SOURCES)):
        tried = frame[places].drop_duplicates()
        cells |= dict.fromkeys(zip(tried["title"], tried["label"], strict=True), text)
    frame = pd.concat([compared, timed.assign(ratio=math.nan)]).drop_duplicates(places)
    frame = frame.assign(changes=changed_knobs(frame))
    for row in frame.astype({"block": "float64"}).to_dict("records"):
        cells[row["title"], row["label"]] = {
            "ms": float(row["search_ms"]),
            "median": float(row["median_ms"]),
            "ratio": _finite(row["ratio"]),
            "sources": int(row["sources"]),
            "variant": with_aliases(row["variant"]),
            "block": None if math.isnan(row["block"]) else int(row["block"]),
            "changed": bool(row["changes"]),
            **{name: row[name] for name in ("graph", "backend", "device", "grid", "knobs")},
        }
    return cells


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


_SHOWN = ("best", "datasets", "failures", "provenance")
"""Names of the tables on the page, in the page's order. The page shows a matrix instead of the table
``ranking``, and pictures instead of the tables of heat maps."""
_TIMES_content = ("search_ms", "times_best", "median_ms", "spread", "prepare_ms")
_CHOICE = ("speedup", "grid", "block", "knobs", "sources")
_WHERE = ("backend", "device")


def content(rows: pd.DataFrame, levels: pd.DataFrame | None) -> dict[str, Any]:
    """Returns the data that the page shows. The module's docstring describes the keys."""
    parts = [TimedRows.of(kind, levels) for kind in kinds(rows)]
    shown, left_out = first_of([found for part in parts for found in profiles(part)])
    return {
        "warnings": [*warnings(rows), *left_out],
        "kinds": [searches(part) for part in parts],
        "maps": [found for part in parts if not part.emulated for found in heat_maps(part)],
        "profiles": shown,
        "tables": [_table(table) for table in (*_tables(Results(rows, parts), levels), points(rows))],
    }


def _tables(results: Results, levels: pd.DataFrame | None) -> Iterator[Table]:
    makers = TABLES | {"best": partial(best_times, levels=levels)}
    for table in with_footnotes((table for name in _SHOWN for table in makers[name](results)), results.rows):
        if table.name.startswith("best"):
            columns = _best_columns(table)
            notes = (*_meanings(table, columns), *table.notes)
            yield replace(table, columns=columns, rows=table.columns_of(*columns).rows, notes=notes)
        elif table.name == "provenance":
            numbered = [(number, *row) for number, row in enumerate(table.rows, 1)]
            yield replace(table, columns=("origin", *table.columns), rows=numbered)
        else:
            yield table


def _meanings(table: Table, columns: Sequence[str]) -> Iterator[str]:
    """Yields the lines of the table's legend that explain a column in ``columns``."""
    headings = tuple(f"{header(column)}: " for column in columns)
    yield from (line for line in table.legend if line.startswith(headings))


def _best_columns(table: Table) -> tuple[str, ...]:
    """Returns the columns of a table of best times that the page shows. Columns without values are left out.

    Checksums of graphs are left out, because the page's table of graphs has them. A table of emulated kernels
    has counts, and times that were recorded on the project's own GPU, but no times from the emulator.
    """
    families = all_families().values()
    figures = [figure for family in families for figure in family.figures]
    first = [figure.name for figure in figures if figure.shown]
    more = [name for figure in figures for name in figure.table_columns if name not in first]
    totals = [column.name for family in families for column in family.profile if column.total]
    timed = ("graph", "variant", *_TIMES_content, *first, *_CHOICE, *more, *totals, RECORDED, *_WHERE)
    counted = ("graph", "variant", *COUNTS, *totals, RECORDED, *_WHERE)
    wanted = counted if table.name.endswith(EMULATED) else timed
    known = [name for name in wanted if name in table.columns]
    cells = {name: [row[table.columns.index(name)] for row in table.rows] for name in known}
    return tuple(name for name in known if any(cell not in (None, "") for cell in cells[name]))


def _table(table: Table) -> dict[str, Any]:
    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    types = [{*map(type, column)} for column in cells]
    columns = [
        {
            "key": key,
            "label": heading(key),
            "number": any(issubclass(one, int | float) for one in found),
            "whole": not any(issubclass(one, float) for one in found),
        }
        for key, found in zip(table.columns, types, strict=True)
    ]
    return {
        "name": table.name,
        "title": table.title,
        "notes": [_in_words(note, table) for note in table.notes],
        "columns": columns,
        "rows": _named(table),
    }


def _in_words(note: str, table: Table) -> str:
    """Replaces the short heading of a column at the start of a note by the longer heading that the column has
    on the page. A note that does not start with a heading is returned unchanged."""
    for column in table.columns:
        if note.startswith(f"{header(column)}: "):
            return note.replace(header(column), heading(column), 1)
    return note


def _named(table: Table) -> list[tuple[Cell, ...]]:
    """Returns the table's rows, with each variant's name followed by its aliases."""
    if "variant" not in table.columns:
        return table.rows
    place = table.columns.index("variant")
    return [(*row[:place], with_aliases(str(row[place])), *row[place + 1 :]) for row in table.rows]


_MOST_LEVELS = 50_000
"""Maximum number of levels in all level profiles of a page together. This many levels take about 3 MB."""


def heat_maps(measured: TimedRows) -> Iterator[dict[str, Any]]:
    """Yields heat maps, as dictionaries for JSON. A search on a graph has a heat map if it has times at two
    or more grids and at two or more blocks.

    A cell of a map holds a time with its knob values, or ``failed`` if no run succeeded. A cell is None if
    its grid and block were not tried.
    """
    places = ["title", "label"]
    best = dict(iter(fastest(measured.launches, (*places, "grid", "block")).groupby(places)))
    tried = measured.rows[["title", "label", "variant", "graph", "backend", "grid", "block"]]
    tried = tried[(tried["backend"] != "host") & tried["block"].notna()]
    for (graph, label), found in tried.groupby(places, sort=False):
        timed = best.get((graph, label))
        if timed is None or timed["grid"].nunique() < 2 or timed["block"].nunique() < 2:
            continue
        cells: dict[tuple[str, float], Any] = dict.fromkeys(
            zip(found["grid"], found["block"], strict=True), "failed"
        )
        columns = (timed[name] for name in ("grid", "block", "search_ms", "knobs", "sources"))
        for grid, block, ms, knobs, sources in zip(*columns, strict=True):
            cells[grid, block] = {"ms": ms, "knobs": knobs, "sources": sources}
        grids = sorted({grid for grid, _ in cells}, key=grid_order)
        blocks = sorted({int(block) for _, block in cells})
        yield {
            "graph": graph,
            "series": f"{label}{measured.heading}",
            "variant": with_aliases(found["variant"].iloc[0]),
            "name": found["graph"].iloc[0],
            "searched": measured.compared_from(str(graph)),
            "statistic": STATISTIC,
            "grids": grids,
            "blocks": blocks,
            "cells": [[cells.get((grid, block)) for block in blocks] for grid in grids],
        }


def profiles(measured: TimedRows) -> Iterator[dict[str, Any]]:
    """Yields one dictionary per level profile, for JSON. It contains the columns of the profile, and the
    profile's device, commit, time and file.

    ``fastest`` is true if no other grid and block with the same knob values took less time.
    """
    levels = measured.levels
    if levels is None or levels.empty:
        return
    launch = ["title", "source", "label", "knobs", "grid", "block"]
    fastest = of_fastest_launch(levels)[launch].drop_duplicates().assign(fastest=True)
    levels = levels.merge(fastest, on=launch, how="left")
    heading = " (emulated)" if measured.emulated else measured.heading
    counts = ("level", "frontier_size", "edges_inspected")
    for (graph, number), found in levels.groupby(["title", "source"], sort=False):
        for name, search in found.groupby(search_names(found), sort=False):
            search = search.sort_values("level")
            first = search.iloc[0]
            where = first["gpu"] or "emulated"
            yield {
                "graph": str(graph),
                "source": measured.source(str(graph), number),
                "search": f"{name}{heading}",
                "fastest": bool(search["fastest"].notna().any()),
                "origin": f"{where}, commit {first['commit']}, {first['taken_at']}, {first['file']}",
                "kernel": search["kernel"].tolist(),
                **{name: _known(search[name].astype("Int64")) for name in counts},
                "time_us": _known(search["time_us"].mask(search["backend"] == "cpu")),
            }


def first_of(searches: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the first profiles of a list of level profiles, up to ``_MOST_LEVELS`` levels in total.

    Also returns a list with one line of text that says how many profiles are shown. This list is empty if no
    profile is left out.
    """
    sizes = itertools.accumulate(len(search["kernel"]) for search in searches)
    shown = [search for search, size in zip(searches, sizes, strict=True) if size <= _MOST_LEVELS]
    if len(shown) == len(searches):
        return shown, []
    told = f"{len(shown):,} of {len(searches):,} level profiles are on this page, the first of the files"
    return shown, [f"{told}; --graph, --variant and --backend choose others"]


def _known(values: pd.Series[Any]) -> list[Any]:
    """Returns the values as a list, in which None stands for each missing value."""
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()


SCRIPTS = (
    *("elements.js", "rows.js", "tables.js", "matrix.js", "bars.js", "heatmaps.js"),
    *("charts.js", "profiles.js", "graph.js", "page.js"),
)
"""The page's JavaScript files. Each file comes after the files that it depends on."""


def page(rows: pd.DataFrame, levels: pd.DataFrame | None = None, title: str = "bfsbench report") -> str:
    """Returns the HTML page of a report.

    ``rows`` are result rows from ``read_results``, and ``levels`` are level profiles from ``read_levels``.
    The names of graphs lack the reading options that all graphs share, which the page states once.
    """
    short, shared = without_shared_options([*dict.fromkeys(rows["graph"])])
    rows = rows.assign(graph=rows["graph"].map(short))
    if levels is not None:
        levels = levels.assign(graph=levels["graph"].map(short).fillna(levels["graph"]))
    return Template(_part("page.html")).substitute(
        title=html.escape(title),
        style=_part("page.css"),
        script="\n".join(_part(name) for name in SCRIPTS),
        data=embedded(content(rows, levels)),
        about=html.escape(_about(rows) + _on_options(shared)),
        made=html.escape(f"bfsbench {__version__}, {now()}"),
    )


_OPTIONS = {
    "directed": "arcs as in the file",
    "symmetrised": "each arc also backwards",
    "self_loops=drop": "without loops",
    "duplicates=drop": "without repeated arcs",
}
"""The meanings of the usual reading options of graphs."""


def _on_options(shared: str) -> str:
    """Returns a sentence that explains the reading options that all graphs share, or an empty string."""
    if not shared:
        return ""
    told = [f"{one} ({_OPTIONS[one]})" if one in _OPTIONS else one for one in shared.split(", ")]
    return f". All graphs were read with: {', '.join(told)}"


def _about(rows: pd.DataFrame) -> str:
    """Returns a line with the devices and the days on which the rows were measured."""
    days = sorted({*rows["taken_at"].str[:DAY]})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    devices = [device for device in with_device(rows)["device"].unique() if device]
    return f"Rows taken on {', '.join(devices)} ({when})" if devices else f"Rows taken {when}"


def embedded(data: object) -> str:
    """Returns data as JSON that is safe inside an HTML script element.

    Every ``<`` is escaped, so that no text in the data can end the element or open a comment.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _part(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
