"""Run the points of a sweep on a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfsbench.bench.options import Method
from bfsbench.bench.runner import Measured
from bfsbench.bench.worker import START_LIMIT_S, DeviceInfo
from bfsbench.cluster.address import Jobs, Place, Running
from bfsbench.cluster.certificates import Certificates
from bfsbench.cluster.dispatch import Dispatch, Members, ask
from bfsbench.cluster.launch import (
    LOOPBACK,
    Wait,
    connect,
    require_access_control,
    start_workers,
    starting,
    undisturbed,
)
from bfsbench.cluster.tasks import Equipment, release
from bfsbench.graphs.graph import Graph
from bfsbench.rows.point import Point
from bfsbench.support.errors import plural

if TYPE_CHECKING:
    from distributed import Client

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
    tell: Callable[[str], None]
    certificates: Certificates | None = None
    """Certificates for scheduler and workers. Without them, a cluster beyond this machine has no access
    control."""
    insecure: bool = False
    """True if a cluster beyond this machine without access control is accepted."""
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
        security = self.certificates.security() if self.certificates else None
        with undisturbed(), Wait(starting(self.place), self.tell).beside():
            started = start_workers(self.place, self.equipment.backend, security, self.insecure)
            self._workers = started.workers
        self.client = connect(self.place, started, self.tell)
        require_access_control(self.client.scheduler_info()["address"], self.insecure, self.tell)
        self.tell(f"Dask's dashboard: {self._dashboard()}")
        members = Members(self.client, self.equipment, mixed_devices=self.mixed_devices, tell=self.tell)
        count, what, limit_s = self._expected(started.count)
        ask(self.client, lambda: members.assemble(count, what, limit_s))
        self._members = members
        self.device = next(iter(members.present.values())).introduction.device
        hosts = {origin["host"] for origin in self.origins()}
        self.tell(f"workers: {len(members.present)} on {', '.join(sorted(hosts))}")
        return members

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

    def run(self, points: Sequence[Point], graphs: Mapping[str, Graph], method: Method) -> Iterator[Measured]:
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
