"""Defines the problem of all-pairs shortest paths on one graph. Also checks distances against SciPy, and
checks next hops.

In this module, ``next_hops`` is always int32[V, V]. Element [s, t] is the vertex after s on a shortest path
from s to t. It is s itself if s = t, and -1 if there is no path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph
from bfsbench.programs import ExpectedAnswer
from bfsbench.programs.families.apsp.matrix import INFINITY, Matrix
from bfsbench.programs.families.apsp.variants import AllPairsVariant, KernelAllPairs
from bfsbench.programs.families.base import Paths, Problem, Run
from bfsbench.support.errors import NoPathError, UsageError, WrongResultError, public, whole

if TYPE_CHECKING:
    from bfsbench.programs import Variant

WHOLE_UP_TO = 4096
"""Largest number of vertices of a graph whose distances are all checked."""
ROWS_SAMPLED = 64
"""Number of rows of the distance matrix that are checked for larger graphs."""


class WrongDistancesError(WrongResultError):
    """Raised when distances are wrong, or when next hops do not follow shortest paths."""


def rows_to_check(num_vertices: int) -> npt.NDArray[np.int64]:
    """Returns the vertices whose rows of the distance matrix are checked. For a small graph, these are all
    vertices. For a larger graph, these are the first vertex, the last vertex, and a random sample."""
    if num_vertices <= WHOLE_UP_TO:
        return np.arange(num_vertices)
    others = np.random.default_rng(num_vertices).choice(num_vertices - 2, ROWS_SAMPLED - 2, replace=False) + 1
    return np.array([0, *sorted(others), num_vertices - 1])


def reference_distances(graph: Graph, rows: npt.NDArray[np.int64]) -> Matrix:
    """Returns the distances from the vertices in ``rows`` to all vertices, as SciPy computes them,
    int32[len(rows), V].

    A distance is INFINITY if there is no path. SciPy uses Dijkstra's algorithm. If ``rows`` contains all
    vertices, SciPy may choose the Floyd-Warshall algorithm instead, depending on the density of the graph.
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
    """Compare the distances ``found`` with the distances ``expected``, both int32[len(rows), V]. Raises
    WrongDistancesError if they differ. The error names the first pair of vertices whose distance differs,
    and the number of such pairs."""
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        row, target = divmod(int(wrong[0]), found.shape[1])
        raise WrongDistancesError(
            f"{len(wrong)} of {found.size} distances differ; from {rows[row]} to {target} it is "
            f"{found[row, target]}, not {expected[row, target]}"
        )


TARGETS_AT_A_TIME = 256
"""Number of target vertices whose next hops are checked at once. It limits the memory that the check
takes."""


def check_next_hops(weights: Matrix, distances: Matrix, next_hops: Matrix) -> None:
    """Check that the next hops of every pair follow a path whose length is the pair's distance. Raises
    WrongDistancesError if they do not.

    Each hop must be an arc, and its weight must equal the decrease of the distance. Hops must also reach
    their targets, because arcs of weight 0 could form a cycle. Pointer jumping tests this: after k rounds it
    has followed 2^k hops. ``weights``, ``distances`` and ``next_hops`` are int32[V, V].
    """
    num_vertices = len(weights)
    sources = np.arange(num_vertices)[:, None]
    for first in range(0, num_vertices, TARGETS_AT_A_TIME):
        targets = np.arange(first, min(first + TARGETS_AT_A_TIME, num_vertices))
        hops, left = next_hops[:, targets], distances[:, targets].astype(np.int64)
        reached = left < INFINITY
        _require(
            ((hops >= 0) == reached) & (hops >= -1) & (hops < num_vertices), targets, "no vertex to go to"
        )
        at = np.where(reached, hops, sources)
        length = weights[sources, at] + np.take_along_axis(left, at, axis=0)
        _require(~reached | (length == left), targets, "a hop that is on no shortest path")
        for _ in range(num_vertices.bit_length()):
            at = np.take_along_axis(at, at, axis=0)
        _require(~reached | (at == targets), targets, "hops that never get there")


def _require(right: npt.NDArray[np.bool_], targets: npt.NDArray[np.int64], what: str) -> None:
    wrong = np.argwhere(~right)
    if len(wrong):
        source, column = wrong[0]
        raise WrongDistancesError(f"next hops from {source} to {targets[column]}: {what}")


