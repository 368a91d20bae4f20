"""Derives the parents of a breadth-first tree from levels. Also checks trees, and follows parents along a
path.

Most variants compute levels. After the timed searches, ``cuda_src/parents.cu`` derives the tree on a device,
and ``native/parents.cpp`` derives it on the CPU. Other variants compute a tree, and this module counts the
levels in it. Graph500's five rules are checked where the tree is: on the device (``cuda_src/tree_check.cu``),
or on the host. In this module, ``parents`` is always int32[V]. The source is its own parent, and an unreached
vertex has NO_PARENT.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import c_int, c_ulonglong
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Buffer, Contract, Device, Struct
from bfsbench.graphs.graph import Graph, Ids, Offsets
from bfsbench.programs import POISON, Clock, DeviceClock, DeviceGraph, HostClock, KernelProgram
from bfsbench.programs.check import blocks_for
from bfsbench.programs.families.base import Paths
from bfsbench.programs.families.bfs.search import Levels
from bfsbench.programs.families.bfs.searches import UNREACHED, SearchVariant
from bfsbench.support.errors import NoPathError, UsageError, WrongResultError, public, whole
from bfsbench.support.paths import CUDA_SRC
from bfsbench.support.toolchain import library

RULES = 5
_NOWHERE = 2**31 - 1
_BROKEN = {
    1: "following parents from vertex {} does not end at the source {}",
    3: "an edge from vertex {} leads down more than one level",
    4: "an edge from vertex {} leads out of the tree",
    5: "no edge leads to vertex {} from its parent",
}
"""Error messages, by the number of Graph500's rule that a vertex breaks. Rule 2 has no message: it always
holds on the device, because levels are counted from the parents."""


@dataclass(frozen=True)
class Tree:
    """The numbers of edges and vertices of a correct tree, and its depth."""

    edges: int
    """Number of listed edges whose two ends are both in the tree. An edge that is listed twice counts
    twice."""
    vertices: int
    depth: int


class TreeFindings(Struct):
    """The struct of ``tree_check.cu`` with the results of the kernels that check a tree."""

    _fields_: ClassVar = [
        ("edges", c_ulonglong),
        ("vertices", c_int),
        ("depth", c_int),
        ("moved", c_int),
        ("first", c_int * RULES),
    ]


class TreeCheck:
    """Checks breadth-first trees of one graph on a device. It keeps the memory for the check: about four
    words per vertex.

    ``tails`` and ``heads`` are int32 arrays of at least ``num_edges`` elements. If ``both_ways``, they are
    undirected edges, each listed once. Otherwise they are arcs, and rules 3 and 4 are checked only in the
    direction of arcs, as in :func:`check_parents`. The constructor raises DeviceOutOfMemoryError if the
    device has too little memory for the check.
    """

    def __init__(
        self, device: Device, num_vertices: int, tails: Buffer, heads: Buffer, num_edges: int, both_ways: bool
    ) -> None:
        contract = Contract(
            Path(__file__).name, {"tree_findings": TreeFindings}, {"RULES": RULES, "UNREACHED": UNREACHED}
        )
        macros = {"WIDE_OFFSETS": 0, "NO_PARENT": NO_PARENT}
        self._module = device.module(CUDA_SRC / "tree_check.cu", macros, contract=contract)
        self._above, self._above_then, self.levels, self._levels_then = (
            device.empty(num_vertices, np.int32) for _ in range(4)
        )
        """After a tree is accepted, ``levels``, int32[V], has the levels of its vertices."""
        self._joined = device.empty(-(-num_vertices // 32), np.uint32)
        self._found = device.signal(TreeFindings)
        self._edges = {"tails": tails, "heads": heads, "num_edges": num_edges, "both_ways": int(both_ways)}
        self._num_vertices = num_vertices
        self._blocks = blocks_for(device, max(num_vertices, num_edges))

    @staticmethod
    def of(graph: DeviceGraph) -> TreeCheck:
        """Returns a TreeCheck for the arcs of a graph."""
        host = graph.host_graph
        arcs = graph.edge_sources, graph.column_indices
        return TreeCheck(graph.device, host.num_vertices, *arcs, host.num_edges, both_ways=False)

    def check(self, parents: Buffer, source: int) -> Tree:
        """Check a tree, given as an array of parents in device memory, int32[V]. Waits until the check has
        finished. Returns the number of edges and of vertices in the tree, and its depth. Raises
        WrongParentsError for the first broken rule, and DeviceError if the device fails."""
        self._found.fill(0)
        for rule in range(RULES):
            self._found.fill_member(_NOWHERE, "first", rule)
        self._joined.fill(0)
        self._climb(parents, source)
        self._raise_if_broken(source)  # levels are meaningless unless the parents form a tree
        tree: dict[str, Any] = {"parents": parents, "joined": self._joined, "found": self._found}
        self._launch("check_edges", **self._edges, **tree, levels=self.levels)
        vertices = {"num_vertices": self._num_vertices, "levels": self.levels, "source": source}
        self._launch("check_joined", **tree, **vertices)
        self._raise_if_broken(source)
        found = self._found.read_struct()
        return Tree(found.edges, found.vertices, found.depth)

    def _climb(self, parents: Buffer, source: int) -> None:
        """Compute the level of each vertex by following its parents to the source."""
        vertices: dict[str, Any] = {"num_vertices": self._num_vertices, "found": self._found}
        climbed = {"above": self._above, "steps": self.levels}
        self._launch("begin_climb", parents=parents, source=source, **climbed, **vertices)
        for _ in range(self._num_vertices.bit_length() + 1):
            self._found.fill_member(0, "moved")
            then = {"above_then": self._above_then, "steps_then": self._levels_then}
            self._launch("climb", **climbed, **then, **vertices)
            self._above, self._above_then = self._above_then, self._above
            self.levels, self._levels_then = self._levels_then, self.levels
            climbed = {"above": self._above, "steps": self.levels}
            if not self._found.read_struct().moved:
                break
        self._launch("end_climb", parents=parents, source=source, **climbed, **vertices)

    def _launch(self, kernel: str, **arguments: Any) -> None:
        self._module.kernel(kernel).bind(block=BLOCK, **arguments)(self._blocks)

    def _raise_if_broken(self, source: int) -> None:
        found = self._found.read_struct()
        for rule, vertex in enumerate(found.first, 1):
            if vertex != _NOWHERE:
                what = _BROKEN[rule].format(vertex, source)
                raise WrongParentsError(f"the parents break rule {rule}: {what}")


NO_PARENT = -1
BLOCK = 256
RUNS = 2

Parents = npt.NDArray[np.int32]


class WrongParentsError(WrongResultError):
    """Raised when parents break one of Graph500's rules, or when a parent is not a vertex. The message names
    a vertex or an arc."""


def breadth_first_tree(graph: Graph, source: int, search: SearchVariant) -> Paths:
    """Derive a breadth-first tree from the levels of the last search. Returns the parents, int32[V], and the
    time in ms.

    The derivation runs where the search ran: on the device or on the host. It runs twice, and the returned
    time is the time of the second run. The parents of both runs are checked. Raises WrongParentsError if they
    are wrong, and DeviceError if the device fails.
    """
    levels = np.ascontiguousarray(search.levels(), np.int32)
    if isinstance(search, KernelProgram):
        derived = parents_on_device(search.graph, levels)
    else:
        derived = parents_on_host(graph, levels)
    checked: Parents | None = None
    for tree in derived:
        if checked is None or not np.array_equal(checked, tree.links):
            check_parents(graph, source, levels, tree.links)
        checked = tree.links
    return tree


def levels_of_tree(parents: Parents) -> Levels:
    """Returns the level of each vertex of a tree, int32[V]: the number of steps to the root. Pointer jumping
    counts the steps.

    ``parents`` is int32[V]. A vertex whose parent is not a vertex id counts as unreached. If the parents do
    not form a tree, the levels are meaningless.
    """
    num_vertices = len(parents)
    reached = (parents >= 0) & (parents < num_vertices)
    links = np.where(reached, parents, np.arange(num_vertices, dtype=np.int32))
    levels = (links != np.arange(num_vertices)).astype(np.int64)
    for above in _ancestors(links):
        levels = levels + levels[above]
    found: Levels = np.where(reached, np.minimum(levels, num_vertices), UNREACHED).astype(np.int32)
    return found


class DeviceParents:
    """The kernel that derives the parents of all vertices from levels, with bound arguments. The parents,
    int32[V], the levels and the CSC arrays are on a device."""

    def __init__(self, graph: DeviceGraph, levels: Buffer) -> None:
        device, num_vertices = graph.device, levels.size
        wide = graph.column_offsets.dtype.itemsize == 8
        macros = {"WIDE_OFFSETS": int(wide), "NO_PARENT": NO_PARENT}
        contract = Contract(Path(__file__).name, {"offset_t": graph.column_offsets.dtype})
        kernel = device.module(CUDA_SRC / "parents.cu", macros, contract=contract).kernel("parents")
        self.parents = device.empty(num_vertices, np.int32)
        arrays = {**graph.csc, "levels": levels, "parents": self.parents}
        self._launch = kernel.bind(**arrays, num_vertices=num_vertices, block=BLOCK)
        self._blocks = min(-(-num_vertices // BLOCK), device.limits.max_grid, (2**31 - 1) // BLOCK)

    def derive(self) -> None:
        """Launch the kernel that derives the parents, without waiting for it."""
        self._launch(self._blocks)


def parents_on_device(graph: DeviceGraph, levels: Levels) -> Iterator[Paths]:
    """Derive parents from levels, int32[V], with a kernel. Runs the kernel RUNS times. Yields the parents and
    the time in ms of each run. Raises DeviceError if the device fails."""
    derived = DeviceParents(graph, graph.device.upload(levels))
    clock: Clock = DeviceClock(graph.device)
    for _ in range(RUNS):
        derived.parents.fill(POISON)
        clock.start()
        derived.derive()
        milliseconds = clock.stop()
        yield Paths(derived.parents.download(), milliseconds)


def parents_on_host(graph: Graph, levels: Levels) -> Iterator[Paths]:
    """Derive parents from ``levels``, a contiguous int32[V], with native code on all cores. Runs the code
    RUNS times. Yields the parents and the time in ms of each run."""
    found = np.empty(graph.num_vertices, np.int32)
    derive = _native("parents", None, graph.column_offsets, graph.row_indices, levels, found)
    clock = HostClock()
    for _ in range(RUNS):
        found.fill(POISON)
        clock.start()
        derive()
        milliseconds = clock.stop()
        yield Paths(found.copy(), milliseconds)


def check_parents(graph: Graph, source: int, levels: Levels, parents: Parents) -> None:
    """Check a breadth-first search from ``source`` by Graph500's five rules. Raises WrongParentsError for the
    first broken rule.

    ``levels`` is int32[V], -1 for an unreached vertex. ``parents`` is int32[V]. The rules come from the
    section "Validation" of the Graph500 specification, in its order:

    1. The parents form a tree: the source is its own parent, and following parents always ends at the source.
    2. A vertex of the tree is one level below its parent, and the source is at level 0.
    3. An edge between vertices of the tree spans at most one level.
    4. No edge leaves the tree, and the vertices with a level are exactly the vertices in the tree.
    5. An edge of the graph leads from each parent to its child.

    Graph500's graphs are undirected. On a directed graph, an arc u -> v only says that v is at most one level
    below u. Rule 3 therefore limits levels only in the direction of arcs. An arc back up may span any number
    of levels. Rule 4 forbids arcs out of the tree, but not arcs into it. If the graph stores both arcs of
    each edge, these rules are equivalent to Graph500's rules.

    Together, the rules hold only for a shortest-path tree with true levels. By rules 1, 2 and 5, no level is
    too small. By rules 3 and 4, no level is too large or missing. So the rules check the levels without a
    reference search.
    """
    _check_tree(source, parents)
    in_tree = parents != NO_PARENT
    _check_levels(source, levels, parents, in_tree)
    joined = np.zeros(graph.num_vertices, np.uint8)
    joined[source] = True
    if (e := _first_wrong_arc(graph, levels, parents, joined)) >= 0:
        u, v = int(graph.row_offsets.searchsorted(e, "right")) - 1, graph.column_indices[e]
        if in_tree[v]:
            raise _broken(3, f"arc {u} -> {v} leads from level {levels[u]} to level {levels[v]}")
        raise _broken(4, f"arc {u} -> {v} leads out of the tree")
    if (v := _first((levels != UNREACHED) & ~in_tree)) is not None:
        raise _broken(4, f"vertex {v} has level {levels[v]} and no parent")
    if (v := _first(in_tree & (joined == 0))) is not None:
        raise _broken(5, f"no arc leads to vertex {v} from its parent {parents[v]}")


def levels_of_checked_tree(graph: Graph, source: int, tree: Parents) -> Levels:
    """Returns the levels of a breadth-first tree, int32[V]. Raises WrongParentsError if the tree breaks a
    rule."""
    if (v := _first(tree >= graph.num_vertices)) is not None:
        raise WrongParentsError(f"vertex {v} has parent {tree[v]}, which is no vertex")
    found = levels_of_tree(tree)
    check_parents(graph, source, found, tree)
    return found


@public
def path(parents: Parents | None, target: int) -> Ids:
    """Returns the vertices of a shortest path from the source of a search to ``target``, including both ends,
    int32.

    ``parents`` is int32[V], as :func:`bfsbench.search` returns it with ``parents=True``. The method
    ``Graph.vertex`` returns the number of a vertex that has a name. Raises NoPathError if the target was not
    reached. Raises UsageError if ``parents`` is None, if the target is not a vertex, or if the parents do not
    lead to the source.
    """
    if parents is None:
        raise UsageError("there are no parents to follow: search with parents=True")
    target = whole("target", target)
    if not 0 <= target < len(parents):
        raise UsageError(f"target {target} is out of range: there are vertices 0 .. {len(parents) - 1}")
    if parents[target] == NO_PARENT:
        raise NoPathError(f"vertex {target} was not reached, so there is no path to it")
    found = [target]
    while (parent := int(parents[found[-1]])) != found[-1]:
        if not 0 <= parent < len(parents) or len(found) == len(parents):
            raise UsageError(f"these parents lead from vertex {target} to no source")
        found.append(parent)
    return np.array(found[::-1], np.int32)


def _check_tree(source: int, parents: Parents) -> None:
    """Check rule 1 of Graph500: the parents form a tree. Raises WrongParentsError if they do not. The check
    uses pointer jumping: after k rounds it has followed 2^k parents of each vertex."""
    num_vertices = len(parents)
    if (v := _first((parents < NO_PARENT) | (parents >= num_vertices))) is not None:
        raise _broken(1, f"vertex {v} has parent {parents[v]}, which is no vertex")
    if parents[source] != source:
        raise _broken(1, f"the source {source} has parent {parents[source]} instead of itself")
    links = np.where(parents == NO_PARENT, np.arange(num_vertices, dtype=np.int32), parents)
    *_, ancestors = _ancestors(links)
    if (v := _first((parents != NO_PARENT) & (ancestors != source))) is not None:
        raise _broken(1, f"following parents from vertex {v} does not end at the source {source}")


def _check_levels(source: int, levels: Levels, parents: Parents, in_tree: npt.NDArray[np.bool_]) -> None:
    """Check rule 2 of Graph500: each vertex is one level below its parent. Raises WrongParentsError if this
    is not true for some vertex."""
    if levels[source] != 0:
        raise _broken(2, f"the source {source} has level {levels[source]}")
    child = in_tree.copy()
    child[source] = False
    if (v := _first(child & (levels != levels[parents] + 1))) is not None:
        u = parents[v]
        raise _broken(2, f"vertex {v} has level {levels[v]} and its parent {u} has level {levels[u]}")


def _first_wrong_arc(graph: Graph, levels: Levels, parents: Parents, joined: npt.NDArray[np.uint8]) -> int:
    """Returns the index of the first wrong arc, or -1 if there is none. An arc from a vertex in the tree is
    wrong if its head is not in the tree, or if its head is more than one level below its tail. Also sets
    joined[v] to 1 if an arc leads to v from its parent. A native program does all this on all cores."""
    levels, parents = np.ascontiguousarray(levels, np.int32), np.ascontiguousarray(parents, np.int32)
    arrays = (graph.row_offsets, graph.column_indices, levels, parents, joined)
    return int(_native("first_wrong_arc", ctypes.c_int64, *arrays)())


def _native(name: str, result: type | None, offsets: Offsets, *arrays: npt.NDArray[Any]) -> Callable[[], Any]:
    """Returns a function of native/parents.cpp with its arguments bound: the number of vertices, ``offsets``
    and ``arrays``. ``result`` is the type of its result. The caller must keep the arrays alive."""
    function = getattr(library("parents"), f"{name}_{8 * offsets.dtype.itemsize}")
    function.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * (1 + len(arrays))]
    function.restype = result
    return partial(function, len(offsets) - 1, *(array.ctypes.data for array in (offsets, *arrays)))


def _ancestors(links: Parents) -> Iterator[Parents]:
    """Finds the roots of all vertices by pointer jumping. Yields arrays with one ancestor of each vertex: its
    parent, then the ancestor 2 steps up, then the ancestor 4 steps up, and so on.

    Ends when all ancestors are roots. If the parents form no tree, there may be no roots, so the number of
    arrays has a limit. ``links`` is int32[V]. A root and an unreached vertex are their own ancestors.
    """
    for _ in range(len(links).bit_length() + 1):
        yield links
        further = links[links]
        if np.array_equal(further, links):
            return
        links = further


def _first(mask: npt.NDArray[np.bool_]) -> int | None:
    """Returns the first index at which a mask is true, or None if it is true nowhere."""
    index = int(mask.argmax()) if len(mask) else 0
    return index if len(mask) and mask[index] else None


def _broken(rule: int, what: str) -> WrongParentsError:
    return WrongParentsError(f"the parents break rule {rule}: {what}")
