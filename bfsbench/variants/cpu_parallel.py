"""Declares a well-optimised breadth-first search on all cores of the CPU. It is the baseline that a GPU has
to beat."""

import ctypes
import weakref

import numpy as np
import numpy.typing as npt

from bfsbench.support.errors import LaunchError
from bfsbench.support.toolchain import library
from bfsbench.variants.base import HostVariant, Knob


class _Arguments(ctypes.Structure):
    """The struct ``ParallelArguments`` of native/cpu_parallel.cpp."""

    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        ("row_offsets", ctypes.c_void_p),
        ("column_indices", ctypes.c_void_p),
        ("column_offsets", ctypes.c_void_p),
        ("row_indices", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
        ("sequential_limit", ctypes.c_int32),
        ("alpha", ctypes.c_double),
        ("steps", ctypes.c_void_p),
    )


class CpuParallel(HostVariant):
    """Beamer, Asanovic and Patterson's direction-optimising search on all cores.

    A push claims vertices in an array of bytes, without locked instructions (Leiserson and Schardl 2010). If
    many of the neighbours are unseen, it claims them without a branch (Green, Dukhan and Vuduc 2015). It
    prefetches rows eight vertices ahead (Chhugani et al. 2012).

    Before each level, the search estimates the times of a push and of a pull, and chooses the shorter time.
    The knob ALPHA is a factor of the estimated time of a push. One thread alone pushes a level of at most
    SEQUENTIAL_LIMIT arcs, because dividing the level among threads would take longer. While the queue
    has few vertices, this thread runs the loop of ``cpu_queue``.

    There is at most one thread for each 8 * SEQUENTIAL_LIMIT arcs of the graph, because waking a thread takes
    longer than searching fewer arcs. A graph with fewer arcs is searched by the loop of ``cpu_queue`` alone.
    This loop ends as soon as it has reached all vertices that have in-neighbours.
    """

    name = "cpu_parallel"
    summary = "direction-optimising search on all cores"
    origin = (
        "Beamer et al. 2012",
        "Leiserson and Schardl 2010, claims without locks",
        "Green et al. 2015, claims without branches",
        "Chhugani et al. 2012, fetching ahead",
        "Luo, section 1: a speed-up is one over the best CPU program",
    )
    layout = ("CSR", "CSC")
    frontier = "a queue for each thread when pushing, bitmap when pulling"
    parallel_unit = "frontier vertices or words of a bitmap per thread"
    work = "O(V + E), usually less than E"
    space = "4V + 2E, V for each thread, V bytes and a bitmap of V bits"
    synchronisation = "threads joined in every level that several expand"
    knobs = (
        Knob(
            "THREADS",
            0,
            "threads, but at most one for each core the process may use; 0: one for each",
            minimum=0,
            maximum=1024,
        ),
        Knob(
            "ALPHA",
            1.0,
            "pull when the estimated time of a push, times this, exceeds that of a pull",
            minimum=0,
            maximum=1e12,
        ),
        Knob(
            "SEQUENTIAL_LIMIT",
            2048,
            "arcs of a level up to which one thread pushes it alone; a thread needs 8 times as many",
            minimum=0,
            maximum=2**31 - 1,
        ),
    )

    steps: npt.NDArray[np.int8] | None = None
    """An int8[V] array in which a search records how it expanded each level. The values are 0 (one thread
    pushed), 1 (all threads pushed) and 2 (all threads pulled). Set it before ``prepare``. Benchmarks leave it
    None."""

    def prepare(self) -> None:
        """Allocate the memory of the search and start its threads. Raises LaunchError when the system refuses
        the threads or the memory."""
        graph = self.graph
        self.level_array = np.empty(graph.num_vertices, np.int32)
        rows = ("row_offsets", "column_indices", "column_offsets", "row_indices")
        arguments = _Arguments(
            num_vertices=graph.num_vertices,
            steps=None if self.steps is None else self.steps.ctypes.data,
            **{name: getattr(graph, name).ctypes.data for name in rows},
            **{name.lower(): value for name, value in self.knob.items()},
        )
        native = library("cpu_parallel")
        native.parallel_create.restype = ctypes.c_void_p
        search = native.parallel_create(ctypes.byref(arguments), graph.row_offsets.dtype.itemsize)
        if search is None:
            raise LaunchError(f"the system refused {self.name} its memory or its threads: lower THREADS")
        self.search = ctypes.c_void_p(search)
        self.run = native.parallel_run
        self.place = ctypes.c_void_p(self.level_array.ctypes.data)
        weakref.finalize(self, native.parallel_destroy, self.search)

    def reset(self, source: int) -> None:
        """Do nothing, because the search itself initialises its levels, on all its threads."""

    def traverse(self, source: int) -> None:
        self.run(self.search, source, self.place)
