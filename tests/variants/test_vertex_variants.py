"""Properties of the vertex-centric searches besides their levels."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bfsbench.backends.base import Device
from bfsbench.variants.base import DeviceGraph, KernelVariant
from bfsbench.variants.direction_optimized import DirectionOptimized
from bfsbench.variants.frontier import Frontier
from bfsbench.variants.frontier_numbers import FrontierNumbers
from bfsbench.variants.frontier_numbers_defer import FrontierNumbersDefer
from bfsbench.variants.redirect import Redirect
from bfsbench.variants.reorder import Reorder, by_out_degree, inverse, renumbered
from tests.shapes import SOURCES
from tests.variants.searching import check_levels, graph_of, launches_of, levels_of, prepared, shape


def directions_of(search: DirectionOptimized, source: int) -> str:
    """Check the levels of a search. Returns the kernel that was launched for each level: p for push, v for
    pull. The search marks its launches for level profiles, and these marks must agree."""
    launched = Mock(push=Mock(wraps=search.push), pull=Mock(wraps=search.pull))
    search.push, search.pull = launched.push, launched.pull
    marks = launches_of(search, source)
    assert marks == [(scalars[0], kernel) for kernel, (_, *scalars), _ in launched.mock_calls]
    assert [level for level, _ in marks] == list(range(len(marks)))
    return "".join({"push": "p", "pull": "v"}[kernel] for _, kernel in marks)


@pytest.mark.parametrize(("block", "queue_size"), [(64, 1), (64, 5), (1024, 3), (1024, 1023), (33, 34)])
@pytest.mark.parametrize("grid", [1, 3, None])
def test_a_full_queue_of_deferred_vertices_loses_none(
    device: Device, grid: int | None, block: int, queue_size: int
) -> None:
    for name in ("kronecker", "complete", "star_both", "random_1025"):
        for defer_max in (0, 4):
            knobs = {"DEFER_MAX": defer_max, "D_BLOCK_QUEUE_SIZE": queue_size}
            search = prepared(FrontierNumbersDefer, device, shape(name), grid, block, **knobs)
            check_levels(search, *SOURCES[name])


@pytest.mark.parametrize(("queue_size", "order"), [(1, [1, 2, 3, 0]), (2, [1, 3, 0, 2]), (9, [1, 3, 0, 2])])
def test_vertices_of_high_degree_are_expanded_last(device: Device, queue_size: int, order: list[int]) -> None:
    offsets = device.upload(np.array([0, 5, 6, 10, 13], np.int32))
    levels = device.upload(np.zeros(4, np.int32))
    noted = device.upload(np.zeros(5, np.int32))
    probe = device.module(Path(__file__).with_name("deferring.cu"), {}).kernel("frontier_numbers_defer")
    arguments = (offsets, levels, 4, levels, 4, queue_size, noted, 0)
    probe.bind(*arguments, block=1, shared=4 * queue_size)(1)
    assert noted.download().tolist() == [4, *order]


@pytest.mark.parametrize("width", [1, 4, 32])
def test_a_virtual_warp_shares_the_neighbours_of_a_vertex(device: Device, width: int) -> None:
    num_vertices = 50
    offsets = device.upload(np.array([0] + [num_vertices - 1] * num_vertices, np.int32))
    neighbours = device.upload(np.arange(1, num_vertices, dtype=np.int32))
    start = np.full((width + 1, num_vertices), -1, np.int32)
    start[0, 0] = 0
    levels, progress = device.upload(start.ravel()), device.signal()
    defines = {"W_SZ": width, "NUM_VERTICES": num_vertices}
    probe = device.module(Path(__file__).with_name("sharing.cu"), defines).kernel("virtual_warp")
    probe.bind(offsets, neighbours, num_vertices, levels, progress, 0, block=64)(1)
    by_lane = levels.download().reshape(start.shape)[1:]
    for lane in range(width):
        assert np.flatnonzero(by_lane[lane] == 1).tolist() == list(range(1 + lane, num_vertices, width))


def test_jobs_are_in_order_of_out_degree(device: Device) -> None:
    graph = shape("kronecker")
    order = by_out_degree(graph.row_offsets).tolist()
    assert prepared(Redirect, device, graph).jobs.download().tolist() == order != sorted(order)


@settings(deadline=None)
@given(edges=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60), wide=st.booleans())
def test_renumbering_by_out_degree_keeps_the_graph(edges: list[tuple[int, int]], wide: bool) -> None:
    graph = graph_of(13, edges)
    old_offsets = graph.row_offsets.astype(np.int64 if wide else np.int32)
    order = by_out_degree(old_offsets)
    offsets, columns = renumbered(old_offsets, graph.column_indices, order)
    assert (offsets.dtype, columns.dtype, order.dtype) == (old_offsets.dtype, np.int32, np.int32)
    assert inverse(order)[order].tolist() == list(range(13))
    degrees = np.diff(offsets)
    assert (degrees[:-1] >= degrees[1:]).all()
    arcs = zip(np.repeat(order, degrees).tolist(), order[columns].tolist(), strict=True)
    assert sorted(arcs) == sorted(edges)


def test_vertices_of_equal_degree_keep_their_order() -> None:
    graph = graph_of(5, [(1, 0), (3, 0), (4, 0), (4, 1)])
    assert by_out_degree(graph.row_offsets).tolist() == [4, 1, 3, 0, 2]


def test_reorder_searches_new_ids_and_answers_in_old_ones(device: Device) -> None:
    graph = graph_of(5, [(1, 0), (0, 3), (3, 4), (4, 3), (4, 1)])
    search = prepared(Reorder, device, graph)
    assert levels_of(search, 1) == [1, 0, -1, 2, 3]
    assert search.level_array.download().tolist() == [3, 1, 0, 2, -1], "4, 0, 1, 3 and 2 by out-degree"


@pytest.mark.parametrize("variant", [Reorder, Redirect])
def test_a_graph_is_sorted_once_for_all_searches_and_timed_apart(
    device: Device, variant: type[KernelVariant]
) -> None:
    for name in ("kronecker", "lattice"):
        graph = DeviceGraph(device, shape(name))
        searches = [prepared(variant, device, graph, block=block) for block in (32, 64, 128)]
        for search in searches:
            check_levels(search, 1)
            assert search.preprocess_ms == searches[0].preprocess_ms > 0
        assert prepared(FrontierNumbers, device, graph).preprocess_ms == 0


def test_the_boolean_arrays_are_consistent_after_a_search(device: Device) -> None:
    graph = shape("several_components")
    search = prepared(Frontier, device, graph)
    levels = np.array(levels_of(search, 2))
    in_frontier, updated, visited = (flags.download() for flags in search.flags)
    assert not in_frontier.any() and not updated.any()
    assert visited.tolist() == (levels >= 0).tolist()


DIRECTIONS = {
    (14, 24): ("pvvvp", "pppvvvvpp", "ppppppppvvvvvvvvvvpvpvpv"),
    (1, 24): ("ppvvp", "pppppvvpp", "ppppppppppppppppppppppvp"),
    (14, 1): ("pvpvp", "pppvpvpvp", "ppppppppvpvpvpvpvpvpvpvp"),
    (10**9, 10**9): ("pvvvv", "pvvvvvvvv", "pvvvvvvvvvvvvvvvvvvvvvvv"),
    (3, 7): ("ppvvp", "ppppvvvpp", "pppppppppppppppvpvpvpvpv"),
}
"""For the knobs ALPHA and BETA, the directions that Beamer's criteria give three graphs."""


