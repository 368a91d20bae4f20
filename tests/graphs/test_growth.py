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
from bfsbench.graphs.ball import neighbours
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
    ],
)
def test_graphs_that_grow_quickly_and_others(
    make: Callable[..., Graph], parameters: dict[str, Any], levels: int
) -> None:
    assert levels_to_thousands(make(**parameters), 6) == levels


def test_of_long_rows_only_the_first_arcs_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star(9000)
    assert levels_to_thousands(graph, 6) == 2
    monkeypatch.setattr(growth, "_ARCS", 4094)  # besides the middle and the leaf from which it began
    assert levels_to_thousands(graph, 6) == 2
    monkeypatch.setattr(growth, "_ARCS", 4093)
    assert levels_to_thousands(graph, 6) == 7


def test_the_first_arcs_of_rows() -> None:
    tails, heads = np.repeat(np.arange(3, dtype=np.int32), (4, 0, 2)), np.arange(6, dtype=np.int32)
    graph = build_graph(EdgeList(tails, heads, 6, "directed"), "rows")
    some, rows = np.array([2, 0, 1], np.int32), (graph.row_offsets, graph.column_indices)
    assert neighbours(*rows, some).tolist() == [4, 5, 0, 1, 2, 3]
    assert neighbours(*rows, some, 3).tolist() == [4, 5, 0, 1, 2]
    assert neighbours(*rows, some, 1).tolist() == [4, 0]


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
