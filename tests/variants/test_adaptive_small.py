"""Small graphs, which one cluster of the search of one launch pulls from bitmaps in its shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsbench.backends.base import Device
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import SHAPES, SOURCES, with_wide_offsets
from tests.variants.adaptive_searches import (
    BARRIER_WORD,
    CLUSTERS,
    LIKELY,
    WHOLE,
    expect_levels,
    layers_of,
)
from tests.variants.searching import fan, layered, levels_of, prepared, shape


def expected_layers(graph: Graph, small: int) -> list[str]:
    """The regime of each level, if no queue overflows. The number of parts of 4 arcs is known of a level that
    has been expanded, and estimated of one that has been pulled."""
    levels = reference_levels(graph, 0)
    in_degrees, out_degrees = np.diff(graph.column_offsets), np.diff(graph.row_offsets)
    layers, parts = [], 1
    for level in range(int(levels.max()) + 1):
        if parts <= small:
            layers.append("cluster")
            parts = int((-(-out_degrees[levels == level] // 4)).sum())
        else:
            layers.append("cluster_pull")
            found = levels == level + 1
            parts = int(found.sum()) + int(in_degrees[found].sum()) // 4
    return layers


def expect_one_step(device: Device, graph: Graph, **knobs: int) -> None:
    """All of it in the cluster: nothing is handed to another step, which would be one in vain."""
    search = prepared(Adaptive, device, graph, **knobs)
    for turned in (True, False):
        assert levels_of(search, 0) == reference_levels(graph, 0).tolist()
        assert (search.state.read(BARRIER_WORD) < 0) == turned


@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(1, 16), max_size=10),  # rows of a warp are few parts, so no queue overflows
    small=st.sampled_from([0, 1, 5, 20, 60, 100]),
    cluster=st.sampled_from(CLUSTERS),
)
def test_levels_are_pushed_while_they_are_small(
    device: Device, sizes: list[int], small: int, cluster: int
) -> None:
    graph = layered([1, *sizes, 1])
    knobs = {**WHOLE, "SMALL_PARTS": small, "CLUSTER_SIZE": cluster}
    assert layers_of(device, graph, **knobs) == expected_layers(graph, small)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_largest_graph_of_one_cluster(device: Device, cluster: int) -> None:
    """One of more vertices is searched by all blocks, and so is any that may not be pulled."""
    graph = shape("kronecker")
    most = {"CLUSTER_SIZE": cluster, "SMALL_PARTS": 20, "WHOLE_GRAPH": graph.num_vertices}
    assert set(layers_of(device, graph, **most)) == {"cluster", "cluster_pull"}
    assert prepared(Adaptive, device, graph, **most).num_blocks == cluster
    for knobs in ({**most, "WHOLE_GRAPH": graph.num_vertices - 1}, {**most, "MAY_PULL": 0}):
        assert "cluster_pull" not in layers_of(device, graph, **knobs)
        assert prepared(Adaptive, device, graph, 32, **knobs).num_blocks == 32


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cluster", [1, 2])
def test_blocks_have_no_more_vertices_than_they_can_pull_at_a_time(
    device: Device, cluster: int, wide: bool
) -> None:
    most = cluster * 65536 // (2 if wide else 1)
    arcs = generate("uniform", n=2000, m=20000, directed=1, seed=5)
    for num_vertices, layers in ((most, {"cluster_pull"}), (most + 1, {"push"})):
        places = np.linspace(0, num_vertices - 1, 2000).astype(np.int32)
        edges = EdgeList(places[arcs.sources], places[arcs.targets], num_vertices, "directed")
        graph = build_graph(edges, "scattered")
        if wide:
            graph = with_wide_offsets(graph)
        for look in ({}, LIKELY):
            knobs = {**WHOLE, "SMALL_PARTS": 0, "PUSHED_EDGE": 0, "CLUSTER_SIZE": cluster, **look}
            assert set(layers_of(device, graph, **knobs)) == layers


@pytest.mark.parametrize("knobs", [WHOLE, {**WHOLE, "SMALL_PARTS": 1 << 15}, {**WHOLE, **LIKELY}])
def test_all_shapes_with_wide_offsets(device: Device, knobs: dict[str, int]) -> None:
    for name in (name for name in SHAPES if "path" not in name):
        graph = with_wide_offsets(shape(name))
        for source in SOURCES[name]:
            expect_levels(device, graph, source, **knobs)


@pytest.mark.parametrize(("cluster", "degree"), [(1, 8193), (8, 65537)])
def test_a_source_whose_row_no_queue_can_hold_is_pulled(device: Device, cluster: int, degree: int) -> None:
    graph = fan(degree, 1)
    knobs = {**WHOLE, "SMALL_PARTS": 1 << 15, "CLUSTER_SIZE": cluster}
    assert layers_of(device, graph, **knobs)[0] == "cluster_pull"
    expect_one_step(device, graph, **knobs)


def hub_with_loops(loops: int, children: int, leaves: int) -> Graph:
    """Vertex 0 has so many loops, and children with leaves of their own: all arcs lead away from it."""
    fanned = fan(children, leaves)
    around = np.zeros(loops, dtype=np.int32)
    tails = np.concatenate([around, fanned.edge_sources])
    heads = np.concatenate([around, fanned.column_indices])
    return build_graph(EdgeList(tails, heads, fanned.num_vertices, "directed"), "hub with loops")


@pytest.mark.parametrize(
    ("cluster", "loops", "children", "leaves"),
    [(1, 8193, 300, 28), (1, 8193, 300, 40), (1, 8193, 30, 300), (8, 65537, 2500, 28), (8, 65537, 300, 240)],
)
def test_a_pulled_frontier_that_the_queues_cannot_hold_is_pulled(
    device: Device, cluster: int, loops: int, children: int, leaves: int
) -> None:
    """It looks small by its in-neighbours: each vertex has one."""
    graph = hub_with_loops(loops, children, leaves)
    knobs = {**WHOLE, "SMALL_PARTS": 1 << 15, "CLUSTER_SIZE": cluster}
    assert layers_of(device, graph, **knobs)[:2] == ["cluster_pull", "cluster_pull"]
    expect_one_step(device, graph, **knobs)
    fits = hub_with_loops(loops, children, 4)
    assert layers_of(device, fits, **knobs) == ["cluster_pull", "cluster", "cluster"]


def test_levels_are_handed_over_while_they_are_pulled(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many, the next one is pulled by all blocks of the grid; after it, each level finds its way."""
    graph = layered([1, 60, 50, 70, 40, 45, 60, 2, 1, 1, 90, 1, 1])
    defines, at_a_time = Adaptive.defines, 0
    monkeypatch.setattr(
        Adaptive, "defines", lambda search: {**defines(search), "LEVELS_AT_A_TIME": at_a_time}
    )
    for at_a_time in (1, 3, 6):
        layers = layers_of(device, graph, **WHOLE)
        assert layers[: at_a_time + 1] == [*expected_layers(graph, 20)[:at_a_time], "pull"]
        search = prepared(Adaptive, device, graph, **WHOLE)
        for source in (0, 200, 100, 0):
            assert levels_of(search, source) == reference_levels(graph, source).tolist()
