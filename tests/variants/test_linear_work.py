"""Properties of linear_work: gathering, short frontiers."""

from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.linear_work import LinearWork
from tests.shapes import SOURCES, edge_list
from tests.variants.searching import check_levels, kernels_of, levels_of, prepared, shape


def gathered(search: LinearWork, frontier: npt.NDArray[np.int32]) -> list[int]:
    """What gathering finds for a frontier."""
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
    graph = build_graph(edge_list(len(degrees), edges), "lists")
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
    graph = build_graph(edge_list(800, [(0, v) for v in range(1, 800)]), "star")
    search = prepared(LinearWork, emulator, graph, block=32, GATHERING=gathering, GATHER_TILE_SIZE=4)
    search.gather = Mock(wraps=search.gather)
    assert kernels_of(search, 0)
    launched = [call.args[0] for call in search.gather.call_args_list]
    assert launched == [blocks], "128 neighbours a block, or 32 vertices"


@pytest.mark.parametrize("start_index", ["search", "precomputed"])
def test_a_thread_may_have_to_expand_several_vertices(emulator: Device, start_index: str) -> None:
    """A case that the paper leaves open: a tile of 512 neighbours has 512 vertices, but 32 threads."""
    fan = [(0, v) for v in range(1, 2001)] + [(v, v + 2000) for v in range(1, 2001)]
    graph = build_graph(edge_list(4001, fan), "fan")
    knobs = {"GATHERING": "fine-grained", "START_INDEX": start_index}
    search = prepared(LinearWork, emulator, graph, None, 32, GATHER_TILE_SIZE=16, **knobs)
    assert gathered(search, np.arange(1, 2001, dtype=np.int32)) == list(range(2001, 4001))
    assert kernels_of(search, 0)


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
