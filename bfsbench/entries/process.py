"""Runs the process of an entry (a program of other authors), and implements the protocol between bfsbench and
this process.

The process prints ``ready`` when it has prepared the graph. It then reads source vertices from standard
input, one per line. For each source, it searches, writes the answer to a file, and prints the time, or
``done`` if bfsbench measures the time. It ends at the end of its input. To report an error, it prints ``error
TEXT`` instead of ``ready`` or a time, and ends.

Some programs run one search per process. bfsbench then starts a new process for each search, and finds the
time in its output. Of all other programs, bfsbench keeps one process for each entry and graph in use.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import signal
import statistics
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, NamedTuple

from bfsbench.entries.declaration import Call, Entry
from bfsbench.support.descendants import MARK, ON_GPU, left_by, signal_all
from bfsbench.support.errors import (
    DeviceError,
    DeviceOutOfMemoryError,
    LaunchError,
    WrongResultError,
    printable,
)
from bfsbench.support.machine import available_memory, number_fields
from bfsbench.support.paths import PACKAGE

if TYPE_CHECKING:
    from bfsbench.entries.folder import Answer, GraphFolder
    from bfsbench.graphs.graph import Graph
    from bfsbench.programs import KnobValue


READY = "ready"
LOADED = "loaded"
"""A line that a program may print when it has loaded its libraries and begins to prepare the graph."""
GUARD_BROKEN = "error: it wrote outside its array"
"""A line that ``bfsbench.entries.host`` prints if a search has written outside its array."""

_LOOK_EVERY_S = 0.05
"""Seconds between two checks of how much memory a process uses."""
_GRACE_S = 0.2
"""Seconds that a program's child processes may continue after the program's reply."""
_END_S = 5.0
"""Seconds that a process may continue after the end of its input."""
_LONGEST_LINE = 1 << 16
_ERRORS_KEPT = 1 << 16
"""Number of bytes at the beginning and at the end of a program's standard error that bfsbench keeps."""
_LONGEST_ERROR = 1000
_LONGEST_QUOTE = 60
"""Number of characters of a program's line that a message about a missing line quotes."""
_UNIT_MS = {"ms": 1.0, "us": 1e-3, "s": 1e3}
_TIME = "^([+-]?[0-9][0-9.eE+-]*)$"
"""Regular expression that finds the printed time, unless the entry declares another expression."""
_RUNNING: set[int] = set()
"""Ids of the running processes that this process has started for entries."""


told_waiting: list[Callable[[str], None]] = []
"""Functions that are called when a process has printed no line for ``_LOOK_EVERY_S`` seconds. The argument
says what the process should print, and what it has printed. The functions are called with an empty text when
the next line arrives."""


class EntryCrashError(DeviceError):
    """Raised if the process of an entry ends too early, or sends an invalid reply."""

    status = "crash"


class Reply(NamedTuple):
    """The times that an entry's process and the host have measured for one search."""

    said_ms: float | None
    """The time in ms that the program prints. None if it prints no time. If the printed time
    is 0, this is half a unit of its last digit instead, but at most ``wall_ms``."""
    wall_ms: float
    """Time in ms from the request to the reply, measured by the host's clock."""


