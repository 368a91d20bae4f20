"""The functions that Dask calls on a worker, one at a time, in its only thread.

Each worker keeps one :class:`bfsbench.bench.worker.Worker` between tasks, as long as sweeps use the same
backend, and the description of the graph in use. Tasks carry the names of graphs only; the process that uses
the device reads the arrays.
"""

from __future__ import annotations

import multiprocessing
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import dask
import distributed
from distributed.utils import sync

from bfsbench import doctor
from bfsbench.bench import provenance
from bfsbench.bench.point import Point
from bfsbench.bench.runner import Measured, Method
from bfsbench.bench.worker import DeviceInfo, Worker
from bfsbench.errors import BfsbenchError, UsageError
from bfsbench.graphs import files
from bfsbench.graphs.fetch import Fetcher, Stage
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load, resolve
from bfsbench.paths import cache_dir


@dataclass(frozen=True)
class Equipment:
    """The arguments of Worker."""

    backend: str | None
    schedule_seed: int


@dataclass(frozen=True)
class Introduction:
    """A worker's description of itself."""

    name: str
    identity: str
    """Identifies the process: one that replaces it has another."""
    host: dict[str, str]
    """Provenance columns of its machine."""
    device: DeviceInfo | None

    def origin(self) -> dict[str, str]:
        """Provenance columns of its rows."""
        return {**self.host, **(self.device.description if self.device else {})}


@dataclass(frozen=True)
class Assignment:
    """A point that a worker is to run."""

    key: str
    """Of the task."""
    topic: str
    """Of Dask's events, on which the worker announces that it begins."""
    identity: str
    """Identifies the process that should run it."""
    equipment: Equipment
    point: Point
    checksum: str
    """Checksum of the graph to be searched."""
    method: Method


@dataclass(frozen=True)
class Unable:
    """A worker cannot work, and why; the point it was given was not run."""

    reason: str


@dataclass(frozen=True)
class Stranger:
    """The task was for another process at this address; it was not run."""


class Station:
    """The state that one Dask worker keeps between tasks."""

    def __init__(self) -> None:
        _leave_dasks_environment()
        self.identity = uuid.uuid4().hex
        self._equipment: Equipment | None = None
        self._worker = Worker(None)
        self._graph: tuple[str, Graph] | None = None

    def worker(self, equipment: Equipment) -> Worker:
        """The worker process's handle, started. Raises BfsbenchError when its device cannot be opened."""
        if equipment != self._equipment:
            self._worker.close()
            self._worker = Worker(equipment.backend, equipment.schedule_seed)
            self._equipment = equipment
        self._worker.start()
        return self._worker

    def graph(self, name: str) -> Graph:
        """A graph by its full name, fetched if it is missing. Raises BfsbenchError."""
        if self._graph is None or self._graph[0] != name:
            dataset = resolve(name).dataset
            if dataset is not None and not dataset.generated and files.held(dataset) is None:
                Fetcher(_Quiet()).fetch(dataset)
            self._graph = (name, load(name))
        return self._graph[1]

    def release(self) -> None:
        """Close the device."""
        self._worker.close()
        self._equipment = self._graph = None


def _leave_dasks_environment() -> None:
    """Drop the variables that Dask sets for its workers, so that points run as in a sweep of one process. Its
    MALLOC_TRIM_THRESHOLD_ makes each large array page in again, which has cost a tenth of the time.
    """
    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items():
        if os.environ.get(name) == str(value):
            del os.environ[name]


_stations: WeakKeyDictionary[distributed.Worker, Station] = WeakKeyDictionary()


def _station() -> Station:
    return _stations.setdefault(distributed.get_worker(), Station())


def introduce(equipment: Equipment) -> Introduction | Unable:
    """Open the worker's device and describe it."""
    worker, station = distributed.get_worker(), _station()
    if multiprocessing.current_process().daemon or worker.state.nthreads != 1:
        return Unable("it was not started by 'bfsbench worker'")
    try:
        device = station.worker(equipment).device
    except BfsbenchError as error:
        return Unable(str(error))
    return Introduction(str(worker.name), station.identity, provenance.host_columns(), device)


def run_assignment(task: Assignment) -> Measured | Unable | Stranger:
    """Run a point as a sweep on one device does."""
    worker, station = distributed.get_worker(), _station()
    if station.identity != task.identity:
        return Stranger()
    # Waits until the scheduler has the event: the point may kill this process and its unsent messages.
    begun = {"worker": worker.address, "key": task.key}
    sync(worker.loop, worker.scheduler.log_event, topic=task.topic, msg=begun)
    try:
        graph = station.graph(task.point.graph)
        if graph.checksum != task.checksum:
            raise UsageError(f"its {task.point.graph} is not the one that the sweep began with")
        return station.worker(task.equipment).run_point(task.point, graph, task.method)
    except (BfsbenchError, OSError) as error:
        return Unable(str(error))


def release() -> None:
    """Close the worker's device."""
    _station().release()


def inspect(probe: str) -> dict[str, str]:
    """Facts for 'bfsbench doctor'; ``probe`` is the path of a file in the caller's cache folder."""
    introduction = introduce(Equipment("auto", 0))
    cache = doctor.cache_folder()
    facts = {"worker": str(distributed.get_worker().name), **provenance.host_columns()}
    troubles = [introduction.reason] if isinstance(introduction, Unable) else []
    troubles += [cache.detail] if cache.state != "ok" else []
    if isinstance(introduction, Introduction):
        facts |= introduction.origin()
    if troubles:
        facts["trouble"] = "; ".join(troubles)
    release()
    facts["cache"] = f"{cache_dir()}, {'shared' if Path(probe).exists() else 'its own'}"
    return facts


class _Quiet:
    """A fetch display that shows nothing."""

    def stage(self, name: str, stage: Stage, detail: str = "") -> None: ...

    def progress(self, name: str, done: int, total: int | None) -> None: ...

    def note(self, name: str, text: str) -> None: ...

    def finish(self, name: str, outcome: str, failed: bool) -> None: ...
