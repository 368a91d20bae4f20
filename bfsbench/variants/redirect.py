"""Push that takes vertices in order of out-degree."""

from __future__ import annotations

import time

from bfsbench.backends.base import Argument
from bfsbench.graphs.degree_order import by_out_degree
from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class Redirect(LevelKernelVariant):
    """Springer's job reordering array. Highest out-degree first, as in ``reorder``."""

    name = "redirect"
    summary = "an array of jobs gives warps vertices of like out-degree"
    origin = ("Springer, section 3.4",)
    layout = ("CSR",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "3V + E"
    traffic = LEVEL_SCAN

    def prepare(self) -> None:
        started = time.perf_counter()
        order = by_out_degree(self.host_graph.row_offsets)
        self.preprocess_ms = (time.perf_counter() - started) * 1e3
        self.jobs = self.device.upload(order)
        super().prepare()

    def arguments(self) -> tuple[Argument, ...]:
        graph = (self.graph.row_offsets, self.graph.column_indices, self.num_vertices)
        return (self.jobs, *graph, self.level_array)

    def work_items(self) -> int:
        return self.num_vertices
