"""Properties of the vertex-centric searches besides their levels."""

from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant
from bfsbench.variants.direction_optimized import DirectionOptimized
from bfsbench.variants.frontier import Frontier
from bfsbench.variants.frontier_numbers import FrontierNumbers
from bfsbench.variants.frontier_numbers_defer import FrontierNumbersDefer
from bfsbench.variants.redirect import Redirect
from bfsbench.variants.reorder import Reorder, by_out_degree, inverse, renumbered
from tests.shapes import SHAPES, SOURCES, edge_list
from tests.variants.searching import check_levels, levels_of, prepared


def directions_of(search: DirectionOptimized, source: int) -> list[str]:
    """The kernel that was launched for each level; it must be the one in level profiles."""
    marks: list[tuple[int, str]] = []
    search.mark = lambda level, kernel: marks.append((level, kernel))
    launched = Mock(push=Mock(wraps=search.push), pull=Mock(wraps=search.pull))
    search.push, search.pull = launched.push, launched.pull
    levels_of(search, source)
    assert marks == [(scalars[0], kernel) for kernel, (_, *scalars), _ in launched.mock_calls]
    assert [level for level, _ in marks] == list(range(len(marks)))
    return [kernel for _, kernel in marks]


def expected_directions(graph: Graph, source: int, alpha: int, beta: int) -> list[str]:
    """Beamer's criteria applied to the levels of the sequential search."""
    levels, degrees = reference_levels(graph, source), np.diff(graph.row_offsets)
    directions = ["push"]
    for level in range(1, int(levels.max()) + 1):
        frontier, unreached = levels == level, (levels < 0) | (levels > level)
        if directions[-1] == "push":
            pulls = degrees[frontier].sum() > degrees[unreached].sum() / alpha
        else:
            pulls = frontier.sum() >= graph.num_vertices / beta
        directions.append("pull" if pulls else "push")
    return directions


@pytest.mark.parametrize(("block", "queue_size"), [(64, 1), (64, 5), (1024, 3), (1024, 1023), (33, 34)])
@pytest.mark.parametrize("grid", [1, 3, None])
def test_a_full_queue_of_deferred_vertices_loses_none(
    device: Device, grid: int | None, block: int, queue_size: int
) -> None:
    for name in ("kronecker", "complete", "star_both", "random_1025"):
        graph = build_graph(SHAPES[name], name)
        for defer_max in (0, 4):
            knobs = {"DEFER_MAX": defer_max, "D_BLOCK_QUEUE_SIZE": queue_size}
            search = prepared(FrontierNumbersDefer, device, graph, grid, block, **knobs)
            check_levels(search, *SOURCES[name])


@pytest.mark.parametrize("seed", range(1, 5))
def test_deferring_does_not_depend_on_the_schedule(seed: int) -> None:
    device = open_device("cpu", seed)
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    search = prepared(FrontierNumbersDefer, device, graph, 2, 96, DEFER_MAX=2, D_BLOCK_QUEUE_SIZE=7)
    check_levels(search, 0)
    device.close()


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
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    order = by_out_degree(graph.row_offsets).tolist()
    assert prepared(Redirect, device, graph).jobs.download().tolist() == order != sorted(order)


@settings(deadline=None)
@given(edges=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60), wide=st.booleans())
def test_renumbering_by_out_degree_keeps_the_graph(edges: list[tuple[int, int]], wide: bool) -> None:
    graph = build_graph(edge_list(13, edges), "random")
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
    graph = build_graph(edge_list(5, [(1, 0), (3, 0), (4, 0), (4, 1)]), "small")
    assert by_out_degree(graph.row_offsets).tolist() == [4, 1, 3, 0, 2]


def test_reorder_searches_new_ids_and_answers_in_old_ones(device: Device) -> None:
    graph = build_graph(edge_list(5, [(1, 0), (0, 3), (3, 4), (4, 3), (4, 1)]), "small")
    search = prepared(Reorder, device, graph)
    assert levels_of(search, 1) == [1, 0, -1, 2, 3]
    assert search.level_array.download().tolist() == [3, 1, 0, 2, -1], "4, 0, 1, 3 and 2 by out-degree"


@pytest.mark.parametrize("variant", [Reorder, Redirect])
def test_sorting_is_timed_apart(device: Device, variant: type[KernelVariant]) -> None:
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    assert prepared(variant, device, graph).preprocess_ms > 0
    assert prepared(FrontierNumbers, device, graph).preprocess_ms == 0


