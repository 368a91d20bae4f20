"""Generates random graphs: uniform, dense and weighted digraphs, small worlds and forest fires.

The dense and the weighted digraphs follow the CSE 6230 project. The small worlds follow Watts and Strogatz.
The forest fire model comes from Leskovec, Kleinberg and Faloutsos.
"""

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
from bfsbench.graphs.generators.native import chance, draw_edges, draw_weights
from bfsbench.graphs.graph import EdgeList
from bfsbench.support.errors import UsageError


def uniform(n: int, m: int, directed: int, seed: int) -> EdgeList:
    """Generate m edges whose two ends are drawn uniformly from n vertices. Self loops and repeated edges
    stay."""
    sources, targets = draw_edges("uniform", n, m, seed=seed)
    return EdgeList(sources, targets, n, orientation_of(directed))


UNIFORM = Generator(
    name="uniform",
    kind="random",
    description="random graph, both ends of every edge drawn uniformly; self loops and repeated edges stay",
    source="GTgraph's random generator; random.2Mv.128Me of BFS-4K Table 1 is n=2000000, m=64000000",
    orientation="each_once",
    parameters=(vertices(), edges(), switch("directed", "1: the edges are arcs, 0: undirected"), SEED),
    build=uniform,
    size=lambda n, m, **_: (n, m),
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
    sources, targets = draw_edges("dense", nodes, chance(density / 100), most, seed=seed)
    return EdgeList(sources, targets, nodes, "directed")


DENSE = Generator(
    name="dense",
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
    build=dense,
    size=lambda nodes, density, degree, **_: (nodes, nodes * (2 + min(density, degree) / 100 * nodes)),
    start=lambda **_: 0,
)


LARGEST_WEIGHT = 1000
"""The largest weight in the paper."""


def weighted_random(n: int, density: float, max_weight: int, seed: int) -> EdgeList:
    """Generate a digraph with weights, in which each arc exists with a probability of ``density`` per cent.

    There are no self loops. Weights are drawn uniformly from 1 .. ``max_weight``. The CSE 6230 paper defines
    only how weights are drawn, so the rest is this project's choice.
    """
    sources, targets = draw_edges("digraph", n, chance(density / 100), seed=seed)
    weights = draw_weights(len(sources), max_weight, seed=seed)
    return EdgeList(sources, targets, n, "directed", weights=weights)


WEIGHTED_RANDOM = Generator(
    name="weighted_random",
    kind="random",
    description="random digraph of given density, weights drawn uniformly from the integers 1 to max_weight",
    source="CSE 6230, all-pairs shortest paths: 512 to 4096 nodes, weights to 1000",
    orientation="directed",
    parameters=(
        vertices(maximum=2**20),
        share("density", "share of all possible arcs, per cent", 10.0, maximum=100),
        Parameter("max_weight", int, "largest weight", default=LARGEST_WEIGHT, minimum=1, maximum=2**31 - 1),
        SEED,
    ),
    build=weighted_random,
    size=lambda n, density, **_: (n, density / 100 * n * (n - 1)),
)


def small_world(n: int, k: int, p: float, seed: int) -> EdgeList:
    """Generate a ring whose vertices link to the k next vertices. Each link is moved with probability p.

    A moved link goes to a uniformly drawn vertex. This vertex differs from the source and from the targets
    that the source already has. An edge that results twice is listed once, so that there are slightly fewer
    than n * k.
    """
    if n <= 2 * k:
        raise UsageError(f"small_world: n must be more than twice k, not {n} with k={k}")
    sources, targets = draw_edges("small_world", n, k, chance(p), seed=seed)
    return EdgeList(sources, targets, n, "each_once")


SMALL_WORLD = Generator(
    name="small_world",
    kind="small-world",
    description="ring with k neighbours on either side, each edge moved elsewhere with probability p",
    source="SNAP's GenSmallWorld (Watts and Strogatz 1998); BFS-4K Table 1 has n=2000000",
    orientation="each_once",
    parameters=(
        vertices(minimum=3),
        Parameter("k", int, "links of a vertex, half its degree", default=10, minimum=1, maximum=1000),
        share("p", "probability that a link is moved", 0.3),
        SEED,
    ),
    build=small_world,
    size=lambda n, k, **_: (n, n * k),
)


EXPECTED_DEGREE = 8
"""Expected out-degree for up to a million vertices at the default probabilities. Higher probabilities burn
far more vertices."""


def forest_fire(n: int, f: float, b: float, s: int, seed: int) -> EdgeList:
    """Generate a graph whose vertices arrive one by one. Each starts a fire and links to all vertices that
    burn.

    The fire starts at one earlier vertex, drawn uniformly. Each burning vertex burns a number x of its
    unburned out-neighbours, where P(x >= i) = f**i. It burns its in-neighbours likewise with b in place of f.
    Neighbours are chosen uniformly without repetition. The first s vertices start no fire.
    """
    if s > n:
        raise UsageError(f"forest_fire: s must not exceed n, not {s} with n={n}")
    sources, targets = draw_edges("forest_fire", n, s, chance(f), chance(b), seed=seed)
    return EdgeList(sources, targets, n, "directed")


FOREST_FIRE = Generator(
    name="forest_fire",
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
    build=forest_fire,
    size=lambda n, **_: (n, EXPECTED_DEGREE * n),
)
