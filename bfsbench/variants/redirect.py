"""Declares a push search that processes vertices in order of out-degree."""

import time
from collections.abc import Mapping

from bfsbench.backends.base import Argument, Buffer
from bfsbench.variants.base import LEVEL_SCAN, DeviceGraph, LevelKernelVariant
from bfsbench.variants.reorder import by_out_degree


def jobs_by_out_degree(graph: DeviceGraph) -> tuple[Buffer, float]:
    """Sort the vertices of a graph in descending order of out-degree. Returns the sorted vertices on the
    device, int32[V], and the time that the sorting took, in ms."""
    started = time.perf_counter()
    order = by_out_degree(graph.host_graph.row_offsets)
    milliseconds = (time.perf_counter() - started) * 1e3
    return graph.device.upload(order), milliseconds


class Redirect(LevelKernelVariant):
    """The search with a "job reordering array" from M. Springer's paper "Breadth-first Search in CUDA".

    The array lists all vertices in descending order of out-degree. It is sorted once, before the searches.
    Thread i processes the i-th vertex of the array. Unlike the search ``reorder``, this search does not
    renumber the vertices of the graph.
    """

    name = "redirect"
    summary = "an array of jobs gives warps vertices of like out-degree"
    origin = ("Springer, section 3.4",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "3V + E"
    traffic = LEVEL_SCAN

    def prepare(self) -> None:
        self.jobs, self.preprocess_ms = self.graph.once(jobs_by_out_degree)
        super().prepare()

    def arguments(self) -> Mapping[str, Argument]:
        return {"jobs": self.jobs, **super().arguments()}
