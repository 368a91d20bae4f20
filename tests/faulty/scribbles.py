"""Searches that write into the graph."""

from __future__ import annotations

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class Scribbles(LevelKernelVariant):
    name = "scribbles"
    kernel_files = ("scribbles",)
    summary = "swaps two arcs of a vertex, which changes no level"
    origin = ("folklore",)
    layout = ("CSR",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    traffic = LEVEL_SCAN

    def arguments(self) -> tuple[Argument, ...]:
        graph = self.graph
        return (graph.row_offsets, graph.column_indices, self.num_vertices, self.level_array)

    def work_items(self) -> int:
        return self.num_vertices


class Vandal(Scribbles):
    name = "vandal"
    summary = "leads all arcs to one vertex, once it has followed those of the source"
