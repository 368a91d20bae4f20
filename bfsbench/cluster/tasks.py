"""Define the functions that Dask calls on a worker. Dask calls one function at a time.

Each Dask worker keeps one :class:`bfsbench.bench.worker.Worker` between tasks, until a sweep uses another
backend. The Dask worker also keeps the description of the graph in use. Tasks contain only the names of
graphs, and the process that uses the device reads the arrays. A separate task collects the properties of
workers.
"""

import multiprocessing
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import dask
import distributed
from distributed.utils import sync

from bfsbench.bench.options import Method
from bfsbench.bench.worker import DeviceInfo, Measured, Worker
from bfsbench.graphs import files
from bfsbench.graphs.fetch import Fetcher, Stage
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load_parsed, resolve
from bfsbench.rows import provenance
from bfsbench.rows.point import Point
from bfsbench.support import doctor
from bfsbench.support.errors import BfsbenchError, UsageError
from bfsbench.support.paths import cache_dir


@dataclass(frozen=True)
class Equipment:
    """The backend and the seed with which a Dask worker makes its :class:`bfsbench.bench.worker.Worker`."""

    backend: str | None
    schedule_seed: int


@dataclass(frozen=True)
class Introduction:
    """The description that a Dask worker sends: its machine, its device and its software."""

    name: str
    identity: str
    """Identifies the worker process. A process that replaces it has another identity."""
    host: dict[str, str]
    device: DeviceInfo | None

    def origin(self) -> dict[str, str]:
        """Return the columns of the worker's result rows that describe its device, machine and software."""
        return {**self.host, **(self.device.description if self.device else {})}


@dataclass(frozen=True)
class Assignment:
    """A task for a Dask worker: points (configurations) of one graph. In each round, the worker takes one
    sample of each point."""

    key: str
    topic: str
    """The topic of Dask's events on which the worker announces that it begins."""
    identity: str
    """Identifies the worker process that should run the task."""
    equipment: Equipment
    points: tuple[Point, ...]
    checksum: str
    method: Method


@dataclass(frozen=True)
class Unable:
    """The answer of a worker that cannot run its task, with the reason. No point of the task was run."""

    reason: str


@dataclass(frozen=True)
class Stranger:
    """A worker's answer to a task that it refuses, because the task was meant for another process that had
    the same address earlier. No point of the task was run."""


class Station:
    """The objects that one Dask worker keeps from task to task."""

    def __init__(self) -> None:
        for name, value in dask.config.get("distributed.nanny.pre-spawn-environ").items():
            if os.environ.get(name) == str(value):
                del os.environ[name]
        self.identity = uuid.uuid4().hex
        self._equipment: Equipment | None = None
        self._worker = Worker(None)
        self._graph: tuple[str, Graph] | None = None

    def worker(self, equipment: Equipment) -> Worker:
        """Return a started :class:`bfsbench.bench.worker.Worker` that uses this backend and seed. Raises
        BfsbenchError if its device cannot be opened.
        """
        if equipment != self._equipment:
            self._worker.close()
            self._worker = Worker(equipment.backend, equipment.schedule_seed)
            self._equipment = equipment
        self._worker.start()
        return self._worker

    def graph(self, name: str) -> Graph:
        """Return a graph by its full name. If the graph's file is not on this machine, it is downloaded
        first. Raises BfsbenchError if the graph cannot be fetched or loaded."""
        if self._graph is None or self._graph[0] != name:
            request = resolve(name)
            dataset = request.dataset
            if dataset is not None and not dataset.generated and files.held(dataset) is None:
                Fetcher(_Quiet()).fetch(dataset)
            self._graph = (name, load_parsed(request))
        return self._graph[1]

    def release(self) -> None:
        self._worker.close()
        self._equipment = self._graph = None


_stations: WeakKeyDictionary[distributed.Worker, Station] = WeakKeyDictionary()


def _station() -> Station:
    return _stations.setdefault(distributed.get_worker(), Station())


def introduce(equipment: Equipment) -> Introduction | Unable:
    """Open the worker's device. Returns the worker's description. If the worker cannot work, returns an
    Unable object with the reason."""
    worker, station = distributed.get_worker(), _station()
    if multiprocessing.current_process().daemon or worker.state.nthreads != 1:
        return Unable("it was not started by 'bfsbench worker'")
    try:
        device = station.worker(equipment).device
    except BfsbenchError as error:
        return Unable(str(error))
    return Introduction(str(worker.name), station.identity, provenance.host_columns(), device)


def run_assignment(task: Assignment) -> list[Measured] | Unable | Stranger:
    """Run the points (configurations) of a task on this worker's device, and return their outcomes.

    Returns Unable if this worker cannot run the points. Returns Stranger if the task was meant for an earlier
    worker process at this address.
    """
    worker, station = distributed.get_worker(), _station()
    if station.identity != task.identity:
        return Stranger()
    # Wait until the scheduler has received the event, because a point may kill this process.
    begun = {"worker": worker.address, "key": task.key}
    sync(worker.loop, worker.scheduler.log_event, topic=task.topic, msg=begun)
    try:
        name = task.points[0].graph
        graph = station.graph(name)
        if graph.checksum != task.checksum:
            raise UsageError(f"its {name} is not the one that the sweep began with")
        return [*station.worker(task.equipment).run_group(task.points, graph, task.method)]
    except (BfsbenchError, OSError) as error:
        return Unable(str(error))


def release() -> None:
    _station().release()


def inspect(probe: str) -> dict[str, str]:
    """Return facts about this worker for 'bfsbench doctor'.

    ``probe`` is the path of a file in the caller's cache folder. If this file exists on the worker's machine,
    the two machines share the cache.
    """
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
    """A display for downloads on a worker, which shows nothing."""

    def stage(self, name: str, stage: Stage, detail: str = "") -> None: ...

    def progress(self, name: str, done: int, total: int | None) -> None: ...

    def note(self, name: str, text: str) -> None: ...

    def finish(self, name: str, outcome: str, failed: bool) -> None: ...
