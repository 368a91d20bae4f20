"""Computes the statistics by which papers describe a graph."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph, Offsets
from bfsbench.support.toolchain import library


class _Arcs(ctypes.Structure):
    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        ("row_offsets", ctypes.c_void_p),
        ("column_indices", ctypes.c_void_p),
        ("column_offsets", ctypes.c_void_p),
        ("row_indices", ctypes.c_void_p),
    )


class _Scratch(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("seen", "level", "fresh", "queue"))


class _Reach(ctypes.Structure):
    """The result of one search: the number of vertices reached, the largest distance, and a vertex at that
    distance."""

    _fields_ = (("vertices", ctypes.c_int64), ("depth", ctypes.c_int64), ("farthest", ctypes.c_int32))
    vertices: int
    depth: int
    farthest: int


@cache
def _native() -> ctypes.CDLL:
    native = library("statistics")
    arcs, scratch, found = (ctypes.POINTER(kind) for kind in (_Arcs, _Scratch, _Reach))
    count = ctypes.POINTER(ctypes.c_int64)
    native.reach.argtypes = [arcs, scratch, ctypes.c_int32, found]
    native.components.argtypes = [arcs, scratch, found]
    native.components.restype = ctypes.c_int64
    native.count_repeats.argtypes = [arcs, count, count]
    return native


def describe(graph: Graph) -> dict[str, float]:
    """Returns statistics of a graph with at least one vertex, by name.

    ``edges_listed``: edges as the source counts them, if the graph carries this number.
    ``vertices``, ``arcs``: numbers of vertices and of stored arcs.
    ``degree_mean``, ``degree_std`` (of the population), ``degree_median``, ``degree_max``: of out-degrees.
    ``self_loops``, ``duplicates``: numbers of arcs. The first of several parallel arcs is not a duplicate.
    ``isolated``: number of vertices without any arc.
    ``components``, ``largest_component``: number of weakly connected components, vertices of the largest.
    ``diameter_at_least``: the largest distance met by double sweeps from two seeds.

    Double sweeps take arcs as undirected (Magnien, Latapy and Habib, "Fast computation of empirically tight
    bounds for the diameter of massive graphs", 2009).
    """
    degrees = np.diff(graph.row_offsets)
    without_out = degrees == 0
    searcher = _Searcher(graph)
    self_loops, duplicates = searcher.repeats()
    components, largest = searcher.components()
    return {
        **graph.statistics,
        "vertices": graph.num_vertices,
        "arcs": graph.num_edges,
        "degree_mean": graph.num_edges / graph.num_vertices,
        "degree_std": float(degrees.std()),
        "degree_median": float(np.median(degrees)),
        "degree_max": int(degrees.max()),
        "self_loops": self_loops,
        "duplicates": duplicates,
        "isolated": int(np.count_nonzero(without_out & (np.diff(graph.column_offsets) == 0))),
        "components": components,
        "largest_component": largest.vertices,
        "diameter_at_least": searcher.diameter([largest.farthest, int(degrees.argmax())]),
    }


class _Searcher:
    """Runs native searches over one graph, whose arcs are taken as undirected."""

    def __init__(self, graph: Graph) -> None:
        self.num_vertices = graph.num_vertices
        arrays: list[npt.NDArray[Any]] = [self._wide(graph.row_offsets), graph.column_indices]
        if graph.direction == "directed":
            arrays += [self._wide(graph.column_offsets), graph.row_indices]
        self.arcs = _Arcs(self.num_vertices, *(array.ctypes.data for array in arrays))
        self.arrays = arrays  # keeps the arrays alive: the structure has only their addresses

    @staticmethod
    def _wide(offsets: Offsets) -> npt.NDArray[np.int64]:
        return np.ascontiguousarray(offsets, np.int64)

    def repeats(self) -> tuple[int, int]:
        """Returns the number of self loops and the number of duplicate arcs."""
        loops, duplicates = ctypes.c_int64(), ctypes.c_int64()
        _native().count_repeats(self.arcs, loops, duplicates)
        return loops.value, duplicates.value

    def components(self) -> tuple[int, _Reach]:
        """Returns the number of components, and the result of the search that found the largest."""
        largest = _Reach()
        with self._scratch() as scratch:
            return _native().components(self.arcs, scratch, largest), largest

    def diameter(self, seeds: list[int]) -> int:
        """Returns the largest distance met by double sweeps, one from each seed. A double sweep is a search
        from the seed, and then a search from a vertex farthest from it."""
        with ThreadPoolExecutor(len(seeds)) as pool:
            return max(pool.map(self._double_sweep, seeds))

    def _double_sweep(self, seed: int) -> int:
        first = self._reach(seed)
        return max(first.depth, self._reach(first.farthest).depth)

    def _reach(self, start: int) -> _Reach:
        found = _Reach()
        with self._scratch() as scratch:
            _native().reach(self.arcs, scratch, start, found)
        return found

    @contextmanager
    def _scratch(self) -> Iterator[_Scratch]:
        """Provide the working memory of one search."""
        bits = np.zeros((3, self.num_vertices // 64 + 1), np.uint64)
        queue = np.empty(self.num_vertices, np.int32)
        yield _Scratch(*(array.ctypes.data for array in (*bits, queue)))
