"""Vertex-centric push with the level array as frontier."""

from __future__ import annotations

from collections.abc import Mapping

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class FrontierNumbers(LevelKernelVariant):
    """Springer's frontier with an iteration counter, which is PMPP's vertex-centric push kernel."""

    name = "frontier_numbers"
    aliases = ("push",)
    summary = "a vertex is in the frontier if its level equals the iteration"
    origin = ("Springer, Fig. 11", "PMPP ch. 15, Fig. 15.6")
    layout = ("CSR",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN

    def arguments(self) -> Mapping[str, Argument]:
        return {**self.graph.csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def work_items(self) -> int:
        return self.num_vertices
