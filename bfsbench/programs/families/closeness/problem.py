"""Defines the problem of searching from many sources, and checks its results.

Results for a sample of the sources are compared with single-source searches. On small graphs, all sources are
compared. The remaining results must satisfy conditions that hold for all distances.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph, Ids
from bfsbench.programs.families.base import Problem, Run
from bfsbench.programs.families.closeness.variants import FIELDS, ClosenessVariant, measures_of
from bfsbench.support.errors import UsageError, WrongResultError
from bfsbench.support.machine import usable_cores
from bfsbench.support.toolchain import library

if TYPE_CHECKING:
    from bfsbench.programs import Variant
    from bfsbench.programs.families.closeness.variants import Measures

ALL_CHECKED_STEPS = 2 * 10**7
"""Limit of the work of a complete check, in vertices and arcs that single-source searches visit. Up to this
limit, all sources are checked."""
SAMPLE = 16
"""Number of sources that are checked if checking all sources would take too long."""
_TOLERANCE = 1e-9
"""Relative tolerance for sums of floating-point numbers, because programs add them in different orders."""


class WrongMeasuresError(WrongResultError):
    """Raised when the results for a source, such as its sum of distances, are wrong or contradict each
    other."""


def drawn_sources(graph: Graph, number: int) -> Ids:
    """Returns ``number`` random vertices that have outgoing arcs, int32 in ascending order. The result
    depends only on the graph and the number. Raises UsageError if the graph has fewer such vertices."""
    starts = np.flatnonzero(np.diff(graph.row_offsets))
    if not 1 <= number <= len(starts):
        raise UsageError(f"{graph.full_name}: of {number:,} sources to draw there are {len(starts):,}")
    drawn = np.random.default_rng(number).choice(starts, number, replace=False)
    return np.sort(drawn).astype(np.int32)


class SingleSearches:
    """Runs single-source reference searches by ``native/cpu_queue.cpp``. Several threads may call its methods
    at once."""

    def __init__(self, graph: Graph) -> None:
        wide = graph.row_offsets.dtype.itemsize == 8
        self._graph = graph
        self._search = getattr(library("cpu_queue"), "cpu_queue_64" if wide else "cpu_queue_32")
        self._degrees = np.diff(graph.row_offsets)

    def levels(self, source: int) -> Ids:
        """Returns the level of each vertex in a search from ``source``, int32[V]. Unreached vertices have
        -1."""
        graph, size = self._graph, self._graph.num_vertices
        levels, queue = np.full(size, -1, np.int32), np.empty(size, np.int32)
        arrays = (graph.row_offsets, graph.column_indices, levels, queue)
        offsets, columns, *scratch = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
        self._search(offsets, columns, ctypes.c_int32(source), *scratch)
        return levels

    def measure(self, source: int) -> tuple[tuple[int, int, float, int], int]:
        """Search from one source. Returns the results for the fields in FIELDS, and the number of arcs that
        the search traverses."""
        levels = self.levels(source)
        return measures_of(levels), int(self._degrees[levels >= 0].sum(dtype=np.int64))


class ManySources(Problem):
    """The problem of searching from ``sources``: every vertex of a graph, or ``number`` random vertices.

    A reference is computed for some sources. ``checked`` has their positions in ``sources``, and ``expected``
    has their results.
    """

    def __init__(self, graph: Graph, number: int | None) -> None:
        self.graph = graph
        every = np.arange(graph.num_vertices, dtype=np.int32)
        self.sources = every if number is None else drawn_sources(graph, number)
        steps = len(self.sources) * (graph.num_vertices + graph.num_edges)
        some = len(self.sources) if steps <= ALL_CHECKED_STEPS else min(SAMPLE, len(self.sources))
        self.checked = np.linspace(0, len(self.sources) - 1, some).astype(np.int64)
        self._searches = SingleSearches(graph)
        with ThreadPoolExecutor(usable_cores()) as pool:
            found = [*pool.map(self._searches.measure, self.sources[self.checked].tolist())]
        self.expected: Measures = np.array([measures for measures, _ in found], [*FIELDS])
        self.arcs = float(np.mean([arcs for _, arcs in found])) * len(self.sources)
        self._answered: Measures = self.expected

    def run(self, variant: Variant) -> Run:
        if not isinstance(variant, ClosenessVariant):
            raise UsageError(f"variant {variant.name} does not search from many sources")
        reset, solve = partial(variant.reset, self.sources), partial(variant.solve, self.sources)
        return Run(variant.poison, reset, solve, variant.measures, partial(self._check, variant))

    def _check(self, variant: ClosenessVariant) -> None:
        self.check(variant.measures(), variant.finds)

    def check(self, found: Measures, finds: Collection[str]) -> None:
        """Check the results ``found`` for all sources. ``finds`` names the fields that the variant fills.
        Raises WrongMeasuresError, which names a source, if a result is wrong."""
        if len(found) != len(self.sources):
            raise WrongMeasuresError(f"{len(found)} sources have measures, not {len(self.sources)}")
        whole = len(finds) == len(FIELDS)
        for name, kind in FIELDS:
            if name not in finds:
                continue
            expected, given = self.expected[name], found[name][self.checked]
            error = np.abs(given - expected) > (_TOLERANCE * expected if kind == "f8" else 0)
            for place in np.flatnonzero(error)[:1]:
                source = self.sources[self.checked[place]]
                raise WrongMeasuresError(f"source {source}: {name} is {given[place]}, not {expected[place]}")
        for law, holds in self._laws(found) if whole else ():
            for place in np.flatnonzero(~holds)[:1]:
                raise WrongMeasuresError(f"source {self.sources[place]}: {law}")
        self._answered = found if whole else self.expected

    def _laws(self, found: Measures) -> list[tuple[str, npt.NDArray[np.bool_]]]:
        """Check conditions that hold for the distances from every source. Returns a list of pairs: an error
        message, and bool[sources], True for each source that satisfies the condition."""
        others, total = found["reached"] - 1, found["distance_sum"]
        harmonic, farthest = found["harmonic"], found["eccentricity"]
        slack = 1 + _TOLERANCE
        bounded = (others <= total) & (total <= others * farthest)
        laws = [
            ("its sum of distances contradicts its largest distance", bounded),
            ("its harmonic sum is too small for its sum", harmonic * total * slack >= others * others),
            ("its harmonic sum is larger than the vertices reached", harmonic <= others * slack),
        ]
        part, size, (tails, heads) = self._parts
        if self.graph.direction == "symmetrised":
            laws.append(("it does not reach its component", others + 1 == size[part[self.sources]]))
        nearer = total[tails] <= total[heads] + others[heads] + 1
        nearer &= (farthest[tails] <= farthest[heads] + 1) & (others[tails] == others[heads])
        linked = np.ones(len(found), np.bool_)
        linked[tails[~nearer]] = False
        return [*laws, ("its distances contradict those of a neighbour", linked)]

    @cached_property
    def _parts(self) -> tuple[Ids, npt.NDArray[np.int64], tuple[Ids, Ids]]:
        """Returns the strongly connected component of each vertex, the size of each component, and arcs
        between sources.

        An arc is returned only if both its ends are sources in one component. The ends are given as positions
        in ``sources``.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        graph, sources, size = self.graph, self.sources, self.graph.num_vertices
        arcs = (np.ones(graph.num_edges, np.int8), graph.column_indices, graph.row_offsets)
        matrix = csr_array(arcs, shape=(size, size))
        if graph.direction == "symmetrised" and len(sources) < size:
            part = self._parts_by_searches()
        else:
            _, part = connected_components(matrix, connection="strong")
        place = np.full(size, -1, np.int32)
        place[sources] = np.arange(len(sources), dtype=np.int32)
        links = matrix[sources].tocoo()
        tails, heads = links.row, place[links.col]
        within = (heads >= 0) & (part[sources[tails]] == part[links.col])
        return part, np.bincount(part), (tails[within], heads[within])

    def _parts_by_searches(self) -> Ids:
        """Returns the connected component of each vertex of an undirected graph. Component 0 has all vertices
        that no source reaches.

        Each component is found by one search from a source. This is fast if there are few sources.
        """
        part = np.zeros(self.graph.num_vertices, np.int32)
        for source in self.sources.tolist():
            if part[source] == 0:
                part[self._searches.levels(source) >= 0] = part.max() + 1
        return part

    def columns(self, milliseconds: float) -> dict[str, str]:
        pairs = int((self._answered["reached"] - 1).sum())
        total, seconds = int(self._answered["distance_sum"].sum()), max(milliseconds, 1e-6) / 1e3
        return {
            "sources": str(len(self.sources)),
            "diameter": str(int(self._answered["eccentricity"].max())),
            "average_distance": f"{total / pairs:.6f}" if pairs else "",
            "sources_s": f"{len(self.sources) / seconds:.3f}",
            "gteps_single": f"{self.arcs / seconds / 1e9:.6f}",
        }
