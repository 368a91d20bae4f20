"""Converts a graph to a dense matrix of weights, which is the input of all-pairs shortest paths."""

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Graph, require_bytes
from bfsbench.support.errors import UsageError

Matrix = npt.NDArray[np.int32]

INFINITY = 2**30 - 1
"""The distance between vertices without a path. Twice this value still fits an int32, so kernels can add two
distances without a test (cuda_src/min_plus.cuh)."""

MAX_VERTICES = 2**15
"""Maximum number of vertices. A matrix with this number of rows takes 4 GiB, and its elements can still be
numbered by an int32."""


def require_size(name: str, num_vertices: int) -> None:
    """Raise UsageError if the weight matrix of a graph with this name and size would be too large."""
    if num_vertices > MAX_VERTICES:
        raise UsageError(
            f"{name} has {num_vertices:,} vertices: all-pairs shortest paths take a dense matrix, "
            f"of {MAX_VERTICES:,} vertices at most"
        )


def require_matrix(graph: Graph) -> None:
    """Raise UsageError if a graph cannot be used for all-pairs shortest paths. This is the case if the matrix
    would be too large, if bfsbench has not read the weights in the graph's file, or if a weight is negative.
    It is also the case if a path of V - 1 arcs of the largest weight would be as long as INFINITY."""
    n = graph.num_vertices
    require_size(graph.full_name, n)
    if graph.weights_unread:
        if graph.locator:
            how = "add ':weights=read' to the graph's name, or ':weights=ignore' to make every arc weigh 1"
        else:
            how = (
                "give weights='read' to the function that makes the Graph, such as Graph.from_pandas, or to "
                "all_pairs if it gets no Graph ('ignore' makes every arc weigh 1)"
            )
        raise UsageError(f"{graph.full_name} has weights that were not read: {how}")
    if graph.weights is None or len(graph.weights) == 0:
        return
    least, largest = int(graph.weights.min()), int(graph.weights.max())
    if least < 0:
        raise UsageError(f"{graph.full_name} has an arc of weight {least}: weights must not be negative")
    if largest * (n - 1) >= INFINITY:
        raise UsageError(
            f"{graph.full_name} has an arc of weight {largest:,}: a path over {n:,} vertices could be longer "
            f"than {INFINITY - 1:,}, the longest that fits"
        )


def weight_matrix(graph: Graph) -> Matrix:
    """Returns the weight matrix of a graph, int32[V, V]. Element [u, v] is the weight of the lightest arc
    from u to v.

    The element is INFINITY if there is no arc, and 0 on the diagonal. Arcs weigh 1 if the graph has no
    weights. Raises UsageError if ``require_matrix`` refuses the graph, and NotEnoughMemoryError if the matrix
    does not fit into memory.
    """
    require_matrix(graph)
    n = graph.num_vertices
    require_bytes(4 * n * n, f"{graph.full_name}: the matrix of {n:,} x {n:,} weights")
    matrix = np.full((n, n), INFINITY, np.int32)
    rows, columns = graph.edge_sources, graph.column_indices
    if graph.weights is None:
        matrix[rows, columns] = 1
    else:
        # The first of several parallel arcs is the lightest, so only first arcs are used.
        lightest = np.ones(graph.num_edges, np.bool_)
        lightest[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        matrix[rows[lightest], columns[lightest]] = graph.weights[lightest]
    np.fill_diagonal(matrix, 0)
    return matrix
