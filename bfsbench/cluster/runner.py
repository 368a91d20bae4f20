"""Measure the configurations of a sweep on a cluster: keep the list of workers, give them configurations, and
collect the outcomes. Also compare the workers of a cluster.
"""

from __future__ import annotations

import queue
import re
import tempfile
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from bfsbench.bench.child import undisturbed
from bfsbench.bench.options import Method
from bfsbench.bench.sweep import SAME_DEVICE
from bfsbench.bench.worker import START_LIMIT_S, DeviceInfo, Graphs, Measured, evenly, together
from bfsbench.cluster import launch
from bfsbench.cluster.address import Jobs, Place, Running, Tell
from bfsbench.cluster.launch import LOOPBACK, Wait, require_access_control, start_workers, starting, url
from bfsbench.cluster.tasks import (
    Assignment,
    Equipment,
    Introduction,
    Stranger,
    Unable,
    inspect,
    introduce,
    release,
    run_assignment,
)
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import failed_row, host_columns
from bfsbench.support.errors import BfsbenchError, UsageError, plural
from bfsbench.support.paths import cache_dir

if TYPE_CHECKING:
    from distributed import Client, Future, Security


T = TypeVar("T")

POLL_S = 1.0
WITHOUT_WORKERS_S = 30.0
"""Seconds that a sweep without workers waits for a worker to restart or join."""
SAME_CODE = ("version", "commit")


class ClusterError(BfsbenchError):
    """Raised if the sweep cannot continue, because no usable worker is left or the scheduler is lost."""


def ask(client: Client, question: Callable[[], T]) -> T:
    """Call ``question``, a function that needs the scheduler, and return its result.

    Raises ClusterError if the scheduler is lost. A TimeoutError of the function is passed on.
    """
    try:
        if client.status == "running":
            return question()
    except TimeoutError:
        raise
    except (CancelledError, OSError):
        pass  # a lost connection cancels all waiting calls
    raise ClusterError("the scheduler was lost: continue with --resume")


@dataclass(eq=False)
class Member:
    """A worker of the cluster that takes part in this sweep."""

    address: str
    introduction: Introduction
    last_seen: float
    """When a poll last found the worker, in seconds on the monotonic clock."""

    @property
    def name(self) -> str:
        return self.introduction.name


