"""The search ``resident_parts``, and the parts in shared memory that it is given."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Hardware
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.support.errors import LaunchError
from bfsbench.variants.base import DeviceGraph
from bfsbench.variants.graph_parts import PLACES, READERS, GraphParts, parts_of
from bfsbench.variants.resident_parts import ResidentParts
from tests.commands import bfsbench
from tests.parameters import covering
from tests.variants.searching import check_levels, counting, counts_of, graph_of, graphs, prepared, shape

SMALL = {"PART_VERTICES": 32}


def lattice(rows: int, columns: int, keep: float = 0.7) -> Graph:
    return build_graph(generate("lattice", rows=rows, columns=columns, keep=keep), "lattice")


def own_of(parts: GraphParts) -> list[set[int]]:
    """Returns the vertices of each part, which have places there and nowhere else."""
    vertices, places, part_at = (a.download() for a in (parts.vertices, parts.places, parts.part_at))
    assert (vertices[places] == np.arange(len(places))).all()
    assert (vertices >= 0).sum() == len(places)
    part_of = part_at[np.arange(len(vertices)) // PLACES]
    return [set(vertices[(part_of == p) & (vertices >= 0)].tolist()) for p in range(parts.number)]


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("name", ["lattice", "random_255", "several_components", "duplicate_edges"])
def test_each_vertex_is_in_one_part_of_limited_size(device: Device, name: str, hops: int) -> None:
    parts = DeviceGraph(device, shape(name)).once(parts_of(32, hops))
    assert parts.hops == hops
    own = own_of(parts)
    assert sorted(v for part in own for v in part) == list(range(shape(name).num_vertices))
    assert [len(part) for part in own] == parts.table["own"].tolist() and max(map(len, own)) <= 32


@pytest.mark.parametrize(("levels", "launch"), covering([1, 2, 5, 0], [(3, 64), (1, 32), (None, 128)]))
def test_many_parts(device: Device, levels: int, launch: tuple[int | None, int]) -> None:
    graph = lattice(30, 20)
    search = prepared(ResidentParts, device, graph, *launch, LEVELS=levels, **SMALL)
    assert search.graph.once(parts_of(32, levels)).number > 20
    check_levels(search, 0, 311, 599)


@pytest.mark.parametrize("directed", [0, 1])
def test_arcs_in_one_direction(device: Device, directed: int) -> None:
    graph = build_graph(generate("uniform", n=400, m=500, directed=directed, seed=5), "uniform")
    for levels in (1, 3):
        check_levels(prepared(ResidentParts, device, graph, LEVELS=levels, **SMALL), 0, 17, 399)


def test_more_parts_than_a_block_has_room_for() -> None:
    """One block has room for few parts at a time, so that other parts wait in every step."""
    device = CpuDevice(hardware=Hardware(shared_per_block=17 << 10, shared_per_multiprocessor=18 << 10))
    graph = build_graph(generate("uniform", n=600, m=800, seed=5), "uniform")
    search = prepared(ResidentParts, device, graph, 1, 64, LEVELS=2, **SMALL)
    parts = search.graph.once(parts_of(32, 2))
    layout, _ = search._layout(parts)
    assert 1 <= layout.slots < parts.number / 4
    check_levels(search, 0, 20, 599)
    device.close()


def test_parts_are_loaded_before_the_search_reaches_them(device: Device) -> None:
    search = counting(ResidentParts, device, lattice(40, 40, keep=1.0), 16, LEVELS=3, **SMALL)
    number = search.graph.once(parts_of(32, 3)).number
    for source in (0, 820):
        counted = counts_of(search, source)
        assert counted["loads"] + counted["loads_ahead"] == number
        assert counted["loads"] < number / 4


def test_a_part_that_many_others_read_wakes_all(device: Device) -> None:
    """Vertex 0 leads to 3,000 others, in more parts than a vertex has bits for."""
    graph = graph_of(3001, [(0, v) for v in range(1, 3001)] + [(3000, 0)])
    search = prepared(ResidentParts, device, graph, **SMALL)
    parts = search.graph.once(parts_of(32, 0))
    assert parts.number > READERS
    assert -2 in parts.readers.download()
    check_levels(search, 0, 5, 3000)


def test_a_graph_that_does_not_suit_is_refused() -> None:
    device = CpuDevice(hardware=Hardware(shared_per_block=48 << 10, shared_per_multiprocessor=64 << 10))
    hub = shape("hub")
    with pytest.raises(LaunchError, match=r"vertices with arcs to it are more than the \d+ that fit shared"):
        prepared(ResidentParts, device, hub, **SMALL)
    device.close()


def test_fewer_levels_where_ghosts_would_not_fit() -> None:
    device = CpuDevice(hardware=Hardware(shared_per_block=20 << 10, shared_per_multiprocessor=24 << 10))
    search = prepared(ResidentParts, device, lattice(60, 60, keep=1.0), LEVELS=32, **SMALL)
    assert 1 <= search.graph.once(parts_of(32, 32)).hops < 32
    check_levels(search, 0, 1830)
    device.close()


def test_parts_are_made_once_for_all_searches(device: Device) -> None:
    graph = DeviceGraph(device, lattice(20, 20))
    first, again = (graph.once(parts_of(32, 3)) for _ in range(2))
    assert first is again and first.milliseconds > 0
    assert graph.once(parts_of(32, 2)) is not first


def test_components_without_a_seed_are_parts_as_well(device: Device) -> None:
    """There are a hundred paths of three vertices, and a hundred vertices alone. Few of them have a seed."""
    arcs = [(3 * i + k, 3 * i + k + 1) for i in range(100) for k in range(2)]
    search = prepared(ResidentParts, device, graph_of(400, arcs, "each_once"), **SMALL)
    own = own_of(search.graph.once(parts_of(32, 0)))
    assert sorted(v for part in own for v in part) == list(range(400))
    check_levels(search, 0, 148, 299, 350)


@given(graph=graphs(120, 250), levels=st.sampled_from([1, 2, 4, 0]))
def test_any_graph_is_cut_and_searched(device: Device, graph: Graph, levels: int) -> None:
    search = prepared(ResidentParts, device, graph, 3, LEVELS=levels, **SMALL)
    check_levels(search, 0, graph.num_vertices // 2, graph.num_vertices - 1)


def test_rows_have_the_time_of_preparing(tmp_path: Path) -> None:
    bfsbench(
        *("run", "--backend", "cpu", "--dataset", "lattice(rows=12,columns=12)", "--variant"),
        *("resident_parts", "--part-vertices", "32", "--levels", "2", "--block", "64"),
        *("--repeats", "1", "--out", "rows.csv"),
        cwd=tmp_path,
    )
    with (tmp_path / "rows.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["status"], row["knobs"]) == ("ok", "PART_VERTICES=32 LEVELS=2")
    assert float(row["preprocess_ms"]) > 0
