"""The search ``adaptive``: rows of any length and place, full queues, its blocks and clusters, and trees."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

import bfsbench
from bfsbench.backends.base import Device, Launch
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.parents import check_parents
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import Point
from bfsbench.support.errors import LaunchError
from bfsbench.variants.adaptive import Adaptive
from tests.parameters import covering, some
from tests.shapes import SHAPES, SOURCES, random_digraph, with_wide_offsets
from tests.variants.adaptive_searches import (
    CLUSTERS,
    CROWDED,
    LIKELY,
    MANY,
    MIXED,
    PULLED,
    PUSHED,
    TREE,
    USUAL_CLUSTERS,
    USUAL_WAYS,
    WAYS,
    check_shapes,
    compile_with,
    expect_levels,
    layers_of,
)
from tests.variants.searching import built, check_levels, fan, graph_of, graphs, layered, prepared, shape

Positions = list[tuple[int, int | None]]


def rows_of(degrees: list[int]) -> Graph:
    """Returns a graph whose rows lie side by side. Vertex 0 reaches one vertex for each degree, and these
    reach leaves of their own. Row 0 has a multiple of 16 arcs, so some of them are there twice."""
    count = len(degrees)
    first = np.resize(np.arange(1, count + 1), -(-count // 16) * 16)
    parents = np.concatenate([np.zeros(len(first)), np.repeat(np.arange(1, count + 1), degrees)])
    heads = np.concatenate([first, np.arange(count + 1, count + 1 + sum(degrees))])
    arcs = EdgeList(parents.astype(np.int32), heads.astype(np.int32), count + 1 + sum(degrees), "directed")
    return build_graph(arcs, "rows")


def looking_for_parents(positions: Positions) -> tuple[Graph, int]:
    """Returns a graph and its source. For each pair of a degree and a position, a vertex has ``degree``
    in-neighbours. The one at the position is the source, and no other can be reached. If the position is
    None, none of them is the source."""
    most = max(degree for degree, _ in positions)
    source, first = most, 2 * most + 1
    edges = [(source, source)] * 1000  # enough arcs for the first level to be pulled
    for v, (degree, position) in enumerate(positions, first):
        begin = source - position if position is not None else source + 1
        edges += [(u, v) for u in range(begin, begin + degree)]
    return graph_of(first + len(positions), edges), source


def left_over(counts: list[int], seed: int) -> Graph:
    """Returns a graph with three levels of vertices behind vertex 0. Of each word of a bitmap, the first
    level lacks ``count`` vertices. Half of them are in the second level, and half in the third."""
    random = np.random.default_rng(seed)
    words = [word * 32 + random.permutation(32)[:count] for word, count in enumerate(counts)]
    later = np.setdiff1d(np.concatenate(words), [0, 1])
    near = np.setdiff1d(np.arange(1, 32 * len(counts)), later)
    second, third = later[::2], later[1::2]
    edges = [(0, int(v)) for v in near] + [(1, int(v)) for v in second]
    edges += [(int(u), int(v)) for u, v in zip(second, third, strict=False)]
    return graph_of(32 * len(counts), edges)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_every_layer_takes_the_levels_that_suit_it(device: Device, cluster: int) -> None:
    sizes = [1, 1, 1, 2, 60, 50, 70, 40, 2, 1, 1, 1, 1, 90, 1, 1]
    layers = layers_of(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=20, PUSHED_EDGE=2).split()
    assert layers[0] == layers[-1] == "cluster"
    assert "pull" in layers
    pushed = layers_of(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=20, MAY_PULL=0)
    assert set(pushed.split()) == {"cluster", "push"}
    knobs = {"CLUSTER_SIZE": cluster, "SMALL_PARTS": 16384, "MAY_PULL": 0}
    assert layers_of(device, layered(sizes[:4]), **knobs) == "cluster cluster cluster cluster"


def test_without_pulling_in_neighbours_are_not_needed(device: Device) -> None:
    assert "pull" in layers_of(device, shape("kronecker"), SMALL_PARTS=0)
    assert set(layers_of(device, shape("kronecker"), **PUSHED).split()) == {"push"}
    search = prepared(Adaptive, device, build_graph(random_digraph(200), "random"), MAY_PULL=0)
    check_levels(search, 0)
    assert not {"column_offsets", "row_indices"} & set(vars(search.graph)), "never uploaded"


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@pytest.mark.parametrize(("children", "degree"), [(5000, 1), (5000, 7), (5000, 13), (250, 300), (3, 9000)])
def test_a_cluster_with_full_queues_loses_no_vertex(
    device: Device, cluster: int, children: int, degree: int
) -> None:
    """No level looks crowded beforehand, because a tree has less than one arc per vertex."""
    expect_levels(device, fan(children, degree), CLUSTER_SIZE=cluster, MAY_PULL=0, **CROWDED)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_a_level_that_will_be_crowded_is_left_to_all_blocks(device: Device, cluster: int) -> None:
    for sizes, small in product(([1, 3, 30, 300, 30, 3, 1], [1, 50, 50, 1, 200, 1]), (30, 100, 1000, 16384)):
        expect_levels(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=small)


def test_a_frontier_that_does_not_fit_the_cluster_is_given_back(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of every eight rows has eight parts, and all of them go to one block."""
    compile_with(monkeypatch, CLUSTER_PARTS=64)
    fanned = rows_of([8, 32, 24, 24, 16, 16, 8, 8] * 9)
    tails, heads = (np.where(ends > 0, ends + 31, 0) for ends in (fanned.edge_sources, fanned.column_indices))
    loops = np.zeros(4016)  # so that the source is pulled, and the next level is queued in order of ids
    tails, heads = (np.concatenate([loops, ends]).astype(np.int32) for ends in (tails, heads))
    graph = build_graph(EdgeList(tails, heads, fanned.num_vertices + 31, "directed"), "uneven")
    assert graph.row_offsets[32] % 32 == 0
    knobs = {"CLUSTER_SIZE": 8, "SMALL_PARTS": 16384, "PUSHED_EDGE": 2}
    assert layers_of(device, graph, 0, 8, **knobs).startswith("pull push")