@pytest.mark.parametrize(("alpha", "beta"), DIRECTIONS)
def test_directions_are_those_of_the_criteria(device: Device, alpha: int, beta: int) -> None:
    sources = {"kronecker": 255, "random_1025": 0, "lattice": 195}
    for (name, source), directions in zip(sources.items(), DIRECTIONS[alpha, beta], strict=True):
        search = prepared(DirectionOptimized, device, shape(name), ALPHA=alpha, BETA=beta)
        assert directions_of(search, source) == directions, name


def test_a_frontier_at_a_threshold_keeps_its_direction(device: Device) -> None:
    fan = graph_of(12, [(0, 1), (1, 2), (1, 3), (1, 4), (2, 5)])
    at, below = (directions_of(prepared(DirectionOptimized, device, fan, BETA=beta), 0) for beta in (4, 3))
    assert at == "pvvp", "three vertices are not fewer than 12 / 4"
    assert below == "pvpp", "three vertices are fewer than 12 / 3"

    fork = graph_of(5, [(0, 1), (1, 2), (2, 3), (2, 4)])
    at, above = (
        directions_of(prepared(DirectionOptimized, device, fork, ALPHA=alpha), 0) for alpha in (2, 3)
    )
    assert at[1] == "p", "one edge does not exceed 2 / 2"
    assert above[1] == "v", "one edge exceeds 2 / 3"


def test_edges_are_counted_in_64_bits(device: Device) -> None:
    graph = shape("complete")
    search = prepared(DirectionOptimized, device, graph)
    search.reset(0)
    search.reached.fill(-1, index=0)
    search.push(search.num_blocks, 0)
    reached = search.reached.read_struct()
    assert (reached.edges, reached.vertices) == (2**32 + 63 * 63 - 1, 63)


@pytest.mark.parametrize("edges", [2**31, 2**32, 2**33 + 2**31])
def test_counts_beyond_32_bits_decide(device: Device, edges: int) -> None:
    search = prepared(DirectionOptimized, device, shape("path"))
    search.num_edges = np.int64(15 * edges)

    def push(blocks: int, *scalars: int) -> None:
        low, high = np.array([edges], np.int64).view(np.int32).tolist()
        for index, word in enumerate((low, high, 1)):
            search.reached.fill(word, index=index)

    search.push = push
    kernels: list[str] = []
    search.mark = lambda level, kernel: kernels.append(kernel)
    levels_of(search, 1)
    assert kernels == ["push", "pull"], "out of 15 parts, 1 is more than 14 / 14 less an edge"
