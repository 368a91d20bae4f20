"""Luo's search: layers and the switches between them, spilling queues, split vertices, the barrier."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import KernelError, LaunchError, UsageError
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.graph_parts import split_rows
from bfsbench.variants.luo import Luo
from tests.shapes import SHAPES, SOURCES, edge_list
from tests.variants.searching import check_levels, layered, levels_of, no_records, prepared

BARRIER = Path(__file__).with_name("barrier.cu")


def luo(device: Device, graph: Graph, grid: int | None = None, block: int = 32, **knobs: int) -> Luo:
    return prepared(Luo, device, graph, grid, block, **knobs)


def downward(sizes: list[int]) -> Graph:
    """Levels of these sizes from vertex 0, with arcs to the next level only."""
    return layered(sizes, orientation="directed")


def layers_of(device: Device, graph: Graph, grid: int | None = None, **knobs: int) -> list[tuple[str, int]]:
    """The kernel that ran each level from vertex 0, and the size of the frontier it saw."""
    search = Luo(KernelSetup(DeviceGraph(device, graph), grid, 32, Luo.knob_values(knobs)))
    found: dict[int, tuple[str, int]] = {}
    search.records = device.upload(no_records(graph.num_vertices))
    sizes = np.bincount(reference_levels(graph, 0))

    def mark(level: int, kernel: str) -> None:
        if kernel not in search.layers:  # whose launches record their levels themselves
            found[level] = kernel, int(sizes[level])

    search.mark = mark
    search.prepare()
    check_levels(search, 0)
    for level, (_, size, layer) in enumerate(search.records.download().tolist()):
        if size >= 0:
            assert level not in found
            found[level] = search.layers[layer], size
    return [found[level] for level in range(len(found))]


def expected_layers(sizes: list[int], block_limit: int, resident_limit: int) -> list[tuple[str, int]]:
    """A layer keeps a frontier within its limits; any other goes to the lowest layer that accepts it."""
    kernel, layers = "luo_level", []
    for size in sizes:
        stays = kernel == "luo_resident" and block_limit // 2 < size <= resident_limit
        if not stays:
            kernel = "luo_resident" if size <= resident_limit else "luo_level"
            kernel = "luo_block" if size <= block_limit else kernel
        layers.append((kernel, size))
    return layers


UP_AND_DOWN = [1, 3, 8, 9, 20, 21, 8, 5, 4, 3, 30, 2, 9, 6, 40, 12, 1, 1, 25, 10, 50, 8, 4, 1, 20, 30]


@pytest.mark.parametrize("grid", [None, 2])
def test_every_layer_takes_the_levels_of_its_size(device: Device, grid: int | None) -> None:
    graph = downward(UP_AND_DOWN)
    layers = layers_of(device, graph, grid, BLOCK_LIMIT=8, RESIDENT_LIMIT=20)
    assert layers == expected_layers(UP_AND_DOWN, 8, 20)
    assert {kernel for kernel, _ in layers} == {"luo_block", "luo_resident", "luo_level"}


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    block_limit=st.integers(1, 45),
    resident_limit=st.integers(1, 45),
    capacity=st.sampled_from([0, 1, 16, 64]),
)
def test_any_limits_and_sizes(
    device: Device, sizes: list[int], block_limit: int, resident_limit: int, capacity: int
) -> None:
    sizes = [1, *sizes]
    knobs = {"BLOCK_LIMIT": block_limit, "RESIDENT_LIMIT": resident_limit, "B_FRONTIER_SIZE": capacity}
    layers = layers_of(device, downward(sizes), **knobs)
    assert layers == expected_layers(sizes, block_limit, resident_limit)


def test_a_frontier_that_fits_its_block_stays_in_shared_memory(device: Device) -> None:
    graph = downward([1, 5, 8, 3, 1])
    search = luo(device, graph, BLOCK_LIMIT=8)
    for queue in search.queues:
        queue.fill(-7)
    check_levels(search, 0)
    even, odd = (queue.download().tolist() for queue in search.queues)
    assert even[0] == 0 and {*even[1:], *odd} == {-7}, "only the source was put into a queue in global memory"


def test_the_papers_limits_are_the_default(device: Device) -> None:
    search = luo(device, downward([1, 2]), block=64)
    assert search.block_limit == 64
    assert search.resident_blocks == device.limits.num_multiprocessors
    assert search.resident_limit == 64 * search.resident_blocks
    many = luo(device, downward([1, 2]), block=64, BLOCKS_PER_MULTIPROCESSOR=32)
    assert search.resident_blocks < many.resident_blocks <= 32 * search.resident_blocks
    assert luo(device, downward([1, 2]), grid=3, BLOCKS_PER_MULTIPROCESSOR=2).resident_blocks == 3


def test_queues_are_sized_by_degree_as_far_as_memory_permits(device: Device) -> None:
    graph = build_graph(SHAPES["lattice"], "lattice")
    search = luo(device, graph, block=64)
    assert search.max_degree == 4
    assert search.queue_capacity(64, 1 << 20) == 64 // 8 * 4
    assert search.queue_capacity(64, 64) == 2
    too_much = Luo.knob_values({}) | {"B_FRONTIER_SIZE": 1 << 16}
    with pytest.raises(LaunchError, match="shared memory"):
        Luo(KernelSetup(DeviceGraph(device, graph), None, 64, too_much)).prepare()


@pytest.mark.parametrize("layer", [{}, {"BLOCK_LIMIT": -1}, {"BLOCK_LIMIT": -1, "RESIDENT_LIMIT": -1}])
@pytest.mark.parametrize("size", [1, 24])
def test_what_full_queues_cannot_hold_is_not_lost(device: Device, layer: dict[str, int], size: int) -> None:
    for name in ("kronecker", "hub", "star_out", "complete", "lattice"):
        graph = build_graph(SHAPES[name], name)
        for knobs in ({}, {"W_FRONTIERS": 1}, {"W_FRONTIERS": 32, "SPLIT_DEGREE": 3}):
            search = luo(device, graph, B_FRONTIER_SIZE=size, **layer, **knobs)
            check_levels(search, *SOURCES[name])


@pytest.mark.parametrize("degree", [1, 2, 7])
def test_split_vertices_do_not_change_levels(device: Device, degree: int) -> None:
    for name in SHAPES:
        graph = build_graph(SHAPES[name], name)
        search = luo(device, graph, SPLIT_DEGREE=degree)
        assert search.preprocess_ms > 0 and search.max_degree <= degree
        check_levels(search, *SOURCES[name])


@given(edges=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=60), degree=st.integers(1, 9))
def test_split_rows_hold_the_arcs_of_their_vertices(edges: list[tuple[int, int]], degree: int) -> None:
    graph = build_graph(edge_list(9, edges), "random")
    split = split_rows(graph, degree)
    assert np.diff(split.row_offsets).max() <= degree
    assert split.row_offsets.dtype == graph.row_offsets.dtype
    vertex_of_row = {int(row): v for v, row in enumerate(split.first_rows)}
    for v, first in enumerate(split.first_rows):
        last = first + split.run_lengths[first]
        assert last == (split.first_rows[v + 1] if v < 8 else len(split.run_lengths))
        assert (split.run_lengths[first:last] == last - first).all()
        heads = split.column_indices[split.row_offsets[first] : split.row_offsets[last]]
        begin, end = graph.row_offsets[v], graph.row_offsets[v + 1]
        assert [vertex_of_row[row] for row in heads.tolist()] == graph.column_indices[begin:end].tolist()
        assert last - first == max(1, -(-(end - begin) // degree))


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bfsbench.variants.graph_parts.MAX_VERTICES", 70)
    graph = build_graph(SHAPES["complete"], "complete")
    assert len(split_rows(graph, 100).run_lengths) == 64
    with pytest.raises(UsageError, match="split at a higher degree"):
        split_rows(graph, 32)


@pytest.mark.parametrize(("blocks", "block"), [(1, 32), (2, 33), (8, 64)])
def test_the_barrier_lets_nobody_through_early_and_can_be_used_again(
    device: Device, blocks: int, block: int
) -> None:
    rounds = 20
    barrier, counts, missed = device.signal(), device.signal(rounds), device.signal()
    barrier.fill(0)
    missed.fill(0)
    meet = device.module(BARRIER, {}).kernel("meet").bind(barrier, counts, missed, rounds, block=block)
    for _ in range(3):
        counts.fill(0)
        meet(blocks)
        assert missed.read() == 0
        assert barrier.read() == 0  # an even number of rounds


@pytest.mark.parametrize("absent", [0, 3])
@pytest.mark.parametrize("last_round", [0, 5])
def test_nobody_waits_for_ever_for_a_block_that_does_not_come(
    device: Device, absent: int, last_round: int
) -> None:
    blocks, block = 4, 32
    barrier, left_in = device.signal(), device.signal(blocks * block)
    barrier.fill(0)
    leave = device.module(BARRIER, {}).kernel("leave")
    leave.bind(barrier, left_in, absent, last_round, 100, block=block)(blocks)
    assert {left_in.read(thread) for thread in range(blocks * block)} == {last_round}


def test_blocks_that_wait_in_vain_are_an_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Luo, "max_polls", 0)
    graph = downward([1, 5, 9])
    search = luo(device, graph, BLOCK_LIMIT=-1)
    with pytest.raises(KernelError, match="blocks did not all meet"):
        levels_of(search, 0)
    monkeypatch.undo()
    assert levels_of(luo(device, graph, BLOCK_LIMIT=-1), 0) == reference_levels(graph, 0).tolist()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_schedule_does_not_matter(seed: int) -> None:
    device = open_device("cpu", seed)
    for knobs in ({"BLOCK_LIMIT": 6, "RESIDENT_LIMIT": 20, "B_FRONTIER_SIZE": 16}, {"SPLIT_DEGREE": 4}):
        search = luo(device, downward(UP_AND_DOWN), **knobs)
        assert levels_of(search, 0) == np.arange(len(UP_AND_DOWN)).repeat(UP_AND_DOWN).tolist()
    device.close()
