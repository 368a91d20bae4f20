"""Makes tables of times over grid and block for every variant and graph, as in Springer's Fig. 8."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bfsbench.reports.rows import SETTING, STATISTIC, Kind, fastest, kinds
from bfsbench.reports.table import HEAT_LEGEND, Cell, Table
from bfsbench.variants import with_aliases

if TYPE_CHECKING:
    import pandas as pd

NAME = "heatmap"
_LAUNCH = ("grid", "block")
_COLUMNS = ("knobs", "sources", "search_ms", "times_best")
_NOTE = f"Search ms by grid (down) and block (across), each with its best knobs: {STATISTIC}."
_IN_BRIEF = "Of each graph the fastest search is drawn; --table heatmap draws all."


def heat_maps(rows: pd.DataFrame, *, brief: bool = False) -> list[Table]:
    """Returns a table of measured times and a table of emulated times, with one row per grid and block. Text
    shows them as matrices.

    With ``brief``, text shows only the fastest variant of each graph.
    """
    tables = []
    for kind in kinds(rows[rows["block"].notna()]):
        cells = fastest(kind.configurations(), [*SETTING, *_LAUNCH])
        least = cells.groupby(list(SETTING), dropna=False)["search_ms"].transform("min")
        cells = cells.assign(times_best=cells["search_ms"] / least)
        cells = cells.assign(order=cells["grid"].map(grid_order)).sort_values([*SETTING, "order", "block"])
        drawings = list(_drawings(_leading(cells) if brief else cells, kind))
        figures = [figure.name for figure in kind.family.figures if figure.shown]
        frame = cells[[*SETTING, *_LAUNCH, *_COLUMNS, *figures]]
        notes = _notes(cells, len(drawings), brief)
        tables.append(Table.of(f"{NAME}{kind.suffix}", f"Grid x block{kind.heading}", frame, notes, drawings))
    return tables


def _notes(cells: pd.DataFrame, num_drawn: int, brief: bool) -> Iterator[str]:
    if cells.empty:
        yield "No kernel has a time."
    elif not num_drawn:
        yield "No search has times of several grids or blocks, which a map needs."
    else:
        yield _NOTE
        if brief and cells["variant"].nunique() > 1:
            yield _IN_BRIEF
        yield HEAT_LEGEND


def _leading(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells of the fastest variant on each graph, among the variants with several cells."""
    several = cells[cells.groupby(list(SETTING), dropna=False)["search_ms"].transform("size") > 1]
    best = several.sort_values("search_ms", kind="stable").drop_duplicates(["graph", "graph_checksum"])
    return cells.merge(best[list(SETTING)], on=list(SETTING))


def grid_order(grid: str) -> float:
    """Returns a key that sorts grids by size. The grid ``auto`` comes first."""
    return 0 if grid == "auto" else float(grid) if grid.isdecimal() else math.inf


def _drawings(cells: pd.DataFrame, kind: Kind) -> Iterator[Table]:
    rows = kind.rows
    without_time = rows[(rows["status"] != "ok") & rows["block"].notna()]
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

    A cell holds the time, ``fail`` where no run succeeded, or nothing where nothing was tried.
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
