"""The search of one launch: regimes and the switches between them, full queues, alignment."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.adaptive import Adaptive
from tests.parameters import covering, some
from tests.shapes import SHAPES, edge_list, random_digraph
from tests.variants.adaptive_searches import (
    CLUSTERS,
    CROWDED,
    LIKELY,
    MANY,
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
    took_steps,
)
from tests.variants.searching import check_levels, fan, graphs, layered, levels_of, prepared


def rows_of(degrees: list[int]) -> Graph:
    """Vertex 0 reaches one vertex per degree, and these reach leaves of their own: rows side by side in this
    order, of which each arc alone leads to its leaf. Row 0 has a multiple of 16 arcs, some of them twice."""
    count = len(degrees)
    first = np.resize(np.arange(1, count + 1), -(-count // 16) * 16)
    parents = np.concatenate([np.zeros(len(first)), np.repeat(np.arange(1, count + 1), degrees)])
    heads = np.concatenate([first, np.arange(count + 1, count + 1 + sum(degrees))])
    arcs = EdgeList(parents.astype(np.int32), heads.astype(np.int32), count + 1 + sum(degrees), "directed")
    return build_graph(arcs, "rows")


def looking_for_parents(positions: list[tuple[int, int | None]]) -> tuple[Graph, int]:
    """A graph and its source. Per (degree, position) a vertex with so many in-neighbours: the one at that
    position is the source, the others cannot be reached; without a position, none is the source."""
    most = max(degree for degree, _ in positions)
    source, first = most, 2 * most + 1
    edges = [(source, source)] * 1000  # many enough for the first level to be pulled
    for v, (degree, position) in enumerate(positions, first):
        begin = source - position if position is not None else source + 1
        edges += [(u, v) for u in range(begin, begin + degree)]
    return build_graph(edge_list(first + len(positions), edges), "looking for parents"), source


def left_over(counts: list[int], seed: int) -> Graph:
    """Vertex 0 leads to all others but so many of each word of a bitmap. These are found in two further
    levels, from vertex 1 and from those found before."""
    random = np.random.default_rng(seed)
    words = [word * 32 + random.permutation(32)[:count] for word, count in enumerate(counts)]
    later = np.setdiff1d(np.concatenate(words), [0, 1])
    near = np.setdiff1d(np.arange(1, 32 * len(counts)), later)
    second, third = later[::2], later[1::2]
    edges = [(0, int(v)) for v in near] + [(1, int(v)) for v in second]
    edges += [(int(u), int(v)) for u, v in zip(second, third, strict=False)]
    return build_graph(edge_list(32 * len(counts), edges), "left over")


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_every_regime_takes_the_levels_that_suit_it(device: Device, cluster: int) -> None:
    sizes = [1, 1, 1, 2, 60, 50, 70, 40, 2, 1, 1, 1, 1, 90, 1, 1]
    layers = layers_of(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=20, PUSHED_EDGE=2)
    assert layers[0] == layers[-1] == "cluster"
    assert "pull" in layers
    pushed = layers_of(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=20, MAY_PULL=0)
    assert set(pushed) == {"cluster", "push"}
    knobs = {"CLUSTER_SIZE": cluster, "SMALL_PARTS": 16384, "MAY_PULL": 0}
    assert layers_of(device, layered(sizes[:4]), **knobs) == ["cluster"] * 4


def test_the_smallest_frontiers_for_the_cluster_are_counted_in_parts(device: Device) -> None:
    """Of 32 and of 4 arcs. The first level outgrows the cluster, the next is pushed, the third decided on."""
    wide, arcs = 200, 100  # 4 parts and 25
    edges = [(0, v) for v in range(1, wide + 1)] + [(1, wide + 1)]
    edges += [(v, 0) for v in range(1, wide + 1)]  # so that levels do not grow fast
    edges += [(wide + 1, v) for v in range(wide + 2, wide + 2 + arcs)]
    graph = build_graph(edge_list(wide + 2 + arcs, edges, "directed"), "parts")
    for small, layer in ((29, "cluster"), (28, "push")):
        assert layers_of(device, graph, SMALL_PARTS=small, MAY_PULL=0)[:3] == ["cluster", "push", layer]


def test_without_pulling_in_neighbours_are_not_needed(device: Device) -> None:
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    assert "pull" in layers_of(device, graph, SMALL_PARTS=0)
    assert set(layers_of(device, graph, **PUSHED)) == {"push"}
    directed = build_graph(random_digraph(200), "random")
    search = prepared(Adaptive, device, directed, MAY_PULL=0)
    check_levels(search, 0)
    assert not {"column_offsets", "row_indices"} & set(vars(search.graph)), "never uploaded"


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@pytest.mark.parametrize(("children", "degree"), [(5000, 1), (5000, 7), (5000, 13), (250, 300), (3, 9000)])
def test_what_full_queues_of_a_cluster_cannot_hold_is_not_lost(
    device: Device, cluster: int, children: int, degree: int
) -> None:
    """No level looks crowded beforehand: a tree has less than one arc a vertex."""
    graph = fan(children, degree)
    expect_levels(device, graph, CLUSTER_SIZE=cluster, MAY_PULL=0, **CROWDED)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_a_level_that_will_be_crowded_is_left_to_the_next_regime(device: Device, cluster: int) -> None:
    for sizes in ([1, 3, 30, 300, 30, 3, 1], [1, 50, 50, 1, 200, 1]):
        for small in (30, 100, 1000, 16384):
            expect_levels(device, layered(sizes), CLUSTER_SIZE=cluster, SMALL_PARTS=small)


def test_a_frontier_that_does_not_fit_the_cluster_is_given_back(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of every eight rows has eight parts, and all of them go to one block."""
    compile_with(monkeypatch, CLUSTER_PARTS=64)
    fanned = rows_of([8, 32, 24, 24, 16, 16, 8, 8] * 9)
    tails, heads = (np.where(ends > 0, ends + 31, 0) for ends in (fanned.edge_sources, fanned.column_indices))
    loops = np.zeros(4016)  # so that the source is pulled: what it reaches is then queued in order of ids
    tails, heads = (np.concatenate([loops, ends]).astype(np.int32) for ends in (tails, heads))
    graph = build_graph(EdgeList(tails, heads, fanned.num_vertices + 31, "directed"), "uneven")
    assert graph.row_offsets[32] % 32 == 0
    knobs = {"CLUSTER_SIZE": 8, "SMALL_PARTS": 16384, "PUSHED_EDGE": 2}
    assert layers_of(device, graph, 0, 8, **knobs)[:2] == ["pull", "push"]


