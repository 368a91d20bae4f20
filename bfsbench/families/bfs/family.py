"""The question that breadth-first searches answer, and how their answers are judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.families.base import PICTURES, Column, Family, Figure, Paths, Problem
from bfsbench.families.bfs.levels import Levels, check_levels, reference_levels
from bfsbench.families.bfs.searches import KernelVariant, SearchVariant
from bfsbench.programs import ExpectedAnswer

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.families.bfs.parents import Parents
    from bfsbench.graphs.graph import Graph, Ids
    from bfsbench.programs import Variant

_BARELY = 0.01
"""Share of the vertices below which a search says little about the graph."""


class BreadthFirstSearch(Family):
    """Searches of five papers, checked against the sequential one."""

    name = "bfs"
    title = "breadth-first search"
    baseline = "cpu_queue"
    one = "a search"
    from_sources = True
    columns = (
        Column("depth", "levels below the source"),
        Column("reached", "vertices"),
        Column("edges_traversed", "sum of out-degrees of reached vertices"),
        Figure(
            "mteps",
            "millions of edges traversed a second, from search_ms",
            "MTEPS",
            harmonic=True,
            quartiles=True,
        ),
        Figure(
            "mteps_graph500",
            "half of it where an undirected edge is stored both ways, as Graph500 counts",
            harmonic=True,
            shown=False,
        ),
    )
    profile = (
        Column("level", "levels below the source"),
        Column("kernel", "which kernel, or layer of one, ran the level", kind="text"),
        Column("frontier_size", "vertices at this level"),
        Column("edges_inspected", "adjacency entries read; empty where the search alone knows"),
        Column(
            "time_us",
            "of the profiled run; the last level of a launch also has what launching took",
            kind="number",
        ),
        Column("counts", "NAME=COUNT for each of the variant's counters that is not 0", kind="text"),
    )
    pictures = (*PICTURES, "profile", "roofline", "duplicates")

    def require(self, graph: Graph) -> None:
        """Any graph will do."""

    def problem(self, graph: Graph, source: int | None) -> Search:
        if source is None:
            raise UsageError("a breadth-first search needs a source")
        return Search(graph, source)

    def path(self, links: Parents | None, source: int, target: int) -> Ids:
        from bfsbench.families.bfs.parents import path

        return path(links, target)

    def advice(self, rows: pd.DataFrame) -> Iterator[str]:
        """For each graph the sources that reach next to nothing: they rule a harmonic mean."""
        searched = rows[rows["status"] == "ok"].drop_duplicates(["graph", "graph_checksum", "source"])
        short = searched["reached"] < _BARELY * searched["num_vertices"]
        for (graph, _), found in short.groupby([searched["graph"], searched["graph_checksum"]]):
            if found.any():
                count = f"{found.sum()} of {len(found)} sources" if len(found) > 1 else "the source"
                mean = "; the harmonic mean is theirs, look at the median" if len(found) > 1 else ""
                yield f"Warning: {graph}: {count} reached less than 1 % of the vertices{mean}."


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
        """The breadth-first tree of the search that ``variant`` did last. Raises WrongParentsError."""
        from bfsbench.families.bfs.parents import breadth_first_tree

        return breadth_first_tree(self.graph, self.source, _search(variant))

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """Of searches by kernels only. Raises WrongLevelsError."""
        from bfsbench.families.bfs.profile import count, profiled

        if not isinstance(variant, KernelVariant):
            return []
        counted = count(variant.another(), self.source, self.levels)
        return profiled(variant, counted, self.source, self.levels)


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
        """On the device where kernels left the levels there. Raises WrongLevelsError."""
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
        return self._expected.differences(variant.level_array) == 0


def _search(variant: Variant) -> SearchVariant:
    if not isinstance(variant, SearchVariant):
        raise UsageError(f"variant {variant.name} is no breadth-first search")
    return variant
