"""BFS-4K: what each knob changes, refused child kernels, duplicates, overflows, and rules for knobs."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import KnobValue
from bfsbench.support.errors import LaunchError, UsageError
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.bfs4k import Bfs4k
from tests.shapes import edge_list
from tests.variants.searching import shape

SINGLE, MULTI = "bfs4k_single_block", "bfs4k_multi_block"
BLOCK = 64


def tree(depth: int = 8) -> Graph:
    """A binary tree from vertex 0: frontiers of 1, 2, 4, ... vertices and no duplicates."""
    edges = [((v - 1) // 2, v) for v in range(1, 2 ** (depth + 1) - 1)]
    return build_graph(edge_list(2 ** (depth + 1) - 1, edges, "each_once"), "tree")


def prepared(device: Device, graph: Graph, grid: int | None = None, **knobs: KnobValue) -> Bfs4k:
    search = Bfs4k(KernelSetup(DeviceGraph(device, graph), grid, BLOCK, Bfs4k.knob_values(knobs)))
    search.counter_buffer = device.empty(graph.num_vertices * len(Bfs4k.counters), np.uint64)
    search.prepare()
    return search


def search_from(search: Bfs4k, source: int) -> dict[str, int]:
    """Search twice, to test that no state remains, check the levels, and return the counters' sums."""
    expected = reference_levels(search.host_graph, source).tolist()
    for _ in range(2):
        assert search.counter_buffer
        search.counter_buffer.upload(np.zeros(search.counter_buffer.size, np.uint64))
        search.reset(source)
        search.traverse(source)
        assert search.levels().tolist() == expected
    levels = search.level_counters()
    assert len(levels) == max(expected) + 1
    return {name: sum(level[name] for level in levels) for name in Bfs4k.counters}


def counted(device: Device, graph: Graph, source: int, **knobs: KnobValue) -> dict[str, int]:
    return search_from(prepared(device, graph, **knobs), source)


def launches(search: Bfs4k, source: int) -> list[tuple[int, str]]:
    """The first level and the kernel of every launch."""
    found: list[tuple[int, str]] = []
    search.mark = lambda level, kernel: found.append((level, kernel))
    search.reset(source)
    search.traverse(source)
    return found


