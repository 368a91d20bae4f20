"""The search ``merrill``: how it gathers neighbours, culls duplicates, and organises its kernels."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.variants.merrill import Merrill, SearchState
from tests.shapes import SOURCES
from tests.variants.searching import (
    built,
    check_levels,
    graph_of,
    launches_of,
    layers_of,
    levels_of,
    prepared,
    returned_by,
    shape,
)

PARTS = Path(__file__).with_name("gather.cu")
PARTS_DEFINES = {"ATOMIC_CLAIM": 0, "WARP_CULLING": 1, "HISTORY_SIZE": 256}
ORGANISATIONS = ["hybrid", "expand-contract", "contract-expand", "two-phase"]


# Gathering


@given(
    degrees=st.lists(st.sampled_from([0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 300]), min_size=1, max_size=80),
    block=st.sampled_from([1, 31, 32, 33, 64, 96]),
)
def test_gathering_reads_every_neighbour_once(emulator: Device, degrees: list[int], block: int) -> None:
    places, reserved = gather_lists(emulator, degrees, block)
    assert sorted(places) == list(range(sum(degrees))), "no place is empty or taken twice"
    assert sum(reserved) == sum(degrees)


def test_lists_are_gathered_by_block_warp_and_scan(emulator: Device) -> None:
    degrees = [0] * 128
    degrees[3], degrees[70] = 128, 500
    degrees[5], degrees[6], degrees[40] = 127, 32, 33
    degrees[0], degrees[31], degrees[127] = 1, 31, 2
    places, reserved = gather_lists(emulator, degrees, 128)
    assert sorted(reserved) == sorted([128, 500, 127 + 32, 33, 1 + 31 + 2])
    ends = np.cumsum(degrees)
    for i in (3, 70, 5, 6, 40, 31, 127):
        mine = places[ends[i] - degrees[i] : ends[i]]
        assert mine == list(range(mine[0], mine[0] + degrees[i])), "a list stays together"


def gather_lists(device: Device, degrees: list[int], block: int) -> tuple[list[int], list[int]]:
    """Returns the place of each neighbour and the size of each reservation. No neighbour is written twice."""
    num_edges = sum(degrees)
    offsets = device.upload(np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32))
    neighbours = device.upload(np.arange(num_edges, dtype=np.int32))
    places, times, reserved, counts = (device.empty(max(1, n), "int32") for n in (*3 * [num_edges], 2))
    for buffer in (times, counts):
        buffer.fill(0)
    kernel = device.module(PARTS, PARTS_DEFINES).kernel("gather_lists")
    arguments = (offsets, neighbours, places, times, reserved, counts, len(degrees))
    kernel.bind(*arguments, block=block, shared=4 * 4 * block)(1)
    assert (times.download()[:num_edges] == 1).all()
    num_reservations = int(counts.download()[0])
    return places.download()[:num_edges].tolist(), reserved.download()[:num_reservations].tolist()


# Culling


@pytest.mark.parametrize("block", [31, 32, 33, 128])
def test_warp_culling_keeps_one_of_a_warps_duplicates(emulator: Device, block: int) -> None:
    vertices = np.repeat([7, 1000, 3], [20, 20, 300]).astype(np.int32)
    kept = culled(emulator, vertices, block, HISTORY_SIZE=0)
    for begin in range(0, len(vertices), block):
        for first in range(begin, min(begin + block, len(vertices)), 32):
            warp = slice(first, min(first + 32, begin + block))
            assert sorted(kept[warp][kept[warp] >= 0]) == sorted(set(vertices[warp].tolist()))


def test_history_culling_remembers_what_the_block_has_expanded(emulator: Device) -> None:
    vertices = np.tile(np.arange(64, dtype=np.int32), 5)
    assert culled(emulator, vertices, 64, HISTORY_SIZE=256).tolist() == [*range(64), *[-1] * 256]
    assert culled(emulator, vertices, 64, HISTORY_SIZE=0).tolist() == vertices.tolist()
    equal = np.zeros(200, np.int32)
    assert culled(emulator, equal, 64, HISTORY_SIZE=0, WARP_CULLING=0).tolist() == equal.tolist()


@given(
    vertices=st.lists(st.integers(0, 1000), min_size=1, max_size=300),
    block=st.sampled_from([1, 31, 32, 64, 96]),
    warp_culling=st.booleans(),
    history=st.sampled_from([0, 256]),
)
def test_culling_keeps_every_vertex_at_least_once(
    emulator: Device, vertices: list[int], block: int, warp_culling: bool, history: int
) -> None:
    given_vertices = np.array(vertices, np.int32)
    kept = culled(emulator, given_vertices, block, WARP_CULLING=int(warp_culling), HISTORY_SIZE=history)
    assert set(kept[kept >= 0].tolist()) == set(vertices)
    assert (kept[kept >= 0] == given_vertices[kept >= 0]).all()


def culled(
    device: Device, vertices: npt.NDArray[np.int32], block: int, **defines: int
) -> npt.NDArray[np.int32]:
    """Returns the vertices that remain, with -1 in place of the others."""
    buffer = device.upload(vertices)
    kernel = device.module(PARTS, PARTS_DEFINES | defines).kernel("cull")
    shared = -(-block // 32) * 512 + 4 * 256
    kernel.bind(buffer, len(vertices), block=block, shared=shared)(1)
    return buffer.download()


# Organisations


@pytest.mark.parametrize(
    ("organisation", "kernels"),
    [
        ("hybrid", {"resident_contract_expand", "two-phase"}),
        ("expand-contract", {"resident_expand_contract", "expand_contract"}),
        ("contract-expand", {"resident_contract_expand", "contract_expand"}),
        ("two-phase", {"two-phase"}),
    ],
)
@pytest.mark.parametrize("grid", [None, 2])
def test_organisations_use_their_kernels(
    emulator: Device, organisation: str, kernels: set[str], grid: int | None
) -> None:
    for name in ("kronecker", "hub"):
        search = prepared(Merrill, emulator, shape(name), grid, ORGANISATION=organisation, RESIDENT_LIMIT=20)
        assert {kernel for source in SOURCES[name] for _, kernel in launches_of(search, source)} == kernels
    never = prepared(Merrill, emulator, shape("hub"), ORGANISATION=organisation, RESIDENT_LIMIT=-1)
    assert not any("resident" in kernel for _, kernel in launches_of(never, 7))


def test_short_queues_stay_in_one_launch(emulator: Device) -> None:
    for organisation in ORGANISATIONS[:3]:
        search = prepared(Merrill, emulator, shape("path"), ORGANISATION=organisation)
        assert len(launches_of(search)) == 1, organisation


@pytest.mark.parametrize(
    ("organisation", "culling", "lengths"),
    [
        ("expand-contract", {"WARP_CULLING": 0, "HISTORY_SIZE": 0}, [4, 32, 0]),
        ("expand-contract", {"WARP_CULLING": 1, "HISTORY_SIZE": 0}, [4, 16, 0]),
        ("expand-contract", {"WARP_CULLING": 0, "HISTORY_SIZE": 256}, [4, 16, 0]),
        ("two-phase", {"WARP_CULLING": 1, "HISTORY_SIZE": 0}, [128, 64, 0]),
        ("two-phase", {"WARP_CULLING": 1, "HISTORY_SIZE": 256}, [128, 16, 0]),
    ],
)
def test_culled_vertices_are_not_expanded_again(
    emulator: Device, organisation: str, culling: dict[str, int], lengths: list[int]
) -> None:
    """An edge occurs 128 times. Four copies pass, because a thread looks them up before it sets the level."""
    graph = graph_of(64, [(0, 1)] * 128 + [(1, v) for v in range(2, 18)])
    knobs = {"ORGANISATION": organisation, "RESIDENT_LIMIT": -1, **culling}
    search = prepared(Merrill, emulator, graph, block=32, **knobs)
    found = returned_by(search, "queue_at")
    check_levels(search, 0)
    assert [length for _, length in found] == lengths


@pytest.mark.parametrize("claim", [0, 1])
def test_claimed_vertices_stand_in_the_queue_once(emulator: Device, claim: int) -> None:
    search = prepared(Merrill, emulator, shape("kronecker"), ORGANISATION="two-phase", ATOMIC_CLAIM=claim)
    queued: list[int] = []
    search.mark = lambda level, kernel: queued.append(search.state.read_struct().vertex_sizes[level % 2])
    levels = np.array(levels_of(search, 0))
    sizes = np.bincount(levels[levels >= 0])
    assert (queued[: len(sizes)] == sizes).all() if claim else (queued[: len(sizes)] >= sizes).all()


def test_counters_have_64_bits(emulator: Device) -> None:
    search = prepared(Merrill, emulator, shape("path"))
    search.reset(0)
    low = SearchState.words("sizes", 1).start
    for index, word in ((low, -1), (low + 1, 3)):
        search.state.fill(word, index=index)
    search.refill = Mock(wraps=search.refill)
    search.queue_at(1)
    levels = [call.args[1] for call in search.refill.call_args_list]
    assert levels == [1], "2^34 - 1 entries are more than there is room for"


@pytest.mark.parametrize("organisation", ORGANISATIONS)
def test_profiles_have_every_level_once(emulator: Device, organisation: str) -> None:
    """``layers_of`` asserts that no level is missing."""
    search = built(Merrill, emulator, shape("kronecker"), ORGANISATION=organisation, RESIDENT_LIMIT=50)
    kernels = set(layers_of(search).split())
    if organisation != "two-phase":
        assert kernels & set(Merrill.layers)
    assert kernels - set(Merrill.layers), "some levels are not resident"
