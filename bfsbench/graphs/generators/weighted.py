"""Weighted digraphs of the CSE 6230 project."""

from __future__ import annotations

from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, share, vertices
from bfsbench.graphs.generators.native import chance, draw_edges, draw_weights
from bfsbench.graphs.graph import EdgeList

LARGEST_WEIGHT = 1000
"""Of the paper."""


def weighted_random(n: int, density: float, max_weight: int, seed: int) -> EdgeList:
    """Each arc between two different vertices with a probability of ``density`` per cent, its weight uniform.

    The paper says no more of its graphs than how weights are drawn.
    """
    sources, targets = draw_edges("digraph", n, chance(density / 100), seed=seed)
    weights = draw_weights(len(sources), max_weight, seed=seed)
    return EdgeList(sources, targets, n, "directed", weights=weights)


WEIGHTED_RANDOM = Generator(
    name="weighted_random",
    family="random",
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
