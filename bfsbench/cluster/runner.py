"""Run the points of a sweep on a cluster, and compare the workers of a cluster."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfsbench.bench.child import undisturbed
from bfsbench.bench.options import Method
from bfsbench.bench.runner import Graphs, Measured
from bfsbench.bench.worker import START_LIMIT_S, DeviceInfo
from bfsbench.cluster.address import Jobs, Place, Running, Tell
from bfsbench.cluster.dispatch import Dispatch, Members, ask
from bfsbench.cluster.launch import (
    LOOPBACK,
    Wait,
    connect,
    require_access_control,
    start_workers,
    starting,
    url,
)
from bfsbench.cluster.tasks import Equipment, inspect, release
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import host_columns
from bfsbench.support.errors import BfsbenchError, plural
from bfsbench.support.paths import cache_dir

if TYPE_CHECKING:
    from distributed import Client, Security

CLOSE_LIMIT_S = 2.0


@dataclass
class Cluster:
    """A Runner that spreads points over the workers of a Dask cluster.

    ``tell`` is called with lines for the user.
    """

    place: Place
    equipment: Equipment
    mixed_devices: bool
    """True if workers may have different devices."""
    tell: Tell
    security: Security | None = None
    """The certificates of scheduler and workers. Without them, a cluster beyond this machine has no access
    control."""
    insecure: bool = False
    """True if a cluster beyond this machine is accepted without certificates."""
    device: DeviceInfo | None = None
    client: Client | None = None
    """Dask's client. None until the cluster is started."""
    _workers: Any = None
    """Dask's object for the workers that this process started."""
    _members: Members | None = field(default=None, repr=False)

    def start(self) -> Members:
        """Connect to the scheduler, wait for the workers, and check that they are compatible.

        Raises UsageError and ClusterError.
        """
        if self._members is not None:
            return self._members
        client, workers = self.connect()
        self.tell(f"Dask's dashboard: {self._dashboard()}")
        members = Members(client, self.equipment, self.mixed_devices, self.tell)
        count, what, limit_s = self._expected(workers)
        ask(client, lambda: members.assemble(count, what, limit_s))
        self._members = members
        self.device = next(iter(members.present.values())).introduction.device
        hosts = {origin["host"] for origin in self.origins()}
        self.tell(f"workers: {len(members.present)} on {', '.join(sorted(hosts))}")
        return members

    def connect(self) -> tuple[Client, int]:
        """Start workers, unless they run already, and connect to their scheduler.

        Returns Dask's client, and how many workers must have joined before a sweep begins. Raises UsageError,
        InputError and ToolchainError.
        """
        with undisturbed(), Wait(starting(self.place), self.tell).beside():
            backend = self.equipment.backend
            started = start_workers(self.place, backend, self.security, self.insecure)
            self._workers, count, security = started
        scheduler = url(self.place, security) if isinstance(self.place, Running) else self._workers
        self.client = connect(scheduler, security, self.tell)
        require_access_control(self.client.scheduler_info()["address"], self.insecure, self.tell)
        return self.client, count

    def _expected(self, count: int) -> tuple[int, str, float | None]:
        """Return how many workers a sweep begins with, a description of them, and for how many seconds it
        waits.

        None stands for no limit.
        """
        place = self.place
        if isinstance(place, Jobs):  # a queue may take days: begin with the first job
            return 1, f"the first of {plural(count, f'{place.queue} job')} to start", None
        if isinstance(place, Running):
            return count, f"what 'bfsbench worker dask://{place.scheduler}' starts", START_LIMIT_S
        return count, f"{plural(count, 'worker')} on this machine", START_LIMIT_S

    def _dashboard(self) -> str:
        """Return the address of Dask's dashboard.

        A scheduler that this process started serves it on 127.0.0.1 only.
        """
        assert self.client is not None
        link = self.client.dashboard_link or "none"
        return link if self._workers is None else re.sub("//.*:", f"//{LOOPBACK}:", link)

    def origins(self) -> list[dict[str, str]]:
        return [member.introduction.origin() for member in self.start().present.values()]

    def run(self, points: Sequence[Point], graphs: Graphs, method: Method) -> Iterator[Measured]:
        """Yield the outcome of each point, which any worker may run.

        Raises ClusterError if no worker is left.
        """
        members = self.start()
        assert self.client is not None
        yield from Dispatch(self.client, members, self.equipment, points, graphs, method)

    def close(self) -> None:
        """End the workers that this process started. All other workers close their devices."""
        client, members = self.client, self._members
        if isinstance(self.place, Running) and client is not None and members is not None:
            from distributed import fire_and_forget

            for address in members.present if client.status == "running" else ():
                fire_and_forget(client.submit(release, workers=[address], pure=False))
        self.stop()

    def stop(self) -> None:
        """Kill the workers and the scheduler that this process started."""
        if self.client is not None:
            self.client.close(timeout=CLOSE_LIMIT_S)
        if self._workers is not None:
            self._workers.close()
        self.client = self._workers = self._members = None


