"""Push over a graph renumbered by out-degree."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from bfsbench.backends.base import Argument, Buffer
from bfsbench.graphs.degree_order import by_out_degree, inverse, renumbered
from bfsbench.graphs.graph import Ids
from bfsbench.variants.base import LEVEL_SCAN, DeviceGraph, LevelKernelVariant


@dataclass(frozen=True)
class RenumberedGraph:
    """CSR arrays on the device with vertices numbered by out-degree."""

    row_offsets: Buffer
    column_indices: Buffer
    new_ids: Ids
    """New numbers of the vertices by their old ones, int32[V]."""
    milliseconds: float
    """Time of sorting and renumbering, in ms."""


def renumber(graph: DeviceGraph) -> RenumberedGraph:
    """The graph renumbered by out-degree, the highest first."""
    started = time.perf_counter()
    given = graph.host_graph
    order = by_out_degree(given.row_offsets)
    offsets, columns = renumbered(given.row_offsets, given.column_indices, order)
    new_ids = inverse(order)
    milliseconds = (time.perf_counter() - started) * 1e3
    upload = graph.device.upload
    return RenumberedGraph(upload(offsets), upload(columns), new_ids, milliseconds)


class Reorder(LevelKernelVariant):
    """Springer's physical reordering of vertices by out-degree.

    The paper does not define the direction. Here the highest degree comes first, since blocks start roughly
    in order and the longest jobs should not start last. Levels are returned under the user's ids. The graph
    is renumbered once; ``preprocess_ms`` of every search is the time of that.
    """

    name = "reorder"
    level_kernel = "frontier_numbers"
    kernel_files = (level_kernel,)
    summary = "the graph is renumbered by out-degree, so that warps are given vertices of like degree"
    origin = ("Springer, section 3.4",)
    layout = ("CSR",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN

    def prepare(self) -> None:
        self.renumbered = self.graph.once(renumber)
        self.preprocess_ms = self.renumbered.milliseconds
        self.level_places = self.renumbered.new_ids
        super().prepare()

    def arguments(self) -> Mapping[str, Argument]:
        graph = self.renumbered
        csr = {"row_offsets": graph.row_offsets, "column_indices": graph.column_indices}
        return {**csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def work_items(self) -> int:
        return self.num_vertices

    def reset(self, source: int) -> None:
        super().reset(int(self.renumbered.new_ids[source]))