class Errors:
    """Reads the standard error of a program in a thread. Keeps only the beginning and the end of the text,
    because the text may be endless."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept, self._is_cut = b"", False
        self._pipe = pipe
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):  # another thread may have closed the pipe
            while found := os.read(self._pipe.fileno(), _ERRORS_KEPT):
                self._kept += found
                if len(self._kept) > 2 * _ERRORS_KEPT:
                    self._kept, self._is_cut = self._kept[:_ERRORS_KEPT] + self._kept[-_ERRORS_KEPT:], True

    def end(self) -> None:
        """Wait until the thread has read all text. Wait only for a limited time, because a child process of
        the program may keep the pipe open."""
        self._thread.join(_GRACE_S)

    def summary(self) -> str:
        """Returns the last line of standard error that is not blank. If the middle of the text was dropped,
        returns the first and the last line, joined by " ... ". Long lines are shortened."""
        lines = [line for line in self._kept.decode(errors="replace").splitlines() if line.strip()]
        told = [lines[0], lines[-1]] if self._is_cut else lines[-1:]
        return " ... ".join(line.strip()[:_LONGEST_ERROR] for line in told)


class Process:
    """A running process of an entry."""

    def __init__(self, words: Sequence[str], folder: Path, call: Call) -> None:
        """Start a command in a folder. Raises LaunchError if the command cannot be started."""
        self._time = re.compile(call.time or _TIME)
        self._unit_ms = _UNIT_MS[call.unit]
        self._mark = f"{os.getpid()}.{secrets.token_hex(8)}"
        self._limit = call.memory_mib << 20 if call.memory_mib else available_memory()
        self._rest = b""
        """Output of the program after the last complete line that was returned."""
        self.peak_bytes = 0
        """The highest memory use of the process on the host that was observed, in bytes."""
        self._is_command = bool(call.command)
        self._awaited, self._ignored = READY, ""
        """The line that the process should print next, and the last line that it has printed instead. Both
        texts may be empty."""
        self._has_replied = False
        """Whether the process has replied to a source, so that it flushes its output."""
        environment = {**os.environ, **call.environment}
        path = filter(None, (str(PACKAGE.parent), environment.get("PYTHONPATH")))
        self._started = time.perf_counter()
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment | {MARK: self._mark, "PYTHONPATH": os.pathsep.join(path)},
                process_group=0,  # a group, so that bfsbench can stop all of its processes at once
            )
        except OSError as error:
            raise LaunchError(f"cannot start {words[0]}: {error.strerror or error}") from error
        _RUNNING.add(self._process.pid)
        if call.device == "gpu":
            ON_GPU.add(self._process.pid)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output = self._process.stdin, self._process.stdout
        self._errors = Errors(self._process.stderr)

    def wait_until_ready(self) -> float:
        """Wait until the process prints ``ready``. Returns the time of preparation in ms. Preparation begins
        with the first line ``loaded``, or with this call if the program does not print ``loaded``. Raises the
        errors that ``ask`` raises."""
        started, is_loaded = time.perf_counter(), False
        while (line := self._line()) != READY:
            if line == LOADED and not is_loaded:
                started, is_loaded = time.perf_counter(), True
            self._refuse(line)
            self._ignored = line
        return (time.perf_counter() - started) * 1e3

    def ask(self, source: int) -> Reply:
        """Let the program search from a source, and then pause it until ``resume`` is called. Returns its
        reply.

        Raises EntryCrashError if the program crashes or reports an error, and DeviceOutOfMemoryError if it
        takes too much memory. Raises WrongResultError if it writes outside its array, or leaves child
        processes running.
        """
        self.resume()
        self._awaited, self._ignored = f"a time for source {source}", ""
        started = time.perf_counter()
        try:
            os.write(self._input.fileno(), f"{source}\n".encode())
        except BrokenPipeError:
            raise self._crash() from None
        while True:
            line = self._line()
            wall_ms = (time.perf_counter() - started) * 1e3
            said = self._time_in(line)
            if said is not None or line == "done":
                self._has_replied = True
                self.pause()  # pause the program at once, because later writes would not be timed
                return self._reply(said, started, wall_ms)
            self._refuse(line)
            self._ignored = line

    def outcome(self) -> Reply:
        """Wait for the end of a program that runs a single search. Returns its reply. Raises EntryCrashError
        if the program crashes or prints no time, DeviceOutOfMemoryError if it takes too much memory, and
        WrongResultError if it leaves child processes running. The reply's host time includes the start of the
        process."""
        said = None
        self._awaited = ""
        self._input.close()
        with suppress(EOFError):
            while True:
                line = self._line(at_end=EOFError())
                said = self._time_in(line) if said is None else said
        _, status, used = os.wait4(self._process.pid, 0)
        self.peak_bytes = max(self.peak_bytes, used.ru_maxrss << 10)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if status != 0:
            raise self._crash()
        if said is None:
            raise EntryCrashError(f"it printed no time: no line has '{self._time.pattern}'")
        return self._reply(said, self._started, (time.perf_counter() - self._started) * 1e3)

    def _reply(self, said: str | None, started: float, wall_ms: float) -> Reply:
        """Wait for the child processes that the program has left, because they may still write the answer.
        Returns the reply. Raises WrongResultError if children keep running.

        ``said`` is the time that the program printed. The reply's host time is ``wall_ms`` if there are no
        children. Otherwise it is the time from ``started`` to the end of the last child.
        """
        deadline = time.monotonic() + _GRACE_S
        while left := self._others():
            if time.monotonic() > deadline:
                self.stop()
                raise WrongResultError(f"it left {len(left)} other processes running after a search")
            self.resume()
            time.sleep(0.01)
            self.pause()
            wall_ms = (time.perf_counter() - started) * 1e3
        if said is None:
            return Reply(None, wall_ms)
        last_digit = 10.0 ** -len(said.partition(".")[2])
        return Reply(float(said) * self._unit_ms or min(last_digit / 2 * self._unit_ms, wall_ms), wall_ms)

    def _others(self) -> list[int]:
        return left_by(self._process.pid, self._mark, _RUNNING)

    def pause(self) -> None:
        """Stop the processes of the program until ``resume`` is called. Otherwise the program could still
        change its answer, or its threads could keep cores busy while they wait for a source."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the stopped processes of the program continue."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Close the input of the process, so that it ends. Kill it if it does not end in time."""
        self.resume()
        with suppress(OSError, subprocess.TimeoutExpired):
            self._input.close()
            self._process.wait(_END_S)
        self.stop()

    def stop(self) -> None:
        """Kill the process and all its descendants."""
        left = self._others()  # look while the process lives, because it may be the parent of some of them
        self._signal(signal.SIGKILL)
        self._process.wait()
        signal_all({*left, *self._others()}, signal.SIGKILL)
        _RUNNING.discard(self._process.pid)
        ON_GPU.discard(self._process.pid)
        self._errors.end()
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()

    def _line(self, at_end: Exception | None = None) -> str:
        """Returns the next line that the process prints. If the output ends or the line is too long, raises
        ``at_end``, or EntryCrashError if ``at_end`` is None. Raises DeviceOutOfMemoryError if the process
        exceeds its memory limit."""
        told = ""
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(_LOOK_EVERY_S):
                    self._require_memory()
                    if (waiting := self._waiting()) != told:
                        told = _tell(waiting)
                    continue
                found = os.read(self._output.fileno(), 1 << 12)
                if not found or len(self._rest) > _LONGEST_LINE:
                    raise at_end or self._crash()
                self._rest += found
        if told:
            _tell("")
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _waiting(self) -> str:
        """Returns a phrase that says what the process should print, and what it has printed instead. Returns
        an empty text if bfsbench waits only for the end of the process."""
        if not self._awaited:
            return ""
        if not self._is_command:
            return f"it was {'preparing the graph' if self._awaited == READY else 'searching'}"
        wanted = self._wanted
        if rest := self._rest.decode(errors="replace").strip():
            start = printable(rest[:_LONGEST_QUOTE])
            return f"it printed '{start}' without the end of the line; {wanted} was awaited"
        if not self._ignored and self._has_replied:
            return f"it printed nothing, but {wanted} was awaited"
        if not self._ignored:
            return f"it printed nothing, but {wanted} was awaited: does it flush its output?"
        line = printable(self._ignored[:_LONGEST_QUOTE])
        if self._awaited == READY:
            return f"it has not printed {wanted}; its last line is '{line}'"
        if self._time.pattern == _TIME:
            return f"it printed '{line}' after the source, which is not a number alone on a line"
        return f"it printed '{line}' after the source, in which '{self._time.pattern}' finds no number"

    @property
    def _wanted(self) -> str:
        return f"'{READY}'" if self._awaited == READY else self._awaited

    def _time_in(self, line: str) -> str | None:
        """Returns the number in a line that contains the printed time. Returns None for any other line."""
        found = self._time.search(line)
        number = (found and found[1]) or ""
        with suppress(ValueError):
            float(number)
            return number
        return None

    def _refuse(self, line: str) -> None:
        """If ``line`` reports a failure, kill the process and raise an error. It is WrongResultError after a
        write outside the array, and otherwise EntryCrashError."""
        if line.startswith("error"):
            self.stop()
            reason = line.removeprefix("error").lstrip(": ")
            is_wrong = line.startswith(GUARD_BROKEN)
            raise WrongResultError(reason) if is_wrong else EntryCrashError(reason or "it gave up")

    def _require_memory(self) -> None:
        """Kill the process and raise DeviceOutOfMemoryError if it exceeds its memory limit. Otherwise do
        nothing."""
        self.note_memory()
        if self._limit is not None and self.peak_bytes > self._limit:
            self.stop()
            raise DeviceOutOfMemoryError(f"it took more than {self._limit >> 20} MiB on the host")

    def note_memory(self) -> None:
        """Update the highest memory use of the process on the host, if the operating system reports it."""
        kilobytes = number_fields(Path(f"/proc/{self._process.pid}/status")).get("VmHWM:", 0)
        self.peak_bytes = max(self.peak_bytes, kilobytes << 10)

    def _crash(self) -> EntryCrashError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        code = self._process.poll()
        self.stop()
        if code is None:
            return EntryCrashError("it closed its output and went on running")
        how = f"it ended with exit code {code}"
        if code == 0 and self._awaited:
            how = f"it ended, but {self._wanted} was awaited"
        if code < 0:
            names = {known.value: known.name for known in signal.Signals}
            how = f"it was killed by {names.get(-code, f'signal {-code}')}"
        said = self._errors.summary()
        return EntryCrashError(f"{how}: {said}" if said else how)


def _tell(waiting: str) -> str:
    """Calls each function in ``told_waiting`` with ``waiting``. Returns ``waiting``."""
    for function in told_waiting:
        function(waiting)
    return waiting


@cache
def round_trip_ms() -> float:
    """Returns the median time in ms to send a line to a process and to receive a line from it."""
    times = []
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdin and echo.stdout
        for _ in range(20):
            started = time.perf_counter()
            echo.stdin.write(b"0\n")
            echo.stdout.read(2)
            times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


@dataclass
class Running:
    """The state of an entry on one graph: its process, and the measurements that are kept between
    searches."""

    folder: GraphFolder
    answer: Answer
    knobs: Mapping[str, KnobValue]
    """Values of the knobs with which the process is started."""
    process: Process | None = None
    preparation_ms: float = 0.0
    held_bytes: int | None = None
    """GPU memory in bytes that the process took, in its preparation and in all searches. None if it is
    unknown."""
    before_bytes: int | None = None
    """GPU memory in bytes that was in use before the preparation. It is updated at the beginning of each
    search, because other programs may take memory between searches."""
    peak_bytes: int = 0
    """The highest memory use of the entry's processes on the host that was observed, in bytes."""
    first_ms: dict[int, tuple[float, int]] = field(default_factory=dict)
    """The first search of this process from each source: its time in ms, and the number of arcs that it
    traversed."""

    def note(self) -> None:
        """Record how much memory the process uses at this moment, on the host and on the GPUs."""
        if self.process is not None:
            self.process.note_memory()
            self.peak_bytes = max(self.peak_bytes, self.process.peak_bytes)
        used = None if self.before_bytes is None else device_memory_used()
        if used is not None and self.before_bytes is not None:
            self.held_bytes = (self.held_bytes or 0) + max(0, used - self.before_bytes)
            self.before_bytes = used

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None


