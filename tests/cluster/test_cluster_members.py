"""Which workers share a sweep, and what happens to failing ones; with artificial devices."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask
import distributed
import pytest
from click.testing import CliRunner

import bfsbench
from bfsbench.backends.base import Limits
from bfsbench.bench import provenance
from bfsbench.bench.point import Point
from bfsbench.bench.row import failed_row
from bfsbench.bench.runner import Measured, Method
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.worker import DeviceInfo
from bfsbench.cli import main
from bfsbench.cluster import members, tasks
from bfsbench.cluster.address import Running, host_and_port
from bfsbench.cluster.examine import Findings, examine
from bfsbench.cluster.launch import require_dask
from bfsbench.cluster.members import ClusterError
from bfsbench.cluster.runner import Cluster
from bfsbench.cluster.tasks import Equipment
from bfsbench.errors import BfsbenchError, UsageError
from bfsbench.graphs.graph import Graph

GRAPH = bfsbench.generate("lattice", rows=3, columns=3)
METHOD = Method(Sampling.of(1), 60)
LIMITS = Limits(32, 1024, 2**31 - 1, 132, 2048, 49152, 232448, 233472, 2**37)
H200 = {"gpu": "NVIDIA H200", "compute_capability": "9.0", "driver": "580.1", "cuda": "13.0"}

Describe = Callable[[str], dict[str, str]]


class Made:
    """Replaces Worker: a device named after its Dask worker, and rows without searching."""

    describe: Describe
    loses_its_device = ""
    """Name of the Dask worker that fails after its first point."""

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self.name = str(distributed.get_worker().name) if backend else ""
        self.points = 0

    def start(self) -> None:
        if self.points and self.name == self.loses_its_device:
            raise BfsbenchError("the GPU has fallen off the bus")

    @property
    def device(self) -> DeviceInfo:
        return DeviceInfo("cuda", type(self).describe(self.name), LIMITS)

    def run_point(self, point: Point, graph: Graph, _method: Method) -> Measured:
        self.points += 1
        row = failed_row(point, graph, self.device.description, "ok", "")
        return Measured(row | {"search_ms": "1"})

    def close(self) -> None: ...


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a scheduler in this process with two workers, named a and b, as threads."""
    require_dask()
    monkeypatch.setattr(tasks, "Worker", Made)
    monkeypatch.setattr(tasks.Station, "graph", lambda _self, _name: GRAPH)
    monkeypatch.setattr(Made, "describe", staticmethod(apart), raising=False)
    cluster = distributed.SpecCluster(
        scheduler={"cls": distributed.Scheduler, "options": {"dashboard_address": ":0", "host": "127.0.0.1"}},
        workers={
            name: {"cls": distributed.Worker, "options": {"nthreads": 1, "dashboard": False}} for name in "ab"
        },
    )
    yield cluster.scheduler_address
    cluster.close()


def apart(name: str) -> dict[str, str]:
    """Two H200s of one host."""
    return H200 | {"gpu_bus_id": f"0000:{name}"}


def cluster_at(address: str, told: list[str], *, mixed_devices: bool = False) -> Cluster:
    return Cluster(Running(host_and_port(address)), Equipment("cuda", 0), mixed_devices, told.append)


def points(count: int) -> list[Point]:
    return [Point(GRAPH.full_name, i, "push", "cuda", None, 32) for i in range(count)]


def sweep(cluster: Cluster, wanted: Sequence[Point]) -> list[Measured]:
    return list(cluster.run(wanted, {GRAPH.full_name: GRAPH}, METHOD))


@pytest.fixture
def describing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Mapping[str, str]]], None]:
    """Changes what the workers' devices are, by the workers' names."""

    def describe(changes: Mapping[str, Mapping[str, str]]) -> None:
        monkeypatch.setattr(
            Made, "describe", staticmethod(lambda name: apart(name) | dict(changes.get(name, {})))
        )

    return describe


def test_rows_name_the_gpu_they_come_from(two_workers: str) -> None:
    cluster = cluster_at(two_workers, [])
    found = sweep(cluster, points(20))
    cluster.close()
    assert sorted(int(outcome.row["source"]) for outcome in found) == list(range(20))
    assert {(outcome.worker, outcome.row["gpu_bus_id"]) for outcome in found} == {
        ("a", "0000:a"),
        ("b", "0000:b"),
    }


