"""Generates random graphs, from uniform and recursive-matrix graphs to web crawls and forest fires."""

import ctypes
import math
from functools import partial

from bfsbench.graphs.generators.declaration import (
    DIRECTED,
    SEED,
    Generator,
    Parameter,
    edges,
    orientation_of,
    share,
    switch,
    vertices,
)
from bfsbench.graphs.generators.native import chance, draw_edges, draw_weights
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import UsageError

_WHOLE = 2**40
"""The sum of the four integer weights of the quadrants."""
_NOISE_UNIT = 2**16


def _quadrants(a: float, b: float, c: float) -> tuple[Parameter, ...]:
    """Returns the declarations of the chances of a matrix's quadrants, with their defaults."""
    return (
        share("a", "chance of the quadrant of low sources and low targets", a),
        share("b", "chance of low sources and high targets", b),
        share("c", "chance of high sources and low targets; the rest is the chance of both high", c),
    )


def _weights(name: str, a: float, b: float, c: float) -> ctypes.Array[ctypes.c_int64]:
    """Returns the weights of the four quadrants as integers, for the C++ struct ``Quadrants``. Raises
    UsageError if a + b + c is above 1."""
    weights = [int(quadrant * _WHOLE) for quadrant in (a, b, c)]
    if sum(weights) > _WHOLE:
        raise UsageError(f"{name}: a + b + c must not exceed 1, but {a} + {b} + {c} does")
    return (ctypes.c_int64 * 4)(*weights, _WHOLE - sum(weights))


@partial(
    Generator,
    kind="kronecker",
    description="Graph500's Kronecker graph, without noise; self loops and repeated edges stay in the list",
    source="Graph500 specification; kron_g500-logn20 of BFS-4K Table 1 has scale 20 and edge factor 48",
    parameters=(
        Parameter("scale", int, "2**scale vertices", maximum=30, growth="logarithm"),
        Parameter("edge_factor", int, "edges drawn for each vertex", default=16, maximum=4096),
        *_quadrants(0.57, 0.19, 0.19),
        switch("shuffle", "1: relabel the vertices at random", default=1),
        SEED,
    ),
    size=lambda scale, edge_factor, **_: (2**scale, edge_factor * 2**scale),
)
def kronecker(
    scale: int, edge_factor: int, a: float, b: float, c: float, shuffle: int, seed: int
) -> EdgeList:
    """Generate a Kronecker graph of 2**scale vertices with edge_factor * 2**scale edges. Self loops and
    repeated edges stay."""
    weights = _weights("kronecker", a, b, c)
    n = 2**scale
    return EdgeList(*draw_edges("rmat", n, edge_factor * n, weights, 0, shuffle, seed=seed), n, "each_once")


@partial(
    Generator,
    kind="rmat",
    description="R-MAT graph; self loops and repeated edges stay in the list",
    source="GTgraph's R-MAT; rmat.2Mv.128Me of BFS-4K Table 1 has m=64000000",
    parameters=(
        vertices(),
        edges(),
        *_quadrants(0.45, 0.15, 0.15),
        share("noise", "how far the chances vary from one halving to the next", 0.1, maximum=0.2),
        DIRECTED,
        switch("shuffle", "1: relabel the vertices at random"),
        SEED,
    ),
    size=lambda n, m, **_: (n, m),
)
def rmat(
    n: int, m: int, a: float, b: float, c: float, noise: float, directed: int, shuffle: int, seed: int
) -> EdgeList:
    """Generate an R-MAT graph of m edges over n vertices. Self loops and repeated edges stay.

    As in GTgraph, the range of ids is halved floor(log2(n)) times, rounding down. Only 2**floor(log2(n))
    vertices are reached, and the rest stay isolated. After each halving, the chance of each quadrant is
    multiplied by a random factor, drawn uniformly between 1 - noise/2 and 1 + noise/2.
    """
    weights = _weights("rmat", a, b, c)
    ends = draw_edges("rmat", n, m, weights, int(noise * _NOISE_UNIT), shuffle, seed=seed)
    return EdgeList(*ends, n, orientation_of(directed))


@partial(
    Generator,
    kind="random",
    description="random graph, both ends of every edge drawn uniformly; self loops and repeated edges stay",
    source="GTgraph's random generator; random.2Mv.128Me of BFS-4K Table 1 is n=2000000, m=64000000",
    parameters=(vertices(), edges(), DIRECTED, SEED),
    size=lambda n, m, **_: (n, m),
)
def uniform(n: int, m: int, directed: int, seed: int) -> EdgeList:
    """Generate m edges whose two ends are drawn uniformly from n vertices. Self loops and repeated edges
    stay."""
    return EdgeList(*draw_edges("uniform", n, m, seed=seed), n, orientation_of(directed))


