"""How soon searches reach many vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsbench.families.bfs import reference_levels
from bfsbench.graphs import growth
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.graphs.growth import levels_to_thousands
from bfsbench.graphs.recipe import Recipe


def made(kind: str, **parameters: float) -> Graph:
    return build_graph(generate(kind, **parameters), kind, Recipe())


def star(leaves: int) -> Graph:
    """The last vertex leads to all others, and they to it."""
    ends = np.arange(leaves, dtype=np.int32)
    middle = np.full_like(ends, leaves)
    tails, heads = np.concatenate((ends, middle)), np.concatenate((middle, ends))
    return build_graph(EdgeList(tails, heads, leaves + 1, "directed"), "star")


@pytest.mark.parametrize(
    ("make", "parameters", "levels"),
    [
        (made, {"kind": "uniform", "n": 20_000, "m": 100_000}, 4),  # 10 arcs a vertex: 10^3 < 4,096 < 10^4
        (made, {"kind": "lattice", "rows": 150, "columns": 150, "keep": 1}, 7),  # 2 k^2 vertices in k levels
        (star, {"leaves": 4095}, 2),
        (star, {"leaves": 4094}, 7),  # no search reaches so many vertices
        (star, {"leaves": 100_000}, 2),  # of whose arcs not all are followed
    ],
)
def test_graphs_that_grow_quickly_and_others(
    make: Callable[..., Graph], parameters: dict[str, Any], levels: int
) -> None:
    assert levels_to_thousands(make(**parameters), 6) == levels


def test_searches_that_end_early_do_not_count() -> None:
    """Three of nine vertices lead to half of all, six nowhere."""
    tails = np.repeat(np.array([500, 1500, 2500], np.int32), 4500)
    heads = np.tile(np.arange(4500, 9000, dtype=np.int32), 3)
    assert levels_to_thousands(build_graph(EdgeList(tails, heads, 9000, "directed"), "three"), 6) == 1


@given(seed=st.integers(0, 10**6), arcs=st.integers(0, 60), wanted=st.integers(2, 25), most=st.integers(1, 8))
def test_it_is_the_median_of_nine_searches(seed: int, arcs: int, wanted: int, most: int) -> None:
    graph = build_graph(generate("uniform", n=40, m=arcs, directed=1, seed=seed), "g", Recipe())
    took = []
    for start in (np.arange(9) * 2 + 1) * graph.num_vertices // 18:
        levels = reference_levels(graph, int(start))
        reached = [int(np.count_nonzero((levels >= 0) & (levels <= level))) for level in range(most + 1)]
        enough = [level for level, vertices in enumerate(reached) if vertices >= wanted]
        if enough or levels.max() >= most:  # it did not end before
            took.append(enough[0] if enough else most + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "_VERTICES", wanted)
        assert levels_to_thousands(graph, most) == (sorted(took)[len(took) // 2] if took else most + 1)
