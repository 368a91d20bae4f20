"""Two files of counters, kernel by kernel. Counters repeat exactly, so no statistics are needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bfsbench.bench.columns import AXES
from bfsbench.errors import UsageError
from bfsbench.explain.files import read_counters
from bfsbench.report.table import Table

COMPARED = ("executions", "sectors", "distinct_sectors", "conflicts", "collisions")
"""Counters of which more is worse."""
MORE, LESS, SAME = "more", "less", "same"
_OF = [*AXES, "kernel"]


@dataclass(frozen=True)
class CounterComparison:
    """What came of comparing file ``b`` with file ``a``."""

    a: Path
    b: Path
    threshold: float
    frame: pd.DataFrame
    """A row for each kernel of each point that both have, and each of COMPARED: AXES, ``kernel``,
    ``counter``, ``a``, ``b`` (sums over levels and lines) and ``verdict``."""

    @property
    def is_worse(self) -> bool:
        """Whether a counter has grown by more than the threshold."""
        return bool((self.frame["verdict"] == MORE).any())


def compare_counters(a: Path, b: Path, threshold: float) -> CounterComparison:
    """Hold B's counters against A's; ``threshold`` is the share up to which they are the same.

    Raises UsageError where no kernel is in both or their graphs differ; InputError.
    """
    first, second = read_counters(a), read_counters(b)
    checksums = [of.groupby("graph")["graph_checksum"].agg(set) for of in (first, second)]
    for graph in checksums[0].index.intersection(checksums[1].index):
        if checksums[0][graph] != checksums[1][graph]:
            raise UsageError(f"not comparable: the files are of different graphs called {graph}")
    totals = [of.groupby(_OF)[list(COMPARED)].sum() for of in (first, second)]
    common = totals[0].index.intersection(totals[1].index)
    if common.empty:
        raise UsageError(f"no kernel of the same search is both in {a} and in {b}")
    sides = [of.loc[common].rename_axis("counter", axis=1).stack() for of in totals]
    frame = pd.DataFrame({"a": sides[0], "b": sides[1]}).reset_index()
    frame["verdict"] = SAME
    frame.loc[frame["b"] > frame["a"] * (1 + threshold), "verdict"] = MORE
    frame.loc[frame["b"] < frame["a"] * (1 - threshold), "verdict"] = LESS
    return CounterComparison(a, b, threshold, frame)


def counters_table(found: CounterComparison) -> Table:
    """All counters for programs; for people those that differ."""
    counts = found.frame["verdict"].value_counts()
    notes = (
        f"A: {found.a}. B: {found.b}.",
        f"{len(found.frame)} counters of kernels in both: {counts.get(MORE, 0)} more, {counts.get(LESS, 0)} "
        f"less, {counts.get(SAME, 0)} the same within {100 * found.threshold:g} %.",
    )
    changed = found.frame[found.frame["verdict"] != SAME]
    shown = changed[["graph", "variant", "block", "knobs", "kernel", "counter", "a", "b", "verdict"]]
    return Table.of("counters", "B against A", found.frame, notes, (Table.of("", "", shown),))
