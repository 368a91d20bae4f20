"""Which levels the search of one launch pulls, queues in a step of their own, or leaves to the cluster."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import edge_list, random_digraph
from tests.variants.adaptive_searches import TREE, expect_levels, layers_of, took_steps
from tests.variants.searching import check_levels, layered, levels_of, prepared

PULLED_BY_PRICE = {
    (1, 40): {0: "..", 2: ".v", 3: "vv"},
    (1, 5, 30, 40, 40, 2): {0: "......", 6: "....vv", 8: "...vvv", 32: "..vvvv", 96: ".vvvvv"},
    (1, 40, 3, 40, 10): {0: ".....", 3: "....v", 24: ".v.vv", 48: "vv.vv", 96: "vvvvv"},
    (1, 1, 1, 40, 40, 40): {0: "......", 6: "....vv", 48: "...vvv"},
    (1, 30, 30, 30, 30, 30): {0: "......", 6: ".v....", 8: ".v...v", 24: ".v.vvv", 256: "vvvvvv"},
}
"""Of graphs by the sizes of their levels: which levels are pulled (v) from that price of a pushed edge on."""


@pytest.mark.parametrize("sizes", PULLED_BY_PRICE)
def test_the_dearer_a_pushed_edge_the_more_levels_are_pulled(device: Device, sizes: tuple[int, ...]) -> None:
    """Large levels first; small ones between them last. One block runs all, and there are no long rows."""
    for price, pulled in PULLED_BY_PRICE[sizes].items():
        layers = layers_of(device, layered([*sizes]), 0, 1, CLUSTER_SIZE=1, SMALL_PARTS=0, PUSHED_EDGE=price)
        assert layers == [{"v": "pull", ".": "push"}[mark] for mark in pulled], price


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8), price=st.integers(0, 512))
def test_a_first_level_that_is_pulled_is_pulled_at_twice_the_price(
    device: Device, sizes: list[int], price: int
) -> None:
    """Without a price no level is pulled. ``layers_of`` checks the levels."""
    knobs = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0}
    once, twice = (
        layers_of(device, layered([1, *sizes]), 0, 1, PUSHED_EDGE=p, **knobs) for p in (price, 2 * price)
    )
    assert once[0] == "push" or twice[0] == "pull", "nothing has been learned before the first level"
    assert price > 0 or set(once) == {"push"}


def beside_others(edges: list[tuple[int, int]], others: int) -> Graph:
    """These arcs from vertex 0 on, and much else that may be reached for all a search knows."""
    inner, elsewhere = np.array(edges, dtype=np.int32).T, random_digraph(others, degree=10)
    first = int(inner.max()) + 1
    outer = np.stack([elsewhere.sources, elsewhere.targets]) + first
    tails, heads = np.hstack([inner, outer]).astype(np.int32)
    return build_graph(EdgeList(tails, heads, first + others, "directed"), "beside others")


def tree(children: int, leaves: int, loops: int = 0) -> list[tuple[int, int]]:
    """Vertex 0 has loops and an arc to vertex 1, which has these children, and they leaves of their own."""
    parents, first = range(2, 2 + children), 2 + children
    edges = [(0, 0)] * loops + [(0, 1)] + [(1, v) for v in parents]
    return edges + [(v, first + leaves * (v - 2) + i) for v in parents for i in range(leaves)]


@pytest.mark.parametrize("grid", [1, 8])
def test_what_blocks_no_longer_queue_is_pulled(device: Device, grid: int) -> None:
    """More edges than are worth pulling, and a quarter more, which a block need not tell the others of."""
    graph = beside_others(tree(32, 1500, loops=31), 5000)  # with the loops, the row of vertex 1 is one part
    layers = layers_of(device, graph, 0, grid, CLUSTER_SIZE=1, SMALL_PARTS=0, PUSHED_EDGE=150)
    assert layers[:3] == ["push", "push", "pull"]


def test_a_hub_alone_does_not_have_its_level_pulled(device: Device) -> None:
    """Two of them have twice the edges that stop a block, but say little about what others find."""
    graph = beside_others(tree(2, 1500, loops=31), 5000)
    layers = layers_of(device, graph, 0, 8, CLUSTER_SIZE=1, SMALL_PARTS=0, PUSHED_EDGE=8)
    assert layers[:3] == ["push"] * 3


def test_what_a_cluster_no_longer_queues_is_pulled(device: Device) -> None:
    """All long rows are found by one block, and there is no room for them."""
    graph = beside_others(tree(32, 7000), 25_000)
    assert layers_of(device, graph, CLUSTER_SIZE=8)[:3] == ["cluster", "cluster", "pull"]


@pytest.mark.parametrize(("parts", "layer"), [(512, "push"), (513, "pull")])
def test_what_is_on_no_list_is_not_left_to_the_lists(device: Device, parts: int, layer: str) -> None:
    """Two blocks take turns by parts of the row of vertex 0. What the second finds has so many edges that it
    stops queueing; pushing pays all the same, so that lists are queued after all, in a step of their own. The
    first finds few edges and goes on, but of 513 parts more than its list holds: 8,192 vertices."""
    found, leaf = range(1, 1 + parts * 32), 1 + parts * 32
    first = [v for v in found if (v - 1) // 32 % 2 == 0]
    second = [v for v in found if (v - 1) // 32 % 2 == 1]
    edges = [(0, v) for v in found]
    edges += [(v, leaf + i) for i, v in enumerate(first[::4])]
    edges += [(v, leaf) for v in second for _ in range(6)]
    graph = beside_others(edges, 40_000)
    knobs = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0, "PUSHED_EDGE": 20}
    assert layers_of(device, graph, 0, 2, **knobs) == ["push", layer, "push"]
    search = prepared(Adaptive, device, graph, 2, **knobs)
    check_levels(search, 0)
    steps = 5  # the cluster's, three levels, and one that queues what the lists hold, or a bitmap
    assert took_steps(search, steps)


def left_behind(device: Device, graph: Graph, grid: int, **knobs: int) -> tuple[int, int, int]:
    """The steps, modulo three, of a search from vertex 0, all of it pushed or pulled; and the
    most vertices that a level which follows a listed one has looked for parents of, and their in-neighbours.
    It searches twice, and its levels are checked."""
    search = prepared(Adaptive, device, graph, grid, CLUSTER_SIZE=1, SMALL_PARTS=0, **knobs)
    expected, found = reference_levels(graph, 0).tolist(), []
    for _ in range(2):
        assert levels_of(search, 0) == expected
        state = search.state.read_struct()
        counted = max(state.unreached, key=lambda tally: tally.vertices)
        found.append((int(state.first_step), int(counted.vertices), int(counted.edges)))
    return found[0]


@pytest.mark.parametrize("grid", [1, 8])
def test_what_is_only_listed_is_pulled_and_the_rest_counted(device: Device, grid: int) -> None:
    """With one block the list overflows."""
    graph = build_graph(random_digraph(20_000, degree=12), "random")
    levels, entered = reference_levels(graph, 0), np.diff(graph.column_offsets)
    _, *found = left_behind(device, graph, grid, PUSHED_EDGE=40, LISTED_VERTICES=100)
    unreached = [(levels < 0) | (levels > depth) for depth in range(1, int(levels.max()))]
    counts = [(int(np.count_nonzero(left & (entered > 0))), int(entered[left].sum())) for left in unreached]
    assert tuple(found) in counts


def test_what_is_listed_is_queued_after_all_if_it_is_little(device: Device) -> None:
    """All rows of a level lead to the same vertices, which nothing before has shown."""
    hubs, pages = range(1, 41), range(41, 341)
    edges = [(0, v) for v in hubs] + [(v, w) for v in hubs for w in pages]
    edges += [(w, 341) for w in pages[:90]]
    graph = beside_others(edges, 20_000)
    steps, _, _ = left_behind(device, graph, 2, PUSHED_EDGE=34)
    steps_with_lists, vertices, _ = left_behind(device, graph, 2, PUSHED_EDGE=34, LISTED_VERTICES=100)
    assert vertices == 0, "no level was pulled after one that was only listed"
    assert (steps_with_lists - steps) % 3 == 1, "a step queues the lists"


def test_a_listed_level_that_finds_nothing_ends_the_search(device: Device) -> None:
    """Much is expected of these hubs, which lead to each other alone; no step queues empty lists."""
    hubs = range(1, 41)
    graph = beside_others(
        [(0, v) for v in hubs] + [(v, w) for v in hubs for w in hubs for _ in range(8)], 20_000
    )
    steps, _, _ = left_behind(device, graph, 2, PUSHED_EDGE=34)
    assert steps == left_behind(device, graph, 2, PUSHED_EDGE=34, LISTED_VERTICES=100)[0]


@pytest.mark.exhaustive
def test_trees_of_levels_that_are_only_listed(device: Device) -> None:
    graph = build_graph(random_digraph(4000, degree=12), "random")
    _, vertices, _ = left_behind(device, graph, 8, PUSHED_EDGE=40, LISTED_VERTICES=100, TREE=1)
    assert vertices > 0


@pytest.mark.exhaustive
def test_counts_are_emptied_after_all_have_read_them() -> None:
    """Levels that count follow each other closely: 20 vertices of a knot, 120 of these, and the next knot."""
    edges, knot = [], 0
    for _ in range(8):
        inner, outer = range(knot + 1, knot + 21), range(knot + 21, knot + 141)
        edges += [(knot, v) for v in inner] + [(w, knot + 141) for w in outer]
        edges += [(v, outer[(7 * i + 20 * j) % 120]) for i, v in enumerate(inner) for j in range(18)]
        knot += 141
    graph = build_graph(edge_list(knot + 1, edges, "directed"), "knots")
    knobs = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0, "PUSHED_EDGE": 900, "LISTED_VERTICES": 0, "SHORT_ROWS": 0}
    with CpuDevice(seed=1, watched=True) as device:
        search = prepared(Adaptive, device, graph, 5, **knobs)
        check_levels(search, 0)
        assert sum(tally.vertices > 0 for tally in search.state.read_struct().unreached) > 0
        assert not [found for found in device.findings() if not found.benign]


SMALL = 300
PUSHED = {"CLUSTER_SIZE": 8, "SMALL_PARTS": SMALL, "MAY_PULL": 0, "SHORT_ROWS": 0}


def growing(sizes: list[int]) -> Graph:
    """Levels of these sizes, the arcs of each dealt out evenly to the vertices of the next."""
    ends = list(itertools.accumulate(sizes, initial=0))
    edges = []
    for first, last, end in zip(ends[:-2], ends[1:-1], ends[2:], strict=True):
        edges += [(first + i * (last - first) // (end - last), last + i) for i in range(end - last)]
    return build_graph(edge_list(ends[-1], edges), "growing")


def test_a_level_about_to_find_far_too_much_is_not_for_the_cluster(device: Device) -> None:
    """The third level has 400 parts of four arcs. Its growth shows in the second one that it will."""
    graph = growing([1, 20, 400, 8000])
    assert layers_of(device, graph, **PUSHED)[:3] == ["cluster", "cluster", "push"]


@pytest.mark.parametrize(
    "sizes",
    [
        [1, 20, 400, 200, 100],  # the third was expected to find 8,000
        [1, 40, 80, 120, 160, 200, 240, 280],  # grows slowly
    ],
)
def test_a_level_that_does_not_find_too_much_stays_with_the_cluster(device: Device, sizes: list[int]) -> None:
    assert "push" not in layers_of(device, growing(sizes), **PUSHED)


def test_a_pushed_level_about_to_find_far_too_much_is_pushed_on(device: Device) -> None:
    """It is small, and would be for the cluster if levels did not grow so fast."""
    slow, fast = [1, 1500, 30, 30, 30], [1, 1500, 30, 600, 12_000]
    knobs = PUSHED | {"SMALL_PARTS": 350}
    assert layers_of(device, growing(slow), **knobs)[2:] == ["cluster"] * 3
    assert layers_of(device, growing(fast), **knobs)[3] == "push"


def test_what_a_listed_level_has_found_may_be_pulled_once_its_rows_are_known(device: Device) -> None:
    """Hubs lead to some pages, fewer than expected, so these are queued; but the pages are hubs, too."""
    hubs, pages, leaves = range(1, 41), range(41, 341), range(341, 3341)
    edges = [(0, v) for v in hubs] + [(v, w) for v in hubs for w in pages]
    edges += [(w, leaf) for w in pages for leaf in leaves]
    graph = beside_others(edges, 2000)
    knobs = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0, "PUSHED_EDGE": 34, "LISTED_VERTICES": 100}
    assert layers_of(device, graph, 0, 2, **knobs)[:3] == ["push", "push", "pull"]


def test_what_a_pulled_level_has_found_may_be_pulled_once_its_rows_are_known(device: Device) -> None:
    """A pulled level counts the arcs that lead to what it finds: one for each page here, which has 150."""
    hubs, pages, leaves = range(1, 101), range(101, 301), range(301, 1801)
    edges = [(0, v) for v in hubs] + [(v, w) for v in hubs for w in hubs]
    edges += [(hubs[i % 100], page) for i, page in enumerate(pages)]
    edges += [(page, leaves[(7 * i + 11 * j) % 1500]) for i, page in enumerate(pages) for j in range(150)]
    edges += [(leaf, 1801 + i % 300) for i, leaf in enumerate(leaves)]
    graph = beside_others(edges, 2000)
    knobs = {"CLUSTER_SIZE": 1, "SMALL_PARTS": 0, "PUSHED_EDGE": 34}
    assert layers_of(device, graph, 0, 2, **knobs) == ["push", *["pull"] * 4]
    search = prepared(Adaptive, device, graph, 2, **knobs)
    levels_of(search, 0)
    steps = 7  # the cluster's, five levels, and one that queues what the first pulled level has found
    assert took_steps(search, steps)
    expect_levels(device, graph, 0, 2, **knobs, **TREE)


@pytest.mark.parametrize(("vertices", "price"), [(1 << 17, 12), ((1 << 17) + 1, 6)])
def test_the_price_of_a_pushed_edge_is_twice_as_high_in_a_small_graph(
    device: Device, vertices: int, price: int
) -> None:
    graph = build_graph(edge_list(vertices, [(0, 1)]), "two vertices and others")
    assert prepared(Adaptive, device, graph)._thresholds().pushed_edge == price
    assert prepared(Adaptive, device, graph, PUSHED_EDGE=7)._thresholds().pushed_edge == 7
