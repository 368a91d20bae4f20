"""Searches that keep their frontier in queues: overflows, launches, prefix sums, gathering."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.frontier_queue import FrontierQueue
from bfsbench.variants.frontier_scan import FrontierScan
from bfsbench.variants.level_queues import LevelQueueVariant
from bfsbench.variants.linear_work import LinearWork
from bfsbench.variants.push_frontier import PushFrontier
from bfsbench.variants.push_multilevel import PushMultilevel
from bfsbench.variants.push_private import PushPrivate
from bfsbench.variants.scan import PrefixSum
from tests.shapes import SOURCES
from tests.variants.searching import (
    built,
    check_levels,
    fan,
    graph_of,
    launches_of,
    layered,
    layers_of,
    levels_of,
    prepared,
    returned_by,
    shape,
)


@pytest.mark.parametrize("block", [1, 33, 128])
@pytest.mark.parametrize("tile_size", [64, 1024])
def test_prefix_sums_of_any_length_equal_numpys(device: Device, tile_size: int, block: int) -> None:
    around = (1, 64, 128, 1024, 2048, 64 * 64, 64 * 65)
    lengths = sorted({max(1, n + step) for n in around for step in (-1, 0, 1)})
    for grid in (None, 2):
        variant = prepared(FrontierScan, device, shape("pmpp"), grid, block, TILE_SIZE=tile_size)
        for length in lengths:
            values = np.random.default_rng(length).integers(0, 1000, length, np.int32)
            array = device.upload(values)
            PrefixSum(variant, array, length, tile_size)()
            expected = np.cumsum(values) - values
            assert array.download().tolist() == expected.tolist(), (length, grid)


@pytest.mark.parametrize("tile_size", [64, 128, 256, 512, 1024, 2048, 4096])
def test_scanning_a_tile_is_free_of_bank_conflicts(device: Device, tile_size: int) -> None:
    """A warp takes pairs of nodes at a depth of the tree. No two of its nodes share one of 32 banks."""
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
    search = prepared(FrontierScan, device, shape("kronecker"), TILE_SIZE=64)
    queues = []
    search.mark = lambda level, kernel: queues.append(search.queue.download()[: search.size.read()].tolist())
    levels = np.array(levels_of(search, 0))
    assert queues == [np.flatnonzero(levels == level).tolist() for level in range(1, levels.max() + 2)]


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
        expected = reference_levels(shape(name), source)
        for grid, block in ((None, 64), (2, 33)):
            search = prepared(variant, device, shape(name), grid, block, **knobs)
            sizes = returned_by(search, "queue_size")
            assert levels_of(search, source) == expected.tolist()
            assert sizes == [*np.bincount(expected[expected > 0])[1:], 0]


@pytest.mark.parametrize("capacity", [1, 4, 20])
@pytest.mark.parametrize(
    ("variant", "knob"), [(PushPrivate, "LOCAL_FRONTIER_CAPACITY"), (FrontierQueue, "BLOCK_QUEUE_SIZE")]
)
def test_only_what_a_full_block_queue_cannot_take_goes_straight_to_the_global_one(
    device: Device, variant: type[LevelQueueVariant], knob: str, capacity: int
) -> None:
    """One thread searches. Vertices that go there directly precede the vertices of the block's queue."""
    search = prepared(variant, device, fan(10, 0), 1, 1, **{knob: capacity})
    levels_of(search, 0)
    held, straight = range(1, min(capacity, 10) + 1), range(capacity + 1, 11)
    assert search.queues[1].download()[:10].tolist() == [*straight, *held]


WIDE_AND_NARROW = layered(([1] * 6 + [20]) * 4 + [1])
SWITCHES = [
    *((0, "push_multilevel"), (6, "push_private"), (7, "push_multilevel"), (13, "push_private")),
    *((14, "push_multilevel"), (20, "push_private"), (21, "push_multilevel"), (27, "push_private")),
    (28, "push_multilevel"),
]


@pytest.mark.parametrize(
    ("small_frontier", "launches"),
    [(1, SWITCHES), (5, SWITCHES), (19, SWITCHES), (20, SWITCHES[:1]), (100, SWITCHES[:1])],
)
def test_small_levels_stay_in_one_launch_and_large_ones_have_their_own(
    device: Device, small_frontier: int, launches: list[tuple[int, str]]
) -> None:
    search = prepared(PushMultilevel, device, WIDE_AND_NARROW, SMALL_FRONTIER=small_frontier)
    for _ in range(2):
        assert launches_of(search) == launches


def test_levels_inside_a_launch_are_recorded(device: Device) -> None:
    layers = layers_of(built(PushMultilevel, device, WIDE_AND_NARROW, SMALL_FRONTIER=5))
    assert layers == " ".join((["push_multilevel"] * 6 + ["push_private"]) * 4 + ["push_multilevel"])


