"""Test which workers share a sweep, and what happens to workers that can no longer work."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import dask
import distributed
import psutil
import pytest

import bfsbench
from bfsbench.backends.base import Limits
from bfsbench.bench.options import Method
from bfsbench.bench.worker import DeviceInfo, Measured
from bfsbench.cluster import runner, tasks
from bfsbench.cluster.address import Running, host_and_port
from bfsbench.cluster.launch import require_dask
from bfsbench.cluster.runner import Cluster, ClusterError, Findings, objection
from bfsbench.cluster.tasks import Equipment, Introduction
from bfsbench.rows.point import Point
from bfsbench.support.errors import UsageError
from tests.cluster.programs import BFSBENCH, starting
from tests.commands import invoke
from tests.fetch.fetch_server import SNAP, entry, serving, sha256, snap
from tests.waiting import wait_until

LIMITS = Limits(32, 1024, 2**31 - 1, 132, 2048, 49152, 232448, 233472, 2**37)
H200 = {"gpu": "NVIDIA H200", "compute_capability": "9.0", "gpu_bus_id": "0000:a", "host_cpu": "x (8 cores)"}
ONE = Introduction("a", "1", {"host": "h", "version": "1", "commit": "c"}, DeviceInfo("cuda", H200, LIMITS))


def another(host: dict[str, str] | None = None, **device: str) -> Introduction:
    """Return a worker like ONE with its own GPU, except for the given properties of its host and device."""
    assert ONE.device
    described = replace(ONE.device, description=H200 | {"gpu_bus_id": "0000:b"} | device)
    return replace(ONE, name="b", host=ONE.host | (host or {}), device=described)


@pytest.mark.parametrize(
    ("newcomer", "says"),
    [
        (another(), None),
        (another(gpu="NVIDIA H100"), "differ in gpu, 'NVIDIA H200' and 'NVIDIA H100': allow it by --mixed"),
        (another(compute_capability="9.1"), "differ in compute_capability, '9.0' and '9.1': allow it by"),
        (another({"commit": "d"}), "a and b differ in commit, 'c' and 'd': install the same"),
        (another(gpu_bus_id="0000:a"), "a and b are on the same GPU: start them with"),
        (another({"host": "i"}, gpu_bus_id="0000:a"), None),
        (replace(another(), device=None), "have different backends, cuda and None: choose one"),
    ],
)
def test_what_keeps_workers_from_sharing_a_sweep(newcomer: Introduction, says: str | None) -> None:
    against = objection(ONE, newcomer, mixed_devices=False)
    assert against is None if says is None else against is not None and says in against
    if says and "--mixed" in says:
        assert objection(ONE, newcomer, mixed_devices=True) is None


@dataclass
class Pair:
    """A scheduler and two workers, ``a`` and ``b``, on this machine.

    Worker ``b`` is slow in the variant ``dawdles``. It has its own cache. Its catalogue has another ``town``
    graph than in the catalogue of ``a``.
    """

    address: str
    folder: Path
    names: dict[int, str]
    """The names of the workers, ``a`` and ``b``, by the ids of their processes."""

    def cluster(self, told: list[str], *, mixed_devices: bool = False) -> Cluster:
        place = Running(host_and_port(self.address))
        return Cluster(place, Equipment("cpu", 0), mixed_devices, told.append)

    def name(self, worker: str) -> str:
        """Return ``a`` or ``b`` for the name that Dask has of a worker. It contains the id of its process."""
        return self.names[int(worker.split("-")[-2])]


def catalogue(path: Path, n: int) -> str:
    path.write_text(
        '[town]\nfamily = "own"\ndescription = "d"\ndirected = true\n'
        f'generator = "path"\nparameters = {{n = {n}}}\n'
    )
    return str(path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Pair]:
    require_dask()
    folder = tmp_path_factory.mktemp("pair")
    bfsbench.search(bfsbench.generate("path", n=2), "push", backend="cpu")  # is compiled here, once
    (folder / "cache").mkdir()
    (folder / "cache" / "native").symlink_to(cache / "native")
    own = {"BFSBENCH_CACHE": str(folder / "cache"), "DAWDLE_S": "0.5"}
    head = distributed.SpecCluster(
        scheduler={"cls": distributed.Scheduler, "options": {"dashboard_address": ":0", "host": "127.0.0.1"}}
    )
    with starting(folder) as start:
        names = {}
        for name, n, variables in (("a", 9, {}), ("b", 10, own)):
            variables = {**variables, "BFSBENCH_DATASETS": catalogue(folder / f"{name}.toml", n)}
            words = (*BFSBENCH, "worker", head.scheduler_address.replace("tcp", "dask"), "--workers", "1")
            names[start(*words, variables=variables).pid] = name
        made = Pair(head.scheduler_address, folder, names)
        wait_for_workers(made, 2)
        yield made
    head.close()


def sweep(cluster: Cluster, graph: str, variant: str, count: int) -> list[Measured]:
    """Search from each of the first ``count`` vertices on a cluster. Returns the outcomes."""
    loaded = bfsbench.load(graph)
    points = [Point(loaded.full_name, source, variant, "cpu", None, 32) for source in range(count)]
    found = list(cluster.run(points, {loaded.full_name: loaded}, Method(1, 60)))
    assert sorted(int(outcome.row["source"]) for outcome in found) == list(range(count))
    return found


@contextmanager
def assembled(pair: Pair, told: list[str]) -> Iterator[Cluster]:
    """Return a context with a cluster of the workers ``a`` and ``b``."""
    with closing(pair.cluster(told)) as cluster:
        assert len(cluster.start().present) == 2
        yield cluster


def wait_for_workers(pair: Pair, count: int) -> None:
    """Wait until the scheduler has ``count`` workers."""
    with distributed.Client(pair.address, set_as_default=False) as client:
        wait_until(lambda: len(client.nthreads()) == count, 60)


@pytest.mark.exhaustive
def test_a_slow_worker_holds_back_little(pair: Pair) -> None:
    with assembled(pair, []) as cluster:
        loaded = bfsbench.load("path(n=8)")
        name = loaded.full_name
        settings = [Point(name, 0, "dawdles", "cpu", None, 32 * size) for size in range(1, 9)]
        found = list(cluster.run(settings, {name: loaded}, Method(1, 60)))
    names = [pair.name(outcome.worker) for outcome in found]
    assert set(names) == {"a", "b"}, "rows name the worker that they come from"
    assert names.count("b") <= 2


def test_a_worker_with_another_graph_is_left_out(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setenv("BFSBENCH_DATASETS", str(pair.folder / "a.toml"))
    with assembled(pair, told) as cluster:
        found = sweep(cluster, "town", "push", 6)
    assert {pair.name(outcome.worker) for outcome in found} == {"a"}
    (line,) = (line for line in told if "is left out" in line)
    assert pair.name(line.split()[1]) == "b"
    assert line.endswith("left out: its town:symmetrised is not the one that the sweep began with")


def test_a_sweep_ends_when_no_worker_is_left(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFSBENCH_DATASETS", catalogue(pair.folder / "third.toml", 11))
    monkeypatch.setattr(runner, "WITHOUT_WORKERS_S", 0.5)
    with (
        assembled(pair, []) as cluster,
        pytest.raises(ClusterError, match=r"no worker is left .* is not the one that the sweep began with"),
    ):
        sweep(cluster, "town", "push", 6)


def test_a_worker_that_has_lost_its_device_is_left_out(pair: Pair) -> None:
    """The process with the device is killed. No other process can start, because its libraries are gone."""
    told: list[str] = []
    libraries, elsewhere = pair.folder / "cache" / "native", pair.folder / "elsewhere"
    (started,) = (pid for pid, name in pair.names.items() if name == "b")
    with assembled(pair, told) as cluster:
        libraries.rename(elsewhere)
        libraries.touch()
        for child in psutil.Process(started).children():
            for grandchild in child.children():
                if any("bfsbench.bench.worker" in word for word in grandchild.cmdline()):
                    grandchild.kill()
        try:
            found = sweep(cluster, "path(n=8)", "cpu_queue", 8)
        finally:
            libraries.unlink()
            elsewhere.rename(libraries)
    rows = [(pair.name(outcome.worker), outcome.row["status"]) for outcome in found]
    assert rows == [("a", "ok")] * 8
    (line,) = (line for line in told if "is left out" in line)
    assert pair.name(line.split()[1]) == "b" and f"cannot write {libraries}" in line


def test_a_bug_on_a_worker_is_shown_as_it_is(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug is planted in the function that workers run."""

    def divided(_task: tasks.Assignment) -> float:
        return 1 / 0

    monkeypatch.setattr("bfsbench.cluster.runner.run_assignment", divided)
    with assembled(pair, []) as cluster, pytest.raises(ZeroDivisionError):
        sweep(cluster, "path(n=8)", "push", 4)


