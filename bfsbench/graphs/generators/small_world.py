"""Small worlds of Watts and Strogatz."""

from __future__ import annotations

from bfsbench.errors import UsageError
from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, share, vertices
from bfsbench.graphs.generators.native import chance, draw_edges
from bfsbench.graphs.graph import EdgeList


def small_world(n: int, k: int, p: float, seed: int) -> EdgeList:
    """A ring whose vertices link to the k next ones, each link moved elsewhere with probability p.

    A moved link goes to a uniformly drawn vertex that is neither its source nor one the source links to
    already. An edge that results twice is listed once, so that there are a few less than n * k.
    """
    if n <= 2 * k:
        raise UsageError(f"small_world: n must be more than twice k, not {n} with k={k}")
    sources, targets = draw_edges("small_world", n, k, chance(p), seed=seed)
    return EdgeList(sources, targets, n, "each_once")


SMALL_WORLD = Generator(
    name="small_world",
    family="small-world",
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
