"""Searches of packages from PyPI: each function makes its package's graph and gives what searches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.entries.folder import GraphArrays

Search = Callable[[int, npt.NDArray[np.int32]], Any]


def scipy(graph: GraphArrays) -> Search:
    """``breadth_first_order`` over a matrix with 1 for every arc; it takes offsets of 32 bits only."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    shape = (graph.num_vertices, graph.num_vertices)
    ones = np.ones(graph.num_edges, np.float64)
    matrix = csr_array((ones, graph.column_indices, graph.row_offsets), shape)

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        return breadth_first_order(matrix, source, directed=True, return_predecessors=True)[1]

    return search
