"""Run searches in a worker process, the only process that uses the device, and replace this process if it
fails.

A failed kernel makes a CUDA context unusable, and a kernel that hangs cannot be interrupted. So searches are
executed in a separate process that can be replaced. The worker process takes requests from a pipe, and gives
each answer the number of its request. After a failure that may have damaged the device's state, the process
ends. Its messages are not trusted: see :mod:`bfsbench.bench.messages`. A sweep uses a worker process or a
cluster of machines through one protocol, Runner.

Samples of several configurations can be interleaved: one sample of each, then the next sample of each. A
drift of the device's clocks then affects all configurations equally.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Protocol, TypeVar

from bfsbench.bench import messages
from bfsbench.bench.child import how_it_ended, leave_interrupts_to_parent, undisturbed
from bfsbench.bench.measure import advise_times, contenders, enough, sample_columns
from bfsbench.bench.messages import DamagedError, DeviceInfo, Failure, Pipe
from bfsbench.bench.options import SOURCE_RULES, Method
from bfsbench.entries.process import told_waiting
from bfsbench.graphs.graph import Graph
from bfsbench.programs import KernelProgram
from bfsbench.rows import provenance
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import failed_row
from bfsbench.rows.results import axes_of
from bfsbench.support.descendants import adopt_orphans, kill_programs
from bfsbench.support.errors import BfsbenchError, KernelError, WrongResultError
from bfsbench.support.machine import available_memory
from bfsbench.support.toolchain import prepare_compiler
from bfsbench.variants import find

if TYPE_CHECKING:
    from bfsbench.bench.session import Session


Graphs = Mapping[str, Graph]
"""A dictionary that maps locators to graphs. A locator is the text by which a graph is loaded."""


@dataclass(frozen=True)
class Measured:
    """The outcome of one configuration: its result row, and its level profile if the sweep writes
    profiles."""

    row: dict[str, str]
    levels: list[dict[str, str]] = field(default_factory=list)
    worker: str = ""
    """The name of the worker that ran the point, if there are several workers."""


class Runner(Protocol):
    """A protocol for objects that run points (configurations) and return one result row per point. Even if a
    point crashes its worker process, all other points get their rows."""

    device: DeviceInfo | None
    """The device that runs the points, known after ``start``. None if only host programs can run."""

    def start(self) -> object:
        """Start the runner unless it is already running. Raises BfsbenchError if no worker process can be
        started, or if no worker process can open its device."""

    def origins(self) -> list[dict[str, str]]:
        """Return one dictionary per device: the columns of the runner's result rows that describe the device,
        the machine and the software. The runner must be started."""

    def run(self, points: Sequence[Point], graphs: Graphs, method: Method) -> Iterator[Measured]:
        """Yield the outcome of each point (configuration) as soon as the point has been measured, in any
        order. ``graphs`` maps locators to graphs. A locator is the text by which a graph is loaded.
        """

    def close(self) -> None:
        """Let worker processes that are idle close their devices and end."""

    def stop(self) -> None:
        """End all processes, whether they are idle or not."""


_SHARE = 4
"""The reference answers of points that are timed together take at most 1/``_SHARE`` of the memory."""
_MOST_TOGETHER = 64
"""The most points that are timed together. Their rows are written after the last sample of the group, so a
sweep that is stopped loses at most one group."""


def together(points: Sequence[Point], graphs: Graphs) -> Iterator[list[Point]]:
    """Yield groups of consecutive points (configurations) that differ only in their sources. A worker
    measures the points of a group alternately: one sample of each point, then the next sample of each.

    A group has at most _MOST_TOGETHER points, and fewer if their reference answers do not fit into memory.
    """
    memory = available_memory() or sys.maxsize
    for setting, same in itertools.groupby(points, key=lambda point: replace(point, source=None)):
        group = list(same)
        fitting = memory // _SHARE // (4 * graphs[setting.graph].num_vertices + 1)
        most = max(2, min(fitting, _MOST_TOGETHER))
        yield from evenly(group, -(-len(group) // most))


def evenly(points: Sequence[Point], parts: int) -> Iterator[list[Point]]:
    """Split a list of points into ``parts`` lists of about equal length, and yield the lists."""
    ends = [len(points) * part // parts for part in range(parts + 1)]
    return (list(points[start:end]) for start, end in itertools.pairwise(ends))


FIRST_TURN = (
    *("prepare_ms", "compile_ms", "preprocess_ms", "parents_ms", "energy_j", "power_w"),
    *("kernel_ms", "kernel_launches"),
)
"""Columns that have the values of a point's first round, if points are measured in rounds."""


