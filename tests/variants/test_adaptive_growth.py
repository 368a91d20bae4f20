"""The search of one launch where levels grow fast, or find other rows than was thought."""

from __future__ import annotations

import itertools

import pytest

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import edge_list
from tests.variants.adaptive_searches import TREE, expect_levels, layers_of, took_steps
from tests.variants.searching import levels_of, prepared
from tests.variants.test_adaptive_decisions import beside_others

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
