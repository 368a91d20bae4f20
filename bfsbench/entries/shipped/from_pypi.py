"""Calls the searches of Python packages from PyPI. Each function converts the graph for one package. It
returns a function that searches the converted graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.entries.folder import GraphArrays

Search = Callable[[int, npt.NDArray[np.int32]], Any]


def scipy(graph: GraphArrays) -> Search:
    """Prepare a search with SciPy's ``breadth_first_order``, on a matrix with 1 for every arc. Returns the
    search. SciPy accepts only 32-bit offsets."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    shape = (graph.num_vertices, graph.num_vertices)
    ones = np.ones(graph.num_edges, np.float64)
    matrix = csr_array((ones, graph.column_indices, graph.row_offsets), shape)

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        return breadth_first_order(matrix, source, directed=True, return_predecessors=True)[1]

    return search


def igraph(graph: GraphArrays) -> Search:
    """Prepare a search with igraph's ``Graph.bfs``. Returns the search, which returns parents."""
    from igraph import Graph

    made = Graph(n=graph.num_vertices, edges=_arcs(graph, np.int32), directed=True)

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        parents = made.bfs(source, mode="out")[2]
        return lambda: np.array(parents, np.int32)

    return search


def networkit(graph: GraphArrays) -> Search:
    """Prepare a search with NetworKit's ``distance.BFS``. Returns the search. NetworKit's distances are
    floating-point numbers."""
    import networkit as nk

    made = nk.Graph(graph.num_vertices, directed=True)
    made.addEdges(tuple(_arcs(graph, np.uint64).T.copy()))

    def levels_of(distances: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Convert NetworKit's distances to levels, and return them. NetworKit gives unreached vertices the
        largest floating-point number, which becomes the level -1."""
        return np.where(distances < np.iinfo(np.int32).max, distances, -1).astype(np.int32)

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        found = nk.distance.BFS(made, source, False)
        found.run()
        return lambda: levels_of(np.asarray(found.getDistances(asarray=True)))

    return search


def graphblas(graph: GraphArrays) -> Search:
    """Prepare a search with SuiteSparse:GraphBLAS. Returns the search. Each level is a product of the
    frontier with the matrix, over the semiring any_pair."""
    from graphblas import Matrix, Vector, dtypes, semiring

    size = graph.num_vertices
    ones = np.ones(graph.num_edges, bool)
    matrix = Matrix.from_coo(
        graph.edge_sources, graph.column_indices, ones, nrows=size, ncols=size, dup_op="any"
    )

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        frontier, levels, level = Vector(bool, size), Vector(dtypes.INT32, size), 0
        frontier[source] = True
        while frontier.nvals:
            levels(frontier.S) << level
            frontier(~levels.S, replace=True) << semiring.any_pair(frontier @ matrix)
            level += 1
        return lambda: levels.to_dense(fill_value=-1, dtype=np.int32)

    return search


def rustworkx(graph: GraphArrays) -> Search:
    """Prepare a search with rustworkx's ``digraph_bfs_layers``. Returns the search. rustworkx returns the
    vertices of each level."""
    import rustworkx as rx

    made = rx.PyDiGraph()
    made.add_nodes_from(range(graph.num_vertices))
    made.extend_from_edge_list([*map(tuple, _arcs(graph, np.int32).tolist())])

    def search(source: int, answer: npt.NDArray[np.int32]) -> Any:
        layers = rx.digraph_bfs_layers(made, [source])

        def levels() -> npt.NDArray[np.int32]:
            answer.fill(-1)
            for level, vertices in enumerate(layers):
                answer[list(vertices)] = level
            return answer

        return levels

    return search


def cugraph(graph: GraphArrays) -> Search:
    """Prepare a search on the GPU with ``pylibcugraph.bfs``, which returns vertices and their distances.
    Returns the search. pylibcugraph needs offsets and columns of one integer type."""
    import cupy
    import pylibcugraph

    handle = pylibcugraph.ResourceHandle()
    columns = graph.column_indices.astype(graph.row_offsets.dtype, copy=False)
    made = pylibcugraph.SGGraph(
        handle,
        pylibcugraph.GraphProperties(is_symmetric=not graph.directed, is_multigraph=True),
        graph.row_offsets,
        columns,
        weight_array=None,
        store_transposed=False,
        renumber=False,
        do_expensive_check=False,
        input_array_format="CSR",
    )

    def search(source: int, answer: Any) -> None:
        distances, _, vertices = pylibcugraph.bfs(
            handle,
            made,
            cupy.asarray([source], dtype=columns.dtype),
            direction_optimizing=not graph.directed,
            depth_limit=-1,
            compute_predecessors=False,
            do_expensive_check=False,
        )
        answer[vertices] = distances

    return search


def _arcs(graph: GraphArrays, dtype: type) -> npt.NDArray[Any]:
    """Returns the arcs of a graph as an array [E, 2]. The columns are tails and heads."""
    return np.stack([graph.edge_sources, graph.column_indices], axis=1).astype(dtype)
