"""Declares the CPU program that finds all-pairs shortest paths by Floyd and Warshall's algorithm. It is a
baseline for GPU variants."""

import ctypes

import numpy as np

from bfsbench.programs.families.apsp.matrix import INFINITY, weight_matrix
from bfsbench.support.toolchain import library
from bfsbench.variants.base import HostAllPairs


class CpuFloydWarshall(HostAllPairs):
    """Floyd and Warshall's algorithm in tiles of 64 x 64 on all cores. It uses AVX2 if the processor has it.

    The course paper of CSE 6230 uses three plain loops as its baseline. This program instead processes tiles,
    in the order of the GPU variant ``apsp_fw_blocked``.
    """

    name = "cpu_floyd_warshall"
    summary = "blocked Floyd-Warshall on all cores"
    origin = ("CSE 6230, FLOYD-WARSHALL", "Venkataraman et al. 2003, tiles")
    parallel_unit = "rows of tiles per thread"
    work = "O(V^3)"

    def prepare(self) -> None:
        self.weights = weight_matrix(self.graph)
        self.matrix = np.empty_like(self.weights)
        self.hops = np.empty_like(self.weights) if self.tracks else None
        native = library("cpu_floyd_warshall")
        self.run, self.run_tracking = native.floyd_warshall, native.floyd_warshall_paths
        self.run.argtypes = [ctypes.c_int64, ctypes.c_void_p]
        self.run_tracking.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        self.run.restype = self.run_tracking.restype = None

    def reset(self) -> None:
        np.copyto(self.matrix, self.weights)
        if self.hops is not None:
            columns = np.arange(len(self.matrix), dtype=np.int32)
            np.copyto(self.hops, np.where(self.weights < INFINITY, columns, np.int32(-1)))

    def solve(self) -> None:
        if self.hops is None:
            self.run(len(self.matrix), self.matrix.ctypes.data)
        else:
            self.run_tracking(len(self.matrix), self.matrix.ctypes.data, self.hops.ctypes.data)
