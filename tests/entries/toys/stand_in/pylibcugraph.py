"""Replaces the functions of pylibcugraph 26.10 that the entry calls. They have the package's argument names,
and work on NumPy arrays."""

import numpy as np


class ResourceHandle:
    pass


class GraphProperties:
    def __init__(self, *, is_symmetric, is_multigraph):
        self.is_symmetric = is_symmetric


class SGGraph:
    def __init__(
        self,
        resource_handle,
        graph_properties,
        src_or_offset_array,
        dst_or_index_array,
        *,
        weight_array,
        store_transposed,
        renumber,
        do_expensive_check,
        input_array_format,
    ):
        assert src_or_offset_array.dtype == dst_or_index_array.dtype  # it takes no other
        assert input_array_format == "CSR" and not store_transposed and not renumber
        self.properties = graph_properties
        self.offsets, self.columns = src_or_offset_array, dst_or_index_array


def bfs(handle, graph, sources, direction_optimizing, depth_limit, compute_predecessors, do_expensive_check):
    assert graph.properties.is_symmetric or not direction_optimizing
    num_vertices = len(graph.offsets) - 1
    distances = np.full(num_vertices, np.iinfo(np.int32).max, graph.columns.dtype)
    distances[sources] = level = 0
    rows = np.repeat(np.arange(num_vertices), np.diff(graph.offsets))
    while (distances[rows] == level).any():
        next_ones = graph.columns[distances[rows] == level]
        distances[next_ones] = np.minimum(distances[next_ones], level + 1)
        level += 1
    order = np.arange(num_vertices)[::-1]  # in any order
    return distances[order], None, order
