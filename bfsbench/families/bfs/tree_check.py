"""Graph500's five rules, checked on the device that a tree was left on (``cuda_src/tree_check.cu``)."""

from __future__ import annotations

from ctypes import c_int, c_ulonglong
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bfsbench.backends.base import Buffer, Contract, Device, Struct
from bfsbench.families.bfs.parents import BLOCK, NO_PARENT, WrongParentsError
from bfsbench.families.bfs.searches import UNREACHED
from bfsbench.paths import CUDA_SRC
from bfsbench.programs import DeviceGraph
from bfsbench.programs.check import blocks_for

RULES = 5
_NOWHERE = 2**31 - 1
_BROKEN = {
    1: "following parents from vertex {} does not end at the source {}",
    3: "an edge from vertex {} leads down more than one level",
    4: "an edge from vertex {} leads out of the tree",
    5: "no edge leads to vertex {} from its parent",
}
"""What is wrong at a vertex, by rules; rule 2 holds by the way in which levels are counted."""


@dataclass(frozen=True)
class Tree:
    """What is in a tree that was accepted."""

    edges: int
    """Of the list by which it was checked, as often as they are there."""
    vertices: int
    depth: int


class TreeFindings(Struct):
    """What the kernels have found; see ``tree_check.cu``."""

    _fields_: ClassVar = [
        ("edges", c_ulonglong),
        ("vertices", c_int),
        ("depth", c_int),
        ("moved", c_int),
        ("first", c_int * RULES),
    ]


class TreeCheck:
    """Checks trees of one graph, and keeps the memory that it takes: four words a vertex.

    ``tails`` and ``heads`` are int32 of ``num_edges`` elements at least. With ``both_ways`` the edges are
    undirected ones that are listed once, as a benchmark's list has them; otherwise they are arcs, and rules 3
    and 4 hold along them only, as for :func:`bfsbench.families.bfs.parents.check_parents`. Raises
    DeviceOutOfMemoryError.
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
        """``levels``, int32[V], are those of the last tree that was accepted."""
        self._joined = device.empty(-(-num_vertices // 32), np.uint32)
        self._found = device.signal(TreeFindings)
        self._edges = {"tails": tails, "heads": heads, "num_edges": num_edges, "both_ways": int(both_ways)}
        self._num_vertices = num_vertices
        self._blocks = blocks_for(device, max(num_vertices, num_edges))

    @staticmethod
    def of(graph: DeviceGraph) -> TreeCheck:
        """A check by the arcs of a graph."""
        host = graph.host_graph
        arcs = graph.edge_sources, graph.column_indices
        return TreeCheck(graph.device, host.num_vertices, *arcs, host.num_edges, both_ways=False)

    def check(self, parents: Buffer, source: int) -> Tree:
        """Wait, and check a tree, int32[V].

        Raises WrongParentsError for the first rule that is broken, DeviceError.
        """
        self._found.fill(0)
        for rule in range(RULES):
            self._found.fill_member(_NOWHERE, "first", rule)
        self._joined.fill(0)
        self._climb(parents, source)
        self._raise_if_broken(source)  # levels of what is no tree mean nothing
        tree: dict[str, Any] = {"parents": parents, "joined": self._joined, "found": self._found}
        self._launch("check_edges", **self._edges, **tree, levels=self.levels)
        vertices = {"num_vertices": self._num_vertices, "levels": self.levels, "source": source}
        self._launch("check_joined", **tree, **vertices)
        self._raise_if_broken(source)
        found = self._found.read_struct()
        return Tree(found.edges, found.vertices, found.depth)

    def _climb(self, parents: Buffer, source: int) -> None:
        """Count levels from the parents."""
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
