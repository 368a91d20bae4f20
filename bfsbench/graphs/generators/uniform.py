"""Edges drawn uniformly."""

from __future__ import annotations

from bfsbench.graphs.generators.declaration import SEED, Generator, edges, orientation_of, switch, vertices
from bfsbench.graphs.generators.native import draw_edges
from bfsbench.graphs.graph import EdgeList


def uniform(n: int, m: int, directed: int, seed: int) -> EdgeList:
    """m edges whose ends are both drawn uniformly from n vertices; self loops and repeated edges stay."""
    sources, targets = draw_edges("uniform", n, m, seed=seed)
    return EdgeList(sources, targets, n, orientation_of(directed))


UNIFORM = Generator(
    name="uniform",
    family="random",
    description="random graph, both ends of every edge drawn uniformly; self loops and repeated edges stay",
    source="GTgraph's random generator; random.2Mv.128Me of BFS-4K Table 1 is n=2000000, m=64000000",
    orientation="each_once",
    parameters=(vertices(), edges(), switch("directed", "1: the edges are arcs, 0: undirected"), SEED),
    build=uniform,
    size=lambda n, m, **_: (n, m),
)
