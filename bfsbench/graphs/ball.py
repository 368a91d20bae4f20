"""Cuts a small graph out of a large one: the vertices nearest to a vertex of highest degree."""

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import EdgeList, Graph, Ids, Offsets, Orientation


def ball(graph: Graph, share: float) -> EdgeList:
    """Returns a connected subgraph with about ``share`` of the graph's vertices, renumbered in ascending
    order. Its arcs are all arcs between these vertices.

    The vertices are found by a breadth-first search from the vertex of highest degree, which stops when it
    has reached enough vertices. The search follows arcs in both directions. The subgraph is smaller if the
    start vertex has a smaller connected component. The subgraph's diameter is usually smaller than the
    diameter of the whole graph.
    """
    wanted = max(1, round(graph.num_vertices * share))
    renumbered = np.full(graph.num_vertices, -1, np.int32)
    inside = np.sort(_nearest(graph, wanted))
    renumbered[inside] = np.arange(len(inside), dtype=np.int32)
    sources, targets = renumbered[graph.edge_sources], renumbered[graph.column_indices]
    kept = (sources >= 0) & (targets >= 0)
    orientation: Orientation = "directed" if graph.direction == "directed" else "both_ways"
    original = inside.astype(np.int64) if graph.original_ids is None else graph.original_ids[inside]
    return EdgeList(
        *(sources[kept], targets[kept], len(inside), orientation),
        original_ids=original if graph.names is None else None,
        weights=None if graph.weights is None else graph.weights[kept],
        weights_unread=graph.weights_unread,
        names=None if graph.names is None else graph.names.take(inside),
        reader=graph.reader,
    )


def _nearest(graph: Graph, wanted: int) -> Ids:
    """Returns up to ``wanted`` vertices in the order of their levels in a search from the vertex of highest
    degree. If the last level has too many vertices, only its vertices of lowest id are returned.
    """
    degrees = np.diff(graph.row_offsets) + np.diff(graph.column_offsets)
    frontier = np.array([degrees.argmax()], np.int32)
    seen = np.zeros(graph.num_vertices, np.bool_)
    seen[frontier] = True
    levels, count = [frontier], 1
    while count < wanted and len(frontier):
        out = neighbours(graph.row_offsets, graph.column_indices, frontier)
        into = neighbours(graph.column_offsets, graph.row_indices, frontier)
        met = np.unique(np.concatenate((out, into)))
        frontier = met[~seen[met]][: wanted - count]
        seen[frontier] = True
        levels.append(frontier)
        count += len(frontier)
    return np.concatenate(levels)


def neighbours(offsets: Offsets, indices: Ids, vertices: Ids, most: int | None = None) -> Ids:
    """Returns the neighbours of ``vertices`` as one array, vertex after vertex, from the CSR arrays
    ``offsets`` and ``indices``.

    If ``most`` is given, only the first ``most`` neighbours of each vertex are returned.
    """
    begins = offsets[vertices].astype(np.int64)
    lengths = np.minimum(offsets[vertices + 1] - begins, most if most is not None else len(indices))
    places: npt.NDArray[np.int64] = np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
    found: Ids = indices[places + np.arange(len(places))]
    return found