@pytest.mark.parametrize(("knobs", "cluster"), covering(WAYS, USUAL_CLUSTERS, first=USUAL_WAYS))
def test_rows_of_any_length_at_any_place(device: Device, knobs: dict[str, int], cluster: int) -> None:
    degrees: list[int] = []
    for degree in range(71):
        for place in range(16):
            degrees += [(place - sum(degrees)) % 16, degree]
    expect_levels(device, rows_of(degrees), CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.parametrize(("knobs", "num_edges"), covering(WAYS, [40, 41, 42, 43], first=USUAL_WAYS))
def test_the_arrays_may_end_anywhere(device: Device, num_edges: int, knobs: dict[str, int]) -> None:
    for last in range(1, 20):
        graph = rows_of([1, num_edges - last, last])
        expect_levels(device, graph, **knobs)
        towards = [(degree, degree - 1) for degree in (num_edges - last, last)] + [(last, 0)] * 30
        graph, source = looking_for_parents(towards)
        expect_levels(device, graph, source, **knobs)


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


@pytest.mark.parametrize("grid", [1, 8])
def test_a_parent_is_found_wherever_it_is_in_the_row(device: Device, grid: int) -> None:
    positions: list[tuple[int, int | None]] = []
    for degree in range(71):
        positions += [(degree, position) for position in [*range(degree), None]]
    graph, source = looking_for_parents(positions)
    knobs = {"CLUSTER_SIZE": 1, **PULLED}
    assert layers_of(device, graph, source, grid, **knobs)[0] == "pull"
    expect_levels(device, graph, source, grid, **knobs)


def test_more_long_rows_than_a_block_sets_aside(device: Device) -> None:
    """All of one block, whose parents come late or not at all."""
    positions: list[tuple[int, int | None]] = [(100, position) for position in (99, 70, None)] * 150
    positions += [(1300, position) for position in (*range(60, 1300, 39), None)]
    graph, source = looking_for_parents(positions)
    assert layers_of(device, graph, source, 1, CLUSTER_SIZE=1, **PULLED)[0] == "pull"


@pytest.mark.parametrize("position", [0, 500, 1087, 1088, 2000, 2299, 6000, 9998, None])
@pytest.mark.parametrize("grid", [1, 5])
def test_the_longest_rows_are_left_to_all_blocks(device: Device, grid: int, position: int | None) -> None:
    """Side by side, so that one block has all of them, and with shorter ones."""
    degrees = (9999, 9999, 2300, 70, 3, 5000)
    positions: list[tuple[int, int | None]] = [
        (d, position if position is None or position < d else None) for d in degrees
    ]
    graph, source = looking_for_parents([*positions, (1, 0)])
    knobs = {"CLUSTER_SIZE": 1, **PULLED}
    assert layers_of(device, graph, source, grid, **knobs)[0] == "pull"
    expect_levels(device, graph, source, grid, **knobs)


def test_neighbouring_arcs_of_several_rows_claim_a_vertex_once(device: Device) -> None:
    """Rows that lead to the same vertices side by side, some of them twice, and to the same ones far away."""
    heads = [*range(1000, 1100), *range(1000, 1100, 3), 5000, 5001, 5003, 7000]
    edges = [(0, v) for v in range(1, 60)] + [(u, v) for u in range(1, 60) for v in heads]
    edges += [(v, v + 3000) for v in range(1000, 1100)]
    graph = build_graph(edge_list(8000, edges, "directed"), "pages")
    for grid in (1, 4):
        expect_levels(device, graph, 0, grid, CLUSTER_SIZE=1, **PUSHED)


def test_a_block_may_have_more_words_of_the_bitmap_than_it_keeps_at_once(device: Device) -> None:
    num_vertices = 2 * 2048 * 32 + 100
    arcs = generate("uniform", n=2000, m=20000, directed=1, seed=5)
    places = np.linspace(0, num_vertices - 1, 2000).astype(np.int32)
    edges = EdgeList(places[arcs.sources], places[arcs.targets], num_vertices, "directed")
    graph = build_graph(edges, "scattered")
    for look in ({}, LIKELY):
        assert "pull" in layers_of(device, graph, 0, 1, CLUSTER_SIZE=1, **PULLED, **look)


def test_a_pulled_level_that_finds_nothing_is_the_last_step(device: Device) -> None:
    """Of a block, too, that does not keep all its words at once and so queues nothing by itself."""
    graph = build_graph(edge_list(70_000, [(0, v) for v in range(1, 1001)], "directed"), "leaves")
    search = prepared(Adaptive, device, graph, 1, CLUSTER_SIZE=1, **PULLED)
    check_levels(search, 0)
    steps = 3  # the cluster's, which gives the source back, and two pulled levels
    assert took_steps(search, steps)


@pytest.mark.parametrize(("blocks", "missed"), [(1, [250]), (3, [])])
def test_vertices_taken_out_of_the_open_ones_do_not_look_for_parents(
    device: Device, blocks: int, missed: list[int]
) -> None:
    """Blocks that are not of the first cluster decide anew which are open; if there are none, those are that
    a search has left: all. Here one with in-neighbours is taken out between two searches."""
    graph = build_graph(edge_list(1000, [(u, v) for u in range(50) for v in range(200, 300)]), "directed")
    search = prepared(Adaptive, device, graph, blocks, CLUSTER_SIZE=1, **PULLED)
    expected = reference_levels(graph, 0)
    taken_out = search.bitmaps["open"].download()
    taken_out[250 // 32] &= ~np.uint32(1 << 250 % 32)
    search.bitmaps["open"].upload(taken_out)
    found = levels_of(search, 0)
    assert [v for v in range(1000) if found[v] != expected[v]] == missed
    assert levels_of(search, 0) == expected.tolist()
    assert (search.bitmaps["open"].download() == 0xFFFFFFFF).all()


def test_levels_are_handed_over_after_so_many(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the other blocks do not wait for ever; each time costs a step, and a pushed level after."""
    compile_with(monkeypatch, LEVELS_AT_A_TIME=3)
    for num_vertices in (3, 4, 6, 7, 30, 31, 32):
        graph = build_graph(generate("path", n=num_vertices, directed=1), "path")
        search = prepared(Adaptive, device, graph, MAY_PULL=0)
        assert levels_of(search, 0) == list(range(num_vertices))
        expanded = num_vertices - 1  # the last vertex has no arcs
        steps = 2 * (expanded // 4) + (expanded % 4 > 0)
        assert took_steps(search, steps)


@pytest.mark.parametrize(("knobs", "cluster"), covering(WAYS, USUAL_CLUSTERS, first=USUAL_WAYS))
def test_all_shapes_in_every_way(device: Device, cluster: int, knobs: dict[str, int]) -> None:
    names = [name for name in SHAPES if "path" not in name]  # of many levels, which take long one by one
    check_shapes(device, names, CLUSTER_SIZE=cluster, **knobs)
    check_shapes(device, ["kronecker", "hub"], 1, CLUSTER_SIZE=cluster, **knobs)


@pytest.mark.exhaustive
def test_searches_leave_nothing_behind_for_the_next(device: Device) -> None:
    graph = build_graph(generate("kronecker", scale=9, edge_factor=6, seed=2), "kronecker")
    for knobs in WAYS:
        check_levels(prepared(Adaptive, device, graph, **knobs), *[0, 7, 100, 511] * 5)


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


@pytest.mark.parametrize(("seed", "way"), covering(range(1, 9), range(len(WAYS))))
@pytest.mark.exhaustive
def test_the_schedule_does_not_matter(seed: int, way: int) -> None:
    """Each way meets each size of cluster, under some of the seeds."""
    knobs, cluster = WAYS[way], USUAL_CLUSTERS[(seed + way) % len(USUAL_CLUSTERS)]
    device = open_device("cpu", seed)
    check_shapes(device, ["kronecker", "pmpp", "random_dense"], 9, CLUSTER_SIZE=cluster, **knobs)
    expect_levels(
        device, layered([1, 9, 60, 40, 2, 90, 1]), CLUSTER_SIZE=cluster, **knobs | {"SMALL_PARTS": 30}
    )
    device.close()
