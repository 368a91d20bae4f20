"""Statistics against SciPy's graph routines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, shortest_path

from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Orientation
from bfsbench.graphs.recipe import Recipe
from bfsbench.graphs.statistics import describe
from tests.graphs.texts import matrix

V = 150
vertex = st.integers(0, V - 1)


def edge_list(pairs: list[tuple[int, int]], num_vertices: int, orientation: Orientation) -> EdgeList:
    array = np.array(pairs, np.int32).reshape(-1, 2)
    return EdgeList(array[:, 0].copy(), array[:, 1].copy(), num_vertices, orientation)


@given(
    pairs=st.lists(st.tuples(vertex, vertex), max_size=400),
    orientation=st.sampled_from(["directed", "each_once"]),
)
def test_figures_agree_with_scipy(pairs: list[tuple[int, int]], orientation: Orientation) -> None:
    edges = edge_list(pairs, V, orientation)
    graph = build_graph(edges, "random")
    figures = describe(graph)
    degrees = np.bincount(graph.edge_sources, minlength=V)
    arcs = list(zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True))
    components, labels = connected_components(matrix(edges), directed=False)
    distances = shortest_path(matrix(edges), directed=False, unweighted=True)
    diameter = distances[np.isfinite(distances)].max()
    assert figures["edges_listed"] == len(pairs)
    assert (figures["vertices"], figures["arcs"]) == (V, len(arcs))
    assert figures["degree_mean"] == pytest.approx(degrees.mean())
    assert figures["degree_std"] == pytest.approx(degrees.std())
    assert (figures["degree_median"], figures["degree_max"]) == (np.median(degrees), degrees.max())
    assert figures["self_loops"] == sum(u == v for u, v in arcs)
    assert figures["duplicates"] == len(arcs) - len(set(arcs))
    assert figures["isolated"] == V - len({vertex for arc in arcs for vertex in arc})
    assert figures["components"] == components
    assert figures["largest_component"] == np.bincount(labels).max()
    # A double sweep meets at least half the diameter of the component it searches.
    largest = labels == np.bincount(labels).argmax()
    assert distances[largest][:, largest].max() / 2 <= figures["diameter_at_least"] <= diameter


@pytest.mark.parametrize("orientation", ["directed", "each_once"])
def test_sweeps_find_the_ends_of_a_path(orientation: Orientation) -> None:
    length = 5000
    order = np.random.default_rng(3).permutation(length).tolist()
    path = edge_list(list(pairwise(order)), length, orientation)
    assert describe(build_graph(path, "path"))["diameter_at_least"] == length - 1


def test_large_levels_are_searched_by_several_workers() -> None:
    random = np.random.default_rng(5)
    num_vertices = 200_000
    ends = random.integers(0, num_vertices - 1000, (2, 900_000), np.int32)
    edges = EdgeList(ends[0], ends[1], num_vertices)
    figures = describe(build_graph(edges, "random", Recipe(symmetrise=True)))
    components, labels = connected_components(matrix(edges), directed=False)
    assert figures["components"] == components
    assert figures["largest_component"] == np.bincount(labels).max()