@pytest.mark.parametrize(("knobs", "cluster"), covering(WAYS, USUAL_CLUSTERS, first=USUAL_WAYS))
def test_rows_of_any_length_at_any_place(device: Device, knobs: dict[str, int], cluster: int) -> None:
    degrees: list[int] = []
    for degree in range(71):
        for place in range(16):
            degrees += [(place - sum(degrees)) % 16, degree]
    expect_levels(device, rows_of(degrees), CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.parametrize(
    ("knobs", "sizes"), covering(WAYS, [(1, 40), (2, 41), (8, 42), (1, 43)], first=USUAL_WAYS)
)
def test_the_arrays_may_end_anywhere(device: Device, sizes: tuple[int, int], knobs: dict[str, int]) -> None:
    """The sizes are those of the clusters, for which the tests of rows need builds too, and of the arrays."""
    cluster, num_edges = sizes
    for last in range(1, 20):
        expect_levels(device, rows_of([1, num_edges - last, last]), CLUSTER_SIZE=cluster, **knobs)
        towards = [(degree, degree - 1) for degree in (num_edges - last, last)] + [(last, 0)] * 30
        expect_levels(device, *looking_for_parents(towards), CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.parametrize("knobs", [PULLED | MANY, PULLED | MANY | LIKELY, PULLED | MANY | LIKELY | TREE])
@pytest.mark.parametrize("most", some([1, 4, 12, 32], 4, 32))
def test_words_with_few_vertices_left_are_pulled_several_at_a_time(
    device: Device, most: int, knobs: dict[str, int]
) -> None:
    counts = np.random.default_rng(most).integers(0, most, 150, endpoint=True).tolist()
    graph = left_over([0, *counts], most)
    assert reference_levels(graph, 0).max() == 3
    for grid in (1, 2):
        expect_levels(device, graph, grid=grid, CLUSTER_SIZE=1, **knobs)


LONGEST = (9999, 9999, 2300, 70, 3, 5000)
"""Degrees of rows side by side: one block has them all, and leaves the longest ones to all blocks."""
POSITIONS: dict[str, Positions] = {
    "in rows of up to 70 arcs": [(d, p) for d in range(71) for p in [*range(d), None]],
    "in more long rows than a block sets aside": [
        *[(100, position) for position in (99, 70, None)] * 150,
        *[(1300, position) for position in (*range(60, 1300, 39), None)],
    ],
    **{
        f"at {position} in rows left to all blocks": [
            *((d, position if position is None or position < d else None) for d in LONGEST),
            (1, 0),
        ]
        for position in (0, 500, 1087, 1088, 2000, 2299, 6000, 9998, None)
    },
}


@pytest.mark.parametrize("positions", POSITIONS.values(), ids=POSITIONS)
@pytest.mark.parametrize("grid", [1, 8])
def test_a_parent_is_found_wherever_it_is(device: Device, grid: int, positions: Positions) -> None:
    graph, source = looking_for_parents(positions)
    knobs = {"CLUSTER_SIZE": 1, **PULLED}
    assert layers_of(device, graph, source, grid, **knobs).startswith("pull")
    expect_levels(device, graph, source, grid, **knobs)


def test_neighbouring_arcs_of_several_rows_claim_a_vertex_once(device: Device) -> None:
    """Rows lead to neighbouring vertices, some of them twice, and to vertices that are far away."""
    heads = [*range(1000, 1100), *range(1000, 1100, 3), 5000, 5001, 5003, 7000]
    edges = [(0, v) for v in range(1, 60)] + [(u, v) for u in range(1, 60) for v in heads]
    edges += [(v, v + 3000) for v in range(1000, 1100)]
    for grid in (1, 4):
        expect_levels(device, graph_of(8000, edges), 0, grid, CLUSTER_SIZE=1, **PUSHED)


def test_a_block_may_have_more_words_of_the_bitmap_than_it_keeps_at_once(device: Device) -> None:
    num_vertices = 2 * 2048 * 32 + 100
    arcs = generate("uniform", n=2000, m=20000, directed=1, seed=5)
    places = np.linspace(0, num_vertices - 1, 2000).astype(np.int32)
    edges = EdgeList(places[arcs.sources], places[arcs.targets], num_vertices, "directed")
    for look in ({}, LIKELY):
        layers = layers_of(device, build_graph(edges, "scattered"), 0, 1, CLUSTER_SIZE=1, **PULLED, **look)
        assert "pull" in layers


@pytest.mark.parametrize("num_vertices", [3, 4, 6, 7, 30, 31, 32])
def test_the_cluster_meets_the_other_blocks_after_some_levels(
    device: Device, monkeypatch: pytest.MonkeyPatch, num_vertices: int
) -> None:
    """Then the other blocks do not wait for ever. The cluster keeps the last level, which has no arcs."""
    compile_with(monkeypatch, LEVELS_AT_A_TIME=3)
    layers = layers_of(device, build_graph(generate("path", n=num_vertices, directed=1), "path"), MAY_PULL=0)
    assert layers.split() == [*((["cluster"] * 3 + ["push"]) * 8)[: num_vertices - 1], "cluster"]


@pytest.mark.parametrize(("knobs", "cluster"), covering(WAYS, USUAL_CLUSTERS, first=USUAL_WAYS))
def test_all_shapes_in_every_way(device: Device, cluster: int, knobs: dict[str, int]) -> None:
    names = [name for name in SHAPES if "path" not in name]  # whose many levels take long one by one
    check_shapes(device, names, CLUSTER_SIZE=cluster, **knobs)
    check_shapes(device, ["kronecker", "hub"], 1, CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.parametrize("cluster", some(CLUSTERS, 8))
@given(graph=graphs(300, 400, hubs=3), grid=st.sampled_from([None, 1, 9]), data=st.data())
def test_any_graph_and_any_knobs(
    device: Device, graph: Graph, grid: int | None, data: st.DataObject, cluster: int
) -> None:
    choices = {
        "SMALL_PARTS": [0, 1, 5, 30, 8192],
        "PUSHED_EDGE": [0, 1, 8, 100, 1024],
        "MAY_PULL": [0, 1],
        "LIKELY_FIRST": [0, 1],
    }
    knobs = {name: data.draw(st.sampled_from(values), name) for name, values in choices.items()}
    expect_levels(device, graph, graph.num_vertices // 2, grid, CLUSTER_SIZE=cluster, **knobs)


# Blocks and clusters


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_the_grid_is_whole_clusters(device: Device, cluster: int) -> None:
    for grid, blocks in ((1, cluster), (16, 16), (29, 29 // cluster * cluster)):
        assert prepared(Adaptive, device, fan(3, 1), grid, CLUSTER_SIZE=cluster).num_blocks == blocks


def spread(num_vertices: int, degree: int, at_most: int, every: int = 1) -> Graph:
    """Returns a graph in which each vertex whose id is a multiple of ``every`` has ``degree`` arcs. They lead
    to vertices whose ids are less than ``at_most`` larger."""
    tails = np.repeat(np.arange(0, num_vertices, every, dtype=np.int32), degree)
    away = np.random.default_rng(1).integers(1, at_most, len(tails), dtype=np.int32)
    heads = (tails + away) % num_vertices
    return build_graph(EdgeList(tails, heads, num_vertices, "directed"), "spread")


def test_clusters_are_as_large_as_suits_the_graph_and_the_device(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = (1 << 18) + 1
    thin, dense = fan(3, 1), spread(many, 16, many)
    chosen = [
        (16, thin, 16),
        (16, dense, 2),
        (16, spread(many, 15, 17), 16),
        (16, spread(many - 1, 16, many), 16),
        (16, spread(many, 9, many), 2),
        (16, spread(many, 9, 700), 2),  # reaches 4,096 vertices in eight levels
        (16, spread(many, 9, 600), 16),  # in nine levels
        (16, spread(many, 8, many), 16),  # has rows that may be records
        (16, spread(many - 1, 9, many), 16),
        (16, spread(many, 11, many, every=2), 2),
        (16, spread(many, 9, many, every=2), 16),  # has 4.5 arcs per vertex
    ]
    for most, graph, size in (*chosen, (8, thin, 8), (8, dense, 2), (1, dense, 1), (1, thin, 1)):
        monkeypatch.setattr(device, "limits", replace(device.limits, blocks_per_cluster=most))
        search = built(Adaptive, device, graph)
        assert search.cluster_size() == search.defines()["CLUSTER_SIZE"] == size
        assert built(Adaptive, device, graph, CLUSTER_SIZE=4).cluster_size() == 4


def say_resident(monkeypatch: pytest.MonkeyPatch, device: Device, blocks: int) -> None:
    """Have the driver report that this many blocks are resident together."""
    kernel = prepared(Adaptive, device, fan(3, 1)).kernel("adaptive")
    monkeypatch.setattr(type(kernel), "resident_blocks", lambda kernel, block, shared=0: blocks)


def test_a_grid_that_is_not_resident_is_made_smaller(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    most = prepared(Adaptive, device, fan(3, 1), block=1024).num_blocks
    say_resident(monkeypatch, device, most + 24)
    monkeypatch.setattr(Adaptive, "probe_polls", 20_000)
    search = prepared(Adaptive, device, layered([1, 5, 9]), block=1024)
    assert search.num_blocks == most
    check_levels(search, 0)
    launch, tried = type(search.search), []
    call = launch.__call__

    def counted(launched: Launch, blocks: int, *scalars: int) -> None:
        tried.append(blocks)
        call(launched, blocks, *scalars)

    again = search.another()  # whose graph is on the device already
    monkeypatch.setattr(launch, "__call__", counted)
    again.prepare()
    assert tried == [most], "the number of resident blocks is known"


def test_a_cluster_that_never_meets_is_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adaptive, "probe_polls", 0)
    with pytest.raises(LaunchError, match="a cluster of 8 blocks of 64 threads does not fit"):
        prepared(Adaptive, device, fan(3, 1), 16, CLUSTER_SIZE=8)


def test_clusters_are_smaller_where_there_is_no_room(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    say_resident(monkeypatch, device, 15)
    search = prepared(Adaptive, device, layered([1, 5, 9]))
    assert (search.cluster_size(), search.num_blocks) == (8, 8)
    check_levels(search, 0)
    with pytest.raises(LaunchError, match="a cluster of 16 blocks of 64 threads does not fit"):
        prepared(Adaptive, device, layered([1, 5, 9]), CLUSTER_SIZE=16)


# Trees

TREE_WAYS: list[dict[str, int]] = [{}, PUSHED, PULLED, CROWDED, MIXED, PULLED | LIKELY]


def expect_trees(
    device: Device, graph: Graph, sources: list[int], grid: int | None = None, **knobs: int
) -> None:
    """Search with the same memory again and again, and check each tree and its levels."""
    search = prepared(Adaptive, device, graph, grid, **TREE, **knobs)
    for source in [*sources, sources[0]]:
        search.poison()
        check_levels(search, source)
        check_parents(graph, source, reference_levels(graph, source), search.level_array.download())


@pytest.mark.parametrize("way", some(range(len(TREE_WAYS)), 0, 4))
def test_every_layer_leaves_a_tree(device: Device, way: int) -> None:
    for name in SHAPES:
        expect_trees(device, shape(name), SOURCES[name], **TREE_WAYS[way])


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", range(len(TREE_WAYS)))
def test_wide_offsets_leave_a_tree_too(device: Device, way: int) -> None:
    for name in ("kronecker", "random_257", "hub"):
        expect_trees(device, with_wide_offsets(shape(name)), SOURCES[name], **TREE_WAYS[way])


@pytest.mark.parametrize("grid", [1, 8])
def test_long_rows_know_their_parent(device: Device, grid: int) -> None:
    """The last in-neighbour of each row is the source: in a row of a thread, of a warp, and of all blocks."""
    graph, source = looking_for_parents([(degree, degree - 1) for degree in (3, 40, 300, 4000)])
    expect_trees(device, graph, [source], grid, **PULLED)


def test_the_tree_travels_to_rows_and_arrays() -> None:
    found = bfsbench.search(
        "kronecker(scale=6,edge_factor=4)", "adaptive", 1, backend="cpu", block=64, parents=True, TREE=1
    )
    assert found.parents is not None and found.parents[1] == 1
    reached = found.levels > 0
    assert (found.levels[reached] == found.levels[found.parents[reached]] + 1).all()
    assert found.parents_ms == 0


def test_a_wrong_tree_is_a_wrong_row(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = tuple(Adaptive.knob_values(TREE).items())
    point = Point("path(n=5):symmetrised", 0, "adaptive", "cpu", None, 64, knobs)
    session = Session("cpu")
    assert session.measure([point], Method(1, 60))[0]["status"] == "ok"
    finish = Adaptive.finish

    def damaged(search: Adaptive) -> None:
        finish(search)
        tree = search.level_array.download()
        tree[-1] = -1
        search.level_array.upload(tree)

    monkeypatch.setattr(Adaptive, "finish", damaged)
    row = session.measure([point], Method(1, 60))[0]
    assert row["status"] == "wrong" and "the parents break rule 4" in row["reason"]
    session.close()
