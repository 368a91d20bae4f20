"""Dense digraphs of the CSE 6230 project."""

from __future__ import annotations

from bfsbench.errors import UsageError
from bfsbench.graphs.generators.declaration import SEED, Generator, share, vertices
from bfsbench.graphs.generators.native import chance, draw_edges
from bfsbench.graphs.graph import EdgeList


def dense(nodes: int, density: float, degree: float, seed: int) -> EdgeList:
    """A random adjacency matrix with self loops, strongly connected, of bounded out-degree.

    Every vertex has an arc to itself and one to its successor on a ring through all vertices; any other arc
    is there with a probability of ``density`` per cent. Of a vertex with more arcs than ``degree`` per cent
    of nodes, random other ones are dropped. The density is therefore not exact, as the paper says of its
    own.
    """
    most = int(nodes * degree / 100)
    if most < min(nodes, 2):
        raise UsageError(
            f"dense: degree={degree:g} % of {nodes} nodes leaves no room for the connecting arcs"
        )
    sources, targets = draw_edges("dense", nodes, chance(density / 100), most, seed=seed)
    return EdgeList(sources, targets, nodes, "directed")


DENSE = Generator(
    name="dense",
    family="dense",
    description="random digraph of given density and maximum degree, with self loops and strongly connected",
    source="CSE 6230, initGraph: 1024 to 40960 nodes",
    orientation="directed",
    parameters=(
        vertices("nodes", maximum=2**20),
        share("density", "share of all possible arcs, per cent", 25.0, maximum=100),
        share("degree", "largest out-degree, per cent of the nodes", 100.0, maximum=100),
        SEED,
    ),
    build=dense,
    size=lambda nodes, density, degree, **_: (nodes, nodes * (2 + min(density, degree) / 100 * nodes)),
    start=lambda **_: 0,
)
