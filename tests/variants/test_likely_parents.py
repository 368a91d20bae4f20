"""In-neighbours ordered by out-degree, and the search that looks at the first of them before all others."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Hardware
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import DeviceOutOfMemoryError
from bfsbench.variants import prepared_rows
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.prepared_rows import likely_parents_first
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets
from tests.variants.searching import check_levels, graphs, levels_of

PULLED = {"SMALL_PARTS": 0, "PUSHED_EDGE": 1024}


def searching(graph: DeviceGraph, **knobs: int) -> Adaptive:
    knobs = {"LIKELY_FIRST": 1, **PULLED, **knobs}
    search = Adaptive(KernelSetup(graph, None, 64, Adaptive.knob_values(knobs)))
    search.prepare()
    return search


def first_of(graph: Graph) -> int:
    """Where the likely parents begin: behind the rows, at a multiple of 32."""
    return -(-graph.num_edges // 32) * 32


def check_order(device: Device, graph: Graph) -> None:
    on_device = DeviceGraph(device, graph)
    made = on_device.once(likely_parents_first)
    arcs, offsets = made.row_indices.download(), graph.column_offsets.tolist()
    assert len(arcs) == first_of(graph) + graph.num_vertices
    digits = np.array([degree.bit_length() for degree in np.diff(graph.row_offsets).tolist()])
    for v, likely in enumerate(arcs[first_of(graph) :].tolist()):
        row, given = (array[offsets[v] : offsets[v + 1]] for array in (arcs, graph.row_indices))
        assert sorted(row.tolist()) == sorted(given.tolist())
        assert (np.diff(digits[row]) <= 0).all()
        assert likely == (row[0] if len(row) else v)
    unchanged = on_device.row_indices.download()[: graph.num_edges]
    assert unchanged.tolist() == graph.row_indices.tolist()


@pytest.mark.parametrize("long_row", [1, 40, 1024])
def test_rows_are_ordered_by_the_digits_of_out_degrees(
    device: Device, long_row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_rows, "_LONG_ROW", long_row)
    for name in ("kronecker", "hub", "random_dense", "star_in", "self_loops_everywhere", "no_edges"):
        graph = build_graph(SHAPES[name], name)
        check_order(device, graph)
        check_order(device, with_wide_offsets(graph))


def test_rows_of_more_arcs_than_a_block_has_threads(device: Device) -> None:
    """5,000 in-neighbours each, of many out-degrees; and of one alone."""
    towards = [(u, hub) for hub in (0, 1) for u in range(5000)]
    more = [(u, 5000 + u % k) for k in (3, 50, 700) for u in range(0, 5000, k)]
    check_order(device, build_graph(edge_list(6000, towards + more), "hubs"))
    check_order(device, build_graph(edge_list(5001, [(u, 5000) for u in range(5000)]), "star"))


@given(graph=graphs(100, 600), wide=st.booleans())
def test_any_graph_is_ordered_and_searched(device: Device, graph: Graph, wide: bool) -> None:
    graph = with_wide_offsets(graph) if wide else graph
    check_order(device, graph)
    check_levels(searching(DeviceGraph(device, graph)), 0, graph.num_vertices // 2, graph.num_vertices - 1)


def test_a_likely_parent_is_found_without_its_row(device: Device) -> None:
    """The rows are made to name a vertex that cannot be reached; the likely parents stay."""
    arcs = [(0, v) for v in range(1, 400)] + [(400, v) for v in range(1, 300)]
    graph = DeviceGraph(device, build_graph(edge_list(401, arcs), "two hubs"))
    search = searching(graph)
    made = graph.once(likely_parents_first)
    tampered = made.row_indices.download()
    tampered[: first_of(graph.host_graph)] = 400
    made.row_indices.upload(tampered)
    assert levels_of(search, 0) == [0] + [1] * 399 + [-1]


def test_a_vertex_without_in_neighbours_is_not_its_own_parent(device: Device) -> None:
    arcs = [(u, v) for u in range(50) for v in range(200, 300)] + [(300, 300)] * 20
    graph = build_graph(edge_list(301, arcs), "sources")
    levels = levels_of(searching(DeviceGraph(device, graph)), 7)
    assert levels == reference_levels(graph, 7).tolist()
    assert [v for v, level in enumerate(levels[:200]) if level >= 0] == [7]
    assert levels[300] == -1


def test_a_graph_is_ordered_once_for_all_searches(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    host_graph = build_graph(SHAPES["kronecker"], "kronecker")
    graph = DeviceGraph(device, host_graph)
    searches = [searching(graph, CLUSTER_SIZE=cluster) for cluster in (1, 8)]
    monkeypatch.delattr(prepared_rows, "_LONG_ROW")  # so that ordering again would fail
    searches.append(searching(graph, PUSHED_EDGE=2))
    assert len({search.preprocess_ms for search in searches}) == 1
    assert searches[0].preprocess_ms > 0
    for search in searches:
        check_levels(search, *SOURCES["kronecker"])


@pytest.mark.parametrize("knobs", [{"LIKELY_FIRST": 0}, {"MAY_PULL": 0}])
def test_nothing_is_ordered_for_searches_that_need_no_order(device: Device, knobs: dict[str, int]) -> None:
    host_graph = build_graph(generate("uniform", n=500, m=4000, directed=1, seed=2), "uniform")
    search = searching(DeviceGraph(device, host_graph), **knobs)
    assert search.preprocess_ms == 0
    check_levels(search, 3)
    assert ("row_indices" in vars(search.graph)) == (knobs.get("MAY_PULL", 1) == 1)


def test_an_order_that_does_not_fit_is_an_error_and_keeps_nothing() -> None:
    host_graph = build_graph(SHAPES["kronecker"], "kronecker")

    def order(memory: int) -> tuple[int, int]:
        """Bytes on a device before and after ordering."""
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
