"""Searches that keep their frontier in queues: overflows, switches between launches, prefix sums."""

from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.frontier_queue import FrontierQueue
from bfsbench.variants.frontier_scan import FrontierScan
from bfsbench.variants.level_queues import LevelQueueVariant
from bfsbench.variants.push_frontier import PushFrontier
from bfsbench.variants.push_multilevel import PushMultilevel
from bfsbench.variants.push_private import PushPrivate
from bfsbench.variants.scan import PrefixSum
from tests.shapes import SHAPES, SOURCES, edge_list
from tests.variants.searching import levels_of, prepared, shape

SEEDS = (1, 2, 3)


def frontier_sizes(levels: npt.NDArray[np.int32]) -> list[int]:
    return np.bincount(levels[levels >= 0]).tolist()


def sizes_read_by(search: LevelQueueVariant) -> list[int]:
    """A list of all queue lengths that the host reads."""
    read, sizes = search.queue_size, []

    def note(level: int) -> int:
        sizes.append(read(level))
        return sizes[-1]

    search.queue_size = note
    return sizes


def widening_and_narrowing() -> Graph:
    """Four fans of 20 vertices between paths of 5: frontiers of one vertex and of 20 by turns."""
    edges, last = [], 0
    for _ in range(4):
        path = list(range(last, last + 6))
        fan = range(path[-1] + 1, path[-1] + 21)
        last = fan.stop
        edges += list(pairwise(path))
        edges += [(path[-1], v) for v in fan] + [(v, last) for v in fan]
    return build_graph(edge_list(last + 1, edges, "each_once"), "widening_and_narrowing")


def launches_of(sizes: list[int], small_frontier: int) -> list[tuple[int, str]]:
    """The first level and the kernel of every launch that Fig. 15.16 (B) asks for."""
    launches, inside = [], False
    for level, size in enumerate(sizes):
        if size > small_frontier:
            launches.append((level, "push_private"))
        elif not inside:
            launches.append((level, "push_multilevel"))
        inside = size <= small_frontier
    return launches


@pytest.mark.parametrize("block", [1, 33, 128])
@pytest.mark.parametrize("tile_size", [64, 1024])
def test_prefix_sums_of_any_length_equal_numpys(device: Device, tile_size: int, block: int) -> None:
    graph = build_graph(SHAPES["pmpp"], "pmpp")
    around = (1, 64, 128, 1024, 2048, 64 * 64, 64 * 65)
    lengths = sorted({max(1, n + step) for n in around for step in (-1, 0, 1)})
    for grid in (None, 2):
        variant = prepared(FrontierScan, device, graph, grid, block, TILE_SIZE=tile_size)
        for length in lengths:
            values = np.random.default_rng(length).integers(0, 1000, length, np.int32)
            array = device.upload(values)
            PrefixSum(variant, array, length, tile_size)()
            expected = np.cumsum(values) - values
            assert array.download().tolist() == expected.tolist(), (length, grid)


@pytest.mark.parametrize("tile_size", [64, 128, 256, 512, 1024, 2048, 4096])
def test_scanning_a_tile_is_free_of_bank_conflicts(device: Device, tile_size: int) -> None:
    """Of the pairs of nodes that a warp takes at a depth of the tree, no two share one of 32 banks."""
    elements = device.empty(4096, "int32")
    probe = device.module(Path(__file__).with_name("padding.cu"), {}).kernel("places")
    probe.bind(elements, block=64)(1)
    places = elements.download()
    assert len(np.unique(places)) == 4096
    for stride in (2**depth for depth in range(tile_size.bit_length() - 1)):
        left = np.arange(stride - 1, tile_size, 2 * stride)
        for nodes in (left, left + stride):
            for warp in np.split(places[nodes] % 32, range(32, len(nodes), 32)):
                assert len(np.unique(warp)) == len(warp), stride


def test_a_scanned_queue_is_in_order(device: Device) -> None:
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    expected = reference_levels(graph, 0)
    search = prepared(FrontierScan, device, graph, TILE_SIZE=64)
    queues = []

    def note(level: int, kernel: str) -> None:
        queues.append(search.queue.download()[: search.size.read()].tolist())

    search.mark = note
    assert levels_of(search, 0) == expected.tolist()
    depth = int(expected.max())
    assert queues == [np.flatnonzero(expected == level).tolist() for level in range(1, depth + 2)]


@pytest.mark.parametrize(
    ("variant", "knobs"),
    [
        (PushFrontier, {}),
        (PushPrivate, {"LOCAL_FRONTIER_CAPACITY": 1}),
        (PushPrivate, {"LOCAL_FRONTIER_CAPACITY": 7}),
    ],
)
def test_overflowing_frontiers_hold_every_vertex_once(
    device: Device, variant: type[LevelQueueVariant], knobs: dict[str, int]
) -> None:
    for name, source in (("hub", 7), ("hub", 0), ("kronecker", 0), ("complete", 3)):
        graph = build_graph(SHAPES[name], name)
        expected = reference_levels(graph, source)
        for grid, block in ((None, 64), (2, 33)):
            search = prepared(variant, device, graph, grid, block, **knobs)
            sizes = sizes_read_by(search)
            assert levels_of(search, source) == expected.tolist()
            assert sizes == [*frontier_sizes(expected)[1:], 0]


