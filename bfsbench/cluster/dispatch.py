"""Give points to workers, choose the points of each worker, and collect the outcomes."""

from __future__ import annotations

import queue
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bfsbench.bench.options import Method
from bfsbench.bench.runner import Measured, evenly, together
from bfsbench.cluster.members import POLL_S, Member, Members, ask
from bfsbench.cluster.tasks import Assignment, Equipment, Stranger, Unable, run_assignment
from bfsbench.graphs.graph import Graph
from bfsbench.rows.point import Point
from bfsbench.rows.row import failed_row

if TYPE_CHECKING:
    from distributed import Client, Future


Group = tuple[Point, ...]
"""Points that differ only in their sources. One worker times them in rotation."""


class Shares:
    """The groups of points that no worker has yet, by graph.

    A worker keeps its graph while the graph has groups left. Then it takes the graph with the most work left
    per worker, counting this worker. So workers spread over the graphs, and share the last graphs. The work
    of a point is estimated by the graph's number of edges in ``sizes``. The estimate is crude, but workers
    that finish early take another graph.
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
        """Remove and return the next group for a worker, or None if there is none."""
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
        """Put back groups of one graph that were taken and not run. They will be taken first."""
        self._waiting[groups[0][0].graph].extendleft(reversed(groups))

    def leave(self, worker: str) -> None:
        """Record that a worker has no graph any more."""
        self._graph_of.pop(worker, None)


def _spread(groups: Sequence[list[Point]], workers: int) -> Iterator[list[Point]]:
    """Split groups of at least four points into smaller groups, if there are fewer groups than workers."""
    parts = -(-workers // max(1, len(groups)))
    for group in groups:
        yield from evenly(group, max(1, min(parts, len(group) // 2)))


AT_A_WORKER = 4
"""The most tasks that a worker holds: the task that it runs, and tasks that wait there.

A new task takes about 10 ms to arrive, and a group may take less time.
"""
ANSWER_LIMIT_S = 2.0
"""Seconds to fetch the result of a finished task, whose worker may have died since."""


@dataclass(frozen=True)
class Ticket:
    """A group of points that was given to a worker, and Dask's future of its task."""

    key: str
    group: Group
    member: Member
    future: Future[Any]


class Dispatch:
    """Runs points on the workers of a cluster.

    If a worker dies, Dask would repeat its tasks on other workers, and a point that kills one worker would
    kill them all. So each task is bound to one worker process, and this class distributes the points of a
    lost worker. The points of the task that the worker had begun are run one by one. If a point runs alone
    and its worker is lost, it gets a row with the status ``crash``.
    """

    def __init__(
        self,
        client: Client,
        members: Members,
        equipment: Equipment,
        points: Sequence[Point],
        graphs: Mapping[str, Graph],
        method: Method,
    ) -> None:
        self._client = client
        self._members = members
        self._equipment = equipment
        self._graphs = graphs
        self._method = method
        groups = map(tuple, _spread([*together(points, graphs)], len(members.present)))
        self._shares = Shares(groups, {name: graph.num_edges for name, graph in graphs.items()})
        self._tickets: dict[str, Ticket] = {}
        """Tickets by the keys of their tasks, in the order in which they were given to workers."""
        self._answered: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._begun: dict[str, str] = {}
        """The key of the task that each worker, by its address, began last."""
        self._topic = f"bfsbench-{uuid.uuid4()}"
        client.subscribe_topic(self._topic, self._note_begun)

    def __iter__(self) -> Iterator[Measured]:
        """Yield the outcome of each point as it arrives. Raises ClusterError if no worker is left."""
        while self._shares or self._tickets:
            for member in ask(self._client, self._members.poll):
                yield from self._lose(member)
            for member in self._members.present.values():
                self._hand_out(member)
            try:
                ticket = self._tickets.get(self._answered.get(timeout=POLL_S))
            except queue.Empty:
                continue
            if ticket is not None:
                yield from self._settle(ticket)

    def _hand_out(self, member: Member) -> None:
        """Give a worker groups of points until it holds enough tasks."""
        held = sum(ticket.member is member for ticket in self._tickets.values())
        while held < min(AT_A_WORKER, 1 + len(self._shares) // (2 * len(self._members.present))):
            group = self._shares.take(member.address)
            if group is None:
                return
            held += 1
            key = f"{group[0].variant}-{uuid.uuid4()}"  # Dask's displays show the part before the uuid
            identity, checksum = member.introduction.identity, self._graphs[group[0].graph].checksum
            task = Assignment(key, self._topic, identity, self._equipment, group, checksum, self._method)
            future = self._client.submit(run_assignment, task, key=key, workers=[member.address], pure=False)
            self._tickets[key] = Ticket(key, group, member, future)
            future.add_done_callback(lambda _future, key=key: self._answered.put(key))

    def _settle(self, ticket: Ticket) -> Iterator[Measured]:
        """Yield the outcomes of a finished task, or give its points to other workers if it did not run."""
        try:
            answer = ask(self._client, lambda: self._answer(ticket.future))
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
            self._members.leave_out(ticket.member, answer.reason)
        else:
            yield from (replace(measured, worker=ticket.member.name) for measured in answer)

    def _answer(self, future: Future[Any]) -> list[Measured] | Unable | Stranger | BaseException:
        """Return the result of a task, or its exception. Raises TimeoutError.

        An exception is returned instead of raised, because ``ask`` would mistake some exceptions for a lost
        connection.
        """
        from distributed import KilledWorker

        if future.status != "error":
            answer: list[Measured] | Unable | Stranger = future.result(timeout=ANSWER_LIMIT_S)
            return answer
        error = future.exception()
        return Stranger() if isinstance(error, KilledWorker) else error

    def _lose(self, member: Member) -> Iterator[Measured]:
        """Give the points of a lost worker to other workers.

        If the worker had begun a task of one point, yield its row.
        """
        self._members.forget(member)
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
            row = failed_row(point, self._graphs[point.graph], description, "crash", reason)
            yield Measured(row | who.host, worker=who.name)

    def _note_begun(self, event: tuple[float, Mapping[str, str]]) -> None:
        _stamp, message = event
        self._begun[message["worker"]] = message["key"]
