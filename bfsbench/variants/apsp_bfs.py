"""Declares variants that find all-pairs shortest paths of unweighted graphs by one breadth-first search from
each vertex."""

from __future__ import annotations

import numpy as np

from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.apsp.matrix import INFINITY, Matrix
from bfsbench.support.errors import LaunchError
from bfsbench.variants.base import HostAllPairs, KernelAllPairs, Knob
from bfsbench.variants.cpu_many import ALPHA, BITS, GROUPED, THREADS, ManySearches
from bfsbench.variants.many import SHORT, STRUCTS, WIDTHS, Passes, graph_members


def require_unweighted(name: str, graph: Graph) -> None:
    """Raise LaunchError if any arc of the graph has a weight other than 1. The message names the variant
    ``name``."""
    if graph.weights is not None and bool((graph.weights != 1).any()):
        raise LaunchError(f"{name} takes graphs whose arcs all weigh 1, not {graph.full_name}")


def hops_of(graph: Graph, distances: Matrix) -> Matrix:
    """Returns the next hops of an unweighted graph, int32[V, V]. The element in row v and column t is a
    neighbour of v that is one arc closer to t than v is. It is -1 if there is no path, and v itself if v =
    t."""
    hops = np.full_like(distances, -1)
    np.fill_diagonal(hops, np.arange(len(hops)))
    for tail, head in zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True):
        nearer = (distances[head] + 1 == distances[tail]) & (hops[tail] < 0)
        hops[tail][nearer] = head
    return hops


class ApspBfs(KernelAllPairs):
    """Finds all-pairs shortest paths on a GPU. The kernel ``many`` searches from every vertex, with one bit
    per search."""

    name = "apsp_bfs"
    kernel_files = ("apsp_fw", "many")
    summary = "a breadth-first search from every vertex, up to 1,024 a launch; arcs weigh 1"
    origin = ("Then et al. 2014, MS-BFS",)
    parallel_unit = "a thread per 128 searches of a vertex"
    work = "O(V E)"
    whole_warps = True
    structs = STRUCTS
    knobs = (Knob("WIDTH", 256, "sources of a launch", choices=WIDTHS),)
    check_knobs = ({"WIDTH": 64},)

    def defines(self) -> dict[str, int | str]:
        macros = {"BITS": int(self.knob["WIDTH"]), "DISTANCES": 1, "PULL_SHARE": 8, "SHORT": SHORT}
        return {**super().defines(), **macros}

    def prepare(self) -> None:
        """Compile the kernel, and prepare launches that together search from all vertices. Raises LaunchError
        if the graph has weights other than 1."""
        require_unweighted(self.name, self.host_graph)
        super().prepare()
        every = np.arange(self.num_vertices, dtype=np.int32)
        bits, members = int(self.knob["WIDTH"]), graph_members(self)
        self.passes = Passes(self, bits, every, members, distances=self.matrix, pitch=self.pitch)

    def solve(self) -> None:
        self.passes.run()

    def distances(self) -> Matrix:
        self.passes.finish(self.name)
        return super().distances()

    def next_hops(self) -> Matrix:
        return hops_of(self.host_graph, self.distances())


class CpuApspBfs(HostAllPairs):
    """Finds all-pairs shortest paths on all cores of the CPU. It searches from every vertex, with one bit per
    search."""

    name = "cpu_apsp_bfs"
    summary = "a breadth-first search from every vertex, up to 512 a pass, on all cores; arcs weigh 1"
    origin = ("Then et al. 2014, MS-BFS",)
    parallel_unit = "a pass of up to 512 sources per thread"
    work = "O(V E)"
    knobs = (BITS, THREADS, GROUPED, ALPHA)

    def prepare(self) -> None:
        """Allocate the matrix and the memory of the searches. Raises LaunchError if the graph has weights
        other than 1, or if the system refuses the memory."""
        require_unweighted(self.name, self.graph)
        size = self.graph.num_vertices
        self.matrix = np.empty((size, size), np.int32)
        self.sources = np.arange(size, dtype=np.int32)
        self.searches = ManySearches(self.graph, self.knob, size)

    def reset(self) -> None:
        self.matrix.fill(INFINITY)

    def solve(self) -> None:
        self.searches.run(self.sources, self.matrix)

    def next_hops(self) -> Matrix:
        return hops_of(self.graph, self.matrix)
