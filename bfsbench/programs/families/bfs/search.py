"""Defines the problem of one breadth-first search. A sequential search computes the reference levels."""

from __future__ import annotations

import ctypes
import random
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.base import Paths, Problem, Run
from bfsbench.programs.families.bfs.searches import UNREACHED, KernelVariant, SearchVariant
from bfsbench.support.errors import UsageError, WrongResultError
from bfsbench.support.toolchain import library

if TYPE_CHECKING:
    from bfsbench.backends.base import Buffer
    from bfsbench.programs import Variant
    from bfsbench.support.gpu_memory import DeviceArray

Levels = npt.NDArray[np.int32]


class WrongLevelsError(WrongResultError):
    """Raised when the levels of a search differ from the reference levels."""


class SequentialSearch:
    """Searches one graph sequentially with ``native/cpu_queue.cpp``. It computes the reference levels, and
    also serves as the variant ``cpu_queue``.

    ``levels``, int32[V], contains the result of ``run``. Before each call of ``run``, the caller must set all
    its elements to UNREACHED.
    """

    def __init__(self, graph: Graph) -> None:
        native = library("cpu_queue")
        search = native.cpu_queue_64 if graph.row_offsets.dtype.itemsize == 8 else native.cpu_queue_32
        search.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int32, *[ctypes.c_void_p] * 2]
        search.restype = ctypes.c_int32
        self.levels: Levels = np.empty(graph.num_vertices, np.int32)
        self._search = search
        self._graph = graph
        self._queue = np.empty(graph.num_vertices, np.int32)
        self._arrays = (graph.row_offsets.ctypes.data, graph.column_indices.ctypes.data)
        self._scratch = (self.levels.ctypes.data, self._queue.ctypes.data)

    def run(self, source: int) -> npt.NDArray[np.int32]:
        """Search from ``source``. Returns the reached vertices, int32[reached], in order of their levels. The
        next run overwrites them."""
        return self._queue[: self._search(*self._arrays, source, *self._scratch)]


def reference_levels(graph: Graph, source: int) -> Levels:
    """Run a sequential search from ``source``. Returns the level of each vertex, int32[V]. All other searches
    must find the same levels."""
    search = SequentialSearch(graph)
    search.levels.fill(UNREACHED)
    search.run(source)
    return search.levels


def edges_below(graph: Graph, levels: Levels) -> int:
    """Returns the sum of the out-degrees of the vertices that have a level."""
    return int(np.diff(graph.row_offsets)[levels >= 0].sum(dtype=np.int64))


def check_levels(levels: Levels, reference: Levels) -> None:
    """Compare levels with reference levels. Raises WrongLevelsError if they differ. The error names the first
    vertex that differs."""
    if np.array_equal(levels, reference):
        return
    wrong = np.flatnonzero(levels != reference)
    v = wrong[0]
    first = f"vertex {v} has {levels[v]} instead of {reference[v]}"
    raise WrongLevelsError(f"{len(wrong)} of {len(levels)} levels differ; {first}")


class Search(Problem):
    """The problem of searching one graph from one source. ``levels``, int32[V], are the reference levels,
    which a sequential search computes."""

    def __init__(self, graph: Graph, source: int) -> None:
        self.graph = graph
        self.source = source
        self.levels = reference_levels(graph, source)

    def run(self, variant: Variant) -> Run:
        search, source = _search(variant), self.source
        reset, solve = partial(search.reset, source), partial(search.traverse, source)
        return Run(search.poison, reset, solve, search.levels, _Check(search, source, self.levels))

    def other_sources(self, count: int) -> list[int]:
        """Returns at most ``count`` random vertices that have out-arcs and that this search reaches. The
        source of this search is left out. In an undirected graph, searches from these vertices do about as
        much work as this search. If there are fewer than ``count`` such vertices, the method chooses among
        all vertices with out-arcs, including the source."""
        with_arcs = np.diff(self.graph.row_offsets) > 0
        reached = with_arcs & (self.levels > 0)
        found = np.flatnonzero(reached if np.count_nonzero(reached) >= count else with_arcs)
        chosen = random.SystemRandom().sample(range(len(found)), min(count, len(found)))
        return [int(found[place]) for place in chosen]

    @cached_property
    def edges_traversed(self) -> int:
        """Returns the sum of the out-degrees of the vertices that the search reaches."""
        return edges_below(self.graph, self.levels)

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
        """Returns the breadth-first tree of the last search by ``variant``, and the time in ms to derive it.
        The time is 0 if the search itself computes the tree. Raises WrongParentsError if the tree is
        wrong."""
        from bfsbench.programs.families.bfs.parents import breadth_first_tree

        search = _search(variant)
        if isinstance(search, KernelVariant) and search.leaves_tree:
            _check_tree(search, self.source)
            return Paths(search.parents(), 0.0)
        return breadth_first_tree(self.graph, self.source, search)

    def profile(self, variant: Variant) -> list[dict[str, str]]:
        """Search once more with an unprepared variant. Returns the cost of each level. The result is empty
        for programs on the CPU. Raises WrongLevelsError if the levels are wrong."""
        from bfsbench.programs.families.bfs.profile import count_levels, profiled

        if not isinstance(variant, KernelVariant):
            return []
        counters = count_levels(variant.another(), self.source, self.levels)
        return profiled(variant, counters, self.source, self.levels)


class _Check:
    """Checks the results of a variant's searches from one source."""

    def __init__(self, variant: SearchVariant, source: int, reference: Levels) -> None:
        self._variant = variant
        self._source = source
        self._reference = reference

    def __call__(self) -> None:
        """Check the levels of the last search, and its tree if it computes one. Raises WrongLevelsError or
        WrongParentsError if they are wrong.

        Levels that a kernel has computed are compared on the device. If the device finds a difference, the
        host compares all levels again, to find out which level is wrong.
        """
        if not self._is_right_on_device():
            check_levels(self._variant.levels(), self._reference)

    def _is_right_on_device(self) -> bool:
        variant = self._variant
        if not isinstance(variant, KernelVariant) or type(variant).levels is not KernelVariant.levels:
            return False
        variant.finish()
        expected = variant.graph.expected(self._reference, variant.level_places)
        levels = _check_tree(variant, self._source) if variant.leaves_tree else variant.level_array
        return expected.differences(levels) == 0


def _check_tree(search: KernelVariant, source: int) -> Buffer:
    """Check the tree that a search has left on the device. Returns the levels of the tree on the device,
    int32[V]. Raises WrongParentsError if the tree is wrong."""
    from bfsbench.programs.families.bfs.parents import TreeCheck

    search.finish()
    check = search.graph.once(TreeCheck.of)
    check.check(search.level_array, source)
    return check.levels


def shared_levels(variant: Variant) -> npt.NDArray[np.int32] | DeviceArray:
    """Wait for the search of a variant. Returns its levels, int32[V], as an array for other libraries. The
    array is in GPU memory if the search ran on a GPU. Otherwise it is a NumPy array.

    Levels that a kernel has computed are not copied, unless they must be converted, for example from a tree.
    Levels of a search on the CPU are a copy.
    """
    search = _search(variant)
    if not isinstance(search, KernelVariant):
        return search.levels()
    own_form = type(search).levels is not KernelVariant.levels or search.leaves_tree
    if own_form or search.level_places is not None:
        return search.device.upload(search.levels()).shared()
    search.finish()
    return search.level_array.shared()


def _search(variant: Variant) -> SearchVariant:
    if not isinstance(variant, SearchVariant):
        raise UsageError(f"variant {variant.name} is no breadth-first search")
    return variant
