"""Times that travel with the package: what searches took on our GPU, beside those of who has no such GPU."""

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
    """Times in ms by graph checksum and variant, of searches from the sources asked about."""

    times: dict[tuple[str, str], float]
    note: str

    def of(self, frame: pd.DataFrame) -> list[float]:
        """For each row, of kernels elsewhere, what the search took; NaN where that is not known."""
        asked = zip(frame["graph_checksum"], frame["variant"], frame["backend"], strict=True)
        return [
            math.nan if where == "host" else self.times.get((graph, variant), math.nan)
            for graph, variant, where in asked
        ]


def recorded(kind: Kind) -> Recorded:
    """What the searches of these rows took on our GPU: of each graph that was searched there from the same
    sources the best time of each variant. Rows of such a GPU need none."""
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
    """The sources of each graph, by its checksum."""
    searched = rows[["graph_checksum", "source"]].drop_duplicates()
    found: dict[str, set[float]] = {}
    for checksum, source in zip(searched["graph_checksum"], searched["source"], strict=True):
        found.setdefault(checksum, set()).add(source)
    return found


@cache
def _rows() -> pd.DataFrame:
    return read_results([FILE])