UNDECIDED = "undecided"
"""The first word of a warning in the rows of points that ``until_decided`` could not tell apart."""


def run_in_turns(
    runner: Runner, points: Sequence[Point], graphs: Graphs, method: Method
) -> Iterator[Measured]:
    """Measure the points (configurations) of each graph in rounds, and yield the outcome of each point.

    In each round every point is prepared, run untimed and sampled once. The row of a point combines its
    samples from all rounds. A point that fails is left out of further rounds. If the order is shuffled, the
    points of a round run one by one in random order. Otherwise, points that differ only in their sources may
    be measured together.
    """
    for _, of_graph in itertools.groupby(points, key=lambda point: point.graph):
        yield from _graph_in_turns(runner, list(of_graph), graphs, method)


def _graph_in_turns(
    runner: Runner, points: list[Point], graphs: Graphs, method: Method
) -> Iterator[Measured]:
    shuffle = None if method.shuffle_seed is None else random.Random(method.shuffle_seed)
    turn = method.one_sample()
    turns: dict[Point, list[Measured]] = {point: [] for point in points}
    pending = points
    while pending:
        taken: Iterator[Measured] = runner.run(pending, graphs, turn)
        if shuffle is not None:
            pending = shuffle.sample(pending, len(pending))
            taken = (one for point in pending for one in runner.run([point], graphs, turn))
        named = {axes_of(point.axes()): point for point in pending}
        for measured in taken:
            turns[named[axes_of(measured.row)]].append(measured)
        pending = [*_unfinished({point: turns[point] for point in pending}, method)]
        turn = replace(turn, energy=False, cupti=False, profile=False, parents=False)
    undecided = [*_undecided(turns, method)] if method.until_decided else []
    for point in points:
        yield _together(turns[point], method, point in undecided)


def _by_source(turns: Mapping[Point, Sequence[Measured]]) -> list[dict[Point, list[float]]]:
    """Return one dictionary for each source. The dictionary maps the source's points (configurations) to
    their times in ms. Points that failed are left out.
    """
    times: dict[int | None, dict[Point, list[float]]] = {}
    for point, taken in turns.items():
        if taken[-1].row["status"] == "ok":
            together = times.setdefault(point.source, {})
            together[point] = [float(one.row["search_ms"]) for one in taken]
    return [*times.values()]


def _undecided(turns: Mapping[Point, Sequence[Measured]], method: Method) -> Iterator[Point]:
    """For each source, yield the points (configurations) that may be the fastest. If a source has only one
    such point, this point is not yielded."""
    for together in _by_source(turns):
        best, others = contenders([*together.values()])
        if places := [place for place, percent in others.items() if percent > method.tie]:
            yield from ([*together][place] for place in (best, *places))


def _unfinished(turns: Mapping[Point, Sequence[Measured]], method: Method) -> Iterator[Point]:
    """Yield the points (configurations) that need further samples. Points that failed are left out.

    With ``until_decided``, all points of one source get equally many samples, until the fastest point is
    known or a point has ``method.most`` samples.
    """
    for together in _by_source(turns):
        wanting = [point for point, samples in together.items() if not enough(method, samples)]
        if method.until_decided:
            exhausted = any(len(samples) >= method.most for samples in together.values())
            _, others = contenders([*together.values()])
            if wanting or (not exhausted and any(percent > method.tie for percent in others.values())):
                wanting = [*together]
        yield from wanting


def source_rule(method: str) -> str:
    """Return the word that names the order of searches from different sources, such as
    ``sources=alternating``. The argument is the text of the column ``method``. Returns an empty string if it
    contains no such word."""
    return next((word for word in method.split() if word in SOURCE_RULES), "")


