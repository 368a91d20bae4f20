"""Generates recursive-matrix graphs: Graph500's Kronecker graphs and GTgraph's R-MAT graphs."""

import ctypes

from bfsbench.graphs.generators.declaration import (
    SEED,
    Generator,
    Parameter,
    edges,
    orientation_of,
    share,
    switch,
    vertices,
)
from bfsbench.graphs.generators.native import draw_edges
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import UsageError

WHOLE = 2**40
"""The sum of the four integer weights of the quadrants."""
NOISE_UNIT = 2**16


def kronecker(
    scale: int, edge_factor: int, a: float, b: float, c: float, shuffle: int, seed: int
) -> EdgeList:
    """Generate a Kronecker graph of 2**scale vertices with edge_factor * 2**scale edges. Self loops and
    repeated edges stay."""
    weights = _weights("kronecker", a, b, c)
    n = 2**scale
    sources, targets = draw_edges("rmat", n, edge_factor * n, weights, 0, shuffle, seed=seed)
    return EdgeList(sources, targets, n, "each_once")


def rmat(
    n: int, m: int, a: float, b: float, c: float, noise: float, directed: int, shuffle: int, seed: int
) -> EdgeList:
    """Generate an R-MAT graph of m edges over n vertices. Self loops and repeated edges stay.

    As in GTgraph, the range of ids is halved floor(log2(n)) times, rounding down. Only 2**floor(log2(n))
    vertices are reached, and the rest stay isolated. After each halving, the chance of each quadrant is
    multiplied by a random factor, drawn uniformly between 1 - noise/2 and 1 + noise/2.
    """
    weights = _weights("rmat", a, b, c)
    sources, targets = draw_edges("rmat", n, m, weights, int(noise * NOISE_UNIT), shuffle, seed=seed)
    return EdgeList(sources, targets, n, orientation_of(directed))


def _weights(name: str, *quadrants: float) -> ctypes.Array[ctypes.c_int64]:
    """Returns the weights of the four quadrants as integers, for the C++ struct ``Quadrants``. Raises
    UsageError if a + b + c is above 1."""
    weights = [int(quadrant * WHOLE) for quadrant in quadrants]
    if sum(weights) > WHOLE:
        a, b, c = quadrants
        raise UsageError(f"{name}: a + b + c must not exceed 1, but {a} + {b} + {c} does")
    return (ctypes.c_int64 * 4)(*weights, WHOLE - sum(weights))


def _quadrants(a: float, b: float, c: float) -> tuple[Parameter, ...]:
    return (
        share("a", "chance of the quadrant of low sources and low targets", a),
        share("b", "chance of low sources and high targets", b),
        share("c", "chance of high sources and low targets; the rest is the chance of both high", c),
    )


KRONECKER = Generator(
    name="kronecker",
    kind="kronecker",
    description="Graph500's Kronecker graph, without noise; self loops and repeated edges stay in the list",
    source="Graph500 specification; kron_g500-logn20 of BFS-4K Table 1 has scale 20 and edge factor 48",
    orientation="each_once",
    parameters=(
        Parameter("scale", int, "2**scale vertices", minimum=0, maximum=30, growth="logarithm"),
        Parameter("edge_factor", int, "edges drawn for each vertex", default=16, minimum=0, maximum=4096),
        *_quadrants(0.57, 0.19, 0.19),
        switch("shuffle", "1: relabel the vertices at random", default=1),
        SEED,
    ),
    build=kronecker,
    size=lambda scale, edge_factor, **_: (2**scale, edge_factor * 2**scale),
)

RMAT = Generator(
    name="rmat",
    kind="rmat",
    description="R-MAT graph; self loops and repeated edges stay in the list",
    source="GTgraph's R-MAT; rmat.2Mv.128Me of BFS-4K Table 1 has m=64000000",
    orientation="each_once",
    parameters=(
        vertices(),
        edges(),
        *_quadrants(0.45, 0.15, 0.15),
        share("noise", "how far the chances vary from one halving to the next", 0.1, maximum=0.2),
        switch("directed", "1: the edges are arcs, 0: undirected"),
        switch("shuffle", "1: relabel the vertices at random"),
        SEED,
    ),
    build=rmat,
    size=lambda n, m, **_: (n, m),
)
