"""Declares the family of all-pairs shortest paths: the distances from every vertex to every other vertex. To
let commands start quickly, this module does not import NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.programs.families.base import Family, Figure
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.programs.families.apsp.matrix import Matrix
    from bfsbench.programs.families.apsp.problem import AllPairs


class AllPairsShortestPaths(Family):
    """All-pairs shortest paths. The first half of a course paper (CSE 6230) compares algorithms for this
    problem. Distances are checked against SciPy."""

    name = "apsp"
    title = "all-pairs shortest paths"
    baseline = "cpu_floyd_warshall"
    one = "all pairs"
    from_sources = False
    columns = (
        Figure("gops", "10^9 operations per second of search_ms, for V^3 additions and V^3 minima", "GOPS"),
    )

    def require(self, graph: Graph) -> None:
        from bfsbench.programs.families.apsp.matrix import require_matrix

        require_matrix(graph)

    def require_size(self, name: str, num_vertices: int) -> None:
        from bfsbench.programs.families.apsp.matrix import require_size

        require_size(name, num_vertices)

    def problem(self, graph: Graph, source: int | None) -> AllPairs:
        if source is not None:
            raise UsageError("all-pairs shortest paths have no source")
        from bfsbench.programs.families.apsp.problem import AllPairs

        self.require(graph)
        return AllPairs(graph)

    def path(self, links: Matrix | None, source: int, target: int) -> Ids:
        from bfsbench.programs.families.apsp.problem import path_between

        return path_between(links, source, target)
