"""Provides the small graphs on which every search is tested, and the sources of the searches."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph, Orientation


class Shapes(Mapping[str, EdgeList]):
    """Graphs by name. A graph is built when it is first used."""

    def __init__(self, builders: Mapping[str, Callable[[], EdgeList]]) -> None:
        self._builders = builders
        self._built: dict[str, EdgeList] = {}

    def __getitem__(self, name: str) -> EdgeList:
        if name not in self._built:
            self._built[name] = self._builders[name]()
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def edge_list(
    num_vertices: int, edges: list[tuple[int, int]], orientation: Orientation = "directed"
) -> EdgeList:
    """Returns an edge list made of pairs of vertices."""
    pairs = np.array(edges, dtype=np.int32).reshape(-1, 2)
    return EdgeList(pairs[:, 0].copy(), pairs[:, 1].copy(), num_vertices, orientation)


def with_wide_offsets(graph: Graph) -> Graph:
    """Returns the graph with 64-bit offsets, which graphs of more than 2**31 - 1 arcs have."""
    return graph.with_wide_offsets()


def random_digraph(num_vertices: int, seed: int = 1, degree: int = 4) -> EdgeList:
    """Returns arcs drawn uniformly. Some are self loops, and some are repeated."""
    return generate("uniform", n=num_vertices, m=degree * num_vertices, directed=1, seed=seed)


def self_loops_everywhere() -> EdgeList:
    """Returns a ring of 40 vertices, each with an arc to itself."""
    ring = [(v, (v + 1) % 40) for v in range(40)]
    return edge_list(40, ring + [(v, v) for v in range(40)])


def duplicate_edges() -> EdgeList:
    """Returns a small tree and an arc back to its root. Every arc is listed five times, in several places."""
    return edge_list(7, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (6, 0)] * 5)


def several_components() -> EdgeList:
    """Returns a path, a triangle, a pair and an isolated vertex."""
    return edge_list(10, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 4), (7, 8)], "each_once")


def hub() -> EdgeList:
    """Returns a graph in which vertex 7 is joined to the 5,000 vertices of a ring."""
    others = [v for v in range(5001) if v != 7]
    ring = list(zip(others, others[1:] + others[:1], strict=True))
    return edge_list(5001, ring + [(7, v) for v in others], "each_once")


AROUND_WARPS_AND_BLOCKS = (31, 32, 33, 255, 256, 257, 1023, 1025)

SHAPES: Mapping[str, EdgeList] = Shapes(
    {
        "one_vertex": lambda: edge_list(1, []),
        "one_vertex_with_self_loop": lambda: edge_list(1, [(0, 0)]),
        "no_edges": lambda: edge_list(5, []),
        "self_loops_everywhere": self_loops_everywhere,
        "duplicate_edges": duplicate_edges,
        "isolated_source": lambda: edge_list(7, [(0, 1), (1, 2), (3, 4), (4, 5)]),
        "several_components": several_components,
        "star_out": lambda: generate("star", n=300, arcs="out"),
        "star_in": lambda: generate("star", n=300, arcs="in"),
        "star_both": lambda: generate("star", n=300),
        "path": lambda: generate("path", n=520),
        "path_directed": lambda: generate("path", n=130, directed=1),
        "complete": lambda: generate("complete", n=64),
        "pmpp": lambda: generate("pmpp"),
        "lattice": lambda: generate("lattice", rows=23, columns=17),
        "kronecker": lambda: generate("kronecker", scale=8, edge_factor=8),
        "hub": hub,
        "random_sparse": lambda: random_digraph(500, seed=2, degree=1),
        "random_dense": lambda: random_digraph(100, seed=3, degree=40),
        **{f"random_{n}": partial(random_digraph, n) for n in AROUND_WARPS_AND_BLOCKS},
    }
)

SOURCES: Mapping[str, list[int]] = {name: [0] for name in SHAPES} | {
    "no_edges": [0, 4],
    "self_loops_everywhere": [0, 39],
    "duplicate_edges": [0, 3, 6],
    "isolated_source": [6, 0, 2],
    "several_components": [0, 2, 5, 8, 9],
    "star_out": [0, 299],
    "star_in": [0, 299],
    "star_both": [0, 299],
    "path": [0, 260, 519],
    "path_directed": [0, 65, 129],
    "complete": [0, 63],
    "pmpp": [0, 2],
    "lattice": [0, 23 * 17 // 2, 23 * 17 - 1],
    "kronecker": [0, 128, 255],
    "hub": [0, 7, 2500],
    **{f"random_{n}": [0, n - 1] for n in AROUND_WARPS_AND_BLOCKS},
}