ALIKE = ("gpu", "compute_capability", "driver", "cuda", "host_cpu", "python", "version", "commit", "cache")
"""Properties in which the workers of one sweep should be equal."""
SAME_AS_HERE = ("python", "version", "commit")
"""Properties in which workers should be equal to the machine that begins the sweep."""


@dataclass(frozen=True)
class Findings:
    """The properties of all workers of a cluster and of this machine, and their differences."""

    workers: list[dict[str, str]]
    """For each worker its name, its provenance columns, and ``trouble`` if it cannot work."""
    here: dict[str, str]

    @property
    def works(self) -> bool:
        """True if a sweep could use all workers."""
        return bool(self.workers) and not self.troubles and not self.differences

    @property
    def troubles(self) -> list[str]:
        return [f"{facts['worker']}: {facts['trouble']}" for facts in self.workers if "trouble" in facts]

    @property
    def differences(self) -> list[str]:
        """One line for each property that is not equal everywhere."""
        everywhere = [*self.workers, self.here]
        lines = [_difference(name, everywhere if name in SAME_AS_HERE else self.workers) for name in ALIKE]
        return [line for line in lines if line]


def _difference(name: str, facts: Sequence[Mapping[str, str]]) -> str:
    """Return a line such as ``driver: 580.1 (a, b), 570.2 (c)``; empty if all values are equal."""
    values = Counter(one.get(name, "") for one in facts)
    if len(values) < 2:
        return ""
    who = {value: [one["worker"] for one in facts if one.get(name, "") == value] for value in values}
    return f"{name}: " + ", ".join(f"{value or 'none'} ({', '.join(names)})" for value, names in who.items())


def examine(place: Place, security: Security | None, tell: Tell, insecure: bool) -> Findings:
    """Ask every worker of a cluster for its properties, and return what was found.

    ``tell`` is called with lines about waiting and with warnings. A cluster beyond this machine without
    certificates must be accepted by ``insecure``. Raises UsageError and BfsbenchError if no worker can be
    reached.
    """
    cluster = Cluster(place, Equipment("auto", 0), True, tell, security, insecure)
    try:
        client, count = cluster.connect()
        with Wait(plural(count, "worker"), tell, START_LIMIT_S).beside():
            client.wait_for_workers(count, timeout=START_LIMIT_S)
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            questions = [
                client.submit(inspect, probe.name, workers=[address], pure=False)
                for address in client.nthreads()
            ]
            found = [question.result(timeout=START_LIMIT_S) for question in questions]
    except TimeoutError:
        raise BfsbenchError(f"the workers did not answer within {START_LIMIT_S:g} s") from None
    finally:
        cluster.stop()
    here = {"worker": "this machine", **host_columns()}
    return Findings(sorted(found, key=lambda facts: facts["worker"]), here)