@partial(
    Generator,
    kind="small-world",
    description="ring with k neighbours on either side, each edge moved elsewhere with probability p",
    source="SNAP's GenSmallWorld (Watts and Strogatz 1998); BFS-4K Table 1 has n=2000000",
    parameters=(
        vertices(minimum=3),
        Parameter("k", int, "links of a vertex, half its degree", default=10, minimum=1, maximum=1000),
        share("p", "probability that a link is moved", 0.3),
        SEED,
    ),
    size=lambda n, k, **_: (n, n * k),
)
def small_world(n: int, k: int, p: float, seed: int) -> EdgeList:
    """Generate a ring whose vertices link to the k next vertices. Each link is moved with probability p.

    A moved link goes to a uniformly drawn vertex. This vertex differs from the source and from the targets
    that the source already has. An edge that results twice is listed once, so that there are slightly fewer
    than n * k edges.
    """
    if n <= 2 * k:
        raise UsageError(f"small_world: n must be more than twice k, not {n} with k={k}")
    return EdgeList(*draw_edges("small_world", n, k, chance(p), seed=seed), n, "each_once")


_SIDE = 1 << 30
"""Side length of the square from which points are drawn."""


@partial(
    Generator,
    kind="geometric",
    description="points in a square, joined where they are near; numbered by cells, like a mesh",
    source="random geometric graphs (Gilbert 1961); rgg_n_2_20_s0 of DIMACS10 has n=1048576, degree=13.1",
    parameters=(
        vertices(),
        Parameter("degree", float, "mean degree away from the border", default=13.0, maximum=1000),
        SEED,
    ),
    size=lambda n, degree, **_: (n, n * degree / 2),
)
def geometric(n: int, degree: float, seed: int) -> EdgeList:
    """Draw n points uniformly from a square and join near points, so that the mean degree is about
    ``degree``.

    Vertices are numbered by square cells. Near points therefore have near numbers, as in a mesh.
    """
    radius = min(_SIDE, round(_SIDE * math.sqrt(degree / (math.pi * n))))
    ends = draw_edges("geometric", n, _SIDE, radius, seed=seed, native="generate_places")
    return EdgeList(*ends, n, "each_once")


@partial(
    Generator,
    kind="web",
    description="web crawl: pages link to near pages of their host, to hubs and to anywhere",
    source="this project, after the locality and the hubs of cnr-2000 (Boldi and Vigna 2004)",
    orientation="directed",
    parameters=(
        vertices(),
        Parameter("degree", int, "mean number of links", default=10, minimum=1, maximum=1000),
        Parameter("host", int, "pages per two hosts", default=1000, minimum=1, maximum=2**30),
        share("near", "share of links within a host", 0.75),
        share("hubs", "share of the other links that go to hubs", 0.6),
        SEED,
    ),
    size=lambda n, degree, **_: (n, n * degree),
)
def crawl(n: int, degree: int, host: int, near: float, hubs: float, seed: int) -> EdgeList:
    """Generate n web pages in the order of a crawler, host after host. Repeated links stay.

    A page has ``degree`` links on average, and some pages have many more. A share ``near`` of the links stays
    within the host, mostly between close pages. A share ``hubs`` of the other links goes to first pages of
    hosts, and a few of these pages get very many links. All remaining links go to random pages.
    """
    arguments = (n, degree, min(host, n), chance(near), chance(hubs))
    ends = draw_edges("crawl", *arguments, seed=seed, native="generate_places")
    return EdgeList(*ends, n, "directed")


_EXPECTED_DEGREE = 8
"""Expected out-degree for up to a million vertices at the default probabilities. Higher probabilities burn
far more vertices."""


