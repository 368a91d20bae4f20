"""A search on a GPU. ``prepare`` is called once per graph, and the function that it returns is called once
per search."""

import cupy


def prepare(graph):
    """Prepare a graph. Returns the search. ``graph`` has num_vertices, num_edges and directed, and the CuPy
    arrays row_offsets, column_indices, column_offsets and row_indices."""
    targets = graph.column_indices
    sources = cupy.searchsorted(graph.row_offsets, cupy.arange(graph.num_edges), side="right") - 1

    def search(source, answer):
        """Write the level of each vertex to ``answer``, int32[V], or -1 if the vertex is not reached. The
        function may instead return an array of levels."""
        answer.fill(-1)
        answer[source] = level = 0
        while True:
            found = targets[(answer[sources] == level) & (answer[targets] < 0)]
            if not found.size:
                return
            level += 1
            answer[found] = level

    return search