@public
def path_between(next_hops: Matrix | None, source: int, target: int) -> npt.NDArray[np.int32]:
    """Returns the vertices of a shortest path from ``source`` to ``target``, including both ends, int32.

    Raises NoPathError if there is no path. Raises UsageError if ``next_hops`` is None, if a number is not a
    vertex, or if the hops do not reach the target.
    """
    if next_hops is None:
        raise UsageError("there are no next hops to follow: ask for them with next_hops=True")
    source, target = whole("source", source), whole("target", target)
    for vertex in (source, target):
        if not 0 <= vertex < len(next_hops):
            raise UsageError(f"vertex {vertex} is out of range: there are 0 .. {len(next_hops) - 1}")
    if next_hops[source, target] < 0:
        raise NoPathError(f"there is no path from {source} to {target}")
    found = [source]
    while found[-1] != target:
        hop = int(next_hops[found[-1], target])
        if not 0 <= hop < len(next_hops) or len(found) == len(next_hops):
            raise UsageError(f"these next hops lead from vertex {source} not to {target}")
        found.append(hop)
    return np.array(found, np.int32)


class AllPairs(Problem):
    """The problem of finding shortest paths between all pairs of vertices of one graph.

    ``rows`` are the vertices from which distances are checked: all vertices, or a sample for a large graph.
    ``distances``, int32[len(rows), V], are the distances that SciPy computes from these vertices.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rows = rows_to_check(graph.num_vertices)
        self.distances = reference_distances(graph, self.rows)

    def run(self, variant: Variant) -> Run:
        pairs = _all_pairs(variant)
        return Run(pairs.poison, pairs.reset, pairs.solve, pairs.distances, _Check(pairs, self))

    def check_distances(self, distances: Matrix) -> None:
        """Check the distances from the vertices in ``rows``. Raises WrongDistancesError if a distance is
        wrong."""
        check_distances(distances[self.rows], self.distances, self.rows)

    def paths(self, variant: Variant) -> Paths:
        """Create an instance of the variant with ``tracks`` set, which records next hops. Run the instance
        twice. Returns the checked next hops, and the time of the second run in ms. Raises WrongDistancesError
        if a distance or a hop is wrong."""
        from bfsbench.programs.families.apsp.matrix import weight_matrix

        tracking = _all_pairs(variant.another())
        tracking.tracks = True
        tracking.prepare()
        run, clock = self.run(tracking), tracking.clock()
        for _ in range(2):
            run.poison()
            clock.start()
            run.reset()
            run.solve()
            milliseconds = clock.stop()
            run.check()
        hops = tracking.next_hops()
        check_next_hops(weight_matrix(self.graph), tracking.distances(), hops)
        return Paths(hops, milliseconds)

    def columns(self, milliseconds: float) -> dict[str, str]:
        operations = 2 * float(self.graph.num_vertices) ** 3
        return {"gops": f"{operations / milliseconds / 1e6:.3f}" if milliseconds > 0 else ""}


class _Check:
    """Checks the distances that a variant has computed. Distances that a kernel has computed are compared on
    the device. If the device finds a difference, the host compares all distances again, to find out which
    distance is wrong."""

    def __init__(self, variant: AllPairsVariant, problem: AllPairs) -> None:
        self._variant = variant
        self._problem = problem
        self._expected: ExpectedAnswer | None = None

    def __call__(self) -> None:
        """Check the distances of the last run. Raises WrongDistancesError if they are wrong."""
        if not self._is_right_on_device():
            self._problem.check_distances(self._variant.distances())

    def _is_right_on_device(self) -> bool:
        variant, problem = self._variant, self._problem
        if not isinstance(variant, KernelAllPairs) or type(variant).distances is not KernelAllPairs.distances:
            return False
        if self._expected is None:
            rows = problem.rows.astype(np.int32)
            self._expected = ExpectedAnswer(variant.device, problem.distances, rows=rows, pitch=variant.pitch)
        return self._expected.differences(variant.result()) == 0


def _all_pairs(variant: Variant) -> AllPairsVariant:
    if not isinstance(variant, AllPairsVariant):
        raise UsageError(f"variant {variant.name} finds no all-pairs shortest paths")
    return variant
