"""A search in Python: ``prepare`` is called once a graph, and what it gives once a search."""

import numpy as np


def prepare(graph):
    """``graph`` has num_vertices, num_edges, directed; and as arrays row_offsets, column_indices,
    column_offsets, row_indices."""
    offsets, neighbours = graph.row_offsets, graph.column_indices

    def search(source, answer):
        """Fill ``answer``, int32[V], with levels, -1 where not reached; or return such an array."""
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
