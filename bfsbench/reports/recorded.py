"""Reads times that are part of the package: what searches took on the project's GPU, for readers who have no
GPU of that model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from bfsbench.reports.rows import STATISTIC, Kind, configurations
from bfsbench.rows.results import read_results
from bfsbench.support import paths

if TYPE_CHECKING:
    import pandas as pd

FILE = paths.BUNDLED / "h200.csv"


@dataclass(frozen=True)
class Recorded:
    """Recorded times in ms, by graph checksum and variant, with a note on their origin."""

    times: dict[tuple[str, str], float]
    note: str

    def of(self, frame: pd.DataFrame) -> list[float]:
        """Returns the recorded time in ms for each row of ``frame``. It is NaN for host programs, and where
        no time is known."""
        asked = zip(frame["graph_checksum"], frame["variant"], frame["backend"], strict=True)
        return [
            math.nan if where == "host" else self.times.get((graph, variant), math.nan)
            for graph, variant, where in asked
        ]


def recorded(kind: Kind) -> Recorded:
    """Returns the times that the searches in these rows took on the project's GPU.

    For each graph and variant it is the best time. Only graphs that were searched there from equal sources
    have times. If the rows themselves come from a GPU of that model, there are none.
    """
    rows = _rows()
    if (kind.rows["gpu"] == rows["gpu"].iloc[0]).any():
        return Recorded({}, "")
    wanted, there = _sources(kind.rows), _sources(rows)
    same = [checksum for checksum, sources in wanted.items() if sources == there.get(checksum)]
    rows = rows[rows["graph_checksum"].isin(same)]
    if rows.empty:
        return Recorded({}, "")
    best = configurations(rows, kind.family).sort_values("search_ms", ascending=False)
    times = dict(
        zip(zip(best["graph_checksum"], best["variant"], strict=True), best["search_ms"], strict=True)
    )
    first = rows.iloc[0]
    note = (
        f"{first['gpu']} ms: not measured here, but on ours on {first['taken_at'][:10]}, by these kernels "
        f"as of commit {first['commit'][:12]}, at the best of blocks of 64, 256 and the variant's own: "
        f"{STATISTIC}."
    )
    return Recorded(times, note)


def _sources(rows: pd.DataFrame) -> dict[str, set[float]]:
    """Returns the sources of each graph, by the graph's checksum."""
    searched = rows[["graph_checksum", "source"]].drop_duplicates()
    found: dict[str, set[float]] = {}
    for checksum, source in zip(searched["graph_checksum"], searched["source"], strict=True):
        found.setdefault(checksum, set()).add(source)
    return found


@cache
def _rows() -> pd.DataFrame:
    return read_results([FILE])
