"""Which layer of ``adaptive`` runs a level: all blocks push or pull it, or a cluster or one block runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.adaptive import Adaptive
from tests.parameters import one_in, some
from tests.shapes import SHAPES, random_digraph, with_wide_offsets
from tests.variants.adaptive_searches import (
    CLUSTERS,
    PULLED,
    TREE,
    USUAL_CLUSTERS,
    check_shapes,
    compile_with,
    expect_levels,
    layers_of,
    steps_modulo_3,
)
from tests.variants.searching import chain, check_levels, graph_of, graphs, layered, prepared, shape

Arcs = list[tuple[int, int]]
ALL_BLOCKS = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0}
"""Knobs with which all blocks push or pull each level."""
ONLY_LISTS = {"LISTED_VERTICES": 100}
"""A pushed level that is expected to find many vertices does not queue them."""
SMALL_CLUSTER = {"CLUSTER_SIZE": 8, "SMALL_PARTS": 300, "MAY_PULL": 0, "SHORT_ROWS": 0}

PULLED_BY_PRICE = {
    (1, 40): {0: "..", 2: ".v", 3: "vv"},
    (1, 5, 30, 40, 40, 2): {0: "......", 6: "....vv", 8: "...vvv", 32: "..vvvv", 96: ".vvvvv"},
    (1, 40, 3, 40, 10): {0: ".....", 3: "....v", 24: ".v.vv", 48: "vv.vv", 96: "vvvvv"},
    (1, 1, 1, 40, 40, 40): {0: "......", 6: "....vv", 48: "...vvv"},
    (1, 30, 30, 30, 30, 30): {0: "......", 6: ".v....", 8: ".v...v", 24: ".v.vvv", 256: "vvvvvv"},
}
"""For graphs by the sizes of their levels: the levels that are pulled (v) at a price of a pushed edge."""


def drawn(layers: str) -> str:
    """Returns one letter for each layer: ``c`` for the cluster, ``b`` for one block, ``v`` for pulled levels
    and ``.`` for pushed levels."""
    letters = {"cluster": "c", "block": "b", "pull": "v", "push": "."}
    return "".join(letters[layer] for layer in layers.split())


@pytest.mark.parametrize("sizes", PULLED_BY_PRICE)
def test_the_dearer_a_pushed_edge_the_more_levels_are_pulled(device: Device, sizes: tuple[int, ...]) -> None:
    """Large levels are pulled first, and small levels between them last. No row is long."""
    for price, pulled in PULLED_BY_PRICE[sizes].items():
        layers = layers_of(device, layered([*sizes]), 0, 1, **ALL_BLOCKS, PUSHED_EDGE=price)
        assert drawn(layers) == pulled, price


def beside_others(edges: Arcs, others: int) -> Graph:
    """Returns a graph of these arcs, and of a random digraph that they do not reach."""
    inner, elsewhere = np.array(edges, dtype=np.int32).T, random_digraph(others, degree=10)
    first = int(inner.max()) + 1
    outer = np.stack([elsewhere.sources, elsewhere.targets]) + first
    tails, heads = np.hstack([inner, outer]).astype(np.int32)
    return build_graph(EdgeList(tails, heads, first + others, "directed"), "beside others")


def parts_of_4_and_32() -> Graph:
    """Vertex 0 reaches 200 vertices in 4 parts, and one of them reaches a hub of 100 arcs in 25 parts. Arcs
    back to vertex 0 keep the levels from growing fast."""
    wide, arcs = 200, 100
    edges = [(0, v) for v in range(1, wide + 1)] + [(1, wide + 1)]
    edges += [(v, 0) for v in range(1, wide + 1)]
    return graph_of(wide + 2 + arcs, edges + [(wide + 1, v) for v in range(wide + 2, wide + 2 + arcs)])


def tree(children: int, leaves: int, loops: int = 0) -> Arcs:
    """Returns a tree. Vertex 0 has loops and an arc to vertex 1, whose children each have leaves."""
    parents, first = range(2, 2 + children), 2 + children
    edges = [(0, 0)] * loops + [(0, 1)] + [(1, v) for v in parents]
    return edges + [(v, first + leaves * (v - 2) + i) for v in parents for i in range(leaves)]


def unlisted(parts: int) -> Graph:
    """Two blocks take turns by the parts of the row of vertex 0. The second block finds vertices with so many
    arcs that it stops queueing. The first block finds few arcs and goes on. Of 513 parts it finds more than
    the 8,192 vertices that its list holds."""
    found, leaf = range(1, 1 + parts * 32), 1 + parts * 32
    first = [v for v in found if (v - 1) // 32 % 2 == 0]
    second = [v for v in found if (v - 1) // 32 % 2 == 1]
    edges = [(0, v) for v in found]
    edges += [(v, leaf + i) for i, v in enumerate(first[::4])]
    return beside_others(edges + [(v, leaf) for v in second for _ in range(6)], 40_000)


HUBS, PAGES = range(1, 41), range(41, 341)
TO_PAGES = [(0, v) for v in HUBS] + [(v, w) for v in HUBS for w in PAGES]
"""Vertex 0 leads to hubs, and all hubs lead to the same pages, so that they find less than expected."""


def pages_are_hubs() -> Graph:
    return beside_others(TO_PAGES + [(w, leaf) for w in PAGES for leaf in range(341, 3341)], 2000)


def pages_of_150_arcs() -> Graph:
    """A pulled level counts the arcs to the vertices that it finds. Here it counts one arc for each page, but
    pages have 150 arcs."""
    hubs, pages, leaves = range(1, 101), range(101, 301), range(301, 1801)
    edges = [(0, v) for v in hubs] + [(v, w) for v in hubs for w in hubs]
    edges += [(hubs[i % 100], page) for i, page in enumerate(pages)]
    edges += [(page, leaves[(7 * i + 11 * j) % 1500]) for i, page in enumerate(pages) for j in range(150)]
    return beside_others(edges + [(leaf, 1801 + i % 300) for i, leaf in enumerate(leaves)], 2000)


def few_pages() -> Graph:
    return beside_others(TO_PAGES + [(w, 341) for w in PAGES[:90]], 20_000)


def hubs_alone() -> Graph:
    """Hubs lead to each other, many times, and nowhere else."""
    return beside_others([(0, v) for v in HUBS] + [(v, w) for v in HUBS for w in HUBS] * 8, 20_000)


@dataclass(frozen=True)
class Decision:
    """A search, and how its first levels are run."""

    graph: Callable[[], Graph]
    layers: str
    """The layers as ``drawn`` writes them."""
    knobs: dict[str, int]
    grid: int | None = None
    steps: int | None = None
    """The steps between two barriers of all blocks: one per level, one in which the cluster gives the source
    back, and one for each level whose vertices are queued afterwards."""


DECISIONS = {
    "29 parts suit a cluster of 29": Decision(parts_of_4_and_32, "c.c", {"SMALL_PARTS": 29, "MAY_PULL": 0}),
    "29 parts are too many for 28": Decision(parts_of_4_and_32, "c..", {"SMALL_PARTS": 28, "MAY_PULL": 0}),
    **{
        f"what {grid} blocks no longer queue is pulled": Decision(
            lambda: beside_others(tree(32, 1500, loops=31), 5000),
            "..v",
            ALL_BLOCKS | {"PUSHED_EDGE": 150},
            grid,
        )
        for grid in (1, 8)
    },
    "two hubs say little about what others find": Decision(
        lambda: beside_others(tree(2, 1500, loops=31), 5000), "...", ALL_BLOCKS | {"PUSHED_EDGE": 8}, 8
    ),
    "what a cluster no longer queues is pulled": Decision(
        lambda: beside_others(tree(32, 7000), 25_000), "ccv", {"CLUSTER_SIZE": 8}
    ),
    "lists that hold all vertices are queued": Decision(
        lambda: unlisted(512), "...", ALL_BLOCKS | {"PUSHED_EDGE": 20}, 2, steps=5
    ),
    "lists that are too short are not queued": Decision(
        lambda: unlisted(513), ".v.", ALL_BLOCKS | {"PUSHED_EDGE": 20}, 2, steps=5
    ),
    "a pulled level that finds nothing is the last step": Decision(
        lambda: graph_of(70_000, [(0, v) for v in range(1, 1001)]),
        "vv",
        PULLED | {"CLUSTER_SIZE": 1},
        1,
        steps=3,
    ),
    "pages are queued at once": Decision(few_pages, "....", ALL_BLOCKS | {"PUSHED_EDGE": 34}, 2, steps=5),
    "pages are only listed, then queued, as they are few": Decision(
        few_pages, "....", ALL_BLOCKS | ONLY_LISTS | {"PUSHED_EDGE": 34}, 2, steps=6
    ),
    "a level finds nothing": Decision(hubs_alone, "..", ALL_BLOCKS | {"PUSHED_EDGE": 34}, 2, steps=3),
    "a listed level finds nothing, and no step queues it": Decision(
        hubs_alone, "..", ALL_BLOCKS | ONLY_LISTS | {"PUSHED_EDGE": 34}, 2, steps=3
    ),
    "listed vertices are pulled once their rows are known": Decision(
        pages_are_hubs, "..v", ALL_BLOCKS | ONLY_LISTS | {"PUSHED_EDGE": 34}, 2
    ),
    "vertices of a pulled level are pulled once their rows are known": Decision(
        pages_of_150_arcs, ".vvvv", ALL_BLOCKS | {"PUSHED_EDGE": 34}, 2, steps=7
    ),
    "a tree of it": Decision(pages_of_150_arcs, ".vvvv", ALL_BLOCKS | TREE | {"PUSHED_EDGE": 34}, 2),
    "the third level has 400 parts, and will find 8,000": Decision(
        lambda: chain([1, 20, 400, 8000]), "cc.", SMALL_CLUSTER
    ),
    "the third level finds less than expected": Decision(
        lambda: chain([1, 20, 400, 200, 100]), "ccccc", SMALL_CLUSTER
    ),
    "levels grow slowly": Decision(
        lambda: chain([1, 40, 80, 120, 160, 200, 240, 280]), "ccccbccc", SMALL_CLUSTER
    ),
    "small levels after a pushed level": Decision(
        lambda: chain([1, 1500, 30, 30, 30]), "c.ccc", SMALL_CLUSTER | {"SMALL_PARTS": 350}
    ),
    "small levels that will grow too fast after a pushed level": Decision(
        lambda: chain([1, 1500, 30, 600, 12_000]), "c...", SMALL_CLUSTER | {"SMALL_PARTS": 350}
    ),
}


@pytest.mark.parametrize("case", DECISIONS.values(), ids=DECISIONS)
def test_levels_are_run_as_intended(device: Device, case: Decision) -> None:
    assert drawn(layers_of(device, case.graph(), 0, case.grid, **case.knobs)).startswith(case.layers)
    if case.steps is not None:
        search = prepared(Adaptive, device, case.graph(), case.grid, **case.knobs)
        check_levels(search, 0)
        assert steps_modulo_3(search) == case.steps % 3


@pytest.mark.parametrize(
    ("grid", "knobs"), [(1, {}), (8, {}), pytest.param(8, TREE, marks=pytest.mark.exhaustive)]
)
def test_vertices_that_are_only_listed_are_pulled_and_the_rest_counted(
    device: Device, grid: int, knobs: dict[str, int]
) -> None:
    """With one block the list overflows."""
    graph = build_graph(random_digraph(20_000, degree=12), "random")
    search = prepared(Adaptive, device, graph, grid, **ALL_BLOCKS, **ONLY_LISTS, **knobs, PUSHED_EDGE=40)
    check_levels(search, 0, 0)
    found = max((tally.vertices, tally.edges) for tally in search.state.read_struct().unreached)
    levels, entered = reference_levels(graph, 0), np.diff(graph.column_offsets)
    unreached = [(levels < 0) | (levels > depth) for depth in range(1, int(levels.max()))]
    assert found in [(np.count_nonzero(left & (entered > 0)), entered[left].sum()) for left in unreached]


@pytest.mark.exhaustive
def test_counts_are_emptied_after_all_have_read_them() -> None:
    """Levels that count follow each other closely: 20 vertices of a knot, then 120, then the next knot."""
    edges, knot = [], 0
    for _ in range(8):
        inner, outer = range(knot + 1, knot + 21), range(knot + 21, knot + 141)
        edges += [(knot, v) for v in inner] + [(w, knot + 141) for w in outer]
        edges += [(v, outer[(7 * i + 20 * j) % 120]) for i, v in enumerate(inner) for j in range(18)]
        knot += 141
    knobs = ALL_BLOCKS | {"PUSHED_EDGE": 900, "LISTED_VERTICES": 0, "SHORT_ROWS": 0}
    with CpuDevice(seed=1, watched=True) as device:
        search = prepared(Adaptive, device, graph_of(knot + 1, edges), 5, **knobs)
        check_levels(search, 0)
        assert sum(tally.vertices > 0 for tally in search.state.read_struct().unreached) > 0
        assert not [found for found in device.findings() if not found.benign]


@pytest.mark.parametrize(("vertices", "price"), [(1 << 17, 12), ((1 << 17) + 1, 6), (1 << 23, 12)])
def test_the_price_of_a_pushed_edge_is_twice_as_high_in_small_and_in_large_graphs(
    device: Device, vertices: int, price: int
) -> None:
    graph = graph_of(vertices, [(0, 1)])
    assert prepared(Adaptive, device, graph)._thresholds().pushed_edge == price
    assert prepared(Adaptive, device, graph, PUSHED_EDGE=7)._thresholds().pushed_edge == 7


# Tiny levels, which one block of the cluster runs alone after it has seen several of them

SHORT_ROW = 8 * 4
"""Most arcs of a row that stays with one block, unless it is one of few long rows."""
KEPT_PARTS = 150
"""A level with a long row of this many parts is still tiny. With twice as many parts it is not."""


def long_row(degree: int) -> Graph:
    """Returns a graph of tiny levels. The seventh level has a row of ``degree`` arcs and a short row."""
    before, first = 6, 8
    edges = [(v, v + 1) for v in range(before)] + [(before - 1, before + 1), (before + 1, first)]
    edges += [(before, first + i) for i in range(degree)]
    edges += [(first, first + degree), (first + degree, first + degree + 1)]
    return graph_of(first + degree + 2, edges)


UP_AND_DOWN = chain([1] * 7 + [9, 10, 11, 5, 5, 5, 5, 5, 5, 10, 10, 20, 9] + [1] * 7)
JUMPS = chain([1] * 4 + [3, 30, 4, 20, 20, 2, 1, 1, 1, 1, 1, 6, 7, 2, 2, 2, 2, 2, 25, 2, 2])
RUN_BY_BLOCK = [
    (UP_AND_DOWN, 0, "ccccccccccccccccccccccccccc"),
    (UP_AND_DOWN, 2, "ccccbbccccccccccccccccccbbb"),
    (UP_AND_DOWN, 5, "ccccbbbcccccccbbccccccccbbb"),
    (UP_AND_DOWN, 9, "ccccbbbbccccccbbcccccccbbbb"),
    (UP_AND_DOWN, 10, "ccccbbbbbbbbbbbbbbbbbbbbbbb"),
    (JUMPS, 2, "cccccccccccccbbcccccccccc"),
    (JUMPS, 10, "ccccbbbccccccbbbbbbbbbbbb"),
    (JUMPS, 20, "ccccbbbbbbbbbbbbbbbbbbbbb"),
    # A tiny level finds as many parts as fit the queue of one block, if its rows are as long as the mean row.
    (chain([1] * 6 + [200, 300, 500]), 512, "ccccbbbbb"),
    (layered([1] * 6 + [15, 15, 15]), 512, "ccccbbbcc"),
]
"""Graphs, the knob TINY_PARTS, and the levels that the cluster (c) or one block (b) runs."""


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_one_block_goes_on_while_levels_are_tiny(device: Device, cluster: int) -> None:
    for graph, tiny, layers in RUN_BY_BLOCK:
        knobs = {"CLUSTER_SIZE": cluster, "TINY_PARTS": tiny, "MAY_PULL": 0}
        assert drawn(layers_of(device, graph, **knobs)) == layers, tiny


@pytest.mark.parametrize(
    ("knobs", "cluster"), one_in(9, product([{"TINY_PARTS": 10}, {}, {"SMALL_PARTS": 20}], USUAL_CLUSTERS))
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
    for degree, layer in ((9, "b"), (4 * KEPT_PARTS, "b"), (8 * KEPT_PARTS, "c")):
        layers = drawn(layers_of(device, with_wide_offsets(long_row(degree)), MAY_PULL=0))
        assert layers.startswith("cbbbbb" + layer)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@pytest.mark.parametrize(
    ("degree", "layer"),
    [(SHORT_ROW + 1, "b"), (4 * KEPT_PARTS, "b"), (8 * KEPT_PARTS, "c"), (8193, "."), (140_000, ".")],
)
def test_long_rows_are_kept_or_shared_by_the_cluster_or_by_all_blocks(
    device: Device, monkeypatch: pytest.MonkeyPatch, cluster: int, degree: int, layer: str
) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1)
    layers = layers_of(device, long_row(degree), CLUSTER_SIZE=cluster, MAY_PULL=0)
    assert drawn(layers).startswith("cbbbbb" + layer)


def test_rows_that_a_full_queue_has_no_place_for_go_to_all_blocks(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 vertices of a tiny level have rows of eight parts: 2,400 parts for a queue of 2,048."""
    compile_with(monkeypatch, TINY_LEVELS=1)
    edges = [(0, 1)] + [(1, 2 + i) for i in range(300)]
    edges += [(2 + i, 302 + i * SHORT_ROW + j) for i in range(300) for j in range(SHORT_ROW)]
    edges += [(9901, v) for v in range(9902, 90_000)]  # so that the mean row is short
    for cluster in USUAL_CLUSTERS:
        layers = layers_of(device, graph_of(90_000, edges), CLUSTER_SIZE=cluster, MAY_PULL=0)
        assert drawn(layers).startswith("cb."), cluster


@pytest.mark.parametrize("at_a_time", some([1, 3, 4, 5, 8], 1, 4))
@pytest.mark.exhaustive
def test_one_block_meets_the_others_after_some_levels(
    device: Device, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    compile_with(monkeypatch, TINY_LEVELS=1, LEVELS_AT_A_TIME=at_a_time)
    graph = chain([1, 2, 3, 1, 1, 2, 9, 9, 9, 1, 1, 1, 30, 1, 1])
    layers = drawn(layers_of(device, graph, TINY_PARTS=16, MAY_PULL=0))
    assert layers.startswith("cbbbbbbb"[:at_a_time] + ".")


@pytest.mark.parametrize("sooner", some([1, 2], 1))
@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
@given(graph=graphs(300, 400), tiny=st.sampled_from([2, 10, 256, 512]), small=st.sampled_from([5, 30, 8192]))
def test_any_graph(device: Device, graph: Graph, tiny: int, small: int, sooner: int, cluster: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compile_with(patch, TINY_LEVELS=sooner)
        knobs = {"CLUSTER_SIZE": cluster, "TINY_PARTS": tiny, "SMALL_PARTS": small}
        expect_levels(device, graph, graph.num_vertices // 2, **knobs)
