"""The blocks of the search of one launch: how many there are, and what becomes of a wait that is given up."""

from dataclasses import replace

import numpy as np
import pytest

from bfsbench.backends.base import Device, Launch
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import KernelError, LaunchError
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup
from tests.parameters import some
from tests.variants.adaptive_searches import CLUSTERS, USUAL_CLUSTERS, leave_room
from tests.variants.searching import check_levels, fan, layered, levels_of, prepared


def frontiers(search: Adaptive) -> list[bytes]:
    """The three frontiers of a search's state."""
    return [bytes(frontier) for frontier in search.state.read_struct().frontiers]


def test_blocks_of_partial_warps_are_refused(device: Device) -> None:
    with pytest.raises(LaunchError, match="whole warps of 32 threads, not 33"):
        prepared(Adaptive, device, fan(3, 1), block=33)


@pytest.mark.parametrize("cluster", some(CLUSTERS, *USUAL_CLUSTERS))
def test_the_grid_is_whole_clusters(device: Device, cluster: int) -> None:
    for grid, blocks in ((1, cluster), (16, 16), (29, 29 // cluster * cluster)):
        assert prepared(Adaptive, device, fan(3, 1), grid, CLUSTER_SIZE=cluster).num_blocks == blocks


def circulant(num_vertices: int, degree: int) -> Graph:
    """Each vertex has arcs to `following` vertices after it."""
    ends = np.arange(num_vertices, dtype=np.int32)
    heads = np.concatenate([np.roll(ends, k) for k in range(1, degree + 1)])
    return build_graph(EdgeList(np.tile(ends, degree), heads, num_vertices, "directed"), "circulant")


def spread(num_vertices: int, degree: int, at_most: int, every: int = 1) -> Graph:
    """Some vertices have arcs to others after them, at most so far away."""
    tails = np.repeat(np.arange(0, num_vertices, every, dtype=np.int32), degree)
    away = np.random.default_rng(1).integers(1, at_most, len(tails), dtype=np.int32)
    heads = (tails + away) % num_vertices
    return build_graph(EdgeList(tails, heads, num_vertices, "directed"), "spread")


def test_clusters_are_as_large_as_suits_the_graph_and_the_device(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = (1 << 18) + 1
    thin, dense = fan(3, 1), circulant(many, 16)
    chosen = [
        (16, thin, 16),
        (16, dense, 2),
        (16, circulant(many, 15), 16),
        (16, circulant(many - 1, 16), 16),
        (16, spread(many, 9, many), 2),
        (16, spread(many, 9, 700), 2),  # 4,096 vertices in eight levels
        (16, spread(many, 9, 600), 16),  # in nine
        (16, spread(many, 8, many), 16),  # rows that may be records
        (16, spread(many - 1, 9, many), 16),
        (16, spread(many, 11, many, every=2), 2),
        (16, spread(many, 9, many, every=2), 16),  # 4.5 arcs a vertex
    ]
    for most, graph, size in (*chosen, (8, thin, 8), (8, dense, 2), (1, dense, 1), (1, thin, 1)):
        monkeypatch.setattr(device, "limits", replace(device.limits, blocks_per_cluster=most))
        search = Adaptive(KernelSetup(DeviceGraph(device, graph), None, 64, Adaptive.knob_values({})))
        assert search.cluster_size() == search.defines()["CLUSTER_SIZE"] == size
        given = Adaptive.knob_values({"CLUSTER_SIZE": 4})
        assert Adaptive(KernelSetup(DeviceGraph(device, graph), None, 64, given)).cluster_size() == 4


def test_a_grid_that_is_not_resident_is_made_smaller(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    search = prepared(Adaptive, device, fan(3, 1), block=1024)
    kernel, most = type(search.kernel("adaptive")), search.num_blocks
    monkeypatch.setattr(kernel, "resident_blocks", lambda kernel, block, shared: most + 24)
    monkeypatch.setattr(Adaptive, "probe_polls", 20_000)
    graph = layered([1, 5, 9])
    search = prepared(Adaptive, device, graph, block=1024)
    assert search.num_blocks == most
    check_levels(search, 0)
    launch, tried = type(search.search), []
    call = launch.__call__

    def counted(launched: Launch, blocks: int, *scalars: int) -> None:
        tried.append(blocks)
        call(launched, blocks, *scalars)

    again = search.another()  # whose graph is on the device already
    monkeypatch.setattr(launch, "__call__", counted)
    again.prepare()
    assert tried == [most], "what has been found out is known"


def test_a_cluster_that_never_meets_is_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adaptive, "probe_polls", 0)
    with pytest.raises(LaunchError, match="a cluster of 8 blocks of 64 threads does not fit"):
        prepared(Adaptive, device, fan(3, 1), 16, CLUSTER_SIZE=8)


def test_clusters_are_smaller_where_there_is_no_room(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_room(monkeypatch, 8)
    graph = layered([1, 5, 9])
    search = prepared(Adaptive, device, graph, 31)
    assert (search.cluster_size(), search.num_blocks) == (8, 24)
    check_levels(search, 0)
    with pytest.raises(LaunchError, match="no room"):
        prepared(Adaptive, device, graph, CLUSTER_SIZE=16)


def test_blocks_that_wait_in_vain_are_an_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adaptive, "max_polls", 0)
    graph = layered([1, 5, 9])
    search = prepared(Adaptive, device, graph, SMALL_PARTS=0, MAY_PULL=0)
    with pytest.raises(KernelError, match="blocks did not all meet"):
        levels_of(search, 0)
    left = frontiers(search)
    for _ in range(3):  # what the failed search has left is not gone on with
        with pytest.raises(KernelError, match="blocks did not all meet"):
            levels_of(search, 0)
    assert frontiers(search) == left
    monkeypatch.undo()
    assert levels_of(prepared(Adaptive, device, graph), 0) == reference_levels(graph, 0).tolist()