def test_a_slow_worker_holds_back_little(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Made.run_point

    def run_point(self: Made, point: Point, graph: Graph, method: Method) -> Measured:
        time.sleep(1 if self.name == "a" else 0)
        return quick(self, point, graph, method)

    monkeypatch.setattr(Made, "run_point", run_point)
    cluster = cluster_at(two_workers, [])
    found = sweep(cluster, points(8))
    cluster.close()
    assert len(found) == 8
    assert [outcome.worker for outcome in found].count("a") <= 2


@pytest.mark.parametrize(("column", "value"), [("gpu", "NVIDIA H100"), ("compute_capability", "9.1")])
def test_different_devices_are_refused_unless_asked_for(
    two_workers: str, describing: Any, column: str, value: str
) -> None:
    describing({"b": {column: value}})
    cluster = cluster_at(two_workers, [])
    with pytest.raises(UsageError, match=f"differ in {column}, .*{value}.*: allow it by --mixed-devices"):
        cluster.start()
    cluster.close()
    mixed = cluster_at(two_workers, [], mixed_devices=True)
    found = sweep(mixed, points(20))
    mixed.close()
    assert {outcome.row[column] for outcome in found} == {value, H200[column]}


def test_two_workers_on_one_gpu_are_refused(two_workers: str, describing: Any) -> None:
    describing({"b": {"gpu_bus_id": "0000:a"}})
    cluster = cluster_at(two_workers, [], mixed_devices=True)
    with pytest.raises(UsageError, match=r"workers . and . are on the same GPU"):
        cluster.start()
    cluster.close()


def test_workers_with_different_code_are_refused(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = provenance.host_columns()

    def host_columns() -> dict[str, str]:
        return columns | {"commit": str(distributed.get_worker().name)}

    monkeypatch.setattr(provenance, "host_columns", host_columns)
    cluster = cluster_at(two_workers, [], mixed_devices=True)
    with pytest.raises(UsageError, match=r"differ in commit, '[ab]' and '[ab]': install the same"):
        cluster.start()
    cluster.close()


def test_a_worker_that_has_lost_its_device_is_left_out(
    two_workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Made, "loses_its_device", "b")
    told: list[str] = []
    cluster = cluster_at(two_workers, told)
    found = sweep(cluster, points(20))
    cluster.close()
    assert sorted(int(outcome.row["source"]) for outcome in found) == list(range(20))
    assert [outcome.worker for outcome in found].count("b") == 1
    assert told[-1] == "worker b is left out: the GPU has fallen off the bus"


def test_a_worker_that_cannot_read_is_left_out(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(_self: tasks.Station, _name: str) -> Graph:
        if distributed.get_worker().name == "a":
            raise PermissionError("no entry")
        return GRAPH

    monkeypatch.setattr(tasks.Station, "graph", graph)
    told: list[str] = []
    cluster = cluster_at(two_workers, told)
    found = sweep(cluster, points(20))
    cluster.close()
    assert sorted(int(outcome.row["source"]) for outcome in found) == list(range(20))
    assert "worker a is left out: no entry" in told


def test_a_bug_on_a_worker_is_shown_as_it_is(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_point(_self: Made, _point: Point, _graph: Graph, _method: Method) -> Measured:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Made, "run_point", run_point)
    cluster = cluster_at(two_workers, [])
    with pytest.raises(ZeroDivisionError, match="a bug"):
        sweep(cluster, points(5))
    cluster.close()


def test_a_sweep_ends_when_no_worker_is_left(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(_self: tasks.Station, _name: str) -> Graph:
        return replace(GRAPH, checksum="another")

    monkeypatch.setattr(tasks.Station, "graph", graph)
    monkeypatch.setattr(members, "POLL_S", 0.1)
    monkeypatch.setattr(members, "WITHOUT_WORKERS_S", 0.5)
    cluster = cluster_at(two_workers, [])
    with pytest.raises(ClusterError, match=r"no worker is left .* is not the one that the sweep began with"):
        sweep(cluster, points(5))
    cluster.close()


def test_a_worker_that_was_started_in_another_way_is_refused(
    two_workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiprocessing.process.BaseProcess.daemon", True)
    cluster = cluster_at(two_workers, [])
    with pytest.raises(UsageError, match="was not started by 'bfsbench worker'"):
        cluster.start()
    cluster.close()


def test_the_doctor_names_what_differs(two_workers: str, describing: Any) -> None:
    assert examine(Running(host_and_port(two_workers))).works
    describing({"b": {"driver": "570.2"}})
    found = examine(Running(host_and_port(two_workers)))
    assert not found.works
    assert found.differences == ["driver: 580.1 (a), 570.2 (b)"]
    assert [facts["gpu_bus_id"] for facts in found.workers] == ["0000:a", "0000:b"]
    assert all(facts["cache"].endswith(", shared") for facts in found.workers)


def test_the_doctor_s_words(two_workers: str, describing: Any) -> None:
    words = ["doctor", "--cluster", two_workers.replace("tcp", "dask")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert done.stdout.count("NVIDIA H200") == 2
    assert done.stdout.endswith("All 2 workers can run and are alike.\n")
    describing({"a": {"gpu": "NVIDIA H100"}})
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "differs: gpu: NVIDIA H100 (a), NVIDIA H200 (b)\n" in done.stdout
    told = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).stdout)
    assert not told["works"] and [facts["worker"] for facts in told["workers"]] == ["a", "b"]


def test_the_doctor_compares_with_the_machine_that_begins_a_sweep() -> None:
    worker = {"worker": "a", "python": "3.11.1", "version": "1", "commit": "c", "driver": "1"}
    here = {"worker": "this machine", "python": "3.12.0", "version": "1", "commit": "c"}
    assert Findings([worker], here).differences == ["python: 3.11.1 (a), 3.12.0 (this machine)"]
    assert Findings([worker | {"trouble": "no GPU"}], here).troubles == ["a: no GPU"]
    assert not Findings([], here).works


def test_a_worker_fetches_a_graph_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(tasks.files, "held", lambda _dataset: None)
    monkeypatch.setattr(tasks.Fetcher, "fetch", lambda _self, dataset: fetched.append(dataset.name))
    monkeypatch.setattr(tasks, "load", lambda _name: GRAPH)
    station = tasks.Station()
    for name in ("soc-Slashdot0902:directed", "soc-Slashdot0902:directed", GRAPH.full_name):
        assert station.graph(name) is GRAPH
    assert fetched == ["soc-Slashdot0902"]


def test_points_run_in_the_environment_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    require_dask()
    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    tasks.Station()
    assert "MALLOC_TRIM_THRESHOLD_" not in os.environ
    assert os.environ["OMP_NUM_THREADS"] == "7"