@dataclass(eq=False)
class Members:
    """The workers of a cluster that can take part in a sweep. The list is kept up to date while the sweep
    runs. ``tell`` is called with each message to the user."""

    client: Client
    equipment: Equipment
    mixed_devices: bool
    """True if workers may have different devices."""
    tell: Tell
    present: dict[str, Member] = field(default_factory=dict)
    """The workers that run points, by their addresses."""
    _asked: dict[str, Future[Any]] = field(default_factory=dict)
    _left_out: dict[str, str] = field(default_factory=dict)
    """The reasons why workers are left out, by the workers' addresses."""
    _polled: float = 0.0
    _alone: Wait | None = None
    """The wait for another worker, if no worker is left."""

    def assemble(self, count: int, what: str, limit_s: float | None) -> None:
        """Wait until ``count`` workers have joined and sent their descriptions. ``what`` is the term for the
        workers in messages to the user.

        Raises UsageError if none of the workers is usable, or if they differ too much from each other. Raises
        ClusterError if fewer than ``count`` workers join within ``limit_s`` seconds.
        """
        wait = Wait(what, self.tell, limit_s)
        while self._asked or len(self.present) + len(self._left_out) < count:
            objections = self._take_in(set(self.client.nthreads()))
            if objections:
                raise UsageError(objections[0])
            there = len(self.present)
            if wait.over(f"{there} of {count} there"):
                raise ClusterError(f"{there} of {count} workers came within {limit_s:g} s")
            time.sleep(POLL_S / 20)
        if not self.present:
            raise UsageError(next(iter(self._left_out.values())))

    def poll(self) -> list[Member]:
        """Admit workers that have joined, and return the workers that were lost.

        The list is empty if the last poll was less than POLL_S seconds ago. A worker counts as lost after two
        polls in a row do not find it. By the second poll, all messages that it has sent have arrived. Raises
        ClusterError after more than WITHOUT_WORKERS_S seconds without a worker.
        """
        now = time.monotonic()
        if now - self._polled < POLL_S:
            return []
        self._polled = now
        addresses = set(self.client.nthreads())
        for objection in self._take_in(addresses):
            self.tell(objection)
        for address in addresses & set(self.present):
            self.present[address].last_seen = now
        if self.present or self._asked:
            self._alone = None
        elif self._without_workers():
            reasons = "; ".join(dict.fromkeys(self._left_out.values()))
            why = f" ({reasons})" if reasons else ""
            raise ClusterError(f"no worker is left{why}: continue with --resume")
        return [member for member in self.present.values() if now - member.last_seen > 1.5 * POLL_S]

    def _without_workers(self) -> bool:
        self._alone = self._alone or Wait("another worker, as none is left", self.tell, WITHOUT_WORKERS_S)
        return self._alone.over()

    def forget(self, member: Member) -> None:
        """Remove a lost worker from the list, and tell the user. If a worker appears later at its address, it
        is treated as a new worker."""
        if self.present.pop(member.address, None):
            self.tell(f"worker {member.name} was lost: other workers get its points")

    def leave_out(self, member: Member, reason: str) -> None:
        """Exclude a worker from the rest of the sweep, and tell the user why."""
        if self.present.pop(member.address, None) is None:
            return
        self._left_out[member.address] = reason
        self.tell(f"worker {member.name} is left out: {reason}")

    def _take_in(self, addresses: set[str]) -> list[str]:
        """Ask new workers for their descriptions, and admit the workers that can take part in the sweep.

        Returns one message for each worker that differs too much from the present workers. A worker that
        cannot work at all is left out, and the user is told why.
        """
        self._left_out = {key: reason for key, reason in self._left_out.items() if key in addresses}
        for address in addresses - set(self.present) - set(self._asked) - set(self._left_out):
            self._asked[address] = self.client.submit(
                introduce, self.equipment, workers=[address], pure=False, priority=1
            )
        objections = []
        for address, future in list(self._asked.items()):
            if future.done() or address not in addresses:
                del self._asked[address]
            if not future.done() or address not in addresses:
                continue
            answer = future.result() if future.status == "finished" else Unable(str(future.exception()))
            if isinstance(answer, Unable):
                self._left_out[address] = answer.reason
                self.tell(f"worker {address} is left out: {answer.reason}")
            elif against := self._against(answer):
                self._left_out[address] = against
                objections.append(against)
            else:
                self.present[address] = Member(address, answer, time.monotonic())
        return objections

    def _against(self, newcomer: Introduction) -> str | None:
        """Return the reason why a new worker cannot take part in a sweep with the present workers, or None if
        it can."""
        for member in self.present.values():
            if against := objection(member.introduction, newcomer, self.mixed_devices):
                return against
        return None


def objection(here: Introduction, newcomer: Introduction, mixed_devices: bool) -> str | None:
    """Return the reason why two workers cannot take part in one sweep, or None if they can."""
    ours, theirs = here.origin(), newcomer.origin()
    pair = f"workers {here.name} and {newcomer.name}"
    if theirs.get("gpu_bus_id") and all(ours[key] == theirs[key] for key in ("host", "gpu_bus_id")):
        return f"{pair} are on the same GPU: start them with 'bfsbench worker', which gives each its own"
    where = [each.device and each.device.backend for each in (here, newcomer)]
    if where[0] != where[1]:
        return f"{pair} have different backends, {where[0]} and {where[1]}: choose one with --backend"
    for name in (*SAME_CODE, *(() if mixed_devices else SAME_DEVICE)):
        if ours.get(name) != theirs.get(name):
            fix = "install the same everywhere" if name in SAME_CODE else "allow it by --mixed-devices"
            return f"{pair} differ in {name}, '{ours.get(name)}' and '{theirs.get(name)}': {fix}"
    return None


