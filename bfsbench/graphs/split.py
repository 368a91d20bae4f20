"""Vertices of high degree split into rows of bounded degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.graphs.graph import MAX_VERTICES, Graph, Ids, Offsets


@dataclass(frozen=True)
class SplitRows:
    """CSR in which a vertex is a run of consecutive rows, each with at most ``degree`` of its arcs.

    row_offsets: [R+1], of the graph's dtype; column_indices: int32[E], the first row of each arc's head.
    first_rows: int32[V], where each vertex's run begins; run_lengths: int32[R], rows of the run a row is in.
    """

    row_offsets: Offsets
    column_indices: Ids
    first_rows: Ids
    run_lengths: Ids


def split_rows(graph: Graph, degree: int) -> SplitRows:
    """Split vertices of out-degree above ``degree`` into as few rows as possible, each but the last full.

    Raises UsageError when there would be more rows than ids.
    """
    degrees = np.diff(graph.row_offsets)
    runs = np.maximum(1, -(-degrees // degree))
    ends = np.cumsum(runs, dtype=np.int64)
    num_rows = int(ends[-1])
    if num_rows > MAX_VERTICES:
        raise UsageError(
            f"{graph.name}: {num_rows} rows of degree {degree} are too many; split at a higher degree"
        )
    first_rows = ends - runs
    place_in_run = np.arange(num_rows) - first_rows.repeat(runs)
    starts = graph.row_offsets[:-1].repeat(runs) + place_in_run * degree
    first_rows = first_rows.astype(np.int32)
    row_offsets = np.empty(num_rows + 1, graph.row_offsets.dtype)
    row_offsets[:-1] = starts
    row_offsets[-1] = graph.num_edges
    return SplitRows(
        row_offsets,
        first_rows[graph.column_indices],
        first_rows,
        runs.repeat(runs).astype(np.int32),
    )
