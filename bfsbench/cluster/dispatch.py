"""Giving points to workers, choosing which points each worker takes, and collecting the outcomes."""

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
"""Points that differ in their sources only, which one worker runs: their samples alternate."""


class Shares:
    """Groups that no worker has yet, by graph.

    A worker stays with a graph while that has groups. Then it takes the graph with the most work left per
    worker on it, itself included. So workers spread over the graphs, and share the last ones. The work of a
    point is estimated by the number of edges, ``sizes``. This is crude, but is corrected whenever a worker
    needs a graph.
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
        """The next group for a worker; None when there is none."""
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
        """Return groups of one graph that were taken and not run; they are the next of their graph."""
        self._waiting[groups[0][0].graph].extendleft(reversed(groups))

    def leave(self, worker: str) -> None:
        """The worker has no graph any more."""
        self._graph_of.pop(worker, None)


def _spread(groups: Sequence[list[Point]], workers: int) -> Iterator[list[Point]]:
    """Splits groups of four points or more, as far as there are fewer groups than workers."""
    parts = -(-workers // max(1, len(groups)))
    for group in groups:
        yield from evenly(group, max(1, min(parts, len(group) // 2)))


AT_A_WORKER = 4
"""Most tasks that a worker has: the one it runs, and the next, so that it does not wait. A new task takes
about 10 ms to arrive, and groups may be shorter."""
ANSWER_LIMIT_S = 2.0
"""Seconds to fetch the result of a finished task; its worker may have died since."""


@dataclass(frozen=True)
class Ticket:
    """Points that a worker has been given."""

    key: str
    group: Group
    member: Member
    future: Future[Any]


class Dispatch:
    """One run of points over the workers of a cluster.

    Dask re-runs the tasks of a worker that dies on others. A point that killed one would kill them all, so a
    task is bound to one worker process. The points of a lost worker are handled here and go to other workers.
    Those of the task it had begun go one by one; a point that loses its worker alone becomes a row ``crash``.
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
        while held < min(AT_A_WORKER, 1 + len(self._shares) // (2 * len(self._members.present))):
            group = self._shares.take(member.address)
            if group is None:
                return
            held += 1
            key = f"{group[0].variant}-{uuid.uuid4()}"  # Dask's displays show what stands before the uuid
            identity, checksum = member.introduction.identity, self._graphs[group[0].graph].checksum
            task = Assignment(key, self._topic, identity, self._equipment, group, checksum, self._method)
            future = self._client.submit(run_assignment, task, key=key, workers=[member.address], pure=False)
            self._tickets[key] = Ticket(key, group, member, future)
            future.add_done_callback(lambda _future, key=key: self._answered.put(key))

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
            self._shares.give_back(ticket.group)
            self._shares.leave(ticket.member.address)
            self._members.leave_out(ticket.member, answer.reason)
        else:
            yield from (replace(measured, worker=ticket.member.name) for measured in answer)

    def _answer(self, future: Future[Any]) -> list[Measured] | Unable | Stranger | BaseException:
        """What a task returned, or its exception, which ``ask`` would take for a lost connection. Raises
        TimeoutError."""
        from distributed import KilledWorker

        if future.status != "error":
            answer: list[Measured] | Unable | Stranger = future.result(timeout=ANSWER_LIMIT_S)
            return answer
        error = future.exception()
        return Stranger() if isinstance(error, KilledWorker) else error

    def _lose(self, member: Member) -> Iterator[Measured]:
        """Handle a lost worker: at most the point it had begun is lost."""
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