@pytest.mark.parametrize("capacity", [1, 4, 20])
@pytest.mark.parametrize(
    ("variant", "knob"), [(PushPrivate, "LOCAL_FRONTIER_CAPACITY"), (FrontierQueue, "BLOCK_QUEUE_SIZE")]
)
def test_only_what_a_full_block_queue_cannot_take_goes_straight_to_the_global_one(
    device: Device, variant: type[LevelQueueVariant], knob: str, capacity: int
) -> None:
    """With one thread: vertices that go there directly precede those in the block's queue."""
    graph = build_graph(edge_list(11, [(0, v) for v in range(1, 11)]), "star")
    search = prepared(variant, device, graph, 1, 1, **{knob: capacity})
    levels_of(search, 0)
    held, straight = range(1, min(capacity, 10) + 1), range(capacity + 1, 11)
    assert search.queues[1].download()[:10].tolist() == [*straight, *held]


@pytest.mark.parametrize("small_frontier", [1, 5, 19, 20, 100])
def test_small_levels_stay_in_one_launch_and_large_ones_have_their_own(
    device: Device, small_frontier: int
) -> None:
    graph = widening_and_narrowing()
    expected = reference_levels(graph, 0)
    sizes = frontier_sizes(expected)
    search = prepared(PushMultilevel, device, graph, SMALL_FRONTIER=small_frontier)
    launches = []
    search.mark = lambda level, kernel: launches.append((level, kernel))
    for _ in range(2):
        launches.clear()
        assert levels_of(search, 0) == expected.tolist()
        assert launches == launches_of(sizes, small_frontier)
    assert len(launches) == (1 if small_frontier >= 20 else 9)


def test_levels_inside_a_launch_are_recorded(device: Device) -> None:
    graph = widening_and_narrowing()
    expected = reference_levels(graph, 0)
    sizes = frontier_sizes(expected)
    knobs = PushMultilevel.knob_values({"SMALL_FRONTIER": 5})
    search = PushMultilevel(KernelSetup(DeviceGraph(device, graph), None, 64, knobs))
    search.records = device.upload(np.zeros(len(sizes), LevelRecord))
    search.prepare()
    assert levels_of(search, 0) == expected.tolist()
    noted = search.records.download()
    assert noted["frontier_size"].tolist() == [size if size <= 5 else 0 for size in sizes]
    assert noted["nanoseconds"][noted["frontier_size"] > 0].all()


@pytest.mark.parametrize("seed", SEEDS)
def test_overflows_and_switches_do_not_depend_on_the_schedule(seed: int) -> None:
    device = open_device("cpu", seed)
    shapes = [build_graph(SHAPES[name], name) for name in ("kronecker", "lattice")]
    for graph in (*shapes, widening_and_narrowing()):
        expected = reference_levels(graph, 0).tolist()
        for capacity in (1, 6):
            private = prepared(PushPrivate, device, graph, 2, 40, LOCAL_FRONTIER_CAPACITY=capacity)
            assert levels_of(private, 0) == expected
            knobs = {"SMALL_FRONTIER": 2 * capacity, "LOCAL_FRONTIER_CAPACITY": capacity}
            assert levels_of(prepared(PushMultilevel, device, graph, 2, 40, **knobs), 0) == expected
        assert levels_of(prepared(FrontierScan, device, graph, 2, 40, TILE_SIZE=64), 0) == expected
    device.close()


@pytest.mark.parametrize("work", [0, 1, 2**31 - 1, 2**32, 2**32 + 2**20, 5 * 10**9])
@pytest.mark.parametrize("block", [1, 33, 96, 256, 1024])
def test_no_launch_has_more_threads_than_counters_can_hold(device: Device, work: int, block: int) -> None:
    graph = build_graph(SHAPES["pmpp"], "pmpp")
    search = PushFrontier(KernelSetup(DeviceGraph(device, graph), None, block, {}))
    assert search.blocks(work) >= 1
    assert search.blocks(work) * block < 2**31


@pytest.mark.parametrize("capacity", [1, 3, 40])
def test_an_overflowing_global_queue_is_rebuilt(
    device: Device, capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FrontierQueue, "queue_capacity", capacity)
    for name in ("kronecker", "lattice", "star_out"):
        graph = shape(name)
        usual = prepared(FrontierQueue, device, graph)
        small = prepared(FrontierQueue, device, graph, 2, 32, BLOCK_QUEUE_SIZE=5)
        for source in SOURCES[name]:
            expected = reference_levels(graph, source).tolist()
            assert levels_of(usual, source) == levels_of(small, source) == expected


def test_a_queue_is_rebuilt_when_it_has_overflowed_and_only_then(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = shape("star_out")
    for capacity, rebuilt in ((1, [1]), (graph.num_vertices, [])):
        monkeypatch.setattr(FrontierQueue, "queue_capacity", capacity)
        search = prepared(FrontierQueue, device, graph)
        search.rebuild = [Mock(wraps=rebuild) for rebuild in search.rebuild]
        search.reset(0)
        search.traverse(0)
        assert [call.args[-1] for rebuild in search.rebuild for call in rebuild.call_args_list] == rebuilt