@partial(
    Generator,
    kind="social",
    description="growing network in which a new vertex links to every vertex that its fire burns",
    source="SNAP's GenForestFire, its geometric fire without decay or orphans; BFS-4K Table 1 has n=1000000",
    orientation="directed",
    parameters=(
        vertices(),
        share("f", "forward burning probability", 0.35, maximum=0.9),
        share("b", "backward burning probability", 0.32, maximum=0.9),
        Parameter("s", int, "isolated vertices to start with", default=1, minimum=1, maximum=2**31 - 1),
        SEED,
    ),
    size=lambda n, **_: (n, _EXPECTED_DEGREE * n),
)
def forest_fire(n: int, f: float, b: float, s: int, seed: int) -> EdgeList:
    """Generate a graph whose vertices arrive one by one. A new vertex starts a fire and links to all vertices
    that burn. This is the model of Leskovec, Kleinberg and Faloutsos.

    The fire starts at one earlier vertex, drawn uniformly. Each burning vertex burns a number x of its
    unburned out-neighbours, where P(x >= i) = f**i. It burns its in-neighbours likewise with b in place of f.
    Neighbours are chosen uniformly without repetition. The first s vertices start no fire.
    """
    if s > n:
        raise UsageError(f"forest_fire: s must not exceed n, not {s} with n={n}")
    return EdgeList(*draw_edges("forest_fire", n, s, chance(f), chance(b), seed=seed), n, "directed")


_HUB_SPACING = 1000
"""Number of vertices per hub. In the paper, 0.1 % of the vertices are hubs."""
_HUB_DEGREE = 1000


@partial(
    Generator,
    kind="random",
    description="0.1 % of the vertices have degree 1000, the rest 6 on average and at most 7",
    source="Luo Table 3",
    parameters=(vertices(minimum=2 * _HUB_SPACING), SEED),
    size=lambda n, **_: (n, n * (6 + _HUB_DEGREE / _HUB_SPACING) / 2),
)
def luo_scale_free(n: int, seed: int) -> EdgeList:
    """Generate a random graph in which one vertex in a thousand has degree 1000.

    All other vertices have degree 5, 6 or 7 with equal probability. Edge ends are matched at random
    (configuration model), but no vertex is joined to itself. The few repeated edges stay and count. If the
    sum of the degrees is odd, one vertex has one edge less. The graph is from Luo, Wong and Hwu, "An
    effective GPU implementation of breadth-first search" (DAC 2010).
    """
    return EdgeList(*draw_edges("scale_free", n, _HUB_SPACING, _HUB_DEGREE, seed=seed), n, "each_once")


@partial(
    Generator,
    kind="dense",
    description="random digraph of given density and maximum degree, with self loops and strongly connected",
    source="CSE 6230, initGraph: 1024 to 40960 nodes",
    orientation="directed",
    parameters=(
        vertices("nodes", maximum=2**20),
        share("density", "share of all possible arcs, per cent", 25.0, maximum=100),
        share("degree", "largest out-degree, per cent of the nodes", 100.0, maximum=100),
        SEED,
    ),
    size=lambda nodes, density, degree, **_: (nodes, nodes * (2 + min(density, degree) / 100 * nodes)),
    start=lambda **_: 0,
)
def dense(nodes: int, density: float, degree: float, seed: int) -> EdgeList:
    """Generate a dense digraph that is strongly connected and whose out-degree is bounded.

    Every vertex has an arc to itself and an arc to its successor on a ring through all vertices. Each other
    arc exists with a probability of ``density`` per cent. The out-degree is at most ``degree`` per cent of
    ``nodes``. A vertex with too many arcs loses random arcs, but not the first two. The density is therefore
    not exact.
    """
    most = int(nodes * degree / 100)
    if most < min(nodes, 2):
        raise UsageError(
            f"dense: degree={degree:g} % of {nodes} nodes leaves no room for the connecting arcs"
        )
    return EdgeList(*draw_edges("dense", nodes, chance(density / 100), most, seed=seed), nodes, "directed")


@partial(
    Generator,
    kind="random",
    description="random digraph of given density, weights drawn uniformly from the integers 1 to max_weight",
    source="CSE 6230, all-pairs shortest paths: 512 to 4096 nodes, weights to 1000",
    orientation="directed",
    parameters=(
        vertices(maximum=2**20),
        share("density", "share of all possible arcs, per cent", 10.0, maximum=100),
        Parameter("max_weight", int, "largest weight", default=1000, minimum=1, maximum=2**31 - 1),
        SEED,
    ),
    size=lambda n, density, **_: (n, density / 100 * n * (n - 1)),
)
def weighted_random(n: int, density: float, max_weight: int, seed: int) -> EdgeList:
    """Generate a digraph with weights, in which each arc exists with a probability of ``density`` per cent.

    There are no self loops. Weights are drawn uniformly from 1 .. ``max_weight``, which is 1000 in the CSE
    6230 paper. The paper defines only how weights are drawn, so the rest is this project's choice.
    """
    sources, targets = draw_edges("digraph", n, chance(density / 100), seed=seed)
    weights = draw_weights(len(sources), max_weight, seed=seed)
    return EdgeList(sources, targets, n, "directed", weights=weights)
