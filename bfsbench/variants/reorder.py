"""Declares a push search over a graph whose vertices are renumbered in the order of their out-degrees."""

import time
from collections.abc import Mapping

import numpy as np

from bfsbench.backends.base import Argument, Buffer
from bfsbench.graphs.graph import Ids, Offsets
from bfsbench.variants.base import LEVEL_SCAN, DeviceGraph, LevelKernelVariant


def by_out_degree(row_offsets: Offsets) -> Ids:
    """Returns all vertices, int32[V], sorted from the highest out-degree to the lowest. Vertices of equal
    out-degree are in ascending order."""
    return np.argsort(-np.diff(row_offsets), kind="stable").astype(np.int32)


def inverse(order: Ids) -> Ids:
    """Returns the inverse of a permutation of the vertices, int32[V]: the index of each vertex in
    ``order``."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def renumbered(row_offsets: Offsets, column_indices: Ids, order: Ids) -> tuple[Offsets, Ids]:
    """Renumber the vertices of a graph: vertex ``order[i]`` becomes vertex i. Returns the new row offsets and
    column indices, with the dtypes of the given arrays.

    Within a row, neighbours stay in the order of their old ids. Besides the result, the function needs memory
    for two arrays of E offsets.
    """
    degrees = np.diff(row_offsets)[order]
    offsets = np.zeros_like(row_offsets)
    np.cumsum(degrees, out=offsets[1:])
    edges = np.repeat(row_offsets[order] - offsets[:-1], degrees)
    edges += np.arange(len(column_indices), dtype=offsets.dtype)
    return offsets, inverse(order)[column_indices[edges]]


def by_falling_degree(graph: DeviceGraph) -> tuple[Buffer, Buffer, Ids, float]:
    """Renumber the vertices of a graph from the highest out-degree to the lowest.

    Returns row offsets and column indices on the device. Also returns the new number of each vertex,
    int32[V], and the time of sorting and renumbering in ms.
    """
    started = time.perf_counter()
    given = graph.host_graph
    order = by_out_degree(given.row_offsets)
    offsets, columns = renumbered(given.row_offsets, given.column_indices, order)
    new_ids = inverse(order)
    milliseconds = (time.perf_counter() - started) * 1e3
    return graph.device.upload(offsets), graph.device.upload(columns), new_ids, milliseconds


class Reorder(LevelKernelVariant):
    """The search with physically reordered vertices from M. Springer's paper "Breadth-first Search in CUDA".

    The vertices are sorted by out-degree. The paper does not say in which direction. This version puts the
    highest degree first. Blocks start roughly in the order of their indices, so the longest rows start first.
    The levels are returned in the order of the original vertex ids. The graph is renumbered once.
    ``preprocess_ms`` of every search is the time of this renumbering.
    """

    name = "reorder"
    level_kernel = "frontier_numbers"
    kernel_files = (level_kernel,)
    summary = "the graph is renumbered by out-degree, so that warps are given vertices of like degree"
    origin = ("Springer, section 3.4",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN

    def prepare(self) -> None:
        offsets, columns, self.new_ids, self.preprocess_ms = self.graph.once(by_falling_degree)
        self.csr: Mapping[str, Argument] = {"row_offsets": offsets, "column_indices": columns}
        self.level_places = self.new_ids
        super().prepare()

    def arguments(self) -> Mapping[str, Argument]:
        return {**self.csr, "num_vertices": self.num_vertices, "levels": self.level_array}

    def reset(self, source: int) -> None:
        super().reset(int(self.new_ids[source]))
