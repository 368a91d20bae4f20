"""A search in Python. ``prepare`` is called once per graph, and the function that it returns is called once
per search."""

import numpy as np


def prepare(graph):
    """Prepare a graph. Returns the search. ``graph`` has num_vertices, num_edges and directed, and the NumPy
    arrays row_offsets, column_indices, column_offsets and row_indices."""
    offsets, neighbours = graph.row_offsets, graph.column_indices

    def search(source, answer):
        """Write the level of each vertex to ``answer``, int32[V], or -1 if the vertex is not reached. The
        function may instead return an array of levels."""
        answer[:] = -1
        answer[source] = level = 0
        frontier = np.array([source])
        while len(frontier):
            level += 1
            rows = [neighbours[offsets[v] : offsets[v + 1]] for v in frontier]
            found = np.unique(np.concatenate(rows))
            frontier = found[answer[found] < 0]
            answer[frontier] = level

    return search
