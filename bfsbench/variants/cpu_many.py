"""Declares breadth-first searches from many sources on all cores of the CPU. One pass searches from up to 512
sources at once."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping
from typing import Any

from bfsbench.graphs.graph import Graph, Ids
from bfsbench.programs.families.closeness.variants import HostCloseness, bits_for
from bfsbench.support.errors import LaunchError, size_text
from bfsbench.support.machine import available_memory, usable_cores
from bfsbench.support.toolchain import library
from bfsbench.variants.base import Knob, KnobValue

_WIDTHS = (64, 128, 256, 512)
BITS = Knob(
    "BITS",
    0,
    "sources of a pass; 0: the most that leave each core a pass and fit into half of the memory",
    choices=(0, *_WIDTHS),
)
THREADS = Knob(
    "THREADS",
    0,
    "threads, but at most one for each core the process may use; 0: one for each",
    minimum=0,
    maximum=1024,
)
GROUPED = Knob("GROUPED", 1, "1: a pass takes sources near each other; 0: as they are listed", choices=(0, 1))
ALPHA = Knob(
    "ALPHA",
    4.0,
    "pull when the arcs that leave the frontier, times this, exceed those into vertices not seen by all",
    minimum=0,
    maximum=1e12,
)


class _Arguments(ctypes.Structure):
    """The struct ``ManyArguments`` of native/cpu_many.cpp."""

    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        ("row_offsets", ctypes.c_void_p),
        ("column_indices", ctypes.c_void_p),
        ("column_offsets", ctypes.c_void_p),
        ("row_indices", ctypes.c_void_p),
        ("bits", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("grouped", ctypes.c_int32),
        ("alpha", ctypes.c_double),
    )


def threads_of(knobs: Mapping[str, KnobValue]) -> int:
    """Returns the number of threads that run passes: the value of the knob THREADS, but at most one thread
    per usable core. The value 0 gives one thread per usable core."""
    cores = usable_cores()
    return min(int(knobs["THREADS"]) or cores, cores)


def memory_of(num_vertices: int, threads: int, bits: int) -> int:
    """Returns the memory in bytes that the searches take besides the graph.

    For each vertex, every thread has three rows of bits, two queue entries and one byte. Grouping the sources
    takes another 16 bytes per vertex.
    """
    return num_vertices * (threads * (3 * bits // 8 + 9) + 16)


class ManySearches:
    """Runs the searches of ``native/cpu_many.cpp`` on one graph, with given knob values. Each call of ``run``
    may have other sources.

    The constructor raises LaunchError when the system refuses the memory.
    """

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue], sources: int) -> None:
        threads = threads_of(knobs)
        self.bits = int(knobs["BITS"]) or width(graph.num_vertices, threads, sources)
        self.bytes_source = memory_of(graph.num_vertices, threads, self.bits) / (threads * self.bits)
        self._graph = graph
        rows = ("row_offsets", "column_indices", "column_offsets", "row_indices")
        arguments = _Arguments(
            num_vertices=graph.num_vertices,
            bits=self.bits,
            threads=threads,
            grouped=int(knobs["GROUPED"]),
            alpha=float(knobs["ALPHA"]),
            **{name: getattr(graph, name).ctypes.data for name in rows},
        )
        native = library("cpu_many")
        native.many_create.restype = ctypes.c_void_p
        made = native.many_create(ctypes.byref(arguments), graph.row_offsets.dtype.itemsize)
        if made is None:
            raise LaunchError(f"the system refused searches of {self.bits} sources their memory: lower BITS")
        self._searches = ctypes.c_void_p(made)
        self._run = native.many_run
        weakref.finalize(self, native.many_destroy, self._searches)

    def run(self, sources: Ids, measures: Any, distances: Any = None) -> None:
        """Search from distinct sources, int32[S]. Writes one result per source to ``measures``. Also writes
        the distances to ``distances``, int32[S, V], unless it is None. Raises LaunchError when the system
        refuses memory or threads."""
        places = (None if array is None else array.ctypes.data for array in (measures, distances))
        number = ctypes.c_int64(len(sources))
        source_place = ctypes.c_void_p(sources.ctypes.data)
        if self._run(self._searches, source_place, number, *map(ctypes.c_void_p, places)):
            raise LaunchError("the system refused the searches memory or threads: lower THREADS")


def width(num_vertices: int, threads: int, sources: int) -> int:
    """Returns the number of sources that one pass serves by default, that is, if the knob BITS is 0."""

    def taken(bits: int) -> int:
        return memory_of(num_vertices, threads, bits)

    return bits_for(_WIDTHS, sources, threads, taken, available_memory())


class CpuMany(HostCloseness):
    """The multi-source search of Then et al., with one bit per source. Each core runs its own passes, and the
    passes share only the graph.

    Sources that are near each other in the graph form a group, as in iBFS. In a large graph with long paths,
    searches from random sources rarely reach one vertex in the same level. On such graphs, searching from one
    source at a time is as fast.
    """

    name = "cpu_many"
    summary = "a bit for each of up to 512 sources a pass, passes on all cores"
    origin = ("Then et al. 2014, MS-BFS", "Liu, Huang and Hu 2016, iBFS: groups of sources")
    frontier = "a row of bits a vertex, and a queue of the vertices that have any"
    parallel_unit = "a pass of up to 512 sources per thread"
    work = "O(D (V + E)) a pass, usually much less"
    space = "2V + 2E, and for each thread 3V rows of BITS bits and 9V bytes"
    synchronisation = "none: passes are independent"
    knobs = (BITS, THREADS, GROUPED, ALPHA)
    searches: ManySearches | None = None

    def prepare(self) -> None:
        """Compile the native code. The first run allocates memory, because the number of sources per pass
        depends on the number of all sources."""
        library("cpu_many")

    def reset(self, sources: Ids) -> None:
        super().reset(sources)
        if self.searches is None:
            self.searches = ManySearches(self.graph, self.knob, len(sources))
            self.bytes_source = self.searches.bytes_source

    def solve(self, sources: Ids) -> None:
        assert self.searches is not None
        self.searches.run(sources, self.found)

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        threads = threads_of(knobs)
        bits = int(knobs["BITS"]) or width(num_vertices, threads, sources or num_vertices)
        taken = size_text(memory_of(num_vertices, threads, bits))
        formula = f"V (THREADS (3 BITS / 8 + 9) + 16) bytes = {taken} beside the graph"
        return f"{formula}, with BITS = {bits}, THREADS = {threads}"
