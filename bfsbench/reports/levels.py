"""Reads the level profiles beside result files, and makes tables that show the levels of several searches
side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.reports.measured import TimedRows, search_names
from bfsbench.reports.rows import Results
from bfsbench.reports.table import Table
from bfsbench.rows.columns import AXES, PROFILE_COLUMNS
from bfsbench.rows.results import LEVELS_SUFFIX, result_files
from bfsbench.support.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def read_levels(paths: Iterable[os.PathLike[str] | str]) -> pd.DataFrame:
    """Returns the level profiles that belong to result files, as one data frame. ``paths`` are result files,
    or folders of them.

    The frame is empty if there are no profiles. Its columns are ``PROFILE_COLUMNS``, then the columns of
    families of problems, then ``file``. Columns of numbers are float64, with NaN for an empty cell. All other
    columns are text. A result file without level profiles beside it is skipped. Raises InputError for a path
    that does not exist, for a folder without result files, and for malformed level profiles.
    """
    from bfsbench.rows.reading import read_tables  # imported only here, because importing it imports NumPy

    files = dict.fromkeys(file for path in paths for file in result_files(Path(path)))
    for file in files:
        if not file.exists():
            raise InputError(f"cannot read {file}: there is no such file")
    beside = [file.with_name(file.name.removesuffix(".csv") + LEVELS_SUFFIX) for file in files]
    return read_tables([path for path in beside if path.exists()], PROFILE_COLUMNS)


_FACTS = ("level", "kernel", "frontier_size", "edges_inspected", "time_us", "counts")
_NOTE = "frontier: vertices at the level; arcs: adjacency entries that the search read at the level, if known"
_NOTHING = "No level profile belongs to these rows: 'bfsbench run --profile' makes them."


def level_tables(results: Results, levels: pd.DataFrame | None = None) -> list[Table]:
    """Returns tables of level profiles. Measured and emulated profiles have separate tables.

    ``levels`` are level profiles from :func:`bfsbench.reports.levels.read_levels`. A table has one row for
    each level of each search. The text layout is different: it has one table per graph and source, with
    levels as rows and searches as columns.
    """
    made = []
    for kind in results.kinds:
        if "profile" not in kind.family.pictures:
            continue
        measured = TimedRows.of(kind, levels)
        found = measured.levels
        name, title = f"levels{kind.suffix}", f"Levels{kind.heading}"
        if found is None or found.empty:
            made.append(Table(name, title, (), [], (_NOTHING,)))
            continue
        note = f"{_NOTE}." if kind.emulated else f"{_NOTE}; us: its time."
        frame = found[[*AXES, "gpu", *_FACTS]]
        made.append(Table.of(name, title, frame, (), _drawings(found, measured), legend=[note]))
    return made


def _drawings(levels: pd.DataFrame, measured: TimedRows) -> Iterator[Table]:
    facts = {"edges_inspected": "arcs", **({} if measured.emulated else {"time_us": "us"})}
    for (graph, source), some in levels.groupby(["title", "source"], sort=False):
        frame = some.groupby("level", as_index=False).agg(frontier=("frontier_size", "max"))
        for name, search in some.groupby(search_names(some), sort=False):
            called = " ".join(str(name).split())
            headings = {fact: f"{called}: {heading}" for fact, heading in facts.items()}
            shown = search[["level", *facts]].rename(columns=headings)
            frame = frame.merge(shown, on="level", how="left")
        counts = [name for name in frame if not str(name).endswith(": us")]
        frame = frame.astype(dict.fromkeys(counts, "Int64"))
        yield Table.of("", f"{graph}, source {measured.source(str(graph), source)}", frame)