_KEPT: dict[int, tuple[GraphFolder, dict[str, Running]]] = {}
"""For the id of each graph in use: the folder with the graph, and the state of each entry by name."""


def running(graph: Graph, entry: Entry, knobs: Mapping[str, KnobValue]) -> Running:
    """Returns the state of an entry on a graph. This function does not start the entry's process. The process
    ends when the graph object is deleted, or when this function is called with other values of knobs."""
    from bfsbench.entries.folder import GraphFolder

    if id(graph) not in _KEPT:
        _KEPT[id(graph)] = GraphFolder(graph), {}
        weakref.finalize(graph, _end, id(graph))
    folder, programs = _KEPT[id(graph)]
    found = programs.get(entry.name)
    if found is None:
        found = Running(folder, folder.new_answer(entry.name), knobs)
    elif found.knobs != knobs:
        found.close()
        found = Running(folder, found.answer, knobs)
    programs[entry.name] = found
    return found


def _end(graph_id: int) -> None:
    """End all programs that have loaded the graph whose Python ``id()`` is ``graph_id``. Release the folder
    that contains the graph."""
    _, programs = _KEPT.pop(graph_id, (None, {}))
    for program in programs.values():
        program.close()


def forget(graph: Graph) -> None:
    """Kill all programs that have loaded a graph, and release the folder that contains the graph. The next
    program gets a new folder with fresh copies of the graph."""
    _, programs = _KEPT.pop(id(graph), (None, {}))
    for program in programs.values():
        program.kill()


def device_memory_used() -> int | None:
    """Returns the number of bytes in use on all GPUs of this machine together. Returns None if it is
    unknown."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
    except pynvml.NVMLError:
        return None
