"""What ``adaptive`` makes of a graph's rows beforehand: in-neighbours ordered by out-degree, and records."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Hardware
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph, Orientation
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import DeviceOutOfMemoryError, LaunchError
from bfsbench.variants import adaptive, prepared_rows
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph
from bfsbench.variants.prepared_rows import LONGEST_ROW, likely_parents_first, with_records
from tests.parameters import some
from tests.shapes import SHAPES, SOURCES, with_wide_offsets
from tests.variants.adaptive_searches import LIKELY, MIXED, PULLED, PUSHED, expect_levels, layers_of
from tests.variants.searching import (
    built,
    check_levels,
    graph_of,
    graphs,
    layered,
    levels_of,
    prepared,
    shape,
)

STATIC_SHARED = Adaptive.constants["STATIC_SHARED"]

# Likely parents


def first_of(graph: Graph) -> int:
    """Returns where the likely parents begin: behind the rows, at a multiple of 32."""
    return -(-graph.num_edges // 32) * 32


def check_order(device: Device, graph: Graph) -> None:
    """Assert that each row holds its in-neighbours by falling out-degree, with the first one repeated."""
    on_device = DeviceGraph(device, graph)
    arcs = on_device.once(likely_parents_first).row_indices.download()
    offsets = graph.column_offsets.tolist()
    assert len(arcs) == first_of(graph) + graph.num_vertices
    digits = np.array([degree.bit_length() for degree in np.diff(graph.row_offsets).tolist()])
    for v, likely in enumerate(arcs[first_of(graph) :].tolist()):
        row, given = (array[offsets[v] : offsets[v + 1]] for array in (arcs, graph.row_indices))
        assert sorted(row.tolist()) == sorted(given.tolist())
        assert (np.diff(digits[row]) <= 0).all()
        assert likely == (row[0] if len(row) else -1)
    unchanged = on_device.row_indices.download()[: graph.num_edges]
    assert unchanged.tolist() == graph.row_indices.tolist()


@pytest.mark.parametrize("long_row", [1, 40, 1024])
def test_rows_are_ordered_by_the_digits_of_out_degrees(
    device: Device, long_row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_rows, "_LONG_ROW", long_row)
    for name in ("kronecker", "hub", "random_dense", "star_in", "self_loops_everywhere", "no_edges"):
        check_order(device, shape(name))
        check_order(device, with_wide_offsets(shape(name)))


def test_rows_of_more_arcs_than_a_block_has_threads(device: Device) -> None:
    """Rows have 5,000 in-neighbours of many out-degrees, or of one out-degree."""
    towards = [(u, hub) for hub in (0, 1) for u in range(5000)]
    more = [(u, 5000 + u % k) for k in (3, 50, 700) for u in range(0, 5000, k)]
    check_order(device, graph_of(6000, towards + more))
    check_order(device, graph_of(5001, [(u, 5000) for u in range(5000)]))


@given(graph=graphs(100, 600), wide=st.booleans())
def test_any_graph_is_ordered_and_searched(device: Device, graph: Graph, wide: bool) -> None:
    graph = with_wide_offsets(graph) if wide else graph
    check_order(device, graph)
    search = prepared(Adaptive, device, graph, **LIKELY, **PULLED)
    check_levels(search, 0, graph.num_vertices // 2, graph.num_vertices - 1)


def test_a_likely_parent_is_found_without_its_row(device: Device) -> None:
    """The rows are made to name a vertex that cannot be reached. The likely parents stay."""
    arcs = [(0, v) for v in range(1, 400)] + [(400, v) for v in range(1, 300)]
    graph = DeviceGraph(device, graph_of(401, arcs))
    search = prepared(Adaptive, device, graph, **LIKELY, **PULLED)
    made = graph.once(likely_parents_first)
    tampered = made.row_indices.download()
    tampered[: first_of(graph.host_graph)] = 400
    made.row_indices.upload(tampered)
    assert levels_of(search, 0) == [0] + [1] * 399 + [-1]


def test_a_vertex_without_in_neighbours_is_not_its_own_parent(device: Device) -> None:
    graph = graph_of(301, [(u, v) for u in range(50) for v in range(200, 300)] + [(300, 300)] * 20)
    levels = levels_of(prepared(Adaptive, device, graph, **LIKELY, **PULLED), 7)
    assert levels == reference_levels(graph, 7).tolist()
    assert [v for v, level in enumerate(levels[:200]) if level >= 0] == [7]
    assert levels[300] == -1


def test_a_graph_is_ordered_once_for_all_searches(device: Device) -> None:
    graph = DeviceGraph(device, shape("kronecker"))
    searches = [
        prepared(Adaptive, device, graph, **LIKELY, **PULLED, CLUSTER_SIZE=cluster) for cluster in (1, 8)
    ]
    assert searches[0].preprocess_ms == searches[1].preprocess_ms > 0
    for search in searches:
        check_levels(search, *SOURCES["kronecker"])


@pytest.mark.parametrize("knobs", [{"LIKELY_FIRST": 0}, {"MAY_PULL": 0}])
def test_nothing_is_ordered_for_searches_that_need_no_order(device: Device, knobs: dict[str, int]) -> None:
    graph = build_graph(generate("uniform", n=500, m=4000, directed=1, seed=2), "uniform")
    search = prepared(Adaptive, device, graph, **LIKELY | PULLED | knobs)
    assert search.preprocess_ms == 0
    check_levels(search, 3)
    assert ("row_indices" in vars(search.graph)) == (knobs.get("MAY_PULL", 1) == 1)


def test_an_order_that_does_not_fit_is_an_error_and_keeps_nothing() -> None:
    host_graph = shape("kronecker")

    def order(memory: int) -> tuple[int, int]:
        """Returns the bytes on a device before and after ordering."""
        device = CpuDevice(hardware=Hardware(memory=memory))
        graph = DeviceGraph(device, host_graph)
        before = graph.row_offsets, graph.column_indices, device.allocated
        try:
            assert graph.once(likely_parents_first).milliseconds > 0
        except DeviceOutOfMemoryError as error:
            assert "bytes do not fit" in str(error)
        return before[-1], device.allocated

    before, after = order(1 << 30)
    assert after > before
    assert order(before + 4 * host_graph.num_edges) == (before, before)


# Rows as records

SHORT = {"SHORT_ROWS": 1}
FEW_ARCS = [name for name in SHAPES if np.diff(shape(name).row_offsets).max(initial=0) <= LONGEST_ROW]
WAYS = ({}, {"TINY_PARTS": 0}, PUSHED, PULLED, MIXED, {"SMALL_PARTS": 20, "TINY_PARTS": 3})


def lattice(rows: int, columns: int, depth: int = 1, keep: float = 1) -> Graph:
    edges = generate("lattice", rows=rows, columns=columns, depth=depth, keep=keep, seed=1)
    return build_graph(edges, "lattice")


NO = np.int32(1 << 30)
"""Marks a vertex whose row is empty, or leads back to the vertex of the record alone."""
TWO = np.int32(-(1 << 31))
"""Marks a vertex with two records."""
RECORDS: list[tuple[list[list[int]], list[list[int]]]] = [
    (
        [[1, 6], [0], [0, 2], [3], [4, 4], [0, 3], []],
        [[NO | 1, NO | 6], [0], [0, 2], [NO | 3], [4, 4], [0, 3], []],
    ),
    (
        [[1, 2, 3, 4, 5, 6], [0], [], [], [], [], [1]],
        [[NO | 1, NO | 2, NO | 3, NO | 4], [TWO], [], [], [], [], [1], [NO | 5, 6], [], [], [], [], [], []],
    ),
]
"""The rows of graphs, and the records that they become: of all vertices a first one, then a second one."""


@pytest.mark.parametrize(("rows", "records"), RECORDS)
def test_records_hold_rows_and_say_which_rows_need_no_look(
    device: Device, rows: list[list[int]], records: list[list[int]]
) -> None:
    graph = DeviceGraph(device, graph_of(len(rows), [(v, u) for v, row in enumerate(rows) for u in row]))
    made = graph.once(with_records)
    entries = made.column_indices.download()
    assert made.first_record == 32
    assert entries[32:].reshape(-1, 4).tolist() == [record + [-1] * (4 - len(record)) for record in records]
    marked = [entry for v in range(len(rows)) for record in records[v :: len(rows)] for entry in record]
    assert entries[: len(marked)].tolist() == marked
    assert graph.column_indices.download()[: len(marked)].tolist() == [u for row in rows for u in row]
    assert made.milliseconds > 0


@pytest.mark.parametrize("knobs", some(WAYS, {}, MIXED))
def test_levels_by_records(device: Device, knobs: dict[str, int]) -> None:
    for name in FEW_ARCS:
        check_levels(prepared(Adaptive, device, shape(name), **SHORT, **knobs), *SOURCES[name])
    for graph in (lattice(40, 9, keep=0.8), lattice(7, 8, 9)):
        for source in (0, graph.num_vertices // 2):
            expect_levels(device, graph, source, **SHORT, **knobs)


@given(data=st.data())
def test_levels_of_random_graphs_by_records(device: Device, data: st.DataObject) -> None:
    """The graphs are directed, and have loops and duplicates. Some rows are empty or only lead back."""
    vertices = data.draw(st.integers(1, 300))
    rows = st.lists(st.lists(st.integers(0, vertices - 1), max_size=LONGEST_ROW), max_size=vertices)
    edges = [(v, u) for v, row in enumerate(data.draw(rows)) for u in row]
    edges += [(v, (v + 1) % vertices) for v in range(0, vertices, 3) if sum(u == v for u, _ in edges) < 8]
    source = data.draw(st.integers(0, vertices - 1))
    expect_levels(device, graph_of(vertices, edges), source, **SHORT, **data.draw(st.sampled_from(WAYS)))


def test_the_bitmap_goes_back_and_forth(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions have several quads of words. The cluster leaves levels to all blocks and takes over again."""
    monkeypatch.setattr(adaptive, "_REGION_BITS", 2)
    vertices = 3000
    wide = graph_of(vertices, [(v, (f * v + 1) % vertices) for v in range(vertices) for f in (1, 7)])
    for graph, ways, knobs in (
        (lattice(61, 50, keep=0.9), {"cluster", "push"}, {"SMALL_PARTS": 40, "PUSHED_EDGE": 0}),
        (lattice(61, 50, keep=0.9), {"cluster", "block"}, {"TINY_PARTS": 30}),
        (wide, {"cluster", "push", "pull"}, {"SMALL_PARTS": 60, "TINY_PARTS": 0, "PUSHED_EDGE": 60}),
    ):
        for source in (0, 1777):
            layers = layers_of(device, graph, source, **SHORT, **knobs).split()
            assert set(layers) >= ways
            if "block" not in ways:
                assert "cluster" in layers[layers.index("push") :], "it takes over again"