def widths(sizes: list[int], threads: int, smallest: int) -> int:
    """Sum of the virtual warp sizes that section 5.2 gives to frontiers of these sizes."""
    return sum(min(max(2 ** ((threads // size) or 1).bit_length() // 2, smallest), 32) for size in sizes)


@pytest.mark.parametrize("k1", [1, 4, 32])
def test_k1_bounds_the_virtual_warps(device: Device, k1: int) -> None:
    sizes = [2**level for level in range(9)]
    counters = counted(device, tree(), 0, K1=k1, K4=0)
    assert counters["virtual_warp_levels"] == counters["single_block_levels"] == 9
    assert counters["virtual_warp_threads"] == widths(sizes, BLOCK, k1)
    resident = device.limits.num_multiprocessors * device.limits.max_threads_per_multiprocessor
    counters = counted(device, tree(), 0, K1=k1, K4=0, K5=0)
    assert counters["virtual_warp_threads"] == widths(sizes, resident, k1)
    assert counted(device, tree(), 0, K1=k1, K4=0, VIRTUAL_WARPS=0)["virtual_warp_threads"] == 9


BATCH = 4
"""Neighbours that a thread inspects in a step."""


def steps_of_levels(device: Device, graph: Graph, grid: int | None = None, **knobs: KnobValue) -> list[int]:
    """How many steps warps took in each level from vertex 0."""
    search = prepared(device, graph, grid, K2=0, **knobs)
    search_from(search, 0)
    return [level["warp_steps"] for level in search.level_counters()]


@pytest.mark.parametrize("k5", [0, 1])
def test_threads_of_a_virtual_warp_share_a_row(device: Device, k5: int) -> None:
    star = build_graph(edge_list(1025, [(0, v) for v in range(1, 1025)]), "star")
    for knobs, threads in (({"K1": 1}, 32), ({"VIRTUAL_WARPS": 0}, 1)):  # a single vertex has all threads
        assert steps_of_levels(device, star, K4=0, K5=k5, **knobs)[0] == 1024 // (BATCH * threads)


def test_threads_of_a_whole_warp_share_a_row(device: Device) -> None:
    size = device.limits.num_multiprocessors * device.limits.max_threads_per_multiprocessor + 100
    leaves, per_leaf = np.arange(1, size + 1, dtype=np.int32), 2 * BATCH
    sources = np.concatenate([np.zeros_like(leaves), np.repeat(leaves, per_leaf)])
    targets = np.concatenate([leaves, np.tile(leaves[:per_leaf], size)])
    graph = build_graph(EdgeList(sources, targets, size + 1), "leaves")
    assert steps_of_levels(device, graph, K1=32, K4=0, K5=0)[1] == size


def test_a_warp_of_edge_discover_takes_several_vertices(device: Device) -> None:
    steps = steps_of_levels(device, tree(), 1, K5=0, K6=128)
    assert steps[6] == 4, "64 rows of two edges, for the four warps of a block"


def test_k2_sends_the_vertices_of_highest_degree_to_child_kernels(device: Device) -> None:
    graph = shape("hub")  # one vertex of degree 5,000 and 5,000 of degree 3
    assert counted(device, graph, 0, K2=0)["children"] == 0
    assert counted(device, graph, 0, K2=0.01)["children"] == 0  # half a vertex
    for knobs in ({"K5": 0}, {"K5": 1}, {"K5": 0, "K4": 0}):
        for k2 in (0.15, 99.0):  # not one of 5,000 vertices that are all alike
            assert counted(device, graph, 0, K2=k2, **knobs)["children"] == 1


def test_k3_sizes_the_grids_of_child_kernels(device: Device) -> None:
    for k3 in (1, 16, 1000):
        counters = counted(device, shape("hub"), 0, K3=k3, K6=96, K5=0)
        assert counters["child_blocks"] == -(-5000 // (k3 * 96))


def test_a_level_with_child_kernels_ends_the_single_block_kernels_launch(device: Device) -> None:
    search = prepared(device, shape("hub"), K5=8)
    assert launches(search, 7) == [(0, SINGLE), (1, SINGLE)]
    assert launches(search, 0) == [(0, SINGLE), (2, SINGLE)]
    assert launches(prepared(device, shape("hub"), K5=8, K2=0), 0) == [(0, SINGLE)]


@pytest.mark.parametrize("knobs", [{"K5": 0}, {"K5": 8}, {"K5": 0, "K4": 0}])
def test_no_vertex_is_lost_to_refused_child_kernels(device: Device, knobs: dict[str, int]) -> None:
    counters = counted(device, shape("hub"), 7, K2=100, **knobs)
    assert counters["children"] + counters["refused"] == counters["entries"] + 1
    if device.backend == "cpu":  # the hub's, and as many as can be pending; a GPU may have run some meanwhile
        assert counters["children"] == 1 + 2048


def test_k4_says_when_edges_are_shared_out(device: Device) -> None:
    for k4, levels in ((0, 0), (1, 6), (2, 5), (4, 4)):  # frontiers below 64, 32 and 16 vertices
        counters = counted(device, tree(), 0, K4=k4)
        assert counters["edge_discover_levels"] == levels
        assert counters["virtual_warp_levels"] == 9 - levels
        assert (counters["edge_searches"] > 0) == (k4 > 0)


def test_ext_spares_searches_in_long_rows(device: Device) -> None:
    with_ext = counted(device, shape("star_both"), 0, K2=0)
    without = counted(device, shape("star_both"), 0, K2=0, EXT=0)
    assert with_ext["extended_rows"] == 1 and without["extended_rows"] == 0
    assert with_ext["edge_searches"] < without["edge_searches"]


def test_k5_bounds_the_single_block_kernel(device: Device) -> None:
    graph = shape("hub")  # frontiers of 1, 3, at most 4,997 and the rest
    every_level = [(level, MULTI) for level in range(4)]
    assert launches(prepared(device, graph, K2=0, K5=0), 0) == every_level[:3]
    assert launches(prepared(device, graph, K2=0, K5=1), 0) == [(0, SINGLE), (2, MULTI)]
    assert launches(prepared(device, graph, K2=0, K5=8), 0) == [(0, SINGLE)]


def test_k6_is_the_multi_block_kernels_block_and_sizes_its_hash_table(device: Device) -> None:
    for k6, threads in ((0, BLOCK), (32, 32), (128, 128), (1024, 1024)):
        search = prepared(device, shape("kronecker"), K5=0, K6=k6)
        search.multi_block = Mock(wraps=search.multi_block)
        search_from(search, 0)
        launched = [call.args for call in search.multi_block.call_args_list]
        assert launched and all(blocks == -(-size * 32 // threads) for blocks, _, size in launched)
        limits = device.limits
        share = limits.shared_memory_per_multiprocessor * threads // limits.max_threads_per_multiprocessor
        assert share // 4 < search.hash_bytes <= share
        assert search.hash_bytes.bit_count() == 1


def test_k7_and_its_switch_say_when_writes_are_coalesced(device: Device) -> None:
    graph = shape("complete")
    eager = counted(device, graph, 0, K5=0, K2=0, K7=1)
    assert eager["coalesced_writes"] > 0
    assert counted(device, graph, 0, K5=0, K2=0, K7=16)["coalesced_writes"] < eager["coalesced_writes"]
    assert counted(device, graph, 0, K5=0, K2=0, K7=1, COALESCED_WRITES=0)["coalesced_writes"] == 0


def test_coalesced_writes_lie_side_by_side(device: Device) -> None:
    """A warp finds 512 vertices, 16 a thread: first what all threads found first, or all that one found."""
    star = build_graph(edge_list(513, [(0, v) for v in range(1, 513)]), "star")
    found = np.arange(1, 513).reshape(16, 32)  # by step and thread
    for switch, order in ((1, found), (0, found.T)):
        search = prepared(device, star, K4=0, K5=0, K2=0, COALESCED_WRITES=switch)
        search_from(search, 0)
        assert search.queues[1].download()[:512].tolist() == order.ravel().tolist()


def test_large_frontiers_are_read_coalesced_by_whole_warps(device: Device) -> None:
    resident = device.limits.num_multiprocessors * device.limits.max_threads_per_multiprocessor
    graph = build_graph(generate("star", n=resident + 100), "star")
    knobs: dict[str, KnobValue] = {"K2": 0, "K4": 0}
    assert counted(device, graph, 0, K1=32, **knobs)["coalesced_read_levels"] == 1
    assert counted(device, graph, 0, K1=32, **knobs, COALESCED_READS=0)["coalesced_read_levels"] == 0
    assert counted(device, graph, 0, K1=16, **knobs)["coalesced_read_levels"] == 0


def test_prefix_sums_of_zeros_and_ones_are_binary(device: Device) -> None:
    path = shape("path")
    assert counted(device, path, 0)["shuffle_sums"] == 0
    assert counted(device, path, 0, BINARY_PREFIX_SUM=0)["binary_sums"] == 0
    assert counted(device, shape("complete"), 0)["shuffle_sums"] > 0


@pytest.mark.exhaustive
def test_every_part_can_be_added_to_none(device: Device) -> None:
    """As in the bars of Fig. 14 of the paper."""
    shown_by = {
        "VIRTUAL_WARPS": lambda c: c["virtual_warp_threads"] > c["virtual_warp_levels"],
        "K4": lambda c: c["edge_discover_levels"] > 0,
        "EXT": lambda c: c["extended_rows"] > 0,
        "K2": lambda c: c["children"] > 0,
        "HASH": lambda c: c["detected"] > 0,
        "COALESCED_WRITES": lambda c: c["coalesced_writes"] > 0,
        "BINARY_PREFIX_SUM": lambda c: c["binary_sums"] > 0,
        "K5": lambda c: c["single_block_levels"] > 0,
    }
    knobs: dict[str, KnobValue] = {"K7": 1, "COALESCED_READS": 0}
    knobs |= {name: "none" if name == "HASH" else 0 for name in shown_by}
    leaves = range(1, 4001)
    edges = [(0, v) for v in (*leaves, *leaves[:100])] + [(v, 0) for v in leaves]
    graph = build_graph(edge_list(4001, edges), "hub with 100 leaves twice")
    counters = counted(device, graph, 1, **knobs)
    assert not any(shows(counters) for shows in shown_by.values())
    for position, added in enumerate(shown_by):
        knobs[added] = {"HASH": "hash64", "K2": 0.15}.get(added, 1)
        counters = counted(device, graph, 1, **knobs)
        assert shown_by[added](counters), added
        assert not any(shows(counters) for shows in list(shown_by.values())[position + 1 :]), added


@pytest.mark.parametrize("kernel", [{"K5": 0}, {"K5": 1}])
def test_hashing_detects_duplicates(device: Device, kernel: dict[str, int]) -> None:
    graph = shape("duplicate_edges")
    without = counted(device, graph, 0, HASH="none", **kernel)
    assert without["detected"] == without["conflicts"] == 0 and without["missed"] > 0
    for method in ("hash64", "hash_warp"):
        counters = counted(device, graph, 0, HASH=method, **kernel)
        assert counters["detected"] > 0
        assert counters["missed"] < without["missed"]


def test_missed_duplicates_are_entries_that_stand_in_a_frontier_again(device: Device) -> None:
    for method in ("none", "hash64", "hash_warp"):
        search = prepared(device, shape("kronecker"), K5=0, K2=0, HASH=method)
        assert search.counter_buffer
        search.counter_buffer.upload(np.zeros(search.counter_buffer.size, np.uint64))
        search.multi_block = Mock(wraps=search.multi_block)
        search.reset(0)
        search.traverse(0)
        sizes = [call.args[2] for call in search.multi_block.call_args_list]
        levels = search.levels()
        counted = search.level_counters()
        assert [level["multi_block_levels"] for level in counted] == [1] * len(sizes)
        for level, counters in enumerate(counted):
            assert counters["missed"] == counters["entries"] - np.count_nonzero(levels == level + 1)
        # With many threads at once a queue may overflow: then it is rebuilt, shorter than what was counted.
        entries = [1, *(level["entries"] for level in counted)]
        assert all(entered >= size for entered, size in zip(entries, sizes, strict=False))
        if device.backend == "cpu":
            assert entries == [*sizes, 0]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_no_vertex_is_lost_to_hashing(seed: int) -> None:
    device = open_device("cpu", seed)
    for method in ("hash64", "hash_warp"):
        for name, source in (("complete", 0), ("duplicate_edges", 0), ("kronecker", 0)):
            # A table of 64 bytes for a thread, of 1 KiB for a warp and of 4 KiB for three.
            for k6 in (1, 32, 96):
                search_from(prepared(device, shape(name), 3, K5=0, K6=k6, HASH=method), source)
            search_from(prepared(device, shape(name), HASH=method), source)
    device.close()


@pytest.mark.parametrize("capacity", [1, 3, 40])
def test_overflowing_queues_are_rebuilt(
    device: Device, capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bfs4k, "queue_capacity", capacity)
    for name, source in (("kronecker", 0), ("star_out", 0), ("hub", 7)):
        for knobs in ({"K5": 0, "K2": 0}, {"K5": 0, "HASH": "none"}, {"K5": 1}, {"K5": 8, "K2": 50.0}):
            search_from(prepared(device, shape(name), **knobs), source)


def test_levels_inside_a_launch_are_recorded(device: Device) -> None:
    graph = tree()
    search = Bfs4k(KernelSetup(DeviceGraph(device, graph), None, BLOCK, Bfs4k.knob_values({})))
    search.records = device.upload(np.zeros(11, LevelRecord))
    search.prepare()
    assert launches(search, 0) == [(0, SINGLE)]
    noted = search.records.download()
    assert noted["frontier_size"].tolist() == [*(2**level for level in range(9)), 0, 0]
    assert {Bfs4k.layers[layer] for layer in noted["layer"]} == {SINGLE}


def test_frontiers_that_do_not_fit_a_block_are_refused() -> None:
    device = open_device("cpu")
    device.limits = replace(device.limits, shared_memory_per_block_optin=48 << 10)
    graph = shape("pmpp")
    search_from(prepared(device, graph, K5=2), 0)
    with pytest.raises(LaunchError, match="K5 = 8: two frontiers of 8192 vertices take 131072 bytes"):
        prepared(device, graph, K5=8)
    with pytest.raises(UsageError, match="K6"):
        prepared(device, graph, K6=2048)
    device.close()


def test_counters_need_to_be_asked_for(device: Device) -> None:
    graph = shape("pmpp")
    search = Bfs4k(KernelSetup(DeviceGraph(device, graph), None, BLOCK, Bfs4k.knob_values({})))
    search.prepare()
    with pytest.raises(ValueError, match="counter_buffer before prepare"):
        search.level_counters()


TABLE_1 = {  # degree_mean, degree_std, degree_max
    "web-Google": (5.6, 6.5, 456),
    "com-youtube": (5.2, 50.2, 28_754),
    "as-skitter": (12.1, 136.9, 35_455),
    "roadNet-CA": (2.8, 1.0, 12),
    "Gen-ForestFire": (7.3, 38.3, 2_416),
    "europa.osm": (2.1, 0.5, 13),
    "kkt_power": (6.3, 7.5, 95),
    "coPapersCiteseer": (73.9, 101.3, 1_188),
    "kron_g500-lon20": (96.0, 1_033.2, 413_378),
    "random.2Mv.128Me": (64.0, 10.6, 183),
    "rmat.2Mv.128Me": (64.0, 136.8, 8_785),
}


def test_automatic_knobs_are_those_the_paper_names() -> None:
    knobs = {
        name: Bfs4k.auto_knobs(dict(zip(("degree_mean", "degree_std", "degree_max"), row, strict=True)))
        for name, row in TABLE_1.items()
    }
    for name in ("roadNet-CA", "europa.osm", "web-Google", "kkt_power"):
        assert knobs[name]["K1"] == 4
    for name in ("random.2Mv.128Me", "com-youtube"):
        assert knobs[name]["K1"] == 32
    for name, k4 in {"com-youtube": 2, "Gen-ForestFire": 2, "kkt_power": 1, "web-Google": 1}.items():
        assert knobs[name]["K4"] == k4
    for name in ("coPapersCiteseer", "kron_g500-lon20", "rmat.2Mv.128Me"):
        assert knobs[name]["K4"] == 0
    for name in ("random.2Mv.128Me", "rmat.2Mv.128Me", "kron_g500-lon20", "coPapersCiteseer"):
        assert knobs[name]["K5"] == 0
    assert knobs["roadNet-CA"]["K5"] == 1
    assert {name for name, chosen in knobs.items() if chosen["K2"]} == {
        name for name, (_, _, mode) in TABLE_1.items() if mode > 2048
    }
    assert all(0 <= chosen["K2"] <= 0.15 for chosen in knobs.values())
    for chosen in knobs.values():
        assert (chosen["K3"], chosen["K6"], chosen["K7"]) == (16, 128, 10)
        assert Bfs4k.knob_values(chosen).items() >= chosen.items()


def test_the_papers_own_setting_are_the_defaults() -> None:
    expected = {"K1": 4, "K2": 0.15, "K3": 16, "K4": 1, "K5": 1, "K6": 128, "K7": 10}
    assert Bfs4k.paper_knobs() == expected
