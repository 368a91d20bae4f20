"""Breadth-first search: the level of every vertex below a source."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.errors import UsageError, WrongResultError
from bfsbench.families.base import Family, Problem

if TYPE_CHECKING:
    from bfsbench.graphs.graph import Graph
    from bfsbench.variants.base import SearchVariant, Variant

Levels = npt.NDArray[np.int32]


class WrongLevelsError(WrongResultError):
    """A search returned levels that differ from the reference."""


class BreadthFirstSearch(Family):
    """Searches of five papers, checked against the sequential one."""

    name = "bfs"
    title = "breadth-first search"
    baseline = "cpu_queue"
    one = "a search"
    from_sources = True

    def require(self, graph: Graph) -> None:
        """Any graph will do."""

    def problem(self, graph: Graph, source: int | None) -> Search:
        if source is None:
            raise UsageError("a breadth-first search needs a source")
        return Search(graph, source)


class Search(Problem):
    """The search of one graph from one source; ``levels``, int32[V], are those of the sequential search."""

    def __init__(self, graph: Graph, source: int) -> None:
        self.graph = graph
        self.source = source
        self.levels = reference_levels(graph, source)

    def run(self, variant: Variant) -> SearchRun:
        from bfsbench.variants.base import SearchVariant

        if not isinstance(variant, SearchVariant):
            raise UsageError(f"variant {variant.name} is no breadth-first search")
        return SearchRun(variant, self.source, self.levels)

    @cached_property
    def edges_traversed(self) -> int:
        """Sum of the out-degrees of the reached vertices."""
        return int(np.diff(self.graph.row_offsets)[self.levels >= 0].sum(dtype=np.int64))

    def columns(self, milliseconds: float) -> dict[str, str]:
        mteps = self.edges_traversed / milliseconds / 1e3 if milliseconds > 0 else 0.0
        return {
            "depth": str(int(self.levels.max())),
            "reached": str(int(np.count_nonzero(self.levels >= 0))),
            "edges_traversed": str(self.edges_traversed),
            "mteps": f"{mteps:.3f}",
            "mteps_graph500": f"{mteps / 2:.3f}" if self.graph.direction == "symmetrised" else "",
        }


class SearchRun:
    """A search from one source; see :class:`bfsbench.families.base.Run`."""

    def __init__(self, variant: SearchVariant, source: int, reference: Levels) -> None:
        self._variant = variant
        self._source = source
        self._reference = reference

    def reset(self) -> None:
        self._variant.reset(self._source)

    def solve(self) -> None:
        self._variant.traverse(self._source)

    def check(self) -> None:
        """Raises WrongLevelsError."""
        check_levels(self._variant.levels(), self._reference)


def reference_levels(graph: Graph, source: int) -> Levels:
    """The levels of the sequential search, int32[V]: what every other result must equal."""
    from bfsbench.variants.cpu_queue import CpuQueue

    search = CpuQueue(graph, {})
    search.prepare()
    search.reset(source)
    search.traverse(source)
    return search.levels()


def check_levels(levels: Levels, reference: Levels) -> None:
    """Raises WrongLevelsError, naming the first vertex that differs and how many do."""
    wrong = np.flatnonzero(levels != reference)
    if len(wrong):
        v = wrong[0]
        first = f"vertex {v} has {levels[v]} instead of {reference[v]}"
        raise WrongLevelsError(f"{len(wrong)} of {len(levels)} levels differ; {first}")
