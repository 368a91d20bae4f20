"""How fast searches spread in a graph, found by a few short ones."""

from __future__ import annotations

import numpy as np

from bfsbench.graphs.ball import neighbours
from bfsbench.graphs.graph import Graph

_SEARCHES, _VERTICES, _ARCS = 9, 4096, 1 << 16


def levels_to_thousands(graph: Graph, most: int) -> int:
    """How many levels a search takes to reach 4,096 vertices, ``most`` + 1 if more than ``most``.

    That is the median of nine searches, from vertices at even distances in the order of ids. Those that end
    before do not count; if all do, the answer is ``most`` + 1. Of each row of a level of n vertices only the
    first 65,536 / n arcs are followed, so that hubs cost little. The graph has at least one vertex.
    """
    starts = (np.arange(_SEARCHES) * 2 + 1) * graph.num_vertices // (2 * _SEARCHES)
    found = sorted(levels for start in starts if (levels := _levels_from(graph, int(start), most)))
    return found[len(found) // 2] if found else most + 1


def _levels_from(graph: Graph, start: int, most: int) -> int | None:
    """None for a search that ends before."""
    seen = frontier = np.array([start], np.int32)
    for level in range(1, most + 1):
        share = _ARCS // len(frontier)
        met = np.unique(neighbours(graph.row_offsets, graph.column_indices, frontier, share))
        frontier = np.setdiff1d(met, seen, assume_unique=True)
        seen = np.concatenate((seen, frontier))
        if len(seen) >= _VERTICES:
            return level
        if not len(frontier):
            return None
    return most + 1
