"""Test that every timed run is verified, and that no variant can change the graph of the next variant."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bfsbench.backends.base import Buffer, Device
from bfsbench.bench.measure import Machine, time_runs
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.bench.worker import Worker
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.programs import POISON, DeviceGraph, ExpectedAnswer, KernelSetup
from bfsbench.programs.families.apsp.problem import AllPairs
from bfsbench.programs.families.bfs import parents as trees
from bfsbench.programs.families.bfs.search import Search
from bfsbench.rows.point import Point
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import WrongResultError
from bfsbench.variants.apsp_fw import ApspFw
from bfsbench.variants.cpu_floyd_warshall import CpuFloydWarshall
from bfsbench.variants.cpu_queue import CpuQueue
from bfsbench.variants.frontier_numbers import FrontierNumbers
from tests.bench.test_run import FAULTY, run_faulty
from tests.shapes import SHAPES

GRAPH = build_graph(SHAPES["kronecker"], "kronecker")
MATRIX = build_graph(generate("weighted_random", n=20, density=20), "weighted")
REPEATS = 3


class Numbers(FrontierNumbers):
    """frontier_numbers that searches in some runs only, and in others changes nothing."""

    works: frozenset[int]
    run = -1

    @classmethod
    def source_files(cls) -> list[Path]:
        return FrontierNumbers.source_files()

    def reset(self, source: int) -> None:
        self.run += 1
        if self.run in self.works:
            super().reset(source)

    def traverse(self, source: int) -> None:
        if self.run in self.works:
            super().traverse(source)


RESETS = frozenset(range(1, 1 + REPEATS))
"""The runs of which only the initialisation is timed."""
LAST = 2 * REPEATS


@pytest.mark.parametrize(
    "works", [{0}, {0, *RESETS, LAST}, {0, *range(2, 1 + LAST)} - {LAST - 1}, set(range(LAST))], ids=str
)
def test_a_search_that_does_not_search_every_time(device: Device, works: set[int]) -> None:
    """``works`` numbers the runs in which the search searches. It does nothing in all other runs."""
    search = Numbers(KernelSetup(DeviceGraph(device, GRAPH), None, 64, {}))
    search.works = frozenset(works)
    with pytest.raises(WrongResultError, match=f"levels differ; vertex 0 has {POISON}"):
        time_runs(search, [Search(GRAPH, 1).run(search)], Method(REPEATS), Machine(None))


def test_a_search_that_does(device: Device) -> None:
    search = Numbers(KernelSetup(DeviceGraph(device, GRAPH), None, 64, {}))
    search.works = frozenset(range(1 + LAST))
    (timing,) = time_runs(search, [Search(GRAPH, 1).run(search)], Method(REPEATS), Machine(None))
    assert len(timing.search_ms) == len(timing.wall_ms) == REPEATS and search.run == LAST


class Once:
    """Makes a variant reset and search in its first run only. It is the first base class of the variant."""

    runs = 0

    def reset(self, *source: int) -> None:
        if self.runs == 0:
            super().reset(*source)

    def traverse(self, source: int) -> None:
        if self.runs == 0:
            super().traverse(source)
        self.runs += 1

    def solve(self) -> None:
        if self.runs == 0:
            super().solve()
        self.runs += 1


class QueueOnce(Once, CpuQueue):
    """Finds levels once."""


class PairsOnce(Once, ApspFw):
    """Finds distances on the device once."""

    @classmethod
    def source_files(cls) -> list[Path]:
        return ApspFw.source_files()


class HostPairsOnce(Once, CpuFloydWarshall):
    """Finds distances on the host once."""


def test_a_host_program_that_searches_once() -> None:
    search = QueueOnce(GRAPH, {})
    with pytest.raises(WrongResultError, match=f"vertex 0 has {POISON}"):
        time_runs(search, [Search(GRAPH, 1).run(search)], Method(REPEATS), Machine(None))


def test_distances_that_are_found_once(device: Device) -> None:
    problem = AllPairs(MATRIX)
    for pairs in (
        PairsOnce(KernelSetup(DeviceGraph(device, MATRIX), None, 64, {})),
        HostPairsOnce(MATRIX, {}),
    ):
        with pytest.raises(WrongResultError, match="distances differ"):
            time_runs(pairs, [problem.run(pairs)], Method(REPEATS), Machine(None))


def test_next_hops_that_are_found_once(device: Device) -> None:
    """The warm-up run is right, and the timed run does nothing."""
    problem = AllPairs(MATRIX)
    with pytest.raises(WrongResultError, match="distances differ"):
        problem.paths(PairsOnce(KernelSetup(DeviceGraph(device, MATRIX), None, 64, {})))


def test_parents_of_every_timed_run_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    on_host = trees.parents_on_host

    def second_is_missing(graph: Graph, levels: trees.Levels) -> Iterator[trees.Paths]:
        first, second = on_host(graph, levels)
        yield first
        yield trees.Paths(np.full_like(second.links, POISON), second.milliseconds)

    search = CpuQueue(GRAPH, {})
    search.prepare()
    search.reset(1)
    search.traverse(1)
    Search(GRAPH, 1).paths(search)
    monkeypatch.setattr(trees, "parents_on_host", second_is_missing)
    with pytest.raises(WrongResultError, match=f"vertex 0 has parent {POISON}"):
        Search(GRAPH, 1).paths(search)


@pytest.mark.parametrize(("rows", "width", "pitch"), [(1, 1, 1), (5000, 1, 1), (70, 33, 40)])
def test_differences_are_counted_on_the_device(device: Device, rows: int, width: int, pitch: int) -> None:
    random = np.random.default_rng(1)
    there = random.integers(-(2**31), 2**31, (rows, pitch), np.int64).astype(np.int32)
    order = random.permutation(rows).astype(np.int32)
    found = device.upload(there.reshape(-1))
    right = ExpectedAnswer(device, there[order, :width], rows=order, pitch=pitch)
    assert right.differences(found) == 0
    wrong = there[order, :width].copy()
    wrong[0, -1] ^= 1
    wrong[-1, 0] ^= -(2**31)
    expected = int((wrong != there[order, :width]).sum())
    assert ExpectedAnswer(device, wrong, rows=order, pitch=pitch).differences(found) == expected


def test_any_bit_of_the_graph_that_changes_is_seen(device: Device) -> None:
    graph = DeviceGraph(device, GRAPH)
    made: list[Buffer] = [graph.once(numbers)]
    arrays = {"row_offsets": graph.row_offsets, "column_indices": graph.column_indices, "numbers": made[0]}
    assert graph.written() == []
    for name, array in arrays.items():
        before = array.download().copy()
        for place in (0, len(before) // 2, len(before) - 1):
            after = before.copy()
            after[place] ^= 1 << 30
            array.upload(after)
            assert graph.written() == [name]
        after = before.copy()
        after[[0, -1]] = after[[-1, 0]]
        array.upload(after)
        assert graph.written() == [name] * int(before[0] != before[-1])
        array.upload(before)
        assert graph.written() == []


def numbers(graph: DeviceGraph) -> Buffer:
    return graph.device.upload(np.arange(GRAPH.num_vertices, dtype=np.int32))


def test_the_next_point_has_a_graph_that_nobody_wrote_into(tmp_path: Path) -> None:
    """``lies`` returns a wrong answer, ``vandal`` writes to the graph; both run between correct searches."""
    words = ("--dataset", "path(n=9)", "--source", "0", "--repeats", "1")
    run_faulty(*words, "--variant", "vandal,push,lies,pull", cwd=tmp_path, check=1)
    found = {row["variant"]: (row["status"], row["reason"]) for row in read_rows(tmp_path / "r.csv")}
    assert found["vandal"][0] == found["lies"][0] == "wrong"
    assert found["frontier_numbers"] == found["pull"] == ("ok", "")


def test_a_wrong_answer_costs_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a wrong answer the next point runs in another process."""
    monkeypatch.setenv("BFSBENCH_VARIANTS", str(FAULTY))
    worker = Worker("cpu")
    points = [
        Point("path(n=9):symmetrised", 0, variant, "cpu", None, 64) for variant in ("pull", "lies", "pull")
    ]
    processes = []
    for point in points:
        worker.start()
        assert worker._process is not None
        processes.append(worker._process.pid)
        worker.measure([point], Method(1, 60))
    worker.close()
    assert processes[0] == processes[1] != processes[2]
    assert os.getpid() not in processes


def test_a_session_of_its_own_renews_the_graph(device: Device) -> None:
    session = Session("cpu")
    session.use(GRAPH)
    problem = session.problem("bfs", 1)
    for wrong in (True, False):
        search = session.build("frontier_numbers", None, 64, {})
        assert isinstance(search, FrontierNumbers)
        if wrong:
            search.graph.edge_sources.fill(0, count=GRAPH.num_edges)
            with pytest.raises(WrongResultError, match="a kernel wrote into the graph: edge_sources"):
                session.time(search, problem, Method(1))
        else:
            session.time(search, problem, Method(1))
    session.close()