@pytest.mark.exhaustive
def test_a_worker_that_was_started_in_another_way_is_left_out(pair: Pair) -> None:
    words = ("worker", pair.address, "--nthreads", "2", "--no-dashboard", "--name", "stranger")
    with starting(pair.folder) as start:
        start(sys.executable, "-m", "dask", *words)
        wait_for_workers(pair, 3)
        told: list[str] = []
        with assembled(pair, told):
            pass
        assert any(line.endswith("is left out: it was not started by 'bfsbench worker'") for line in told)
    wait_for_workers(pair, 2)


@pytest.mark.exhaustive
def test_workers_with_different_code_are_refused_and_the_doctor_tells(pair: Pair) -> None:
    scheduler = pair.address.replace("tcp", "dask")
    with starting(pair.folder) as start:
        start(*BFSBENCH, "worker", scheduler, "--workers", "1", variables={"BFSBENCH_COMMIT": "other"})
        wait_for_workers(pair, 3)
        differ = pytest.raises(UsageError, match=r"differ in commit, '.*' and '.*': install the same")
        with closing(pair.cluster([], mixed_devices=True)) as cluster, differ:
            cluster.start()
        done = invoke("doctor", "--cluster", scheduler)
        told = invoke("doctor", "--cluster", scheduler, "--format", "json")
    assert done.exit_code == told.exit_code == 1
    assert re.search(r"^differs: commit: .*other \(", done.stdout, re.MULTILINE)
    assert re.search(r"^differs: cache: ", done.stdout, re.MULTILINE)
    found = json.loads(told.stdout)
    assert not found["works"] and len(found["workers"]) == 3
    assert all(facts["cache"].endswith(", shared") for facts in found["workers"]), "it is there for all"
    wait_for_workers(pair, 2)