@pytest.mark.parametrize("work", [0, 1, 2**31 - 1, 2**32, 2**32 + 2**20, 5 * 10**9])
@pytest.mark.parametrize("block", [1, 33, 96, 256, 1024])
def test_no_launch_has_more_threads_than_counters_can_hold(device: Device, work: int, block: int) -> None:
    search = built(PushFrontier, device, shape("pmpp"), block=block)
    assert search.blocks(work) >= 1
    assert search.blocks(work) * block < 2**31


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


# Linear work


def gathered(search: LinearWork, frontier: npt.NDArray[np.int32]) -> list[int]:
    """Returns the neighbours that gathering finds for a frontier."""
    padded = np.zeros(search.num_vertices, np.int32)
    padded[: len(frontier)] = frontier
    search.frontier_queue.upload(padded)
    edges = int(np.diff(search.host_graph.row_offsets)[frontier].sum())
    search.gather_neighbours(len(frontier), edges)
    return list(map(int, search.gathered.download()[:edges]))


GATHERINGS = [
    {"GATHERING": "serial"},
    {"GATHERING": "fine-grained", "START_INDEX": "search"},
    {"GATHERING": "fine-grained", "START_INDEX": "precomputed"},
]


@pytest.mark.parametrize("knobs", GATHERINGS, ids=lambda knobs: "-".join(knobs.values()))
@given(
    degrees=st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 7, 40, 700]), min_size=1, max_size=200),
    block=st.sampled_from([1, 31, 32, 64]),
    tile_size=st.sampled_from([1, 4, 16]),
    grid=st.sampled_from([None, 2]),
)
def test_gathered_neighbours_are_those_of_the_frontier_in_order(
    emulator: Device, knobs: dict[str, str], degrees: list[int], block: int, tile_size: int, grid: int | None
) -> None:
    rng = np.random.default_rng(len(degrees))
    edges = [(v, int(u)) for v, d in enumerate(degrees) for u in rng.integers(0, len(degrees), d)]
    graph = graph_of(len(degrees), edges)
    frontier = rng.permutation(len(degrees)).astype(np.int32)
    if not edges:
        return
    search = prepared(LinearWork, emulator, graph, grid, block, GATHER_TILE_SIZE=tile_size, **knobs)
    rows = np.split(graph.column_indices, graph.row_offsets[1:-1])
    assert gathered(search, frontier) == np.concatenate([rows[v] for v in frontier]).tolist()


@pytest.mark.parametrize(("gathering", "blocks"), [("serial", 1), ("fine-grained", 7)])
def test_fine_grained_gathering_shares_the_neighbours_of_a_vertex(
    emulator: Device, gathering: str, blocks: int
) -> None:
    search = prepared(LinearWork, emulator, fan(799, 0), block=32, GATHERING=gathering, GATHER_TILE_SIZE=4)
    search.gather = Mock(wraps=search.gather)
    check_levels(search, 0)
    launched = [call.args[0] for call in search.gather.call_args_list]
    assert launched == [blocks], "128 neighbours a block, or 32 vertices"


@pytest.mark.parametrize("start_index", ["search", "precomputed"])
def test_a_thread_may_have_to_expand_several_vertices(emulator: Device, start_index: str) -> None:
    """The paper leaves this case open: a tile of 512 neighbours has 512 vertices, but 32 threads."""
    knobs = {"GATHERING": "fine-grained", "START_INDEX": start_index}
    search = prepared(LinearWork, emulator, fan(2000, 1), None, 32, GATHER_TILE_SIZE=16, **knobs)
    assert gathered(search, np.arange(1, 2001, dtype=np.int32)) == list(range(2001, 4001))
    check_levels(search, 0)


@pytest.mark.parametrize("threshold", [0, 1, 300, 512, 32768])
def test_short_frontiers_are_filtered_by_one_thread(emulator: Device, threshold: int) -> None:
    graph = shape("kronecker")
    search = prepared(LinearWork, emulator, graph, SEQUENTIAL_THRESHOLD=threshold)
    search.filter_sequentially = Mock(wraps=search.filter_sequentially)
    for source in SOURCES["kronecker"]:
        search.filter_sequentially.reset_mock()
        levels = np.array(levels_of(search, source))
        assert levels.tolist() == reference_levels(graph, source).tolist()
        reached = levels >= 0
        edges = np.bincount(levels[reached], weights=np.diff(graph.row_offsets)[reached])
        sequential = [call.args[2] for call in search.filter_sequentially.call_args_list]
        assert sequential == [level for level, count in enumerate(edges) if 0 < count <= threshold]


def test_frontiers_hold_every_vertex_once(emulator: Device) -> None:
    for threshold in (0, 32768):
        search = prepared(LinearWork, emulator, shape("duplicate_edges"), SEQUENTIAL_THRESHOLD=threshold)
        check_levels(search, 0)
        reached = search.reached.read_struct()
        assert (reached.edges, reached.vertices) == (20 + 5, 6), "all but the source, and their edges"
        assert not search.mask.download().any()
