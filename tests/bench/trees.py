"""Searches drawn at random, with their trees, and what tests damage in them."""

import numpy as np
import numpy.typing as npt
from hypothesis import assume, strategies as st

from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.parents import NO_PARENT
from bfsbench.programs.families.bfs.search import reference_levels
from tests.shapes import edge_list

Array = npt.NDArray[np.int32]


@st.composite
def searches(draw: st.DrawFn) -> tuple[Graph, int, Array, Array]:
    """A small graph of either direction, a source, its levels, and some tree of shortest paths."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    branches = [(draw(st.integers(0, v - 1)), v) for v in range(1, draw(st.integers(1, n)))]
    edges = branches + draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    orientation = draw(st.sampled_from(["directed", "each_once"]))
    graph = build_graph(edge_list(n, edges, orientation), "drawn")
    source = draw(st.just(0) | vertex)
    levels = reference_levels(graph, source)
    parents = np.full(n, NO_PARENT, np.int32)
    parents[source] = source
    for v in np.flatnonzero(levels > 0):
        parents[v] = draw(st.sampled_from(fit_parents(graph, levels, int(v))))
    return graph, source, levels, parents


def fit_parents(graph: Graph, levels: Array, v: int) -> list[int]:
    """Every vertex that may be the parent of ``v``."""
    arcs = zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True)
    return [tail for tail, head in arcs if head == v and levels[tail] == levels[v] - 1]


def depth_first_tree(graph: Graph, source: int) -> tuple[Array, Array]:
    """Parents and depths of a tree that goes as deep as it can."""
    parents, depths = (np.full(graph.num_vertices, -1, np.int32) for _ in range(2))
    parents[source], depths[source] = source, 0

    def visit(u: int) -> None:
        for v in graph.column_indices[graph.row_offsets[u] : graph.row_offsets[u + 1]].tolist():
            if parents[v] == NO_PARENT:
                parents[v], depths[v] = u, depths[u] + 1
                visit(v)

    visit(source)
    return parents, depths


def descendants(parents: Array, root: int) -> list[int]:
    """The subtree below a vertex, itself included."""
    found, tree = [], parents.tolist()
    for v, parent in enumerate(tree):
        at = v
        while parent != NO_PARENT and at != root and tree[at] != at:
            at = tree[at]
        if parent != NO_PARENT and at == root:
            found.append(v)
    return found


def below_the_source(levels: Array, data: st.DataObject) -> int:
    """A vertex of the tree that is not its root."""
    candidates = np.flatnonzero(levels > 0).tolist()
    assume(candidates)
    vertex: int = data.draw(st.sampled_from(candidates))
    return vertex