def test_the_doctor_compares_with_the_machine_that_begins_a_sweep() -> None:
    worker = {"worker": "a", "python": "3.11.1", "version": "1", "commit": "c", "driver": "1"}
    here = {"worker": "this machine", "python": "3.12.0", "version": "1", "commit": "c"}
    assert Findings([worker], here).differences == ["python: 3.11.1 (a), 3.12.0 (this machine)"]
    assert Findings([worker, worker | {"worker": "b"}], worker).works
    assert Findings([worker | {"trouble": "no GPU"}], here).troubles == ["a: no GPU"]
    assert not Findings([], here).works


def test_a_worker_fetches_a_graph_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path / "cache"))
    with serving() as server:
        server.add("tiny.txt", SNAP)
        (tmp_path / "own.toml").write_text(entry(snap(f"{server.url}/tiny.txt", sha256=sha256(SNAP))))
        monkeypatch.setenv("BFSBENCH_DATASETS", str(tmp_path / "own.toml"))
        station = tasks.Station()
        for _ in range(2):
            assert station.graph("tiny:directed").num_vertices == 5
        assert len(server.requests) == 1


def test_points_run_in_the_environment_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    require_dask()
    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    tasks.Station()
    assert "MALLOC_TRIM_THRESHOLD_" not in os.environ
    assert os.environ["OMP_NUM_THREADS"] == "7"
