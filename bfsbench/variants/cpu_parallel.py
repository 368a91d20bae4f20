"""A well-optimised multi-core search: the baseline that a GPU has to beat."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
import numpy.typing as npt

from bfsbench.errors import LaunchError
from bfsbench.native import library
from bfsbench.variants.base import HostVariant, Knob


class _Arguments(ctypes.Structure):
    """``ParallelArguments`` of native/cpu_parallel.cpp."""

    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        ("row_offsets", ctypes.c_void_p),
        ("column_indices", ctypes.c_void_p),
        ("column_offsets", ctypes.c_void_p),
        ("row_indices", ctypes.c_void_p),
        ("levels", ctypes.c_void_p),
        ("queue", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
        ("sequential_limit", ctypes.c_int32),
        ("few_limit", ctypes.c_int32),
        ("alpha", ctypes.c_double),
        ("beta", ctypes.c_double),
        ("steps", ctypes.c_void_p),
    )


class CpuParallel(HostVariant):
    """Beamer, Asanovic and Patterson's direction-optimising search on all cores.

    Added: a level of at most SEQUENTIAL_LIMIT arcs is always pushed, by one thread, since dividing it would
    take longer; one of at most FEW_LIMIT arcs, if pushed, is pushed by four. ALPHA has the same meaning as in
    ``direction_optimized``. Unlike there, pulling ends only when the frontier also shrinks.
    """

    name = "cpu_parallel"
    summary = "direction-optimising search on all cores"
    origin = ("Beamer et al. 2012", "Luo, section 1: a speed-up is one over the best CPU program")
    layout = ("CSR", "CSC")
    frontier = "queue when pushing, bitmap when pulling"
    parallel_unit = "frontier vertices or words of a bitmap per thread"
    work = "O(V + E), usually less than E"
    space = "4V + 2E and bitmaps of V bits"
    synchronisation = "threads joined in every level"
    knobs = (
        Knob("THREADS", 0, "threads; 0: all cores the process may use", minimum=0, maximum=1024),
        Knob(
            "ALPHA",
            14.0,
            "pull when the frontier's arcs exceed those of unreached vertices over this",
            minimum=0,
            maximum=1e12,
        ),
        Knob(
            "BETA",
            24.0,
            "push again when the frontier shrinks and is smaller than the vertices over this",
            minimum=0,
            maximum=1e12,
        ),
        Knob(
            "SEQUENTIAL_LIMIT",
            1024,
            "arcs of a level up to which one thread pushes it alone",
            minimum=0,
            maximum=2**31 - 1,
        ),
        Knob(
            "FEW_LIMIT",
            65536,
            "arcs of a level up to which four threads push it",
            minimum=0,
            maximum=2**31 - 1,
        ),
    )

    steps: npt.NDArray[np.int8] | None = None
    """If set to an int8[V] array before ``prepare``, searches record how they expanded each level: 0 pushed
    by one thread, 1 pushed by all, 2 pulled by all. Benchmarks leave it None."""

    def prepare(self) -> None:
        """Raises LaunchError when the system refuses the threads or the memory."""
        graph = self.graph
        self.level_array = np.empty(graph.num_vertices, np.int32)
        self.queue = np.empty(graph.num_vertices, np.int32)
        arguments = _Arguments(
            graph.num_vertices,
            graph.row_offsets.ctypes.data,
            graph.column_indices.ctypes.data,
            graph.column_offsets.ctypes.data,
            graph.row_indices.ctypes.data,
            self.level_array.ctypes.data,
            self.queue.ctypes.data,
            int(self.knob["THREADS"]),
            int(self.knob["SEQUENTIAL_LIMIT"]),
            int(self.knob["FEW_LIMIT"]),
            float(self.knob["ALPHA"]),
            float(self.knob["BETA"]),
            None if self.steps is None else self.steps.ctypes.data,
        )
        native = library("cpu_parallel")
        native.parallel_create.restype = ctypes.c_void_p
        search = native.parallel_create(ctypes.byref(arguments), graph.row_offsets.dtype.itemsize)
        if search is None:
            raise LaunchError(f"the system refused {self.name} its memory or its threads: lower THREADS")
        self.search = ctypes.c_void_p(search)
        self.clear, self.run = native.parallel_clear, native.parallel_run
        weakref.finalize(self, native.parallel_destroy, self.search)

    def reset(self, source: int) -> None:
        self.clear(self.search)

    def traverse(self, source: int) -> None:
        self.run(self.search, source)
