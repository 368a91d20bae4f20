"""The process that touches the device.

A failed kernel poisons a CUDA context and a hung one cannot be interrupted, so points are executed in a
spawned process that can be replaced. It takes the name of a Session's method and its arguments from a pipe
and answers with what that returns or with a Failure; after one that leaves the device in doubt it ends.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from bfsbench.backends.base import Limits
from bfsbench.bench import provenance
from bfsbench.bench.point import Point
from bfsbench.bench.row import failed_row
from bfsbench.bench.runner import Measured, Method
from bfsbench.errors import BfsbenchError, KernelError, WrongResultError
from bfsbench.graphs.graph import Graph
from bfsbench.toolchain import prepare_compiler

if TYPE_CHECKING:
    from bfsbench.bench.session import Session

START_LIMIT_S = 120.0


@dataclass(frozen=True)
class DeviceInfo:
    """What a worker says about its device when it is ready."""

    backend: str
    description: dict[str, str]
    limits: Limits


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer. ``fatal`` is the last word of a worker."""

    status: str
    reason: str
    fatal: bool = False


def _die_with_parent() -> None:
    if sys.platform == "linux":
        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)


def serve(connection: Connection, backend: str | None, schedule_seed: int) -> None:
    """The worker's main loop: ends when the pipe closes."""
    from bfsbench.bench.session import Session

    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    try:
        session = Session(backend, schedule_seed)
    except BfsbenchError as error:
        connection.send(error)
        return
    try:
        _answer(connection, session)
    finally:
        session.close()


def _answer(connection: Connection, session: Session) -> None:
    """Introduce the device, then execute points until the pipe closes or the device is lost."""
    device = session.device
    connection.send(DeviceInfo(device.backend, device.describe(), device.limits) if device else None)
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(getattr(session, method)(*arguments))
        except KernelError as error:
            connection.send(Failure(error.status, str(error), fatal=True))
            return
        except WrongResultError as error:
            connection.send(Failure("wrong", str(error), fatal=True))
            return
        except BfsbenchError as error:
            connection.send(Failure(getattr(error, "status", "error"), str(error)))
        except Exception as error:  # a bug costs one row, not the sweep; the traceback goes to stderr
            traceback.print_exc()
            connection.send(Failure("error", f"{type(error).__name__}: {error}", fatal=True))
            return


class Worker:
    """A handle on a worker process, started when first needed and again after it was lost."""

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self._backend = backend
        self._schedule_seed = schedule_seed
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self.device: DeviceInfo | None = None

    def start(self) -> Connection:
        """Start the process unless it runs. Raises the BfsbenchError it met when opening its device."""
        if self._connection is not None:
            return self._connection
        prepare_compiler()
        context = multiprocessing.get_context("spawn")
        connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, self._backend, self._schedule_seed), daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = connection
        if not connection.poll(START_LIMIT_S):
            self.stop()
            raise BfsbenchError(f"the worker process did not start within {START_LIMIT_S:.0f} s")
        try:
            answer = connection.recv()
        except (EOFError, ConnectionError):
            reason = self._end_of_process()
            raise BfsbenchError(f"the worker process could not start: {reason}") from None
        if isinstance(answer, BfsbenchError):
            self.stop()
            raise answer
        self.device = answer
        return connection

    def origins(self) -> list[dict[str, str]]:
        """Provenance columns of the rows to come; see Runner."""
        return [{**provenance.host_columns(), **(self.device.description if self.device else {})}]

    def run(self, points: Sequence[Point], graphs: Mapping[str, Graph], method: Method) -> Iterator[Measured]:
        """Run points in their order; see Runner."""
        for point in points:
            yield self.run_point(point, graphs[point.graph], method)

    def run_point(self, point: Point, graph: Graph, method: Method) -> Measured:
        """Run a point on its graph. Raises BfsbenchError when a new process cannot open the device."""
        row = self.measure(point, method.repeats, method.limit_s, method.parents)
        if isinstance(row, Failure):
            device = self.device.description if self.device else {}
            return Measured(failed_row(point, graph, device, row.status, row.reason))
        if not method.profile or row["status"] != "ok":
            return Measured(row)
        levels = self.profile(point, row, method.limit_s)
        if isinstance(levels, Failure):
            return Measured(row | {"reason": f"no level profile: {levels.reason}"})
        return Measured(row, levels)

    def measure(
        self, point: Point, repeats: int, limit_s: float, parents: bool = False
    ) -> dict[str, str] | Failure:
        """The row of a point; see Session.measure."""
        answer: dict[str, str] | Failure = self._ask(limit_s, "measure", point, repeats, parents)
        if not isinstance(answer, Failure) and answer["status"] == "wrong":
            self.stop()  # who answers wrong may have written anywhere: the next point gets a fresh process
        return answer

    def profile(self, point: Point, row: Mapping[str, str], limit_s: float) -> list[dict[str, str]] | Failure:
        """The rows of a point's level profile; see Session.profile."""
        answer: list[dict[str, str]] | Failure = self._ask(limit_s, "profile", point, row)
        return answer

    def _ask(self, limit_s: float, *request: Any) -> Any:
        """The answer to a request, or a Failure. The process is replaced after a crash or a hang."""
        connection = self.start()
        try:
            connection.send(request)
            if not connection.poll(limit_s):
                self.stop()
                return Failure("timeout", f"not finished within {limit_s:g} s")
            answer = connection.recv()
        except (EOFError, ConnectionError):
            return Failure("crash", self._end_of_process())
        if isinstance(answer, Failure) and answer.fatal:
            self.stop()
        return answer

    def _end_of_process(self) -> str:
        """Reap a process that closed its pipe, and say how it ended."""
        assert self._process is not None
        self._process.join(10)
        code = self._process.exitcode
        self.stop()
        if code is not None and code < 0:
            return f"the worker process was killed by {signal.Signals(-code).name}"
        return f"the worker process ended with exit code {code}"

    def close(self) -> None:
        """Let an idle process end by itself, its device closed properly."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.join(10)
        self.stop()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None
