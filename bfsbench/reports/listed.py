"""Makes tables of the points that have no time, with the reasons, and of the graphs that were searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.reports.table import Table

if TYPE_CHECKING:
    import pandas as pd

_SHORT = 12
"""Number of characters of a checksum that are shown."""


def graph_counts(rows: pd.DataFrame) -> list[Table]:
    """Returns a table of every graph's vertices, arcs, average degree and checksum.

    If two files use one name for different graphs, there are two rows.
    """
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
    """Returns a table of the failed points, counted by graph, variant, backend, status and reason. The
    commonest come first."""
    failed = rows[rows["status"] != "ok"]
    by = ["status", "graph", "variant", "backend", "reason"]
    groups = failed.groupby(by, as_index=False).size().rename(columns={"size": "points"})
    groups = groups.sort_values(["points", *by], ascending=[False, *(True for _ in by)])
    told = f"{len(failed)} of {len(rows)} points have no time."
    notes = [told if len(failed) else f"All {len(rows)} points have a time."]
    frame = groups[["points", "status", "graph", "variant", "backend", "reason"]]
    return [Table.of("failures", "Failures", frame, notes)]
