"""Computes the heat maps and level profiles of a report's HTML page, as data for the page's scripts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsbench.reports.heatmap import grid_order
from bfsbench.reports.measured import TimedRows, search_names
from bfsbench.reports.plots.profile import of_fastest_launch
from bfsbench.reports.rows import STATISTIC
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    import pandas as pd

_MOST_LEVELS = 50_000
"""Most levels that all profiles of a page have together: about 3 MB."""


def heat_maps(measured: TimedRows) -> Iterator[dict[str, Any]]:
    """Yields the heat maps of series that were timed at two or more grids and two or more blocks.

    A cell holds a time with its knob values, or ``failed`` where no run succeeded. It is None where nothing
    was tried.
    """
    cells = measured.best(("title", "label", "grid", "block"))
    tried = measured.rows[["title", "label", "variant", "graph", "backend", "grid", "block"]]
    tried = tried[tried["backend"] != "host"]
    for (graph, label), found in tried.groupby(["title", "label"], sort=False):
        timed = cells[(cells["title"] == graph) & (cells["label"] == label)]
        if timed["grid"].nunique() < 2 or timed["block"].nunique() < 2:
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
            "series": f"{label}{measured.heading}",
            "variant": with_aliases(found["variant"].iloc[0]),
            "name": found["graph"].iloc[0],
            "searched": measured.searched(str(graph)),
            "statistic": STATISTIC,
            "grids": grids,
            "blocks": blocks,
            "cells": lines,
        }


@dataclass(frozen=True)
class Searched:
    """The level profile of one search."""

    graph: str
    source: str
    """The number of the source, with its name where vertices have names."""
    name: str
    fastest: bool
    """True if the search has the best grid and block among the searches with equal knob values."""
    levels: pd.DataFrame


def searched(measured: TimedRows) -> Iterator[Searched]:
    """Yields the level profiles of the searches in ``measured``."""
    levels = measured.levels
    if levels is None or levels.empty:
        return
    launch = ["title", "source", "label", "knobs", "grid", "block"]
    fastest = of_fastest_launch(levels)[launch].drop_duplicates().assign(fastest=True)
    levels = levels.merge(fastest, on=launch, how="left")
    for (graph, number), found in levels.groupby(["title", "source"], sort=False):
        source = measured.source(str(graph), number)
        for name, search in found.groupby(search_names(found), sort=False):
            best = bool(search["fastest"].notna().any())
            where = " (emulated)" if measured.emulated else measured.heading
            yield Searched(str(graph), source, f"{name}{where}", best, search)


def first_of(searches: list[Searched]) -> tuple[list[Searched], list[str]]:
    """Returns the first searches that have at most ``_MOST_LEVELS`` levels together.

    The second result is a list with a line that says how many searches are shown. It is empty if all are.
    """
    sizes = itertools.accumulate(len(search.levels) for search in searches)
    shown = [search for search, size in zip(searches, sizes, strict=True) if size <= _MOST_LEVELS]
    if len(shown) == len(searches):
        return shown, []
    told = f"{len(shown):,} of {len(searches):,} level profiles are on this page, the first of the files"
    return shown, [f"{told}; --graph, --variant and --backend choose others"]


def profile(found: Searched) -> dict[str, Any]:
    """Returns the columns of one search's level profile, and where the profile was taken."""
    levels = found.levels.sort_values("level")
    first = levels.iloc[0]
    where = first["gpu"] or "emulated"
    counts = ("level", "frontier_size", "edges_inspected")
    return {
        "graph": found.graph,
        "source": found.source,
        "search": found.name,
        "fastest": found.fastest,
        "origin": f"{where}, commit {first['commit']}, {first['taken_at']}, {first['file']}",
        "kernel": levels["kernel"].tolist(),
        **{name: _known(levels[name].astype("Int64")) for name in counts},
        "time_us": _known(levels["time_us"].mask(levels["backend"] == "cpu")),
    }


def _known(values: pd.Series[Any]) -> list[Any]:
    """Returns the values as a list, with None for each missing value."""
    known = values.astype(object)
    return known.where(known.notna(), None).tolist()
