"""Tiny levels of the search of one launch, which one block of the cluster runs without the others."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from tests.parameters import covering, one_in, some
from tests.shapes import SHAPES, edge_list, with_wide_offsets
from tests.variants.adaptive_searches import (
    CLUSTERS,
    USUAL_CLUSTERS,
    check_shapes,
    compile_with,
    expect_levels,
    layers_of,
)
from tests.variants.searching import graphs, layered, shape

TINY_LEVELS = 4
"""Of the cluster, before one block goes on alone: as in cuda_src/adaptive_small.cuh."""
SHORT_ROW = 8 * 4
"""Arcs of the longest row that is not dealt out to all blocks, if it is not one of few long ones."""
KEPT_PARTS = 150
"""Parts of a long row with which a level is tiny still; with twice as many it is not."""


def chain(sizes: list[int]) -> Graph:
    """Each vertex of a level has about as many children as another; all arcs lead away from vertex 0."""
    ends = np.cumsum([0, *sizes])
    edges = [
        (ends[k] + i * size // following, ends[k + 1] + i)
        for k, (size, following) in enumerate(pairwise(sizes))
        for i in range(following)
    ]
    return build_graph(edge_list(int(ends[-1]), [(int(u), int(v)) for u, v in edges], "directed"), "chain")


def long_row(degree: int) -> Graph:
    """Tiny levels, in the seventh of which are a row of so many arcs and a short one."""
    before, first = 6, 8
    edges = [(v, v + 1) for v in range(before)] + [(before - 1, before + 1), (before + 1, first)]
    edges += [(before, first + i) for i in range(degree)]
    edges += [(first, first + degree), (first + degree, first + degree + 1)]
    return build_graph(edge_list(first + degree + 2, edges, "directed"), "long row")


def expected_layers(graph: Graph, tiny: int, sooner: int = TINY_LEVELS) -> list[str]:
    """The regime of each level of a graph whose rows are short. A cluster knows the parts of the level
    before, a block those of the one at hand."""
    levels, degrees = reference_levels(graph, 0), np.diff(graph.row_offsets)
    parts = [int((-(-degrees[levels == level] // 4)).sum()) for level in range(int(levels.max()) + 1)]
    layers: list[str] = []
    known, waited, alone = 1, 0, False
    for here in parts:
        if not alone:
            waited = waited + 1 if known <= tiny else 0
            alone, waited = (here <= tiny, 0) if waited > sooner else (False, waited)
        elif here > tiny:
            alone = False
        layers.append("block" if alone else "cluster")
        known = here
    return layers


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_levels_are_run_by_one_block_once_several_were_tiny(device: Device, cluster: int) -> None:
    sizes = [1] * 7 + [9, 10, 11, 5, 5, 5, 5, 5, 5, 10, 10, 20, 9] + [1] * 7
    knobs = {"CLUSTER_SIZE": cluster, "MAY_PULL": 0}
    graph = chain(sizes)
    for tiny in (0, 1, 2, 9, 10, 256):
        layers = layers_of(device, graph, TINY_PARTS=tiny, **knobs)
        assert layers == expected_layers(graph, tiny), tiny
        assert ("block" in layers) == (tiny > 0)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@given(sizes=st.lists(st.integers(1, 30), max_size=20), tiny=st.sampled_from([2, 5, 10, 20, 60]))
def test_the_first_block_goes_on_while_levels_are_tiny(
    device: Device, sizes: list[int], tiny: int, cluster: int
) -> None:
    graph = chain([1] * TINY_LEVELS + sizes)
    knobs = {"CLUSTER_SIZE": cluster, "TINY_PARTS": tiny, "MAY_PULL": 0}
    assert layers_of(device, graph, **knobs) == expected_layers(graph, tiny)


def test_a_graph_of_long_rows_has_smaller_tiny_levels(device: Device) -> None:
    """A level finds so many parts that they fit the queue of one block: of rows as they are in the mean."""
    for graph, row in ((chain([1] * 6 + [200, 300, 500]), 1), (layered([1] * 6 + [15, 15, 15]), 5)):
        limit = 512 // row
        assert -(-graph.num_edges // (4 * graph.num_vertices)) == row
        layers = layers_of(device, graph, TINY_PARTS=512, MAY_PULL=0)
        assert layers == expected_layers(graph, limit)
        assert row == 1 or layers != expected_layers(graph, 512), "the limit shows"


@pytest.mark.parametrize(
    ("knobs", "cluster"),
    one_in(9, product([{"TINY_PARTS": 10}, {}, {"SMALL_PARTS": 20}], USUAL_CLUSTERS)),
)
def test_all_shapes(
    device: Device, monkeypatch: pytest.MonkeyPatch, cluster: int, knobs: dict[str, int]
) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1)
    check_shapes(device, list(SHAPES), CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.exhaustive
def test_wide_offsets(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1)
    for name in ("kronecker", "hub", "random_dense"):
        expect_levels(device, with_wide_offsets(shape(name)))
    for degree, layer in ((9, "block"), (4 * KEPT_PARTS, "block"), (8 * KEPT_PARTS, "cluster")):
        layers = layers_of(device, with_wide_offsets(long_row(degree)), MAY_PULL=0)
        assert layers[:7] == ["cluster", *["block"] * 5, layer]


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@pytest.mark.parametrize("degree", [SHORT_ROW + 1, 4 * KEPT_PARTS, 8 * KEPT_PARTS, 8193, 140_000])
def test_long_rows_are_kept_dealt_out_or_handed_on(
    device: Device, monkeypatch: pytest.MonkeyPatch, cluster: int, degree: int
) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1)
    layers = layers_of(device, long_row(degree), CLUSTER_SIZE=cluster, MAY_PULL=0)
    assert layers[:6] == ["cluster"] + ["block"] * 5
    if degree <= 4 * KEPT_PARTS:
        assert layers[6] == "block"
    else:
        assert layers[6] == ("cluster" if degree <= 4 * 2048 else "push")


def test_rows_that_a_full_queue_has_no_place_for_are_handed_on(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 vertices of a tiny level, with rows of eight parts: 2,400 parts for a queue of 2,048."""
    compile_with(monkeypatch, TINY_LEVELS=1)
    edges = [(0, 1)] + [(1, 2 + i) for i in range(300)]
    edges += [(2 + i, 302 + i * SHORT_ROW + j) for i in range(300) for j in range(SHORT_ROW)]
    edges += [(9901, v) for v in range(9902, 90_000)]  # so that rows are short in the mean
    graph = build_graph(edge_list(90_000, edges, "directed"), "full queue")
    for cluster in USUAL_CLUSTERS:
        layers = layers_of(device, graph, CLUSTER_SIZE=cluster, MAY_PULL=0)
        assert layers[:3] == ["cluster", "block", "push"], cluster


