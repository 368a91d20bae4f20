"""Weights of edges: in CSR order through every choice of a conversion, and back from the cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Orientation
from bfsbench.graphs.recipe import Recipe
from bfsbench.graphs.store import GraphStore

EDGES = [(2, 0, 7), (0, 1, 5), (0, 1, 3), (1, 1, 9), (1, 0, 4)]


def edges(orientation: Orientation = "directed") -> EdgeList:
    sources, targets, weights = np.array(EDGES, np.int32).T.copy()
    return EdgeList(sources, targets, 3, orientation, weights=weights)


@pytest.mark.parametrize(
    ("orientation", "recipe", "expected"),
    [
        ("directed", Recipe(), [(0, 1, 3), (0, 1, 5), (1, 0, 4), (1, 1, 9), (2, 0, 7)]),
        ("directed", Recipe(duplicates="drop"), [(0, 1, 3), (1, 0, 4), (1, 1, 9), (2, 0, 7)]),
        ("directed", Recipe(self_loops="drop"), [(0, 1, 3), (0, 1, 5), (1, 0, 4), (2, 0, 7)]),
        (
            "directed",
            Recipe(symmetrise=True),
            [(0, 1, 3), (0, 2, 7), (1, 0, 3), (1, 1, 9), (2, 0, 7)],
        ),
    ],
)
def test_weights_stay_with_their_arcs(
    orientation: Orientation, recipe: Recipe, expected: list[tuple[int, int, int]]
) -> None:
    graph = build_graph(edges(orientation), "weighted", recipe)
    assert graph.weights is not None and graph.weights.dtype == np.int32
    found = zip(
        graph.edge_sources.tolist(), graph.column_indices.tolist(), graph.weights.tolist(), strict=True
    )
    assert list(found) == expected


def test_weights_come_back_from_the_cache_and_count_in_the_checksum(tmp_path: Path) -> None:
    def drawn() -> EdgeList:
        return generate("weighted_random", n=30, density=20)

    built = GraphStore(tmp_path).build("w", Recipe(), drawn, "c")
    opened = GraphStore(tmp_path).open("w", Recipe(), "c")
    memory = build_graph(drawn(), "w")
    assert opened is not None and opened.weights is not None and memory.weights is not None
    assert np.array_equal(opened.weights, memory.weights)
    assert built.checksum == opened.checksum == memory.checksum
    other = build_graph(generate("weighted_random", n=30, density=20, max_weight=999), "w")
    assert np.array_equal(other.column_indices, memory.column_indices) and other.checksum != memory.checksum
