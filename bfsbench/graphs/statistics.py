"""Computes the statistics by which papers describe a graph."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph
from bfsbench.support.toolchain import library


class _Arcs(ctypes.Structure):
    """The arcs of a graph, as the C++ functions of ``native/statistics.cpp`` read them. These functions treat
    arcs as undirected.

    The structure contains the addresses of the arrays, and its attribute ``arrays`` keeps the arrays alive.
    """

    _fields_ = (
        ("num_vertices", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("row_offsets", "column_indices", "column_offsets", "row_indices")
        ),
    )
    num_vertices: int

    def __init__(self, graph: Graph) -> None:
        self.arrays: list[npt.NDArray[Any]] = [
            np.ascontiguousarray(graph.row_offsets, np.int64),
            graph.column_indices,
        ]
        if graph.direction == "directed":
            self.arrays += [np.ascontiguousarray(graph.column_offsets, np.int64), graph.row_indices]
        super().__init__(graph.num_vertices, *(array.ctypes.data for array in self.arrays))


class _Scratch(ctypes.Structure):
    """The working memory of one search: three bit sets of vertices, and a queue."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("seen", "level", "fresh", "queue"))

    def __init__(self, num_vertices: int) -> None:
        self.bits = np.zeros((3, num_vertices // 64 + 1), np.uint64)
        self.vertices = np.empty(num_vertices, np.int32)
        super().__init__(*(array.ctypes.data for array in (*self.bits, self.vertices)))


class _Reach(ctypes.Structure):
    """The result of a search for the farthest vertex: the number of vertices reached, the largest distance,
    and a vertex at this distance.
    """

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
    """Returns a dictionary of statistics of a graph that has at least one vertex.

    ``edges_listed``: number of edges in the graph's file, if it is known.
    ``vertices``, ``arcs``: numbers of vertices and of stored arcs.
    ``degree_mean``, ``degree_std`` (of the population), ``degree_median``, ``degree_max``: of out-degrees.
    ``self_loops``, ``duplicates``: numbers of arcs. The first of several parallel arcs is not a duplicate.
    ``isolated``: number of vertices without any arc.
    ``components``: number of weakly connected components.
    ``largest_component``: number of vertices in the largest of these components.
    ``diameter_at_least``: the largest distance that double sweeps from two vertices find.

    A double sweep is a search, followed by a search from a vertex that is farthest away. It treats arcs as
    undirected (Magnien, Latapy and Habib, "Fast computation of empirically tight bounds for the diameter of
    massive graphs", 2009).
    """
    degrees = np.diff(graph.row_offsets)
    without_out = degrees == 0
    arcs = _Arcs(graph)
    self_loops, duplicates = ctypes.c_int64(), ctypes.c_int64()
    _native().count_repeats(arcs, self_loops, duplicates)
    largest = _Reach()
    components = _native().components(arcs, _Scratch(arcs.num_vertices), largest)
    with ThreadPoolExecutor(2) as pool:
        depths = pool.map(partial(_double_sweep, arcs), (largest.farthest, int(degrees.argmax())))
    return {
        **graph.statistics,
        "vertices": graph.num_vertices,
        "arcs": graph.num_edges,
        "degree_mean": graph.num_edges / graph.num_vertices,
        "degree_std": float(degrees.std()),
        "degree_median": float(np.median(degrees)),
        "degree_max": int(degrees.max()),
        "self_loops": self_loops.value,
        "duplicates": duplicates.value,
        "isolated": int(np.count_nonzero(without_out & (np.diff(graph.column_offsets) == 0))),
        "components": components,
        "largest_component": largest.vertices,
        "diameter_at_least": max(depths),
    }


def _double_sweep(arcs: _Arcs, seed: int) -> int:
    """Search from ``seed``, and then from a vertex farthest from ``seed``. Returns the largest distance
    found."""
    first, second = _Reach(), _Reach()
    _native().reach(arcs, _Scratch(arcs.num_vertices), seed, first)
    _native().reach(arcs, _Scratch(arcs.num_vertices), first.farthest, second)
    return max(first.depth, second.depth)
