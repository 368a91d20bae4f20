"""Declares breadth-first searches from many sources on all cores of the CPU. One pass searches from up to 512
sources at once."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph, Ids
from bfsbench.programs.families.closeness.variants import FIELDS, ClosenessVariant, Measures, bits_for
from bfsbench.support.errors import LaunchError, size_text
from bfsbench.support.machine import available_memory, usable_cores
from bfsbench.support.toolchain import library
from bfsbench.variants.base import HostProgram, Knob, KnobValue
from bfsbench.variants.cpu_parallel import CpuParallel

_WIDTHS = (64, 128, 256, 512)
BITS = Knob("BITS", 0, "sources of a pass; 0: as sources, cores and memory allow", choices=(0, *_WIDTHS))
(THREADS,) = (knob for knob in CpuParallel.knobs if knob.name == "THREADS")
GROUPED = Knob("GROUPED", 1, "1: a pass takes sources near each other; 0: as they are listed", choices=(0, 1))
ALPHA = Knob(
    "ALPHA",
    4.0,
    "pull when the arcs that leave the frontier, times this, exceed those into vertices not seen by all",
    minimum=0,
    maximum=1e12,
)
_GRAPH = ("row_offsets", "column_indices", "column_offsets", "row_indices")
_ARRAYS = (*_GRAPH, "sources", "rows", "queues", "states", "measures", "distances", "order")


class _Arguments(ctypes.Structure):
    """The struct ``Arguments`` of native/cpu_many.cpp."""

    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
        ("alpha", ctypes.c_double),
        *((name, ctypes.c_int32) for name in ("num_sources", "bits", "threads")),
    )


def _call(graph: Graph, sources: Ids, arrays: Mapping[str, Any], **settings: float) -> None:
    """Call native/cpu_many.cpp. ``arrays`` and ``settings`` give values of members of the struct
    ``Arguments``, by name. Raises LaunchError when the system refuses memory or threads."""
    given = {**{name: getattr(graph, name) for name in _GRAPH}, "sources": sources, **arrays}
    places = {name: array.ctypes.data for name, array in given.items()}
    members: Any = {"num_vertices": graph.num_vertices, "num_sources": len(sources), **places, **settings}
    if library("cpu_many").many(ctypes.byref(_Arguments(**members)), graph.row_offsets.dtype.itemsize):
        raise LaunchError("the system refused the searches memory or threads: lower THREADS")


def near_each_other(graph: Graph, sources: Ids, bits: int) -> npt.NDArray[np.int64]:
    """Sort the sources so that neighbours in the graph are close in the order. Returns the order as indices
    into ``sources``, int64[S]. Each pass takes the next ``bits`` sources, and so searches from neighbouring
    vertices."""
    order = np.arange(len(sources))
    if len(sources) > bits:
        _call(graph, sources, {"order": order}, bits=bits)
    return order


def memory_of(num_vertices: int, threads: int, bits: int) -> int:
    """Returns the memory in bytes that the searches take besides the graph.

    For each vertex, every thread has three bit sets, two queue entries and one byte. A bit set has one bit
    per source. Grouping the sources takes another 16 bytes per vertex.
    """
    return num_vertices * (threads * (3 * bits // 8 + 9) + 16)


def passes_of(num_vertices: int, sources: int, knobs: Mapping[str, KnobValue]) -> tuple[int, int]:
    """Returns the number of threads that run passes, and the number of sources per pass."""
    cores = usable_cores()
    threads = min(int(knobs["THREADS"]) or cores, cores)
    taken = partial(memory_of, num_vertices, threads)
    return threads, int(knobs["BITS"]) or bits_for(_WIDTHS, sources, threads, taken, available_memory())


class ManySearches:
    """Runs the searches of ``native/cpu_many.cpp`` on one graph, with given knob values. Each call of ``run``
    may have other sources.

    The constructor raises LaunchError when the system refuses the memory.
    """

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue], sources: int) -> None:
        size, self._graph, self._grouped = graph.num_vertices, graph, bool(knobs["GROUPED"])
        threads, bits = passes_of(size, sources, knobs)
        self._settings = {"threads": threads, "bits": bits, "alpha": float(knobs["ALPHA"])}
        self.bytes_source = memory_of(size, threads, bits) / (threads * bits)
        try:
            rows = np.empty(threads * size * 3 * bits // 8 + 64, np.uint8)
            queues, states = np.empty(threads * size * 2, np.int32), np.empty(threads * size, np.uint8)
        except MemoryError as error:
            raise LaunchError(f"the system refused memory for {bits} sources a pass: lower BITS") from error
        # Each row of bits begins at a cache line.
        self._memory = {"rows": rows[-rows.ctypes.data % 64 :], "queues": queues, "states": states}

    def run(self, sources: Ids, distances: npt.NDArray[np.int32] | None = None) -> Measures:
        """Search from distinct sources, int32[S]. Returns the results, in the order of the sources. If
        ``distances``, int32[V, V], is not None, the function writes the distances from each source to the
        source's row of this array. Raises LaunchError when the system refuses memory or threads."""
        bits = int(self._settings["bits"]) if self._grouped else len(sources)
        order, found = near_each_other(self._graph, sources, bits), np.zeros(len(sources), [*FIELDS])
        arrays = {
            **self._memory,
            "measures": found,
            **({} if distances is None else {"distances": distances}),
        }
        _call(self._graph, sources[order], arrays, **self._settings)
        return found[np.argsort(order)]


class CpuMany(HostProgram, ClosenessVariant):
    """The multi-source search of Then et al., with one bit per source. A pass searches from a group of
    sources at once. Each core runs its own passes, which share only the graph.

    Sources that are near each other in the graph form a group, as in iBFS. In large graphs with long paths,
    searches from random sources rarely reach a vertex at equal levels. On these graphs, searching from one
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
        """Compile the native code. The first run allocates the memory, because its size depends on the number
        of sources, which is not known here."""
        library("cpu_many")

    def reset(self, sources: Ids) -> None:
        if self.searches is None:
            self.searches = ManySearches(self.graph, self.knob, len(sources))
            self.bytes_source = self.searches.bytes_source

    def solve(self, sources: Ids) -> None:
        assert self.searches is not None
        self.found = self.searches.run(sources)

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        threads, bits = passes_of(num_vertices, sources or num_vertices, knobs)
        taken = size_text(memory_of(num_vertices, threads, bits))
        formula = f"V (THREADS (3 BITS / 8 + 9) + 16) bytes = {taken} beside the graph"
        return f"{formula}, with BITS = {bits}, THREADS = {threads}"