@pytest.mark.parametrize("variant", [Reorder, Redirect])
def test_a_graph_is_sorted_once_for_all_searches(
    device: Device, variant: type[KernelVariant], monkeypatch: pytest.MonkeyPatch
) -> None:
    sorting = Mock(wraps=by_out_degree)
    monkeypatch.setattr(import_module(variant.__module__), "by_out_degree", sorting)
    for name in ("kronecker", "lattice"):
        graph = build_graph(SHAPES[name], name)
        on_device, costs = DeviceGraph(device, graph), set()
        for block in (32, 64, 128):
            search = variant(KernelSetup(on_device, None, block, {}))
            search.prepare()
            check_levels(search, 1)
            costs.add(search.preprocess_ms)
        assert len(costs) == 1, "every search tells what it took"
    assert sorting.call_count == 2


def test_the_boolean_arrays_are_consistent_after_a_search(device: Device) -> None:
    graph = build_graph(SHAPES["several_components"], "several_components")
    search = prepared(Frontier, device, graph)
    levels = np.array(levels_of(search, 2))
    in_frontier, updated, visited = (flags.download() for flags in search.flags)
    assert not in_frontier.any() and not updated.any()
    assert visited.tolist() == (levels >= 0).tolist()


@pytest.mark.parametrize(("alpha", "beta"), [(14, 24), (1, 24), (14, 1), (10**9, 10**9), (3, 7)])
@pytest.mark.parametrize("name", ["kronecker", "hub", "random_1025", "random_dense", "lattice", "star_in"])
def test_directions_are_those_of_the_criteria(device: Device, name: str, alpha: int, beta: int) -> None:
    graph = build_graph(SHAPES[name], name)
    search = prepared(DirectionOptimized, device, graph, ALPHA=alpha, BETA=beta)
    for source in SOURCES[name]:
        assert directions_of(search, source) == expected_directions(graph, source, alpha, beta)


def test_thresholds_change_the_direction(device: Device) -> None:
    graph = build_graph(SHAPES["random_1025"], "random_1025")

    def run(**knobs: int) -> str:
        return " ".join(directions_of(prepared(DirectionOptimized, device, graph, **knobs), 0))

    assert "push pull" in run() and "pull push" in run()
    assert "pull push" not in run(BETA=10**9), "a frontier is never small enough"
    assert "pull pull" not in run(BETA=1), "a frontier is always small enough"
    assert run(ALPHA=1).index("pull") > run(ALPHA=14).index("pull") > run(ALPHA=10**9).index("pull")


def test_a_frontier_at_a_threshold_keeps_its_direction(device: Device) -> None:
    fan = build_graph(edge_list(12, [(0, 1), (1, 2), (1, 3), (1, 4), (2, 5)]), "fan")
    at, below = (directions_of(prepared(DirectionOptimized, device, fan, BETA=beta), 0) for beta in (4, 3))
    assert at == ["push", "pull", "pull", "push"], "three vertices are not fewer than 12 / 4"
    assert below == ["push", "pull", "push", "push"], "but fewer than 12 / 3"

    fork = build_graph(edge_list(5, [(0, 1), (1, 2), (2, 3), (2, 4)]), "fork")
    at, above = (
        directions_of(prepared(DirectionOptimized, device, fork, ALPHA=alpha), 0) for alpha in (2, 3)
    )
    assert at[1] == "push", "one edge does not exceed 2 / 2"
    assert above[1] == "pull", "but 2 / 3"


def test_edges_are_counted_in_64_bits(device: Device) -> None:
    graph = build_graph(SHAPES["complete"], "complete")
    search = prepared(DirectionOptimized, device, graph)
    search.reset(0)
    search.reached.fill(-1, index=0)
    search.push(search.num_blocks, 0)
    reached = search.reached.read_struct()
    assert (reached.edges, reached.vertices) == (2**32 + 63 * 63 - 1, 63)


@pytest.mark.parametrize("edges", [2**31, 2**32, 2**33 + 2**31])
def test_counts_beyond_32_bits_decide(device: Device, edges: int) -> None:
    search = prepared(DirectionOptimized, device, build_graph(SHAPES["path"], "path"))
    search.num_edges = np.int64(15 * edges)

    def push(blocks: int, *scalars: int) -> None:
        low, high = np.array([edges], np.int64).view(np.int32).tolist()
        for index, word in enumerate((low, high, 1)):
            search.reached.fill(word, index=index)

    search.push = push
    assert directions_of(search, 1) == ["push", "pull"], (
        "out of 15 parts, 1 is more than 14 / 14 less an edge"
    )
