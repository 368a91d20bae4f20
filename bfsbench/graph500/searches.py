"""Kernel 2: searches that leave parents, timed, and the check of each tree."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.families.bfs.parents import DeviceParents, check_parents, parents_on_host
from bfsbench.families.bfs.searches import UNREACHED, HostVariant, KernelVariant
from bfsbench.families.bfs.tree_check import Tree, TreeCheck
from bfsbench.graph500.construction import Constructed
from bfsbench.graphs.graph import EdgeList
from bfsbench.programs import POISON, Variant


class TreeSearch(Protocol):
    """A prepared search whose answer is a tree."""

    def search(self, source: int) -> float:
        """Search, find parents, and wait; the time of both in ms."""

    def check(self, source: int) -> Tree:
        """The last tree, checked by the five rules. Raises WrongResultError, DeviceError."""


class DeviceTrees:
    """A search by kernels. Where it leaves levels, a kernel adds the parents within the time."""

    def __init__(self, search: KernelVariant, check: TreeCheck) -> None:
        if search.level_places is not None:
            raise UsageError(f"variant {search.name} renumbers vertices, and finds no parents")
        self._search = search
        self._check = check
        self._derived = None if search.leaves_tree else DeviceParents(search.graph, search.level_array)
        self._parents = self._derived.parents if self._derived else search.level_array
        self._clock = search.clock()

    def search(self, source: int) -> float:
        self._search.poison()
        self._parents.fill(POISON)
        self._clock.wait()
        self._clock.start()
        self._search.reset(source)
        self._search.traverse(source)
        if self._derived:
            self._derived.derive()
        return self._clock.stop()

    def check(self, source: int) -> Tree:
        self._search.finish()
        return self._check.check(self._parents, source)


class HostTrees:
    """A native search, or one of another program. Where it leaves levels, finding parents is timed, too."""

    def __init__(self, search: HostVariant, edges: EdgeList) -> None:
        self._search = search
        self._edges = edges

    def search(self, source: int) -> float:
        search, graph = self._search, self._search.graph
        search.poison()
        clock = search.clock()
        clock.start()
        search.reset(source)
        search.traverse(source)
        milliseconds = clock.stop()
        self._levels = search.levels()
        if search.leaves_tree:
            self._parents = search.parents()
            return milliseconds
        *_, tree = parents_on_host(graph, np.ascontiguousarray(self._levels, np.int32))
        self._parents = tree.links
        return milliseconds + tree.milliseconds

    def check(self, source: int) -> Tree:
        check_parents(self._search.graph, source, self._levels, self._parents)
        reached = self._levels != UNREACHED
        edges = int(np.count_nonzero(reached[self._edges.sources]))  # then the other end is reached, too
        return Tree(edges, int(np.count_nonzero(reached)), int(self._levels.max()))


def tree_search(variant: Variant, built: Constructed) -> TreeSearch:
    """The search of a prepared variant. Raises UsageError for one that finds no parents."""
    if isinstance(variant, KernelVariant) and not isinstance(built.edges, EdgeList):
        check = TreeCheck(
            variant.device, built.graph.num_vertices, *built.edges, built.listed, both_ways=True
        )
        return DeviceTrees(variant, check)
    if isinstance(variant, HostVariant) and isinstance(built.edges, EdgeList):
        return HostTrees(variant, built.edges)
    raise UsageError(f"variant {variant.name} is no breadth-first search")
