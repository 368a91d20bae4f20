"""Tables of the points that have no time, with the reason, and of the graphs that were searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.reports.table import Table

if TYPE_CHECKING:
    import pandas as pd

_SHORT = 12
"""Characters of a checksum that are shown."""


def graph_counts(rows: pd.DataFrame) -> list[Table]:
    """Counts, average degree and checksum of every graph; two rows when two files mean different graphs."""
    known = rows[rows["num_vertices"].notna()]
    frame = known.drop_duplicates(["graph", "graph_checksum"]).sort_values(["graph", "graph_checksum"])
    shown = frame[["graph"]].assign(
        num_vertices=frame["num_vertices"].astype("int64"),
        arcs=frame["num_edges"].astype("int64"),
        average_degree=frame["num_edges"] / frame["num_vertices"],
        checksum=frame["graph_checksum"].str[:_SHORT],
    )
    notes = ["Arcs as stored: an undirected edge counts twice."]
    ambiguous = sorted(set(frame["graph"][frame["graph"].duplicated()]))
    notes += [f"Warning: {name} stands for different graphs; their checksums differ." for name in ambiguous]
    return [Table.of("datasets", "Datasets", shown, notes)]


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
