"""Declares single-source searches that run one after the other. They are the baseline for variants that
search from many sources at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bfsbench.graphs.graph import Graph, Ids
from bfsbench.programs import Clock, HostProgram, KernelProgram, KernelSetup, Knob, KnobValue, OwnClock
from bfsbench.programs.families.closeness.variants import ClosenessVariant, Measures, measures_of
from bfsbench.programs.variant import ForeignProgram
from bfsbench.support.errors import LaunchError
from bfsbench.variants import find
from bfsbench.variants.base import HostVariant, KernelVariant, SearchVariant

_HOST = ("cpu_parallel", "cpu_queue", "scipy", "igraph", "networkx", "networkit", "rustworkx", "graphblas")
_KERNELS = (
    *("adaptive", "bfs4k", "direction_optimized", "frontier_queue", "frontier_numbers", "linear_work", "luo"),
    *("merrill", "pull", "resident_parts", "simple", "virtual_warp"),
)


class _OneByOne(ClosenessVariant):
    """Runs one breadth-first search per source. The knob SEARCH or SEARCH_KERNELS names the search. The knobs
    of this search have their defaults. The reported time is the sum of the times of the searches."""

    search: SearchVariant
    origin = ("this project",)
    frontier = "that of the search"
    parallel_unit = "that of the search"
    work = "that of the search, for each source"

    def prepare(self) -> None:
        self.search.prepare()
        self.single = self.search.clock()

    def clock(self) -> Clock:
        return OwnClock(self)

    def solve(self, sources: Ids) -> None:
        assert self.found is not None
        for place, source in enumerate(sources.tolist()):
            self.search.poison()
            self.single.wait()
            self.single.start()
            self.search.reset(source)
            self.search.traverse(source)
            self.took_ms += self.single.stop()
            self.found[place] = measures_of(self.search.levels())

    def measured(self) -> dict[str, str]:
        return {**super().measured(), **self.search.measured()}


class OneByOne(_OneByOne, HostProgram):
    """Runs one search per source. The search is a CPU program of this package, or an entry (a program of
    other authors)."""

    name = "one_by_one"
    summary = "a search of family bfs from one source after the other"
    knobs = (Knob("SEARCH", "cpu_parallel", "the search", choices=_HOST),)

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue]) -> None:
        super().__init__(graph, knobs)
        kind = find(str(knobs["SEARCH"]))
        assert issubclass(kind, HostVariant)
        self.search = kind(graph, kind.knob_values({}))

    def prepare(self) -> None:
        """Prepare the search that is repeated. Raises LaunchError if the search is an entry that is not
        installed."""
        if reason := self.search.missing():
            raise LaunchError(reason)
        super().prepare()

    def measures(self) -> Measures:
        """Returns the results for all sources. Raises WrongResultError if the search is an entry that has
        changed its copy of the graph."""
        if isinstance(self.search, ForeignProgram):
            self.search.require_unwritten()
        return super().measures()


class OneByOneKernels(_OneByOne, KernelProgram):
    """Runs one search per source. The search consists of CUDA kernels."""

    name = "one_by_one_kernels"
    summary = "a search by kernels from one source after the other"
    knobs = (Knob("SEARCH_KERNELS", "adaptive", "the search", choices=_KERNELS),)

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        kind = find(str(setup.knobs["SEARCH_KERNELS"]))
        assert issubclass(kind, KernelVariant)
        self.search = kind(replace(setup, knobs=kind.knob_values({})))

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int:
        kind = find(str(knobs["SEARCH_KERNELS"]))
        return kind.own_block(kind.knob_values({})) or kind.usual_block

    @classmethod
    def source_files(cls) -> list[Path]:
        """Returns the source files of all searches that the knob SEARCH_KERNELS can name."""
        kinds = [find(name) for name in _KERNELS]
        return [file for kind in kinds if issubclass(kind, KernelVariant) for file in kind.source_files()]
