"""Luo's search: layers and the switches between them, spilling queues, split vertices, the barrier."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.support.errors import LaunchError, UsageError
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.graph_parts import split_rows
from bfsbench.variants.luo import Luo
from tests.shapes import SHAPES, SOURCES, edge_list
from tests.variants.searching import built, check_levels, layered, layers_of, prepared, shape

BARRIER = Path(__file__).with_name("barrier.cu")


def luo(device: Device, graph: Graph, grid: int | None = None, block: int = 32, **knobs: int) -> Luo:
    return prepared(Luo, device, graph, grid, block, **knobs)


def downward(sizes: list[int]) -> Graph:
    """Returns a graph with levels of these sizes from vertex 0, and with arcs to the next level only."""
    return layered(sizes, orientation="directed")


SIZES = [1, 3, 8, 9, 20, 21, 8, 5, 4, 3, 30, 2, 9, 6, 40, 12, 1, 1, 25, 10, 50, 8, 4, 1, 20, 30]
LETTERS = {"luo_block": "b", "luo_resident": "r", "luo_level": "l"}
RUN_BY = {
    (8, 20): "bbbrrlbbbblbrrlrbblrlbbbrl",
    (1, 45): "brrrrrrrrrrrrrrrrrrrlrrrrr",
    (45, 1): "bbbbbbbbbbbbbbbbbbbblbbbbb",
    (12, 12): "bbbbllbbbblbbblbbblblbbbll",
    (20, 30): "bbbbbrbbbbrbbblbbbrblbbbbr",
}
"""For limits of a block and of resident blocks: the kernels that run levels of SIZES."""


@pytest.mark.parametrize("limits", RUN_BY)
@pytest.mark.parametrize(("grid", "capacity"), [(None, 0), (2, 0), (2, 1), (None, 16), (None, 64)])
def test_every_layer_takes_the_levels_of_its_size(
    device: Device, limits: tuple[int, int], grid: int | None, capacity: int
) -> None:
    """A layer keeps a frontier within its limits. Any other one goes to the lowest layer that takes it."""
    knobs = {"BLOCK_LIMIT": limits[0], "RESIDENT_LIMIT": limits[1], "B_FRONTIER_SIZE": capacity}
    layers = layers_of(built(Luo, device, downward(SIZES), grid, 32, **knobs))
    assert "".join(LETTERS[layer] for layer in layers.split()) == RUN_BY[limits]


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
    graph = shape("lattice")
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
        for knobs in ({}, {"W_FRONTIERS": 1}, {"W_FRONTIERS": 32, "SPLIT_DEGREE": 3}):
            search = luo(device, shape(name), B_FRONTIER_SIZE=size, **layer, **knobs)
            check_levels(search, *SOURCES[name])


@pytest.mark.parametrize("degree", [1, 2, 7])
def test_split_vertices_do_not_change_levels(device: Device, degree: int) -> None:
    for name in SHAPES:
        search = luo(device, shape(name), SPLIT_DEGREE=degree)
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
    graph = shape("complete")
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
