"""The graphs that were searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.report.table import Table

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