@pytest.mark.parametrize("at_a_time", some([1, 3, 4, 5, 8], 1, 4))
@pytest.mark.exhaustive
def test_levels_are_handed_over_after_so_many(
    device: Device, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1, LEVELS_AT_A_TIME=at_a_time)
    graph = chain([1, 2, 3, 1, 1, 2, 9, 9, 9, 1, 1, 1, 30, 1, 1])
    layers = layers_of(device, graph, TINY_PARTS=16, MAY_PULL=0)
    assert layers[:at_a_time] == expected_layers(graph, 16, sooner=1)[:at_a_time]
    assert layers[at_a_time] == "push"


@pytest.mark.parametrize("sooner", some([1, 2], 1))
@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@given(graph=graphs(300, 400), tiny=st.sampled_from([2, 10, 256, 512]), small=st.sampled_from([5, 30, 8192]))
def test_any_graph(device: Device, graph: Graph, tiny: int, small: int, sooner: int, cluster: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compile_with(patch, TINY_LEVELS=sooner)
        knobs = {"CLUSTER_SIZE": cluster, "TINY_PARTS": tiny, "SMALL_PARTS": small}
        expect_levels(device, graph, graph.num_vertices // 2, **knobs)


@pytest.mark.parametrize(("seed", "tiny"), covering(range(1, 9), (10, 30, 256)))
@pytest.mark.exhaustive
def test_the_schedule_does_not_matter(seed: int, tiny: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = USUAL_CLUSTERS[(seed + tiny) % len(USUAL_CLUSTERS)]  # each tiny meets each cluster
    compile_with(monkeypatch, TINY_LEVELS=1)
    device = open_device("cpu", seed)
    lattice = build_graph(generate("lattice", rows=12, columns=30, keep=0.7, seed=seed), "lattice")
    expect_levels(device, lattice, CLUSTER_SIZE=cluster, TINY_PARTS=tiny)
    check_shapes(device, ["kronecker", "pmpp"], CLUSTER_SIZE=cluster, TINY_PARTS=tiny)
    device.close()
