"""The family of all-pairs shortest paths: columns and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.errors import UsageError
from bfsbench.families.base import Family, Figure

if TYPE_CHECKING:
    from bfsbench.families.apsp.problem import AllPairs
    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.graphs.matrix import Matrix


class AllPairsShortestPaths(Family):
    """All-pairs shortest paths (CSE 6230, first half), checked against SciPy."""

    name = "apsp"
    title = "all-pairs shortest paths"
    baseline = "cpu_floyd_warshall"
    one = "all pairs"
    from_sources = False
    columns = (
        Figure("gops", "10^9 additions and minima a second that V^3 of each in search_ms make", "GOPS"),
    )

    def require(self, graph: Graph) -> None:
        from bfsbench.graphs.matrix import require_matrix

        require_matrix(graph)

    def require_size(self, name: str, num_vertices: int) -> None:
        from bfsbench.graphs.matrix import require_size

        require_size(name, num_vertices)

    def problem(self, graph: Graph, source: int | None) -> AllPairs:
        if source is not None:
            raise UsageError("all-pairs shortest paths have no source")
        from bfsbench.families.apsp.problem import AllPairs

        self.require(graph)
        return AllPairs(graph)

    def path(self, links: Matrix | None, source: int, target: int) -> Ids:
        from bfsbench.families.apsp.next_hops import path_between

        return path_between(links, source, target)
