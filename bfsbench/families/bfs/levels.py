"""Levels, their check, and the sequential search that is the reference."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from bfsbench.errors import WrongResultError
from bfsbench.families.bfs.searches import UNREACHED
from bfsbench.graphs.graph import Graph
from bfsbench.native import library

Levels = npt.NDArray[np.int32]


class WrongLevelsError(WrongResultError):
    """A search returned levels that differ from the reference."""


class SequentialSearch:
    """``native/cpu_queue.cpp`` over one graph: the reference, and the variant ``cpu_queue``.

    ``levels`` is int32[V], all UNREACHED when ``run`` is called with a source.
    """

    def __init__(self, graph: Graph) -> None:
        native = library("cpu_queue")
        search = native.cpu_queue_64 if graph.row_offsets.dtype.itemsize == 8 else native.cpu_queue_32
        search.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int32, *[ctypes.c_void_p] * 2]
        search.restype = None
        self.levels: Levels = np.empty(graph.num_vertices, np.int32)
        self._search = search
        self._graph = graph
        self._queue = np.empty(graph.num_vertices, np.int32)
        self._arrays = (graph.row_offsets.ctypes.data, graph.column_indices.ctypes.data)
        self._scratch = (self.levels.ctypes.data, self._queue.ctypes.data)

    def run(self, source: int) -> None:
        self._search(*self._arrays, source, *self._scratch)


def reference_levels(graph: Graph, source: int) -> Levels:
    """The levels of the sequential search, int32[V], which every other result must equal."""
    search = SequentialSearch(graph)
    search.levels.fill(UNREACHED)
    search.run(source)
    return search.levels


def check_levels(levels: Levels, reference: Levels) -> None:
    """Raises WrongLevelsError, naming the first vertex that differs and how many do."""
    if np.array_equal(levels, reference):
        return
    wrong = np.flatnonzero(levels != reference)
    v = wrong[0]
    first = f"vertex {v} has {levels[v]} instead of {reference[v]}"
    raise WrongLevelsError(f"{len(wrong)} of {len(levels)} levels differ; {first}")
