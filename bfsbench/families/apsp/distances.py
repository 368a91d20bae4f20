"""Distances between all pairs of vertices, checked against SciPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bfsbench.errors import WrongResultError
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.matrix import INFINITY, Matrix

WHOLE_UP_TO = 4096
"""Most vertices of a graph whose distances are all checked."""
ROWS_SAMPLED = 64
"""Number of rows that are checked of larger graphs."""


class WrongDistancesError(WrongResultError):
    """Distances, or the paths that go with them, differ from the reference."""


def rows_to_check(num_vertices: int) -> npt.NDArray[np.int64]:
    """All vertices of a small graph; of a larger one the first, the last and others chosen at random."""
    if num_vertices <= WHOLE_UP_TO:
        return np.arange(num_vertices)
    others = np.random.default_rng(num_vertices).choice(num_vertices - 2, ROWS_SAMPLED - 2, replace=False) + 1
    return np.array([0, *sorted(others), num_vertices - 1])


def reference_distances(graph: Graph, rows: npt.NDArray[np.int64]) -> Matrix:
    """Distances from some vertices to all, int32[len(rows), V], INFINITY where there is no path; by SciPy.

    For all rows SciPy chooses Floyd-Warshall or Dijkstra's algorithm by the graph's density; for some rows it
    is Dijkstra's.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra, shortest_path

    weights = np.ones(graph.num_edges) if graph.weights is None else graph.weights.astype(np.float64)
    arrays = weights, graph.column_indices, graph.row_offsets
    arcs = csr_array(arrays, shape=(graph.num_vertices, graph.num_vertices))
    whole = len(rows) == graph.num_vertices
    found = shortest_path(arcs) if whole else dijkstra(arcs, indices=rows)
    return np.where(np.isinf(found), INFINITY, found).astype(np.int32)


def check_distances(found: Matrix, expected: Matrix, rows: npt.NDArray[np.int64]) -> None:
    """Raises WrongDistancesError, naming the first pair that differs and how many do.

    Both are int32[len(rows), V], from the vertices ``rows``.
    """
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        row, target = divmod(int(wrong[0]), found.shape[1])
        raise WrongDistancesError(
            f"{len(wrong)} of {found.size} distances differ; from {rows[row]} to {target} it is "
            f"{found[row, target]}, not {expected[row, target]}"
        )