Group = tuple[Point, ...]
"""Points that differ only in their sources. One worker times them in rotation."""


class Shares:
    """A queue of the groups of points (configurations) that wait for a worker, sorted by graph.

    A worker takes groups of one graph until no group of this graph is waiting. The worker then changes to the
    graph with the most waiting work per worker, counting itself as one of the graph's workers. So the workers
    first spread over the graphs. At the end, several workers share each of the last graphs. The work of a
    point is estimated by the graph's number of edges in ``sizes``. The estimate is crude, but workers that
    finish early take another graph.
    """

    def __init__(self, groups: Iterable[Group], sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._waiting: dict[str, deque[Group]] = {}
        self._graph_of: dict[str, str] = {}
        for group in groups:
            self._waiting.setdefault(group[0].graph, deque()).append(group)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, worker: str) -> Group | None:
        """Remove the next group of points for a worker from the waiting groups, and return it. Returns None
        if no group is waiting."""
        if not self._waiting.get(self._graph_of.get(worker, "")):
            self.leave(worker)
            others = Counter(self._graph_of.values())
            left = {
                graph: sum(map(len, groups)) * max(1, self._sizes[graph]) / (1 + others[graph])
                for graph, groups in self._waiting.items()
                if groups
            }
            if not left:
                return None
            self._graph_of[worker] = max(left, key=lambda graph: left[graph])
        return self._waiting[self._graph_of[worker]].popleft()

    def give_back(self, *groups: Group) -> None:
        """Put back groups of points of one graph that were taken but not run. A worker that takes groups of
        this graph gets them first."""
        self._waiting[groups[0][0].graph].extendleft(reversed(groups))

    def leave(self, worker: str) -> None:
        """Record that a worker no longer works on a graph. The worker's next group of points may be of any
        graph."""
        self._graph_of.pop(worker, None)


