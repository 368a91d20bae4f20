"""NetworKit's closeness, to compare with."""

from __future__ import annotations

import time
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from bfsbench.graphs.graph import Ids
from bfsbench.programs import Clock, HostProgram, OwnClock
from bfsbench.programs.families.closeness.variants import ClosenessVariant, measures_of

_AT_A_TIME = 64
"""Sources whose distances NetworKit holds at once, 8 bytes a vertex each."""


class NetworkitCloseness(HostProgram, ClosenessVariant):
    """NetworKit's exact closeness where every vertex is a source, which gives sums of distances only.

    From some sources, and in directed graphs, it runs NetworKit's SPSP: searches on all threads that keep all
    distances, which are summed outside of the clock.
    """

    name = "networkit_closeness"
    summary = "NetworKit's exact closeness, or its searches from some sources, on all threads"
    origin = ("Staudt, Sazonovs and Meyerhenke 2016",)
    parallel_unit = "a search per thread"
    foreign = True

    @classmethod
    def missing(cls) -> str:
        return "" if find_spec("networkit") else "networkit_closeness needs a package: pip install networkit"

    def prepare(self) -> None:
        import networkit

        started = time.perf_counter()
        directed = self.graph.direction == "directed"
        tails, heads = self.graph.edge_sources, self.graph.column_indices
        once = slice(None) if directed else tails <= heads
        self.made = networkit.Graph(self.graph.num_vertices, directed=directed)
        self.made.addEdges((tails[once].astype(np.uint64), heads[once].astype(np.uint64)))
        components = networkit.components.ConnectedComponents(self.made) if not directed else None
        if components is not None:
            components.run()
            part = np.array(components.getPartition().getVector())
            self.others = np.bincount(part)[part].astype(np.float64) - 1  # of the vertex's component
        self.preprocess_ms = (time.perf_counter() - started) * 1e3

    def clock(self) -> Clock:
        return OwnClock(self)

    def solve(self, sources: Ids) -> None:
        import networkit

        assert self.found is not None
        if len(sources) < self.graph.num_vertices or self.graph.direction == "directed":
            for first in range(0, len(sources), _AT_A_TIME):
                self._search(sources[first : first + _AT_A_TIME], first)
            return
        self.finds = ("distance_sum",)
        generalised = networkit.centrality.ClosenessVariant.GENERALIZED
        closeness = networkit.centrality.Closeness(self.made, False, generalised)
        self._timed(closeness)
        others, scores = self.others, np.array(closeness.scores()) * max(len(sources) - 1, 1)
        sums = np.divide(others * others, scores, out=np.zeros_like(scores), where=scores > 0)
        self.found["distance_sum"] = np.rint(sums)

    def _search(self, sources: Ids, first: int) -> None:
        import networkit

        searches = networkit.distance.SPSP(self.made, sources.tolist())
        self._timed(searches)
        assert self.found is not None
        for place, row in enumerate(searches.getDistances(), first):
            distances = np.asarray(row)
            levels = np.where(distances < self.graph.num_vertices, distances, -1)
            self.found[place] = measures_of(levels.astype(np.int32))

    def _timed(self, algorithm: object) -> None:
        started = time.perf_counter()
        algorithm.run()  # type: ignore[attr-defined]
        self.took_ms += (time.perf_counter() - started) * 1e3

    def measured(self) -> dict[str, str]:
        return {**super().measured(), "program": f"networkit {version('networkit')} (MIT)"}
