"""Which levels the search of one launch pulls, and when it stops to queue what will be pulled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import edge_list, random_digraph
from tests.variants.adaptive_searches import layers_of, took_steps
from tests.variants.searching import layered, levels_of, prepared


class Decisions:
    """Which levels are pulled when one block pushes or pulls all of them, and there are no long rows."""

    def __init__(self, graph: Graph, cost: int) -> None:
        self.graph, self.cost = graph, cost
        self.unreached = int(np.count_nonzero(np.diff(graph.column_offsets)))
        self.unexplored, self.expanded = graph.num_edges, 0
        self.spread, self.cover = 1.0, 0.0
        self.worth = self.limit = self._worth_now(0)

    def pulls(self, vertices: int, edges: int, last: str, unqueued: bool) -> bool:
        """Whether the next frontier is pulled, which is of so many vertices and edges.

        One that is far below what was worth pulling is pushed; what the level before has shown is learned
        meanwhile. One that is not queued, and is not pulled, is queued in a step of its own.
        """
        far_below = self._far_below(edges, last)
        if last != "cluster":
            self._learn(vertices, edges)
        self.unreached -= vertices
        self.unexplored -= edges
        self.expanded = edges
        if far_below and last == "push" and not unqueued:
            self.level_limit, self.worth = self.limit, self._worth_now(edges)
            self.limit = self.worth
            return False
        if not far_below:
            self.worth = self._worth_now(edges, vertices if unqueued else 0)
            assume(abs(edges - self.worth) > 0.001 * max(1, edges))
        pulled = edges > self.worth
        if unqueued and not pulled and not self._far_below(edges, "queue"):
            self.worth = self._worth_now(edges)
        self.level_limit = self.limit = self.worth if self.cover else 1.6 * self.worth
        return pulled

    def stops(self, edges: int) -> bool:
        """Whether a pushed level that finds so many edges stops to queue."""
        unit = 1 + int(min(self.level_limit / 4, 1e9))
        assume(abs(edges - 5 * unit) > 2)
        return self.cost > 0 and edges // unit > 4

    def _far_below(self, edges: int, last: str) -> bool:
        assume(abs(2 * edges - self.worth) > 0.001 * max(1, edges))
        return last != "pull" and 2 * edges < self.worth

    def _met(self, edges: int) -> float:
        hits = edges * self.unexplored / self.graph.num_edges
        return hits / (hits + max(0, self.unreached) + 1)

    def _learn(self, vertices: int, edges: int) -> None:
        met = self._met(self.expanded)
        self.spread = min(1.0, max(0.02, vertices / (max(0, self.unreached) * met + 1)))
        cover = min(1.0, max(self.spread, edges / (self.unexplored * met + 1)))
        self.cover = (self.cover + cover) / 2 if self.cover else cover

    def _worth_now(self, edges: int, unqueued: int = 0) -> float:
        if self.cost == 0:
            return float("inf")
        rows, arcs = max(0, self.unreached), self.unexplored
        c = self.cost * (0.25 + 0.75 * self.spread * arcs / self.graph.num_edges)
        missed = 1 - self.cover * self._met(edges)
        chain = min(8e6 * missed**2, 10 * missed * arcs) if self.cover else 0
        queue = 8e5 + 5 * unqueued if unqueued and edges // 4 > 0 else 0
        fixed = max(1.0, rows + self.graph.num_vertices / 4 + chain - queue)
        meeting = fixed + np.sqrt(fixed**2 + 4 * c * rows * arcs / self.spread)
        return float(min(meeting, 2 * (fixed + arcs)) / (2 * c))


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8), cost=st.integers(0, 1024))
def test_levels_are_pulled_when_pushing_costs_more(device: Device, sizes: list[int], cost: int) -> None:
    graph = layered([1, *sizes])
    levels = reference_levels(graph, 0)
    degrees, expected = np.diff(graph.row_offsets), []
    sizes_of, edges_of = np.bincount(levels), np.bincount(levels, weights=degrees).astype(int).tolist()
    decisions, last, unqueued = Decisions(graph, cost), "cluster", False
    vertices = -(-edges_of[0] // 4)  # the source's parts, by which the cluster makes the unreached fewer
    for level, edges in enumerate(edges_of):
        last = "pull" if decisions.pulls(vertices, edges, last, unqueued) else "push"
        expected.append(last)
        if level + 1 < len(edges_of):
            vertices = int(sizes_of[level + 1])
            unqueued = last == "push" and decisions.stops(edges_of[level + 1])
    found = layers_of(device, graph, 0, 1, CLUSTER_SIZE=1, SMALL_PARTS=0, PUSHED_EDGE=cost)
    assert found == expected


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
    assert levels_of(search, 0) == reference_levels(graph, 0).tolist()
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
        assert levels_of(search, 0) == reference_levels(graph, 0).tolist()
        assert sum(tally.vertices > 0 for tally in search.state.read_struct().unreached) > 0
        assert not [found for found in device.findings() if not found.benign]
