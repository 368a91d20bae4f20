"""Keep the list of a cluster's workers: which workers have joined, and which are lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from bfsbench.bench.sweep import SAME_DEVICE
from bfsbench.cluster.launch import Wait
from bfsbench.cluster.tasks import Equipment, Introduction, Unable, introduce
from bfsbench.support.errors import BfsbenchError, UsageError

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

POLL_S = 1.0
WITHOUT_WORKERS_S = 30.0
"""Seconds that a sweep without workers waits for a worker to restart or join."""
SAME_CODE = ("version", "commit")


class ClusterError(BfsbenchError):
    """No worker is left that could run points, or the scheduler is lost."""


def ask(client: Client, question: Callable[[], T]) -> T:
    """Call a function that needs the scheduler, and return its result.

    Raises ClusterError if the scheduler is lost.
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
    """A worker that runs points of this sweep."""

    address: str
    introduction: Introduction
    last_seen: float
    """When a poll last found the worker, in seconds on the monotonic clock."""

    @property
    def name(self) -> str:
        return self.introduction.name


class Members:
    """Keeps the list of workers up to date. ``tell`` is called with lines for the user."""

    def __init__(
        self, client: Client, equipment: Equipment, *, mixed_devices: bool, tell: Callable[[str], None]
    ) -> None:
        self._client = client
        self._equipment = equipment
        self._mixed_devices = mixed_devices
        self._tell = tell
        self._asked: dict[str, Future[Any]] = {}
        self._left_out: dict[str, str] = {}
        """The reasons why workers are left out, by the workers' addresses."""
        self._polled = 0.0
        self._alone: Wait | None = None
        """The wait for another worker, while there is none."""
        self.present: dict[str, Member] = {}
        """The workers that run points, by their addresses."""

    def assemble(self, count: int, what: str, limit_s: float | None) -> None:
        """Wait until ``count`` workers have joined and described themselves. Lines for the user call them
        ``what``.

        Raises UsageError if none of the workers can work, or if they differ too much. Raises ClusterError if
        they do not join within ``limit_s`` seconds.
        """
        wait = Wait(what, self._tell, limit_s)
        while self._asked or len(self.present) + len(self._left_out) < count:
            objections = self._take_in(self._addresses())
            if objections:
                raise UsageError(objections[0])
            there = len(self.present)
            if wait.over(f"{there} of {count} there"):
                raise ClusterError(f"{there} of {count} workers came within {limit_s:g} s")
            time.sleep(POLL_S / 20)
        if not self.present:
            raise UsageError(next(iter(self._left_out.values())))

    def poll(self) -> list[Member]:
        """Admit new workers, and return the lost workers.

        The list is empty if the last poll was less than POLL_S seconds ago. A worker is lost if it is missing
        in two polls in a row, because its last messages have then arrived. Raises ClusterError if no worker
        is left.
        """
        now = time.monotonic()
        if now - self._polled < POLL_S:
            return []
        self._polled = now
        addresses = self._addresses()
        for objection in self._take_in(addresses):
            self._tell(objection)
        for address in addresses & set(self.present):
            self.present[address].last_seen = now
        if self.present or self._asked:
            self._alone = None
        elif self._without_workers():
            reasons = "; ".join(dict.fromkeys(self._left_out.values()))
            raise ClusterError(
                f"no worker is left{' (' + reasons + ')' if reasons else ''}: continue with --resume"
            )
        return [member for member in self.present.values() if now - member.last_seen > 1.5 * POLL_S]

    def _without_workers(self) -> bool:
        self._alone = self._alone or Wait("another worker, as none is left", self._tell, WITHOUT_WORKERS_S)
        return self._alone.over()

    def forget(self, member: Member) -> None:
        """Remove a lost worker from the list. Another worker at its address counts as new."""
        self.present.pop(member.address, None)

    def leave_out(self, member: Member, reason: str) -> None:
        """Give a worker no more points, and tell the user why."""
        if self.present.pop(member.address, None) is None:
            return
        self._left_out[member.address] = reason
        self._tell(f"worker {member.name} is left out: {reason}")

    def _addresses(self) -> set[str]:
        return set(self._client.nthreads())

    def _take_in(self, addresses: set[str]) -> list[str]:
        """Ask new workers for their descriptions, and admit workers that answered and fit in.

        Returns the reasons why other workers cannot share the sweep.
        """
        self._left_out = {key: reason for key, reason in self._left_out.items() if key in addresses}
        for address in addresses - set(self.present) - set(self._asked) - set(self._left_out):
            self._asked[address] = self._client.submit(
                introduce, self._equipment, workers=[address], pure=False, priority=1
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
                self._tell(f"worker {address} is left out: {answer.reason}")
            elif against := self._against(answer):
                self._left_out[address] = against
                objections.append(against)
            else:
                self.present[address] = Member(address, answer, time.monotonic())
        return objections

    def _against(self, newcomer: Introduction) -> str | None:
        """Return the reason why a worker cannot share a sweep with the present workers, or None."""
        for member in self.present.values():
            if against := objection(member.introduction, newcomer, self._mixed_devices):
                return against
        return None


def objection(here: Introduction, newcomer: Introduction, mixed_devices: bool) -> str | None:
    """Return the reason why a worker cannot share a sweep with another worker, or None if it can."""
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
