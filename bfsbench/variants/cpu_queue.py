"""The sequential search: the reference for correctness and the papers' CPU baseline."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from bfsbench.native import library
from bfsbench.variants.base import UNREACHED, HostVariant


class CpuQueue(HostVariant):
    """Springer's Algorithm 1, "CPU-BFS" of Luo, the CPU of CSE 6230, the sequential baseline of BFS-4K."""

    name = "cpu_queue"
    aliases = ("sequential",)
    summary = "sequential search with a FIFO queue"
    origin = ("Springer, Alg. 1", "Luo, 'CPU-BFS'", "BFS-4K, sequential", "CSE 6230, CPU")
    layout = ("CSR",)
    frontier = "queue"
    parallel_unit = "none"
    work = "O(V + E)"
    space = "3V + E"
    synchronisation = "none: one thread"

    def prepare(self) -> None:
        offsets, columns = self.graph.row_offsets, self.graph.column_indices
        self.level_array = np.empty(self.graph.num_vertices, np.int32)
        self.queue = np.empty(self.graph.num_vertices, np.int32)
        native = library("cpu_queue")
        self.run = native.cpu_queue_64 if offsets.dtype.itemsize == 8 else native.cpu_queue_32
        self.run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self.run.restype = None
        self.arrays = (offsets.ctypes.data, columns.ctypes.data)
        self.scratch = (self.level_array.ctypes.data, self.queue.ctypes.data)

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)

    def traverse(self, source: int) -> None:
        self.run(*self.arrays, source, *self.scratch)

    def levels(self) -> npt.NDArray[np.int32]:
        return self.level_array.copy()
