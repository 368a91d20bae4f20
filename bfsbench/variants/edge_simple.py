"""Unoptimised edge-centric search without a frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LevelKernelVariant, Traffic


class EdgeSimple(LevelKernelVariant):
    """Springer's unoptimised edge-centric kernel.

    Corrected: the printed kernel adds one to the level of an unreached tail, which overflows where the
    paper's ``MAX_DIST`` is the largest integer; here edges with unreached tails are skipped. The edges
    are in CSR order.
    """

    name = "edge_simple"
    summary = "every edge relaxes its head until nothing changes"
    origin = ("Springer, section 4.1 and Fig. 16",)
    layout = ("COO",)
    frontier = "none"
    parallel_unit = "a thread per edge"
    work = "O(DE)"
    space = "V + 2E"
    traffic = Traffic(per_frontier_edge=8, per_vertex=4)
    edge_reads: ClassVar = {"edge_simple": "all"}

    def arguments(self) -> Mapping[str, Argument]:
        return {
            "edge_sources": self.graph.edge_sources,
            "edge_targets": self.graph.column_indices,
            "num_edges": self.num_edges,
            "levels": self.level_array,
        }

    def work_items(self) -> int:
        return int(self.num_edges)