def _together(turns: Sequence[Measured], method: Method, undecided: bool) -> Measured:
    """Combine the outcomes of one point (configuration) from all rounds into one outcome. ``turns`` contains
    one outcome per round, with one sample each.

    Most columns come from the fastest outcome. If the last outcome is a failure, its row is used instead. If
    ``undecided`` is true, the row gets a warning that starts with UNDECIDED.
    """
    first, last = turns[0].row, turns[-1].row
    if last["status"] != "ok":
        return Measured(last | {"method": method.words})
    rows = [one.row for one in turns]
    search, wall = ([float(row[name]) for row in rows] for name in ("search_ms", "wall_ms"))
    told = [text for row in rows for text in row["warnings"].split("; ") if text]
    if undecided:
        told.append(
            f"{UNDECIDED}: {len(rows)} samples do not show which search is fastest, "
            "raise --max-samples or --tie"
        )
    columns = {
        **{name: first.get(name, "") for name in FIRST_TURN},
        **sample_columns(search, wall),
        "reset_ms": min((row["reset_ms"] for row in rows), key=float),
        "samples_discarded": str(sum(int(row["samples_discarded"]) for row in rows)),
        "reason": first.get("reason", ""),
        "method": method.said(source_rule(last["method"])),
        "warnings": "; ".join(dict.fromkeys([*advise_times(search), *told])),
    }
    fastest = min(rows, key=lambda row: float(row["search_ms"]))
    return Measured(fastest | columns, turns[0].levels, turns[0].worker)


_Answer = TypeVar("_Answer", messages.Rows, messages.Levels, messages.Traced)
__all__ = ["START_LIMIT_S", "DeviceInfo", "Failure", "Worker"]

START_LIMIT_S = 120.0
ON_CLOCK = (
    "(not on this graph: bfsbench was comparing the program's clock with the host's clock, on a lattice; "
    "if the program is only slow, raise --timeout)"
)
"""The end of the reason if a time-out came before the first search of a point."""
CLOSE_LIMIT_S = 10.0
"""Seconds within which a process must end after it was asked to end, or after it closed its pipe."""


def _die_with_parent() -> None:
    if sys.platform == "linux":
        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)


