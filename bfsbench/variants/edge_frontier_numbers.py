"""Declares an edge-centric breadth-first search over the COO arrays."""

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LevelKernelVariant, Traffic


class EdgeFrontierNumbers(LevelKernelVariant):
    """The edge-centric kernel with an iteration counter from M. Springer's paper "Breadth-first Search in
    CUDA". The book PMPP (*Programming Massively Parallel Processors*) has an equivalent kernel.

    The edges are in CSR order. So the edges of neighbouring threads often have a common tail, whose level the
    threads read together. The heads of these edges are in ascending order.
    """

    name = "edge_frontier_numbers"
    aliases: ClassVar[tuple[str, ...]] = ("edge", "jia")
    summary = "every edge whose tail is at the current level gives its head the next"
    origin: ClassVar[tuple[str, ...]] = (
        "Springer, Fig. 17",
        "PMPP ch. 15, Fig. 15.10",
        "BFS-4K, 'Edge Parall.'",
        "CSE 6230, naive GPU",
    )
    layout = ("COO",)
    frontier = "level array"
    parallel_unit = "a thread per edge"
    work = "O(DE)"
    space = "V + 2E"
    traffic = Traffic(per_frontier_edge=8, per_vertex=4)
    edge_reads: ClassVar = {"edge_frontier_numbers": "all"}

    def arguments(self) -> Mapping[str, Argument]:
        return {
            "edge_sources": self.graph.edge_sources,
            "edge_targets": self.graph.column_indices,
            "num_edges": self.num_edges,
            "levels": self.level_array,
        }

    def work_items(self) -> int:
        return int(self.num_edges)
