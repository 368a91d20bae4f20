"""Searches from many sources: every program against single searches, and what a user meets of the family."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import bfsbench
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph, Ids
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.programs.families.closeness import problem as problems
from bfsbench.programs.families.closeness.problem import ManySources, WrongMeasuresError, drawn_sources
from bfsbench.programs.families.closeness.variants import FIELDS, Measures, bits_for
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import LaunchError, UsageError
from bfsbench.variants import find
from bfsbench.variants.base import KnobValue
from bfsbench.variants.cpu_many import memory_of
from bfsbench.variants.many import grouped
from tests.commands import invoke, refused
from tests.parameters import some
from tests.shapes import SHAPES, edge_list, random_digraph, with_wide_offsets
from tests.variants.searching import built, shape


def lattice(rows: int = 12) -> Graph:
    return bfsbench.generate("lattice", rows=rows, columns=rows, symmetrise=True)


def digraph(size: int = 300) -> Graph:
    return build_graph(random_digraph(size, degree=3), "random")


def hubs() -> EdgeList:
    """Returns a tree, with arcs in both directions. Two adjacent hubs, 0 and 41, have 40 leaves each. A path
    leads from the last leaf to vertex 100."""
    edges = [(hub, leaf) for hub in (0, 41) for leaf in range(hub + 1, hub + 41)]
    edges += [(0, 41), *itertools.pairwise(range(81, 101))]
    return edge_list(101, edges + [(head, tail) for tail, head in edges])


def by_definition(graph: Graph, sources: Ids) -> Measures:
    """Returns the measures of sources by single searches in sequence."""
    found = []
    for source in sources.tolist():
        levels = reference_levels(graph, source)
        far = levels[levels > 0]
        found.append((len(far) + 1, far.sum(), (1 / far).sum(), far.max(initial=0)))
    return np.array(found, [*FIELDS])


def check(name: str, graph: Graph, sources: Iterable[int], device: Device | None, **knobs: KnobValue) -> None:
    """Assert that the second run of a variant finds the right measures. The first run must leave no state."""
    kind, ids = find(name), np.array(sources, np.int32)
    values = kind.knob_values(knobs)
    program = kind(graph, values) if device is None else built(kind, device, graph, 3, **values)
    program.prepare()
    for _ in range(2):
        program.poison()
        program.reset(ids)
        program.solve(ids)
    found, expected = program.measures(), by_definition(graph, ids)
    assert all(np.allclose(found[field], expected[field], rtol=1e-12, atol=0) for field, _ in FIELDS)


@pytest.mark.parametrize("bits", some([64, 128, 256, 512], 64, 512))
@pytest.mark.parametrize("alpha", [0.0, 1e12])
@pytest.mark.parametrize("near", [0, 1])
def test_each_width_pushed_and_pulled(bits: int, alpha: float, near: int) -> None:
    for graph in (lattice(), digraph(600)):
        check("cpu_many", graph, range(graph.num_vertices), None, BITS=bits, ALPHA=alpha, GROUPED=near)


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str) -> None:
    check("cpu_many", shape(name), range(min(shape(name).num_vertices, 70)), None)


@pytest.mark.parametrize(
    ("width", "share", "short", "piece", "likely"),
    [
        *((64, 0, 0, 1, 1), (64, 8, 3, 40, 0), (128, 2**20, 2, 2, 1), (128, 2**20, 1024, 1024, 1)),
        *((256, 2**20, 0, 1, 0), (512, 2**20, 2, 3, 1), (1024, 8, 1024, 1024, 0), (1024, 2**20, 8, 40, 1)),
    ],
)
def test_the_kernel(emulator: Device, width: int, share: int, short: int, piece: int, likely: int) -> None:
    knobs = {"WIDTH": width, "PULL_SHARE": share, "SHORT": short, "PIECE": piece, "LIKELY_FIRST": likely}
    for graph in (lattice(6), with_wide_offsets(digraph(150)), build_graph(hubs(), "hubs")):
        check("many", graph, range(graph.num_vertices), emulator, **knobs)


def test_one_by_one(emulator: Device) -> None:
    for search in ("cpu_parallel", "cpu_queue"):
        check("one_by_one", digraph(), [7, 0, 299], None, SEARCH=search)
    check("one_by_one_kernels", digraph(60), [5, 0], emulator, SEARCH_KERNELS="simple")


def test_groups_are_near_each_other() -> None:
    """A pass of a lattice takes a compact part of it, and each source is taken once."""
    graph = lattice(48)
    shuffled = np.random.default_rng(1).permutation(graph.num_vertices).astype(np.int32)
    order = grouped(graph, shuffled, 64)
    assert sorted(order) == [*range(graph.num_vertices)]
    spans = [np.ptp(part // 48) + np.ptp(part % 48) for part in shuffled[order].reshape(-1, 64)]
    assert np.median(spans) < 30 < np.ptp(shuffled[:64] // 48) + np.ptp(shuffled[:64] % 48)


def test_searches_that_grow_fast_come_first_in_a_pass() -> None:
    graph = build_graph(hubs(), "hubs")
    sources = np.arange(100, -1, -1, dtype=np.int32)
    leaves = [leaf for leaf in range(81, 0, -1) if leaf != 41]
    assert list(sources[grouped(graph, sources, 128)]) == [41, 0, *leaves, *range(100, 81, -1)]


@pytest.mark.parametrize(
    ("field", "place", "change", "said"),
    [
        *(("reached", 30, -1, "component"), ("distance_sum", 30, 100, "neighbour")),
        *(("distance_sum", 30, -10_000, "largest distance"), ("eccentricity", 30, 3, "neighbour")),
        *(("eccentricity", 30, -100, "largest distance"), ("harmonic", 30, 100, "larger than the vertices")),
        *(("harmonic", 30, -20, "too small"), ("harmonic", 0, 1e-6, "0: harmonic is")),
    ],
)
def test_wrong_sources_in_the_sample_and_beyond_it_are_found(
    monkeypatch: pytest.MonkeyPatch, field: str, place: int, change: float, said: str
) -> None:
    """Two sources, the first and the last, are checked by searches. The others are checked by laws."""
    monkeypatch.setattr(problems, "ALL_CHECKED_STEPS", 0)
    monkeypatch.setattr(problems, "SAMPLE", 2)
    problem = ManySources(lattice(8), None)
    answer = by_definition(problem.graph, problem.sources)
    problem.check(answer, [*dict(FIELDS)])
    answer[field][place] += change
    with pytest.raises(WrongMeasuresError, match=f"source.*{said}"):
        problem.check(answer, [*dict(FIELDS)])


def test_larger_graphs_and_more_cores_take_fewer_bits() -> None:
    def taken(vertices: int, sources: int = 10**6, threads: int = 2) -> int:
        return bits_for((64, 128, 256, 512), sources, threads, partial(memory_of, vertices, threads), 2**30)

    assert [taken(size) for size in (10**5, 2 * 10**6, 4 * 10**6, 10**8)] == [512, 256, 128, 64]
    assert taken(1000, sources=1024) == 512 and taken(1000, sources=1024, threads=16) == 64


def test_sources_are_drawn_and_counted(tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    words = ("run", "--dataset", "kronecker(scale=8)", "--variant", "cpu_many,one_by_one", "--repeats", "1")
    assert invoke(*words, "--sources", "20", "--out", out).exit_code == 0
    assert invoke(*words, "--out", out, "--resume").exit_code == 0
    rows = read_rows(out)
    assert [(row["source"], row["sources"]) for row in rows] == [("20", "20")] * 2 + [("", "256")] * 2
    for row in rows:
        rate = int(row["sources"]) / float(row["search_ms"]) * 1e3
        assert row["status"] == "ok" and float(row["sources_s"]) == pytest.approx(rate, rel=1e-3)
        assert float(row["gteps_single"]) > 0
    assert all(float(row["bytes_source"]) > 0 for row in rows if row["variant"] == "cpu_many")
    assert len({row["diameter"] for row in rows[2:]}) == 1
    assert "sources/s" in invoke("report", out).stdout


def test_sources_that_cannot_be_drawn(tmp_path: Path) -> None:
    words = ("run", "--family", "closeness", "--dataset", "path(n=5)", "--out", tmp_path / "r.csv")
    assert "have no source to choose" in refused(invoke(*words, "--source", "1"))
    with pytest.raises(UsageError, match="of 6 sources to draw there are 5"):
        drawn_sources(bfsbench.generate("path", n=5, symmetrise=True), 6)


def test_a_dry_run_prints_the_memory() -> None:
    words = ("run", "--dataset", "kronecker(scale=10)", "--variant", "cpu_many", "--sources", "100")
    shown = invoke(*words, "--bits", "64,512", "--threads", "1", "--dry-run").stdout
    assert "cpu_many: V (THREADS (3 BITS / 8 + 9) + 16) bytes = 49.0 KiB beside the graph" in shown
    assert "with BITS = 512, THREADS = 1" in shown
    assert "beside" not in invoke(*words[:4], "cpu_queue", "--dry-run").stdout


@pytest.mark.parametrize("name", ["apsp_bfs", "cpu_apsp_bfs"])
def test_all_pairs_by_searches(name: str) -> None:
    for graph in (lattice(7), digraph(90)):
        bfsbench.all_pairs(graph, name, backend="cpu", next_hops=True)  # compares with SciPy
    weighted = bfsbench.generate("weighted_random", n=20, density=20)
    with pytest.raises(LaunchError, match="arcs all weigh 1"):
        bfsbench.all_pairs(weighted, name, backend="cpu")
