"""The points that have no time, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.report.table import Table

if TYPE_CHECKING:
    import pandas as pd


def failed_points(rows: pd.DataFrame) -> list[Table]:
    """Failed points counted by graph, variant, backend, status and reason, the commonest first."""
    failed = rows[rows["status"] != "ok"]
    by = ["status", "graph", "variant", "backend", "reason"]
    groups = failed.groupby(by, as_index=False).size().rename(columns={"size": "points"})
    groups = groups.sort_values(["points", *by], ascending=[False, *(True for _ in by)])
    told = f"{len(failed)} of {len(rows)} points have no time."
    notes = [told if len(failed) else f"All {len(rows)} points have a time."]
    frame = groups[["points", "status", "graph", "variant", "backend", "reason"]]
    return [Table.of("failures", "Failures", frame, notes)]