_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
from bfsbench.bench.worker import serve
serve()
"""
"""The program of the worker process. Its arguments are the module search path of the parent process. It does
not import the user's script, unlike processes of :mod:`multiprocessing`, because the script may start a sweep
when it is imported."""


def serve() -> None:
    """Run the main loop of the worker process until its pipe, which is its standard input, closes."""
    from bfsbench.bench.session import Session

    os.setpgid(0, 0)  # processes that a kernel forks can be killed with this process
    _die_with_parent()
    os.register_at_fork(after_in_child=_die_with_parent)
    adopt_orphans()
    leave_interrupts_to_parent()
    pipe = Pipe(Connection(os.dup(0)))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # programs that this process starts must not read requests
    with contextlib.suppress(EOFError, ConnectionError):  # the parent process has ended
        backend, schedule_seed = json.loads(pipe.receive(0)[1])
        try:
            session = Session(backend, schedule_seed)
        except BfsbenchError as error:
            pipe.send(0, messages.encode(messages.Refused.of(error)))
            return
        try:
            _answer_all(pipe, session)
        finally:
            session.close()


def _answer_all(pipe: Pipe, session: Session) -> None:
    """Describe the device, then answer requests. Returns when the pipe closes, when a request is damaged, or
    after a failure that makes it necessary to replace the process."""
    device, process = session.device, os.getpid()
    info = DeviceInfo(device.backend, device.describe(), device.limits) if device else None
    pipe.send(0, messages.encode(messages.Ready(info)))
    while True:
        try:
            number, request = pipe.receive(None)
        except (EOFError, DamagedError):
            return
        tell = partial(_tell, pipe, number, process)
        tell(answer := _answer(session, messages.decode_request(request), tell))
        if isinstance(answer, Failure) and answer.fatal:
            return


def _tell(pipe: Pipe, number: int, process: int, answer: messages.Answer) -> None:
    """Send a message to the parent process. An emulated kernel may call ``fork`` and so make a copy of the
    worker process. The copy ends here, without sending anything. ``process`` is the id of the worker process.

    If the parent process has closed the pipe, this process ends by SystemExit, because a variant might catch
    an ordinary exception.
    """
    if os.getpid() != process:
        os._exit(0)
    try:
        pipe.send(number, messages.encode(answer))
    except ConnectionError:
        raise SystemExit from None


def _answer(
    session: Session, request: messages.WorkerRequest, tell: Callable[[messages.Answer], None]
) -> messages.Answer:
    try:
        if isinstance(request, messages.Measure):
            alone = len(request.points) == 1
            begin = (lambda place: None) if alone else (lambda place: tell(messages.Step(place)))
            session.settling = lambda begins: tell(messages.Step(0, begins))
            told_waiting[:] = [lambda text: tell(messages.Waiting(text))]
            return messages.Rows(session.measure(request.points, request.method, begin))
        if isinstance(request, messages.Trace):
            return messages.Traced(session.trace(request.point))
        return messages.Levels(session.profile(request.point, request.row))
    except KernelError as error:
        return Failure(error.status, str(error), fatal=True)
    except WrongResultError as error:
        return Failure("wrong", str(error), fatal=True)
    except BfsbenchError as error:
        return Failure(getattr(error, "status", "error"), str(error))
    except Exception as error:  # after a bug, one row fails but the sweep goes on
        traceback.print_exc()
        return Failure("error", f"{type(error).__name__}: {error}", fatal=True)


class Worker:
    """Controls a worker process. The process is started when it is first needed, and started again after it
    was lost."""

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self._backend = backend
        self._schedule_seed = schedule_seed
        self._process: Popen[bytes] | None = None
        self._pipe: Pipe | None = None
        self._number = 0
        """The number of the last request. No number is used twice, so that each answer matches one
        request."""
        self._has_traced = False
        """True if the process has traced kernels, so that its launches may be slower."""
        self.device: DeviceInfo | None = None

    def start(self) -> Pipe:
        """Start the worker process unless it runs, and return the pipe to it.

        Raises BfsbenchError if the process does not start. If the process cannot open its device, raises the
        error that the process reports.
        """
        if self._pipe is not None:
            return self._pipe
        prepare_compiler()
        try:
            pipe = self._pipe = Pipe(self._start_process())
        except OSError as error:
            why = error.strerror or error
            raise BfsbenchError(f"the worker process could not be started: {why}") from error
        try:
            backend = self.device.backend if self.device else self._backend  # not `auto` after a restart
            pipe.send(0, json.dumps([backend, self._schedule_seed]).encode())
            answer = messages.decode_answer(pipe.receive(0, START_LIMIT_S)[1])
            if not isinstance(answer, messages.Ready | messages.Refused):
                raise DamagedError("the worker process did not describe its device")
        except TimeoutError:
            self.stop()
            raise BfsbenchError(f"the worker process did not start within {START_LIMIT_S:.0f} s") from None
        except DamagedError as error:
            self.stop()
            raise BfsbenchError(str(error)) from None
        except (EOFError, ConnectionError):
            reason = self._end_of_process()
            raise BfsbenchError(f"the worker process could not start: {reason}") from None
        if isinstance(answer, messages.Refused):
            self.stop()
            raise answer.error()
        self.device = answer.device
        return pipe

    def _start_process(self) -> Connection:
        """Start the process and return this process's end of the pipe. Raises OSError if the process cannot
        be started."""
        ours, theirs = multiprocessing.Pipe()
        with theirs, undisturbed():
            self._process = Popen([sys.executable, "-c", _PROGRAM, *sys.path], stdin=theirs.fileno())
        return ours

    def origins(self) -> list[dict[str, str]]:
        return [{**provenance.host_columns(), **(self.device.description if self.device else {})}]

    def run(self, points: Sequence[Point], graphs: Graphs, method: Method) -> Iterator[Measured]:
        for group in together(points, graphs):
            yield from self.run_group(group, graphs[group[0].graph], method)

    def run_group(self, points: Sequence[Point], graph: Graph, method: Method) -> Iterator[Measured]:
        """Measure points (configurations) that differ only in their sources, and yield their outcomes.

        In each round, the worker process takes one sample of each point.

        If a point fails, its outcome is yielded first, and the other points are measured again from the
        beginning. After a timeout, the remaining points run one by one, so that no failure affects other
        points. Raises BfsbenchError if a new process cannot open the device.
        """
        left, most = [*points], len(points)
        while left:
            found = self.measure(left[:most], method)
            if any(isinstance(row, Failure) and row.status == "timeout" for row in found.values()):
                most = 1
            left = [point for point in left if point not in found]
            for point, row in found.items():
                yield self._measured(point, graph, row, method)

    def _measured(
        self, point: Point, graph: Graph, row: dict[str, str] | Failure, method: Method
    ) -> Measured:
        if isinstance(row, Failure):
            device = self.device.description if self.device else {}
            return Measured(failed_row(point, graph, device, row.status, row.reason))
        levels: list[dict[str, str]] = []
        if method.profile and row["status"] == "ok":
            _place, profiled = self._ask(method.limit_s, messages.Profile(point, row), messages.Levels)
            if isinstance(profiled, Failure):
                row = row | {"reason": f"no level profile: {profiled.reason}"}
            else:
                levels = profiled.rows
        if method.cupti and row["status"] == "ok" and issubclass(find(point.variant), KernelProgram):
            row = row | self._traced(point, method)
        return Measured(row, levels)

    def _traced(self, point: Point, method: Method) -> dict[str, str]:
        """Trace the kernels of a measured point. Returns the columns of the point's result row that the trace
        changes."""
        self._has_traced = True
        _place, traced = self._ask(method.limit_s, messages.Trace(point), messages.Traced)
        if isinstance(traced, Failure):
            return {"reason": f"no times of kernels: {traced.reason}"}
        times = traced.times
        return {"kernel_ms": f"{times.milliseconds:.6f}", "kernel_launches": str(times.launches)}

    def measure(self, points: Sequence[Point], method: Method) -> dict[Point, dict[str, str] | Failure]:
        """Ask the worker process for the result rows of points (configurations).

        Returns the row of each point. If a point fails, the result contains only the failed point, with its
        row or a Failure. If the process has traced kernels before, a new process replaces it first.
        """
        if self._has_traced:
            self.close()
            self._has_traced = False
        request = messages.Measure([*points], method)
        place, answer = self._ask(method.limit_s, request, messages.Rows, len(points))
        if isinstance(answer, Failure):
            return {points[place]: answer}
        try:
            rows = answer.of(points)
        except DamagedError as error:
            self.stop()
            return {points[place]: Failure("crash", str(error))}
        if any(row["status"] == "wrong" for row in rows.values()):
            self.stop()  # memory may be damaged: the next point gets a fresh process
        return {**rows}

    def _ask(
        self, limit_s: float, request: messages.WorkerRequest, expected: type[_Answer], points: int = 1
    ) -> tuple[int, _Answer | Failure]:
        """Send a request about points to the worker process. Returns the index of the last point on which the
        process worked, and the answer to the request.

        Each point may take at most ``limit_s`` seconds. After a crash, a timeout, a fatal failure or a
        damaged answer, the process is stopped. The next request then starts another process.
        """
        pipe = self.start()
        self._number += 1
        place, left_s, on_clock, waiting = 0, [limit_s] * points, False, ""
        try:
            pipe.send(self._number, messages.encode(request), limit_s)
            while True:
                began = time.monotonic()
                answer = messages.decode_answer(pipe.receive(self._number, left_s[place])[1])
                left_s[place] -= time.monotonic() - began
                if isinstance(answer, messages.Waiting):
                    waiting = answer.text
                    continue
                if not isinstance(answer, messages.Step):
                    break
                if not 0 <= answer.place < points:
                    raise DamagedError("the worker process named a point that it was not given")
                place, on_clock = answer.place, answer.on_clock
            if not isinstance(answer, expected | Failure):
                raise DamagedError("the worker process gave the answer to another question")
            if isinstance(answer, Failure) and answer.fatal:
                self.stop()
            return place, answer
        except TimeoutError:
            self.stop()
            late = f"not finished within {limit_s:g} s{waiting and f': {waiting}'}"
            return place, Failure("timeout", f"{late} {ON_CLOCK}" if on_clock else late)
        except DamagedError as error:
            self.stop()
            return place, Failure("crash", str(error))
        except (EOFError, ConnectionError):
            return place, Failure("crash", self._end_of_process())

    def _end_of_process(self) -> str:
        """Wait for a process that closed its pipe, and return a phrase that says how it ended."""
        code = self._exit_code(CLOSE_LIMIT_S)
        self.stop()
        return f"the worker process {how_it_ended(code)}"

    def close(self) -> None:
        """Let an idle process close its device and end. If the process does not end in time, it is killed."""
        if self._pipe is not None:
            self._pipe.close()
        self._exit_code(CLOSE_LIMIT_S)
        self.stop()

    def _exit_code(self, limit_s: float) -> int | None:
        """Return the exit code of the process, or None if it has not ended within ``limit_s`` seconds."""
        deadline = time.monotonic() + limit_s
        while self._process and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._process.returncode if self._process else None

    def stop(self) -> None:
        """Kill the process and everything that it started."""
        if self._process is not None:
            kill_programs(self._process.pid)
            _kill_group(self._process.pid)
            self._process.kill()
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _kill_group(pid: int) -> None:
    """Kill the process ``pid`` and the processes in its process group. A process that has just started may
    have no group yet.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
