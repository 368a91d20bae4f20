"""A search over arrays on a GPU: ``prepare`` is called once a graph, and what it gives once a search."""

import cupy


def prepare(graph):
    """``graph`` has num_vertices, num_edges, directed; and as CuPy arrays row_offsets, column_indices,
    column_offsets, row_indices."""
    targets = graph.column_indices
    sources = cupy.searchsorted(graph.row_offsets, cupy.arange(graph.num_edges), side="right") - 1

    def search(source, answer):
        """Fill ``answer``, int32[V], with levels, -1 where not reached; or return such an array."""
        answer.fill(-1)
        answer[source] = level = 0
        while True:
            found = targets[(answer[sources] == level) & (answer[targets] < 0)]
            if not found.size:
                return
            level += 1
            answer[found] = level

    return search
