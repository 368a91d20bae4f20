"""Giving points to workers and collecting the outcomes."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bfsbench.bench.point import Point
from bfsbench.bench.row import failed_row
from bfsbench.bench.runner import Measured, Method
from bfsbench.cluster.members import POLL_S, Member, Members, ask
from bfsbench.cluster.shares import Shares
from bfsbench.cluster.tasks import Assignment, Equipment, Stranger, Unable, run_assignment
from bfsbench.graphs.graph import Graph

if TYPE_CHECKING:
    from distributed import Client, Future

AT_A_WORKER = 4
"""Most tasks that a worker has: the one it runs, and the next, so that it does not wait. A new task takes
about 10 ms to arrive, and points may be shorter."""
ANSWER_LIMIT_S = 2.0
"""Seconds to fetch the result of a finished task; its worker may have died since."""


@dataclass(frozen=True)
class Ticket:
    """A point that a worker has been given."""

    key: str
    point: Point
    member: Member
    future: Future[Any]


class Dispatch:
    """One run of points over the workers of a cluster.

    Dask re-runs the tasks of a worker that dies on others. A point that killed one would kill them all, so a
    task is bound to one worker process. The points of a lost worker are handled here: the one it had begun
    becomes a row ``crash``, the others go to other workers.
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
        self._shares = Shares(points, {name: graph.num_edges for name, graph in graphs.items()})
        self._tickets: dict[str, Ticket] = {}
        """Tickets by key, in the order they were handed out."""
        self._answered: queue.SimpleQueue[str] = queue.SimpleQueue()
        """Keys of finished tasks."""
        self._begun: dict[str, str] = {}
        """Key of the task that each worker, by address, began last."""
        self._topic = f"bfsbench-{uuid.uuid4()}"
        client.subscribe_topic(self._topic, self._note_begun)

    def __iter__(self) -> Iterator[Measured]:
        """The outcome of each point as it arrives. Raises ClusterError when no worker is left."""
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
        """Give a worker points until it has enough."""
        held = sum(ticket.member is member for ticket in self._tickets.values())
        while held < self._wanted():
            point = self._shares.take(member.address)
            if point is None:
                return
            held += 1
            key = f"{point.variant}-{uuid.uuid4()}"  # Dask's displays show what stands before the uuid
            identity, checksum = member.introduction.identity, self._graphs[point.graph].checksum
            task = Assignment(key, self._topic, identity, self._equipment, point, checksum, self._method)
            future = self._client.submit(run_assignment, task, key=key, workers=[member.address], pure=False)
            self._tickets[key] = Ticket(key, point, member, future)
            future.add_done_callback(lambda _future, key=key: self._answered.put(key))

    def _wanted(self) -> int:
        """How many tasks a worker should have: the one it runs and at most half its share of what is left, so
        that a slow worker delays the end little."""
        return min(AT_A_WORKER, 1 + len(self._shares) // (2 * len(self._members.present)))

    def _settle(self, ticket: Ticket) -> Iterator[Measured]:
        """Handle a finished task."""
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
            self._shares.give_back(ticket.point)
            self._shares.leave(ticket.member.address)
            self._members.leave_out(ticket.member, answer.reason)
        else:
            yield replace(answer, worker=ticket.member.name)

    def _answer(self, future: Future[Any]) -> Measured | Unable | Stranger | BaseException:
        """What a task returned, or its exception, which ``ask`` would take for a lost connection. Raises
        TimeoutError."""
        from distributed import KilledWorker

        if future.status != "error":
            answer: Measured | Unable | Stranger = future.result(timeout=ANSWER_LIMIT_S)
            return answer
        error = future.exception()
        return Stranger() if isinstance(error, KilledWorker) else error

    def _lose(self, member: Member) -> Iterator[Measured]:
        """Handle a lost worker: only the point it had begun is lost."""
        self._members.forget(member)
        self._shares.leave(member.address)
        for ticket in [each for each in self._tickets.values() if each.member is member]:
            del self._tickets[ticket.key]
            ticket.future.cancel()
            if ticket.key != self._begun.get(member.address):
                self._shares.give_back(ticket.point)
                continue
            who = member.introduction
            description = who.device.description if who.device else {}
            reason = f"worker {who.name} was lost"
            row = failed_row(ticket.point, self._graphs[ticket.point.graph], description, "crash", reason)
            yield Measured(row | who.host, worker=who.name)

    def _note_begun(self, event: tuple[float, Mapping[str, str]]) -> None:
        _stamp, message = event
        self._begun[message["worker"]] = message["key"]
