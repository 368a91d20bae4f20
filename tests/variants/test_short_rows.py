"""Rows as records, and the search of one launch on graphs that have them."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Hardware
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph, Orientation
from bfsbench.support.errors import DeviceOutOfMemoryError, LaunchError
from bfsbench.variants import adaptive
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.prepared_rows import LONGEST_ROW, with_records
from tests.parameters import some
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets
from tests.variants.adaptive_searches import MIXED, PULLED, PUSHED, expect_levels, layers_of, leave_room
from tests.variants.searching import check_levels, layered, prepared, shape

SHORT = {"SHORT_ROWS": 1}
NO_ARC, TWO_RECORDS, NO_RECORD = -1, np.int32(-(1 << 31)), np.int32(1 << 30)
FEW_ARCS = [name for name in SHAPES if np.diff(shape(name).row_offsets).max(initial=0) <= LONGEST_ROW]
WAYS = ({}, {"TINY_PARTS": 0}, PUSHED, PULLED, MIXED, {"SMALL_PARTS": 20, "TINY_PARTS": 3})


def lattice(rows: int, columns: int, depth: int = 1, keep: float = 1) -> Graph:
    edges = generate("lattice", rows=rows, columns=columns, depth=depth, keep=keep, seed=1)
    return build_graph(edges, "lattice")


def records_of(graph: Graph) -> npt.NDArray[np.int32]:
    """What each vertex' records should hold."""
    rows = np.split(graph.column_indices, graph.row_offsets[1:-1])
    both = 1 + any(len(row) > 4 for row in rows)
    records = np.full((both, graph.num_vertices, 4), NO_ARC, np.int32)
    for v, row in enumerate(rows):
        for k, u in enumerate(row.tolist()):
            entry = np.int32(u)
            if rows[u].tolist() in ([], [v]):
                entry |= NO_RECORD
            if len(rows[u]) > 4:
                entry |= TWO_RECORDS
            records[k // 4, v, k % 4] = entry
    return records


def test_records_hold_rows_and_tell_how_many_there_are(device: Device) -> None:
    back = [(0, 1), (1, 0), (2, 0), (2, 2), (3, 3), (4, 4), (4, 4), (5, 0), (5, 3), (0, 6)]
    graphs = [build_graph(edge_list(7, back, "directed"), "back"), lattice(3, 4), lattice(3, 3, 3)]
    for graph in (*graphs, *(shape(name) for name in FEW_ARCS)):
        on_device = DeviceGraph(device, graph)
        made, expected = on_device.once(with_records), records_of(graph)
        entries = made.column_indices.download()
        assert made.first_record % 32 == 0 <= made.first_record - graph.num_edges < 32
        assert entries[made.first_record :].tolist() == expected.ravel().tolist(), graph.name
        within = np.arange(graph.num_edges) - np.repeat(graph.row_offsets[:-1], np.diff(graph.row_offsets))
        tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.row_offsets))
        assert entries[: graph.num_edges].tolist() == expected[within // 4, tails, within % 4].tolist()
        assert (
            on_device.column_indices.download()[: graph.num_edges].tolist() == graph.column_indices.tolist()
        )
        assert made.milliseconds > 0


@pytest.mark.parametrize("knobs", some(WAYS, {}, MIXED))
def test_levels_by_records(device: Device, knobs: dict[str, int]) -> None:
    for name in FEW_ARCS:
        search = prepared(Adaptive, device, shape(name), **SHORT, **knobs)
        check_levels(search, *SOURCES[name])
    for graph in (lattice(40, 9, keep=0.8), lattice(7, 8, 9)):
        for source in (0, graph.num_vertices // 2):
            expect_levels(device, graph, source, **SHORT, **knobs)


@given(data=st.data())
def test_levels_of_random_graphs_by_records(device: Device, data: st.DataObject) -> None:
    """Directed, with loops and duplicates: rows that are empty, or lead back and nowhere else."""
    vertices = data.draw(st.integers(1, 300))
    rows = st.lists(st.lists(st.integers(0, vertices - 1), max_size=LONGEST_ROW), max_size=vertices)
    edges = [(v, u) for v, row in enumerate(data.draw(rows)) for u in row]
    edges += [(v, (v + 1) % vertices) for v in range(0, vertices, 3) if sum(u == v for u, _ in edges) < 8]
    graph = build_graph(edge_list(vertices, edges, "directed"), "random")
    source = data.draw(st.integers(0, vertices - 1))
    expect_levels(device, graph, source, **SHORT, **data.draw(st.sampled_from(WAYS)))


def test_the_bitmap_goes_back_and_forth(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions of several quads of words; a cluster that hands on and takes over again."""
    monkeypatch.setattr(adaptive, "_REGION_BITS", 2)
    vertices = 3000
    arcs = [(v, (factor * v + 1) % vertices) for v in range(vertices) for factor in (1, 7)]
    wide = build_graph(edge_list(vertices, arcs), "of few levels")
    for graph, ways, knobs in (
        (lattice(61, 50, keep=0.9), {"cluster", "push"}, {"SMALL_PARTS": 40, "PUSHED_EDGE": 0}),
        (lattice(61, 50, keep=0.9), {"cluster", "block"}, {"TINY_PARTS": 30}),
        (wide, {"cluster", "push", "pull"}, {"SMALL_PARTS": 60, "TINY_PARTS": 0, "PUSHED_EDGE": 60}),
    ):
        for source in (0, 1777):
            layers = layers_of(device, graph, source, **SHORT, **knobs)
            assert set(layers) >= ways
            if "block" not in ways:
                assert "cluster" in layers[layers.index("push") :], "it takes over again"


def test_records_are_made_where_they_pay(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def makes(graph: Graph, **knobs: int) -> int:
        search = Adaptive(KernelSetup(DeviceGraph(device, graph), None, 64, Adaptive.knob_values(knobs)))
        return int(search.defines()["SHORT_ROWS"])

    graph, hub = lattice(9, 9), shape("star_out")
    assert makes(graph) == 0, "too small to pay"
    assert makes(graph, **SHORT) == 1
    monkeypatch.setattr(adaptive, "_LEAST_VERTICES", 64)
    assert (makes(graph), makes(graph, SHORT_ROWS=0), makes(graph, TREE=1), makes(hub)) == (1, 0, 0, 0)
    assert makes(with_wide_offsets(graph)) == 0
    search = prepared(Adaptive, device, graph)
    check_levels(search, 5)
    assert search.preprocess_ms == search.graph.once(with_records).milliseconds
    limits = replace(device.limits, shared_memory_per_block_optin=adaptive._STATIC_SHARED + 15)
    monkeypatch.setattr(device, "limits", limits)
    assert makes(graph) == 0, "no room for 16 bytes"


@pytest.mark.parametrize(
    ("graph", "knobs", "why"),
    [
        (shape("star_out"), {}, "with a row of more than 8 arcs"),
        (with_wide_offsets(shape("path")), {}, "with offsets of 64 bits"),
        (shape("path"), {"TREE": 1}, "with TREE=1, as records have no place in COO"),
    ],
)
def test_rows_that_cannot_be_records(device: Device, graph: Graph, knobs: dict[str, int], why: str) -> None:
    with pytest.raises(LaunchError, match=f"SHORT_ROWS=1 is not possible {why}"):
        prepared(Adaptive, device, graph, **SHORT, **knobs)


def test_records_that_do_not_fit_a_smaller_cluster(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the search has neither flags among the column indices nor the bitmap in shared memory."""
    graph = lattice(60, 60)
    leave_room(monkeypatch, 8)
    monkeypatch.setattr(adaptive, "_LEAST_VERTICES", 64)
    for spare, makes in ((64, 1), (63, 0)):
        shared = adaptive._STATIC_SHARED + spare
        limits = replace(device.limits, shared_memory_per_block_optin=shared)
        monkeypatch.setattr(device, "limits", limits)
        search = prepared(Adaptive, device, graph)
        assert (search.cluster_size(), search.defines()["SHORT_ROWS"]) == (8, makes)
        check_levels(search, 0)


def test_no_memory_for_records() -> None:
    graph = lattice(40, 40)
    device = CpuDevice(hardware=Hardware(memory=60_000))
    with pytest.raises(DeviceOutOfMemoryError):
        DeviceGraph(device, graph).once(with_records)


def test_without_memory_for_records_it_does_without(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not if they have been asked for."""

    def no_room(graph: DeviceGraph) -> None:
        raise DeviceOutOfMemoryError("no room")

    monkeypatch.setattr(adaptive, "with_records", no_room)
    monkeypatch.setattr(adaptive, "_LEAST_VERTICES", 0)
    graph = lattice(20, 20)
    search = prepared(Adaptive, device, graph)
    check_levels(search, 0)
    assert search.defines()["SHORT_ROWS"] == 0
    with pytest.raises(DeviceOutOfMemoryError):
        prepared(Adaptive, device, graph, **SHORT)


def tree(children: int, depth: int, orientation: Orientation) -> Graph:
    """Each vertex above the last level has as many children."""
    inner = sum(children**level for level in range(depth))
    edges = [(v, 1 + v * children + i) for v in range(inner) for i in range(children)]
    return build_graph(edge_list(len(edges) + 1, edges, orientation), "tree")


@pytest.mark.parametrize(
    ("orientation", "knobs"),
    [("each_once", SHORT), ("each_once", SHORT | PUSHED), ("directed", {"MAY_PULL": 0})],
)
def test_a_last_level_of_leaves_is_noted(
    device: Device, orientation: Orientation, knobs: dict[str, int]
) -> None:
    """The third level outgrows the cluster, so it hands on the leaves; none of them is in a queue, as their
    rows lead back alone or nowhere. ``layers_of`` asserts that each level has been noted."""
    assert len(layers_of(device, tree(7, 3, orientation), 0, **{"SMALL_PARTS": 30} | knobs)) == 4


def test_blocks_known_to_be_resident_are_of_the_same_shared_memory(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many blocks meet depends on the bitmap, whose size is none of the macros."""
    small, large = layered([1, 2, 3]), layered([1, 2, 4])
    knobs = {**SHORT, "CLUSTER_SIZE": 4}
    monkeypatch.setattr(Adaptive, "probe_polls", 5_000)
    of_small = prepared(Adaptive, device, small, **knobs)
    expected, kernel = of_small.num_blocks, type(of_small.kernel("adaptive"))
    room: Any = kernel.resident_blocks
    own = Adaptive._bitmap_bytes

    def bitmap(search: Adaptive) -> int:
        return 100 << 10 if search.num_vertices == large.num_vertices else own(search)

    monkeypatch.setattr(Adaptive, "_bitmap_bytes", bitmap)
    monkeypatch.setattr(
        kernel, "resident_blocks", lambda kernel, block, shared=0: room(kernel, block, shared) + 4
    )
    fewer = prepared(Adaptive, device, large, **knobs).num_blocks
    assert fewer < expected
    assert prepared(Adaptive, device, small, **knobs).num_blocks == expected