def test_records_are_made_where_they_pay(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def makes(graph: Graph, **knobs: int) -> int:
        return int(built(Adaptive, device, graph, **knobs).defines()["SHORT_ROWS"])

    small, graph = lattice(9, 9), lattice(128, 128)
    assert (makes(small), makes(small, **SHORT)) == (0, 1), "too small to pay"
    assert (makes(graph), makes(graph, SHORT_ROWS=0), makes(graph, TREE=1)) == (1, 0, 0)
    assert makes(build_graph(generate("star", n=1 << 14, arcs="out"), "star")) == 0
    assert makes(with_wide_offsets(graph)) == 0
    search = prepared(Adaptive, device, graph)
    check_levels(search, 5)
    assert search.preprocess_ms == search.graph.once(with_records).milliseconds
    limits = replace(device.limits, shared_memory_per_block_optin=STATIC_SHARED + 127)
    monkeypatch.setattr(device, "limits", limits)
    assert makes(graph) == 0, "no room for 128 bytes"


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
    graph = lattice(128, 128)
    kernel = type(prepared(Adaptive, device, graph).kernel("adaptive"))
    monkeypatch.setattr(kernel, "resident_blocks", lambda kernel, block, shared=0: 15)
    for spare, makes in ((256, 1), (255, 0)):
        limits = replace(device.limits, shared_memory_per_block_optin=STATIC_SHARED + spare)
        monkeypatch.setattr(device, "limits", limits)
        search = prepared(Adaptive, device, graph)
        assert (search.cluster_size(), search.defines()["SHORT_ROWS"]) == (8, makes)
        check_levels(search, 0)


def test_without_memory_for_records_it_does_without(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error is raised if the user has asked for records."""
    with pytest.raises(DeviceOutOfMemoryError):
        DeviceGraph(CpuDevice(hardware=Hardware(memory=60_000)), lattice(40, 40)).once(with_records)

    def no_room(graph: DeviceGraph) -> None:
        raise DeviceOutOfMemoryError("no room")

    monkeypatch.setattr(adaptive, "with_records", no_room)
    search = prepared(Adaptive, device, lattice(128, 128))
    check_levels(search, 0)
    assert search.defines()["SHORT_ROWS"] == 0
    with pytest.raises(DeviceOutOfMemoryError):
        prepared(Adaptive, device, lattice(20, 20), **SHORT)


def tree(children: int, depth: int, orientation: Orientation) -> Graph:
    """Returns a tree in which each vertex above the last level has this many children."""
    inner = sum(children**level for level in range(depth))
    edges = [(v, 1 + v * children + i) for v in range(inner) for i in range(children)]
    return graph_of(len(edges) + 1, edges, orientation)


@pytest.mark.parametrize(
    ("orientation", "knobs"),
    [("each_once", SHORT), ("each_once", SHORT | PUSHED), ("directed", {"MAY_PULL": 0})],
)
def test_a_last_level_of_leaves_is_noted(
    device: Device, orientation: Orientation, knobs: dict[str, int]
) -> None:
    """The third level outgrows the cluster, so all blocks run the leaves. No leaf is in a queue, because rows
    of leaves lead back or nowhere."""
    layers = layers_of(device, tree(7, 3, orientation), 0, **{"SMALL_PARTS": 30} | knobs)
    assert len(layers.split()) == 4


def test_blocks_known_to_be_resident_have_equal_shared_memory(
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
    assert prepared(Adaptive, device, large, **knobs).num_blocks < expected
    assert prepared(Adaptive, device, small, **knobs).num_blocks == expected
