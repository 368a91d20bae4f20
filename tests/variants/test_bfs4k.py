"""BFS-4K: what each knob changes, refused child kernels, duplicates, overflows, and rules for knobs."""

from collections import Counter
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.rows.point import KnobValue
from bfsbench.support.errors import LaunchError, UsageError
from bfsbench.variants.bfs4k import Bfs4k
from tests.variants.searching import (
    built,
    check_levels,
    counting,
    counts_of,
    graph_of,
    launches_of,
    layers_of,
    prepared,
    shape,
)

SINGLE, MULTI = "bfs4k_single_block", "bfs4k_multi_block"
BLOCK = 64
BATCH = 4
"""Neighbours that a thread inspects in a step."""


def tree(depth: int = 8) -> Graph:
    """Returns a binary tree from vertex 0. Its frontiers are 1, 2, 4, ... vertices without duplicates."""
    edges = [((v - 1) // 2, v) for v in range(1, 2 ** (depth + 1) - 1)]
    return graph_of(2 ** (depth + 1) - 1, edges, "each_once")


def stars(leaves: int, per_leaf: int = 0) -> Graph:
    """Returns a graph in which vertex 0 has leaves, and each leaf has arcs to the first leaves."""
    ends = np.arange(1, leaves + 1, dtype=np.int32)
    sources = np.concatenate([np.zeros_like(ends), np.repeat(ends, per_leaf)])
    targets = np.concatenate([ends, np.tile(ends[:per_leaf], leaves)])
    return build_graph(EdgeList(sources, targets, leaves + 1), "stars")


def resident(device: Device) -> int:
    """Returns the number of threads that are resident together."""
    return device.limits.num_multiprocessors * device.limits.max_threads_per_multiprocessor


def counted(device: Device, graph: Graph, source: int, **knobs: KnobValue) -> Counter[str]:
    """Returns the sums of the counters of a second search, to which the first search leaves its memory."""
    search = counting(Bfs4k, device, graph, **knobs)
    check_levels(search, source)
    return counts_of(search, source)


WHOLE_WARPS = {"K1": 32, "K2": 0, "K4": 0}
COALESCED = {"K5": 0, "K2": 0}
SHOWN = [
    # K1 is the least size of a virtual warp, VIRTUAL_WARPS=0 does without them.
    ("tree", 0, {"K1": 1, "K4": 0}, {"virtual_warp_threads": 97, "single_block_levels": 9}),
    ("tree", 0, {"K1": 4, "K4": 0}, {"virtual_warp_threads": 108, "virtual_warp_levels": 9}),
    ("tree", 0, {"K1": 32, "K4": 0}, {"virtual_warp_threads": 9 * 32}),
    ("tree", 0, {"K1": 1, "K4": 0, "K5": 0}, {"virtual_warp_threads": 9 * 32}),
    ("tree", 0, {"K1": 1, "K4": 0, "VIRTUAL_WARPS": 0}, {"virtual_warp_threads": 9}),
    # K2 is the percentage of the vertices of highest degree that get child kernels. The hub has one of 5,000.
    ("hub", 0, {"K2": 0}, {"children": 0}),
    ("hub", 0, {"K2": 0.01}, {"children": 0}),
    *(
        ("hub", 0, {"K2": k2, **knobs}, {"children": 1})
        for k2 in (0.15, 99.0)
        for knobs in ({"K5": 0}, {"K5": 1}, {"K5": 0, "K4": 0})
    ),
    # K3 is the number of arcs per thread of a child kernel, whose blocks have K6 threads.
    ("hub", 0, {"K3": 1, "K6": 96, "K5": 0}, {"child_blocks": 53}),
    ("hub", 0, {"K3": 16, "K6": 96, "K5": 0}, {"child_blocks": 4}),
    ("hub", 0, {"K3": 1000, "K6": 96, "K5": 0}, {"child_blocks": 1}),
    # K4 limits the frontiers whose edges are shared out: below 64, 32 and 16 vertices here.
    ("tree", 0, {"K4": 0}, {"edge_discover_levels": 0, "virtual_warp_levels": 9, "edge_searches": 0}),
    ("tree", 0, {"K4": 1}, {"edge_discover_levels": 6, "virtual_warp_levels": 3}),
    ("tree", 0, {"K4": 2}, {"edge_discover_levels": 5, "virtual_warp_levels": 4}),
    ("tree", 0, {"K4": 4}, {"edge_discover_levels": 4, "virtual_warp_levels": 5}),
    # Large frontiers are read coalesced by whole warps.
    ("more leaves than threads", 0, WHOLE_WARPS, {"coalesced_read_levels": 1}),
    ("more leaves than threads", 0, WHOLE_WARPS | {"COALESCED_READS": 0}, {"coalesced_read_levels": 0}),
    ("more leaves than threads", 0, WHOLE_WARPS | {"K1": 16}, {"coalesced_read_levels": 0}),
    # Prefix sums of zeros and ones are binary. Writes may be coalesced.
    ("path", 0, {}, {"shuffle_sums": 0}),
    ("path", 0, {"BINARY_PREFIX_SUM": 0}, {"binary_sums": 0}),
    ("complete", 0, COALESCED | {"K7": 1, "COALESCED_WRITES": 0}, {"coalesced_writes": 0}),
    # Long rows are extended.
    ("star_both", 0, {"K2": 0}, {"extended_rows": 1}),
    ("star_both", 0, {"K2": 0, "EXT": 0}, {"extended_rows": 0}),
]
"""Graphs, sources, knobs, and counters that show what the knobs do."""


@pytest.mark.parametrize(("name", "source", "knobs", "shown"), SHOWN)
def test_counters_show_what_knobs_do(
    device: Device, name: str, source: int, knobs: dict[str, KnobValue], shown: dict[str, int]
) -> None:
    special = {"tree": tree, "more leaves than threads": lambda: stars(resident(device) + 100)}
    graph = special[name]() if name in special else shape(name)
    assert counted(device, graph, source, **knobs).items() >= shown.items()


@pytest.mark.parametrize(
    ("graph", "counter", "less", "more"),
    [
        ("complete", "coalesced_writes", COALESCED | {"K7": 16}, COALESCED | {"K7": 1}),
        ("path", "shuffle_sums", {}, {"BINARY_PREFIX_SUM": 0}),
        ("star_both", "edge_searches", {"K2": 0}, {"K2": 0, "EXT": 0}),
    ],
)
def test_one_setting_counts_less_than_another(
    device: Device, graph: str, counter: str, less: dict[str, KnobValue], more: dict[str, KnobValue]
) -> None:
    few, many = (counted(device, shape(graph), 0, **knobs)[counter] for knobs in (less, more))
    assert few < many


@pytest.mark.parametrize("k5", [0, 1])
@pytest.mark.parametrize("method", ["hash64", "hash_warp"])
def test_hashing_detects_duplicates(device: Device, k5: int, method: str) -> None:
    graph = shape("duplicate_edges")
    without, counters = (counted(device, graph, 0, HASH=name, K5=k5) for name in ("none", method))
    assert without["detected"] == without["conflicts"] == 0 < counters["detected"]
    assert counters["missed"] < without["missed"]


def test_threads_of_a_warp_share_rows(device: Device) -> None:
    def steps(graph: Graph, level: int, grid: int | None = None, **knobs: KnobValue) -> int:
        search = counting(Bfs4k, device, graph, grid, K2=0, **knobs)
        check_levels(search, 0)
        return search.level_counters()[level]["warp_steps"]

    for k5 in (0, 1):
        assert steps(stars(1024), 0, K1=1, K4=0, K5=k5) == 1024 // (BATCH * 32), "all threads share a row"
        assert steps(stars(1024), 0, VIRTUAL_WARPS=0, K4=0, K5=k5) == 1024 // BATCH, "one thread has a row"
    leaves = resident(device) + 100
    assert steps(stars(leaves, 2 * BATCH), 1, K1=32, K4=0, K5=0) == leaves, "a warp shares each row"
    assert steps(tree(), 6, 1, K5=0, K6=128) == 4, "the four warps of a block share 64 rows of two edges"


LAUNCHES = [
    # Child kernels end the single-block kernel's launch.
    (7, {"K5": 8}, [(0, SINGLE), (1, SINGLE)]),
    (0, {"K5": 8}, [(0, SINGLE), (2, SINGLE)]),
    (0, {"K5": 8, "K2": 0}, [(0, SINGLE)]),
    # K5 bounds the frontiers of the single-block kernel: of 1, 3, and at most 4,997 vertices here.
    (0, {"K5": 0, "K2": 0}, [(0, MULTI), (1, MULTI), (2, MULTI)]),
    (0, {"K5": 1, "K2": 0}, [(0, SINGLE), (2, MULTI)]),
]


@pytest.mark.parametrize(("source", "knobs", "launches"), LAUNCHES)
def test_launches_end_where_another_kernel_is_needed(
    device: Device, source: int, knobs: dict[str, KnobValue], launches: list[tuple[int, str]]
) -> None:
    assert launches_of(prepared(Bfs4k, device, shape("hub"), **knobs), source) == launches


@pytest.mark.parametrize("knobs", [{"K5": 0}, {"K5": 8}, {"K5": 0, "K4": 0}])
def test_no_vertex_is_lost_to_refused_child_kernels(device: Device, knobs: dict[str, int]) -> None:
    counters = counted(device, shape("hub"), 7, K2=100, **knobs)
    assert counters["children"] + counters["refused"] == counters["entries"] + 1
    if device.backend == "cpu":  # the hub's, and as many as can be pending; a GPU may have run some meanwhile
        assert counters["children"] == 1 + 2048


def test_k6_is_the_multi_block_kernels_block_and_sizes_its_hash_table(device: Device) -> None:
    for k6, threads in ((0, BLOCK), (32, 32), (128, 128), (1024, 1024)):
        search = prepared(Bfs4k, device, shape("kronecker"), K5=0, K6=k6)
        search.multi_block = Mock(wraps=search.multi_block)
        check_levels(search, 0)
        launched = [call.args for call in search.multi_block.call_args_list]
        assert launched and all(blocks == -(-size * 32 // threads) for blocks, _, size in launched)
        limits = device.limits
        share = limits.shared_memory_per_multiprocessor * threads // limits.max_threads_per_multiprocessor
        assert share // 4 < search.hash_bytes <= share
        assert search.hash_bytes.bit_count() == 1


def test_coalesced_writes_lie_side_by_side(device: Device) -> None:
    """A warp finds 512 vertices, 16 per thread. Coalesced writes begin with the first one of each thread, and
    others with all that one thread found."""
    found = np.arange(1, 513).reshape(16, 32)  # by step and thread
    for switch, order in ((1, found), (0, found.T)):
        search = prepared(Bfs4k, device, stars(512), K4=0, K5=0, K2=0, COALESCED_WRITES=switch)
        check_levels(search, 0)
        assert search.queues[1].download()[:512].tolist() == order.ravel().tolist()


def test_missed_duplicates_are_entries_that_stand_in_a_frontier_again(device: Device) -> None:
    for method in ("none", "hash64", "hash_warp"):
        search = counting(Bfs4k, device, shape("kronecker"), K5=0, K2=0, HASH=method)
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


def test_the_single_block_kernel_records_its_levels(device: Device) -> None:
    assert layers_of(built(Bfs4k, device, tree())).split() == [SINGLE] * 9


def test_frontiers_that_do_not_fit_a_block_are_refused() -> None:
    with CpuDevice() as device:
        device.limits = replace(device.limits, shared_memory_per_block_optin=48 << 10)
        check_levels(prepared(Bfs4k, device, shape("pmpp"), K5=2), 0)
        with pytest.raises(LaunchError, match="K5 = 8: two frontiers of 8192 vertices take 131072 bytes"):
            prepared(Bfs4k, device, shape("pmpp"), K5=8)
        with pytest.raises(UsageError, match="K6"):
            prepared(Bfs4k, device, shape("pmpp"), K6=2048)


def test_counters_need_to_be_asked_for(device: Device) -> None:
    with pytest.raises(ValueError, match="counter_buffer before prepare"):
        prepared(Bfs4k, device, shape("pmpp")).level_counters()


TABLE_1 = {
    "web-Google": ((5.6, 6.5, 456), {"K1": 4, "K4": 1}),
    "com-youtube": ((5.2, 50.2, 28_754), {"K1": 32, "K4": 2}),
    "as-skitter": ((12.1, 136.9, 35_455), {}),
    "roadNet-CA": ((2.8, 1.0, 12), {"K1": 4, "K5": 1}),
    "Gen-ForestFire": ((7.3, 38.3, 2_416), {"K4": 2}),
    "europa.osm": ((2.1, 0.5, 13), {"K1": 4}),
    "kkt_power": ((6.3, 7.5, 95), {"K1": 4, "K4": 1}),
    "coPapersCiteseer": ((73.9, 101.3, 1_188), {"K4": 0, "K5": 0}),
    "kron_g500-lon20": ((96.0, 1_033.2, 413_378), {"K4": 0, "K5": 0}),
    "random.2Mv.128Me": ((64.0, 10.6, 183), {"K1": 32, "K5": 0}),
    "rmat.2Mv.128Me": ((64.0, 136.8, 8_785), {"K4": 0, "K5": 0}),
}
"""The mean, standard deviation and maximum of degrees, and the knobs that the paper names for a graph."""


@pytest.mark.parametrize("name", TABLE_1)
def test_automatic_knobs_are_those_the_paper_names(name: str) -> None:
    (mean, deviation, largest), named = TABLE_1[name]
    chosen = Bfs4k.auto_knobs({"degree_mean": mean, "degree_std": deviation, "degree_max": largest})
    assert chosen.items() >= (named | {"K3": 16, "K6": 128, "K7": 10}).items()
    assert 0 <= chosen["K2"] <= 0.15 and bool(chosen["K2"]) == (largest > 2048)
    assert Bfs4k.knob_values(chosen).items() >= chosen.items()


def test_the_papers_own_setting_are_the_defaults() -> None:
    expected = {"K1": 4, "K2": 0.15, "K3": 16, "K4": 1, "K5": 1, "K6": 128, "K7": 10}
    assert Bfs4k.paper_knobs() == expected
