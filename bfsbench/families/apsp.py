"""All-pairs shortest paths: the distance from every vertex to every other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.errors import UsageError, WrongResultError
from bfsbench.families.base import Family, Problem

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.graphs.matrix import Matrix
    from bfsbench.variants.all_pairs import AllPairsVariant
    from bfsbench.variants.base import Variant

WHOLE_UP_TO = 4096
"""Vertices of a graph of which every distance is checked."""
ROWS_SAMPLED = 64
"""Rows that are checked of larger ones."""


class WrongDistancesError(WrongResultError):
    """Distances, or the paths that go with them, differ from the reference."""


class AllPairsShortestPaths(Family):
    """The first half of CSE 6230, checked against SciPy."""

    name = "apsp"
    title = "all-pairs shortest paths"
    baseline = "cpu_floyd_warshall"
    one = "all pairs"
    from_sources = False

    def require(self, graph: Graph) -> None:
        from bfsbench.graphs.matrix import require_matrix

        require_matrix(graph)

    def problem(self, graph: Graph, source: int | None) -> AllPairs:
        if source is not None:
            raise UsageError("all-pairs shortest paths have no source")
        self.require(graph)
        return AllPairs(graph)


class AllPairs(Problem):
    """All pairs of one graph.

    ``rows`` are the vertices from which distances are known: all, or of a graph of more than WHOLE_UP_TO the
    first, the last and others chosen at random; ``distances``, int32[len(rows), V], are SciPy's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rows = _rows_to_check(graph.num_vertices)
        self.distances = reference_distances(graph, self.rows)

    def run(self, variant: Variant) -> AllPairsRun:
        from bfsbench.variants.all_pairs import AllPairsVariant

        if not isinstance(variant, AllPairsVariant):
            raise UsageError(f"variant {variant.name} finds no all-pairs shortest paths")
        return AllPairsRun(variant, self)

    def check_distances(self, distances: Matrix) -> None:
        """Raises WrongDistancesError, naming the first pair that differs and how many do."""
        found = distances[self.rows]
        wrong = np.flatnonzero(found != self.distances)
        if len(wrong):
            row, target = divmod(int(wrong[0]), self.graph.num_vertices)
            raise WrongDistancesError(
                f"{len(wrong)} of {found.size} distances differ; from {self.rows[row]} to {target} it is "
                f"{found[row, target]}, not {self.distances[row, target]}"
            )

    def columns(self, milliseconds: float) -> dict[str, str]:
        operations = 2 * float(self.graph.num_vertices) ** 3
        return {"gops": f"{operations / milliseconds / 1e6:.3f}" if milliseconds > 0 else ""}


class AllPairsRun:
    """All pairs by one variant; see :class:`bfsbench.families.base.Run`."""

    def __init__(self, variant: AllPairsVariant, problem: AllPairs) -> None:
        self._variant = variant
        self._problem = problem

    def reset(self) -> None:
        self._variant.reset()

    def solve(self) -> None:
        self._variant.solve()

    def check(self) -> None:
        """Raises WrongDistancesError."""
        self._problem.check_distances(self._variant.distances())


def _rows_to_check(num_vertices: int) -> npt.NDArray[np.int64]:
    if num_vertices <= WHOLE_UP_TO:
        return np.arange(num_vertices)
    others = np.random.default_rng(num_vertices).choice(num_vertices - 2, ROWS_SAMPLED - 2, replace=False) + 1
    return np.array([0, *sorted(others), num_vertices - 1])


def reference_distances(graph: Graph, rows: npt.NDArray[np.int64]) -> Matrix:
    """Distances from some vertices to all, int32[len(rows), V], INFINITY where there is no path; by SciPy.

    All rows are found by what SciPy holds best for the graph's density, Floyd-Warshall or Dijkstra's
    algorithm; some of them by Dijkstra's.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra, shortest_path

    from bfsbench.graphs.matrix import INFINITY

    weights = np.ones(graph.num_edges) if graph.weights is None else graph.weights.astype(np.float64)
    arrays = weights, graph.column_indices, graph.row_offsets
    arcs = csr_array(arrays, shape=(graph.num_vertices, graph.num_vertices))
    whole = len(rows) == graph.num_vertices
    found = shortest_path(arcs) if whole else dijkstra(arcs, indices=rows)
    return np.where(np.isinf(found), INFINITY, found).astype(np.int32)
