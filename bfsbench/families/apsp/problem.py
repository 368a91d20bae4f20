"""The problem of all-pairs shortest paths on one graph, and the check of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.families.apsp.distances import check_distances, reference_distances, rows_to_check
from bfsbench.families.apsp.variants import AllPairsVariant, KernelAllPairs
from bfsbench.families.base import Paths, Problem
from bfsbench.programs import ExpectedAnswer

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.graphs.matrix import Matrix
    from bfsbench.programs import Variant


class AllPairs(Problem):
    """All pairs of one graph. ``rows`` are the vertices whose distances are checked: all, or a sample of a
    large graph's; ``distances``, int32[len(rows), V], are SciPy's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rows = rows_to_check(graph.num_vertices)
        self.distances = reference_distances(graph, self.rows)

    def run(self, variant: Variant) -> AllPairsRun:
        return AllPairsRun(_all_pairs(variant), self)

    def check_distances(self, distances: Matrix) -> None:
        """Raises WrongDistancesError, naming the first pair that differs and how many do."""
        check_distances(distances[self.rows], self.distances, self.rows)

    def paths(self, variant: Variant) -> Paths:
        """Next hops by another run, which records them. Raises WrongDistancesError."""
        from bfsbench.families.apsp.next_hops import check_next_hops
        from bfsbench.graphs.matrix import weight_matrix

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


class AllPairsRun:
    """All pairs by one variant; see :class:`bfsbench.families.base.Run`."""

    def __init__(self, variant: AllPairsVariant, problem: AllPairs) -> None:
        self._variant = variant
        self._problem = problem
        self._expected: ExpectedAnswer | None = None

    def poison(self) -> None:
        self._variant.poison()

    def reset(self) -> None:
        self._variant.reset()

    def solve(self) -> None:
        self._variant.solve()

    def answer(self) -> Matrix:
        return self._variant.distances()

    def check(self) -> None:
        """Check the distances; those of kernels on the device. Raises WrongDistancesError."""
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