def _spread(groups: Sequence[list[Point]], workers: int) -> Iterator[list[Point]]:
    """Yield groups of points so that every worker can get a group. If there are fewer groups than workers,
    groups of at least four points are split."""
    parts = -(-workers // max(1, len(groups)))
    for group in groups:
        yield from evenly(group, max(1, min(parts, len(group) // 2)))


AT_A_WORKER = 4
"""The largest number of tasks that are sent to a worker at a time: the task that it runs, and further tasks.

The further tasks keep the worker busy, because a new task takes about 10 ms to arrive, and the worker may run
a task in less time.
"""
ANSWER_LIMIT_S = 2.0
"""Seconds to fetch the result of a finished task, whose worker may have died since."""


@dataclass(frozen=True)
class Ticket:
    """A group of points that was given to a worker, with Dask's future of the task that runs the group."""

    key: str
    group: Group
    member: Member
    future: Future[Any]


@dataclass(eq=False)
class Dispatch:
    """Runs points (configurations) on the workers of a cluster. Iterating over it yields their outcomes.

    If a worker dies, Dask would repeat its tasks on other workers. A point that kills one worker would then
    kill all of them. So each task may run on one worker process only, and this class gives the points of a
    lost worker to other workers. The points of the task that the lost worker had begun are run one by one. If
    a point runs alone and its worker is lost, it gets a row with the status ``crash``.
    """

    client: Client
    members: Members
    equipment: Equipment
    points: Sequence[Point]
    graphs: Graphs
    method: Method

    def __post_init__(self) -> None:
        groups = map(tuple, _spread([*together(self.points, self.graphs)], len(self.members.present)))
        self._shares = Shares(groups, {name: graph.num_edges for name, graph in self.graphs.items()})
        self._tickets: dict[str, Ticket] = {}
        """Tickets by the keys of their tasks, in the order in which they were given to workers."""
        self._answered: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._begun: dict[str, str] = {}
        """A dictionary that maps a worker's address to the key of the task that this worker began last."""
        self._topic = f"bfsbench-{uuid.uuid4()}"
        self.client.subscribe_topic(self._topic, self._note_begun)

    def __iter__(self) -> Iterator[Measured]:
        """Yield the outcome of each point (configuration) as it arrives. Raises ClusterError if no worker is
        left."""
        while self._shares or self._tickets:
            for member in ask(self.client, self.members.poll):
                yield from self._lose(member)
            for member in self.members.present.values():
                self._hand_out(member)
            try:
                ticket = self._tickets.get(self._answered.get(timeout=POLL_S))
            except queue.Empty:
                continue
            if ticket is not None:
                yield from self._settle(ticket)

    def _hand_out(self, member: Member) -> None:
        """Send groups of points to a worker until the worker has enough tasks."""
        held = sum(ticket.member is member for ticket in self._tickets.values())
        while held < min(AT_A_WORKER, 1 + len(self._shares) // (2 * len(self.members.present))):
            group = self._shares.take(member.address)
            if group is None:
                return
            held += 1
            key = f"{group[0].variant}-{uuid.uuid4()}"  # Dask's displays show the part before the uuid
            identity, checksum = member.introduction.identity, self.graphs[group[0].graph].checksum
            task = Assignment(key, self._topic, identity, self.equipment, group, checksum, self.method)
            future = self.client.submit(run_assignment, task, key=key, workers=[member.address], pure=False)
            self._tickets[key] = Ticket(key, group, member, future)
            future.add_done_callback(lambda _future, key=key: self._answered.put(key))

    def _settle(self, ticket: Ticket) -> Iterator[Measured]:
        """Yield the outcomes of a finished task. If the worker could not run the task, give the task's points
        to other workers."""
        try:
            answer = ask(self.client, lambda: self._answer(ticket.future))
        except TimeoutError:
            self._answered.put(ticket.key)
            return
        if isinstance(answer, Stranger):
            yield from self._lose(ticket.member)
            return
        if isinstance(answer, BaseException):
            raise answer
        del self._tickets[ticket.key]
        if isinstance(answer, Unable):
            self._shares.give_back(ticket.group)
            self._shares.leave(ticket.member.address)
            self.members.leave_out(ticket.member, answer.reason)
        else:
            yield from (replace(measured, worker=ticket.member.name) for measured in answer)

    def _answer(self, future: Future[Any]) -> list[Measured] | Unable | Stranger | BaseException:
        """Return the result of a task. If the task raised an exception, return the exception.

        The exception is not raised, because ``ask`` would mistake some exceptions for a lost connection.
        Raises TimeoutError if the result does not arrive in time.
        """
        from distributed import KilledWorker

        if future.status != "error":
            answer: list[Measured] | Unable | Stranger = future.result(timeout=ANSWER_LIMIT_S)
            return answer
        error = future.exception()
        return Stranger() if isinstance(error, KilledWorker) else error

    def _lose(self, member: Member) -> Iterator[Measured]:
        """Give the points of a lost worker to other workers.

        If the worker had begun a task of one point, this point counts as crashed, and its outcome is yielded.
        """
        self.members.forget(member)
        self._shares.leave(member.address)
        for ticket in [each for each in self._tickets.values() if each.member is member]:
            del self._tickets[ticket.key]
            ticket.future.cancel()
            if ticket.key != self._begun.get(member.address):
                self._shares.give_back(ticket.group)
                continue
            if len(ticket.group) > 1:
                self._shares.give_back(*((point,) for point in ticket.group))
                continue
            (point,), who = ticket.group, member.introduction
            description = who.device.description if who.device else {}
            reason = f"worker {who.name} was lost"
            row = failed_row(point, self.graphs[point.graph], description, "crash", reason)
            yield Measured(row | who.host, worker=who.name)

    def _note_begun(self, event: tuple[float, Mapping[str, str]]) -> None:
        _stamp, message = event
        self._begun[message["worker"]] = message["key"]


CLOSE_LIMIT_S = 2.0


@dataclass
class Cluster:
    """A runner that spreads the configurations of a sweep over the workers of a Dask cluster.

    ``tell`` is called with each message to the user.
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
        """Connect to the scheduler, wait for the workers, and check that they are compatible. Raises
        UsageError if the workers cannot be reached, or if they differ too much from each other. Raises
        ClusterError if too few workers join.
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
        """Start workers, unless they are already running, and connect to their scheduler.

        Returns Dask's client, and the number of workers that were started or submitted, or 1 if the workers
        are already running. Raises UsageError if the scheduler or the workers cannot be started or reached.
        Raises InputError for a malformed file of settings, and ToolchainError if a package is missing.
        """
        with undisturbed(), Wait(starting(self.place), self.tell).beside():
            backend = self.equipment.backend
            started = start_workers(self.place, backend, self.security, self.insecure)
            self._workers, count, security = started
        scheduler = url(self.place, security) if isinstance(self.place, Running) else self._workers
        self.client = launch.connect(scheduler, security, self.tell)
        require_access_control(self.client.scheduler_info()["address"], self.insecure, self.tell)
        return self.client, count

    def _expected(self, count: int) -> tuple[int, str, float | None]:
        """Return what a sweep waits for before it begins: the number of workers, a description of these
        workers, and the time limit in seconds. A limit of None stands for a wait without a limit.

        ``count`` is the number of workers that ``connect`` returned.
        """
        place = self.place
        if isinstance(place, Jobs):  # a queue may take days: begin with the first job
            return 1, f"the first of {plural(count, f'{place.queue} job')} to start", None
        if isinstance(place, Running):
            return count, f"what 'bfsbench worker dask://{place.scheduler}' starts", START_LIMIT_S
        return count, f"{plural(count, 'worker')} on this machine", START_LIMIT_S

    def _dashboard(self) -> str:
        """Return the address of Dask's dashboard.

        A scheduler that this process started serves the dashboard on 127.0.0.1 only.
        """
        assert self.client is not None
        link = self.client.dashboard_link or "none"
        return link if self._workers is None else re.sub("//.*:", f"//{LOOPBACK}:", link)

    def origins(self) -> list[dict[str, str]]:
        return [member.introduction.origin() for member in self.start().present.values()]

    def run(self, points: Sequence[Point], graphs: Graphs, method: Method) -> Iterator[Measured]:
        """Yield the outcome of each point (configuration). The points are distributed over all workers.
        Raises ClusterError if no worker is left."""
        members = self.start()
        assert self.client is not None
        yield from Dispatch(self.client, members, self.equipment, points, graphs, method)

    def close(self) -> None:
        """End the workers that this process started. Workers that were started elsewhere keep running, but
        close their devices."""
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
    """The properties of all workers of a cluster and of this machine, and the properties in which they
    differ."""

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
        """One line of text for each property in which workers differ from each other. For the properties in
        SAME_AS_HERE, this machine is compared too."""
        everywhere = [*self.workers, self.here]
        lines = [_difference(name, everywhere if name in SAME_AS_HERE else self.workers) for name in ALIKE]
        return [line for line in lines if line]


def _difference(name: str, facts: Sequence[Mapping[str, str]]) -> str:
    """Return a line that shows each value of a property with the workers that have this value, such as
    ``driver: 580.1 (a, b), 570.2 (c)``. Returns an empty string if all values are equal."""
    values = Counter(one.get(name, "") for one in facts)
    if len(values) < 2:
        return ""
    who = {value: [one["worker"] for one in facts if one.get(name, "") == value] for value in values}
    return f"{name}: " + ", ".join(f"{value or 'none'} ({', '.join(names)})" for value, names in who.items())


def examine(place: Place, security: Security | None, tell: Tell, insecure: bool) -> Findings:
    """Ask every worker of a cluster for its properties. Returns the properties of all workers and of this
    machine.

    ``tell`` is called with each message to the user, such as a warning. If other machines can reach the
    cluster and it has no certificates, ``insecure`` must be true. Raises UsageError if no worker can be
    reached, and BfsbenchError if the workers do not answer in time.
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
