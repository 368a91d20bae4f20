"""Push over a graph renumbered by out-degree."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument
from bfsbench.graphs.degree_order import by_out_degree, inverse, renumbered
from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class Reorder(LevelKernelVariant):
    """Springer's physical reordering of vertices by out-degree.

    The paper does not say which end comes first; here the highest degree does, since blocks start roughly in
    order and the longest jobs should not be the last to start. Levels are handed out under the user's ids.
    """

    name = "reorder"
    level_kernel = "frontier_numbers"
    summary = "the graph is renumbered by out-degree, so that warps are given vertices of like degree"
    origin = ("Springer, section 3.4",)
    layout = ("CSR",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN

    def prepare(self) -> None:
        started = time.perf_counter()
        offsets, columns = self.host_graph.row_offsets, self.host_graph.column_indices
        order = by_out_degree(offsets)
        self.new_ids = inverse(order)
        offsets, columns = renumbered(offsets, columns, order)
        self.preprocess_ms = (time.perf_counter() - started) * 1e3
        self.renumbered = (self.device.upload(offsets), self.device.upload(columns))
        super().prepare()

    def arguments(self) -> tuple[Argument, ...]:
        return (*self.renumbered, self.num_vertices, self.level_array)

    def work_items(self) -> int:
        return self.num_vertices

    def reset(self, source: int) -> None:
        super().reset(int(self.new_ids[source]))

    def levels(self) -> npt.NDArray[np.int32]:
        return super().levels()[self.new_ids]
