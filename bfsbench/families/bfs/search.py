"""The problem of one search, and the check of its answers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.families.base import Paths, Problem
from bfsbench.families.bfs.levels import Levels, check_levels, reference_levels
from bfsbench.families.bfs.searches import KernelVariant, SearchVariant
from bfsbench.programs import ExpectedAnswer

if TYPE_CHECKING:
    from bfsbench.backends.base import Buffer
    from bfsbench.graphs.graph import Graph
    from bfsbench.programs import Variant


class Search(Problem):
    """The search of one graph from one source; ``levels``, int32[V], are those of the sequential search."""

    def __init__(self, graph: Graph, source: int) -> None:
        self.graph = graph
        self.source = source
        self.levels = reference_levels(graph, source)

    def run(self, variant: Variant) -> SearchRun:
        return SearchRun(_search(variant), self.source, self.levels)

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

    def paths(self, variant: Variant) -> Paths:
        """The breadth-first tree of the search that ``variant`` did last; one that the search itself has left
        takes no more time. Raises WrongParentsError."""
        from bfsbench.families.bfs.parents import breadth_first_tree

        search = _search(variant)
        if isinstance(search, KernelVariant) and search.leaves_tree:
            _check_tree(search, self.source)
            return Paths(search.parents(), 0.0)
        return breadth_first_tree(self.graph, self.source, search)

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """The level profile; empty for host programs. Raises WrongLevelsError."""
        from bfsbench.families.bfs.profile import count_levels, profiled

        if not isinstance(variant, KernelVariant):
            return []
        counters = count_levels(variant.another(), self.source, self.levels)
        return profiled(variant, counters, self.source, self.levels)


class SearchRun:
    """A search from one source; see :class:`bfsbench.families.base.Run`."""

    def __init__(self, variant: SearchVariant, source: int, reference: Levels) -> None:
        self._variant = variant
        self._source = source
        self._reference = reference
        self._expected: ExpectedAnswer | None = None

    def poison(self) -> None:
        self._variant.poison()

    def reset(self) -> None:
        self._variant.reset(self._source)

    def solve(self) -> None:
        self._variant.traverse(self._source)

    def answer(self) -> Levels:
        return self._variant.levels()

    def check(self) -> None:
        """Check the levels, those of kernels on the device, and the tree of a search that leaves one.

        Raises WrongLevelsError, WrongParentsError.
        """
        if not self._is_right_on_device():
            check_levels(self._variant.levels(), self._reference)

    def _is_right_on_device(self) -> bool:
        variant = self._variant
        if not isinstance(variant, KernelVariant) or type(variant).levels is not KernelVariant.levels:
            return False
        variant.finish()
        if self._expected is None:
            places = variant.level_places
            self._expected = ExpectedAnswer(variant.device, self._reference, rows=places)
        levels = _check_tree(variant, self._source) if variant.leaves_tree else variant.level_array
        return self._expected.differences(levels) == 0


def _check_tree(search: KernelVariant, source: int) -> Buffer:
    """Check the tree that a search has left; its levels, int32[V]. Raises WrongParentsError."""
    from bfsbench.families.bfs.tree_check import TreeCheck

    search.finish()
    check = search.graph.once(TreeCheck.of)
    check.check(search.level_array, source)
    return check.levels


def _search(variant: Variant) -> SearchVariant:
    if not isinstance(variant, SearchVariant):
        raise UsageError(f"variant {variant.name} is no breadth-first search")
    return variant
