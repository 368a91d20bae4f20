"""The forest fire model of Leskovec, Kleinberg and Faloutsos."""

from __future__ import annotations

from bfsbench.errors import UsageError
from bfsbench.graphs.generators.declaration import SEED, Generator, Parameter, share, vertices
from bfsbench.graphs.generators.native import chance, draw_edges
from bfsbench.graphs.graph import EdgeList

EXPECTED_DEGREE = 8
"""For up to a million vertices at the default probabilities; higher ones burn far more."""


def forest_fire(n: int, f: float, b: float, s: int, seed: int) -> EdgeList:
    """Vertices arrive one by one and link to all that burns in a fire each of them starts.

    The fire starts at one vertex drawn uniformly (the ambassador). A vertex that catches fire burns for one
    step: of its out-neighbours not burned yet it burns a number x with P(x >= i) = f**i, then of its
    in-neighbours a number with b in place of f, all chosen uniformly without repetition. The first s vertices
    come without a fire.
    """
    if s > n:
        raise UsageError(f"forest_fire: s must not exceed n, not {s} with n={n}")
    sources, targets = draw_edges("forest_fire", n, s, chance(f), chance(b), seed=seed)
    return EdgeList(sources, targets, n, "directed")


FOREST_FIRE = Generator(
    name="forest_fire",
    family="social",
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
