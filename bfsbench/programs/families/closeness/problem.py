"""Defines the problem of searching from many sources, and checks its results.

Results for a sample of the sources are compared with single-source searches. On small graphs, all sources are
compared. The remaining results must satisfy conditions that hold for all distances.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.ball import neighbours
from bfsbench.graphs.graph import Graph, Ids
from bfsbench.programs import Variant
from bfsbench.programs.families.base import Problem, Run
from bfsbench.programs.families.bfs.search import SequentialSearch, edges_below, reference_levels
from bfsbench.programs.families.bfs.searches import UNREACHED
from bfsbench.programs.families.closeness.variants import FIELDS, ClosenessVariant, Measures, measures_of
from bfsbench.support.errors import UsageError, WrongResultError
from bfsbench.support.machine import usable_cores

ALL_CHECKED_STEPS = 2 * 10**7
"""Upper limit of the work for checking all sources. The unit is a vertex or arc that a single-source search
visits. If the work exceeds the limit, only a sample of the sources is checked."""
SAMPLE = 16
"""Number of sources that are checked if checking all sources would take too long."""
_TOLERANCE = 1e-9
"""Relative tolerance for sums of floating-point numbers, because programs add them in different orders."""


class WrongMeasuresError(WrongResultError):
    """Raised when the results for a source, such as its sum of distances, are wrong or contradict each
    other."""


def drawn_sources(graph: Graph, number: int) -> Ids:
    """Returns ``number`` random vertices that have outgoing arcs, int32 in ascending order. The result
    depends only on the graph and the number. Raises UsageError if the graph has fewer than ``number``
    vertices with outgoing arcs.
    """
    starts = np.flatnonzero(np.diff(graph.row_offsets))
    if not 1 <= number <= len(starts):
        raise UsageError(f"{graph.full_name}: of {number:,} sources to draw there are {len(starts):,}")
    drawn = np.random.default_rng(number).choice(starts, number, replace=False)
    return np.sort(drawn).astype(np.int32)


def single_search(graph: Graph, source: int) -> tuple[tuple[int, int, float, int], int]:
    """Search from one source. Returns the results for the fields in FIELDS, and the number of arcs that the
    search traverses."""
    levels = reference_levels(graph, source)
    return measures_of(levels), edges_below(graph, levels)


class ManySources(Problem):
    """The problem of searching from ``sources``: every vertex of a graph, or ``number`` random vertices.

    Reference results are computed for some of the sources. ``checked`` contains the positions of these
    sources in ``sources``, and ``expected`` contains their reference results.
    """

    sources: Ids

    def __init__(self, graph: Graph, number: int | None) -> None:
        self.graph = graph
        every = np.arange(graph.num_vertices, dtype=np.int32)
        self.sources = every if number is None else drawn_sources(graph, number)
        steps = len(self.sources) * (graph.num_vertices + graph.num_edges)
        some = len(self.sources) if steps <= ALL_CHECKED_STEPS else min(SAMPLE, len(self.sources))
        self.checked = np.linspace(0, len(self.sources) - 1, some).astype(np.int64)
        with ThreadPoolExecutor(usable_cores()) as pool:
            found = [*pool.map(partial(single_search, graph), self.sources[self.checked].tolist())]
        self.expected: Measures = np.array([measures for measures, _ in found], [*FIELDS])
        self.arcs = float(np.mean([arcs for _, arcs in found])) * len(self.sources)
        self._answered = self.expected

    def run(self, variant: Variant) -> Run:
        if not isinstance(variant, ClosenessVariant):
            raise UsageError(f"variant {variant.name} does not search from many sources")
        reset, solve = partial(variant.reset, self.sources), partial(variant.solve, self.sources)

        def check() -> None:
            self.check(variant.measures(), variant.finds)

        return Run(variant.poison, reset, solve, variant.measures, check)

    def check(self, found: Measures, finds: Collection[str]) -> None:
        """Check the results ``found`` for all sources. ``finds`` names the fields that the variant computes.
        Raises WrongMeasuresError, which names a source, if a result is wrong."""
        if len(found) != len(self.sources):
            raise WrongMeasuresError(f"{len(found)} sources have measures, not {len(self.sources)}")
        for name in finds:
            expected, given = self.expected[name], found[name][self.checked]
            error = np.abs(given - expected) > (_TOLERANCE * expected if name == "harmonic" else 0)
            for place in np.flatnonzero(error)[:1]:
                source = self.sources[self.checked[place]]
                raise WrongMeasuresError(f"source {source}: {name} is {given[place]}, not {expected[place]}")
        if len(finds) < len(FIELDS):
            return
        for law, holds in self._laws(found).items():
            for source in self.sources[~holds][:1]:
                raise WrongMeasuresError(f"source {source}: {law}")
        self._answered = found

    def _laws(self, found: Measures) -> dict[str, npt.NDArray[np.bool_]]:
        """Check conditions that the distances from every source must satisfy. Returns a dictionary with one
        item per condition. The key is the error message. The value, bool[sources], is True for each source
        that satisfies the condition.
        """
        others, total = found["reached"] - 1, found["distance_sum"]
        harmonic, farthest = found["harmonic"], found["eccentricity"]
        slack = 1 + _TOLERANCE
        bounded = (others <= total) & (total <= others * farthest)
        laws = {
            "its sum of distances contradicts its largest distance": bounded,
            "its harmonic sum is too small for its sum": harmonic * total * slack >= others * others,
            "its harmonic sum is larger than the vertices reached": harmonic <= others * slack,
        }
        if self.graph.direction == "symmetrised":
            laws["it does not reach its component"] = others + 1 == self._component_sizes
        # A source reaches everything that its neighbour reaches. If it reaches nothing else, each of its
        # distances is at most one more than the neighbour's distance.
        tails, heads = self._links
        equal = others[tails] == others[heads]
        nearer = (total[tails] <= total[heads] + others[heads] + 1) & (farthest[tails] <= farthest[heads] + 1)
        linked = np.ones(len(found), np.bool_)
        linked[tails[(others[tails] < others[heads]) | (equal & ~nearer)]] = False
        return {**laws, "its distances contradict those of a neighbour": linked}

    @cached_property
    def _links(self) -> tuple[Ids, Ids]:
        """Returns the arcs whose two ends are sources, as an array of tails and an array of heads. Each end
        is given by its position in ``sources``."""
        graph, sources = self.graph, self.sources
        place = np.full(graph.num_vertices, -1, np.int32)
        place[sources] = np.arange(len(sources), dtype=np.int32)
        tails = np.repeat(place[sources], np.diff(graph.row_offsets)[sources])
        heads = place[neighbours(graph.row_offsets, graph.column_indices, sources)]
        return tails[heads >= 0], heads[heads >= 0]

    @cached_property
    def _component_sizes(self) -> npt.NDArray[np.int64]:
        """Returns the size of each source's component in an undirected graph."""
        search = SequentialSearch(self.graph)
        search.levels.fill(UNREACHED)
        sizes = np.zeros(self.graph.num_vertices, np.int64)
        for source in self.sources.tolist():
            if search.levels[source] == UNREACHED:
                component = search.run(source)  # no earlier search has reached any vertex of this component
                sizes[component] = len(component)
        return sizes[self.sources]

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
