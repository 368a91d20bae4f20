"""Searches of packages from PyPI over CuPy arrays."""

from collections.abc import Callable
from typing import Any

from bfsbench.entries.folder import GraphArrays

Search = Callable[[int, Any], None]


def cugraph(graph: GraphArrays) -> Search:
    """Search with ``pylibcugraph.bfs``, which returns vertices and their distances. It takes offsets and
    columns of one integer type."""
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
