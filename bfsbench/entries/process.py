"""Runs the process of an entry, and implements the protocol between this process and bfsbench.

The process prints ``ready`` when the graph is prepared. Then it reads source vertices, one per line, from its
standard input. For each one it searches, writes the answer to its file, and prints the time. It ends at the
end of its input. To report an error, it prints ``error TEXT`` instead of ``ready`` or a time, and ends.

A program that runs one search per process is started for each search. It prints the time among other output.
For each graph in use, an entry keeps one process. NVIDIA's library NVML reports the memory in use on the
GPUs.
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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING

from bfsbench.entries.declaration import Entry
from bfsbench.support import storage
from bfsbench.support.descendants import MARK, ON_GPU, left_by, signal_all
from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError, LaunchError, WrongResultError
from bfsbench.support.machine import available_memory
from bfsbench.support.paths import PACKAGE

if TYPE_CHECKING:
    from bfsbench.entries.folder import GraphFolder
    from bfsbench.graphs.graph import Graph


def device_memory_used() -> int | None:
    """Returns the bytes in use on all GPUs of this machine together, or None if they are unknown."""
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


READY = "ready"
LOADED = "loaded"
"""Printed by a program that has loaded its libraries and begins to prepare the graph."""
GUARD_BROKEN = "error: it wrote outside its array"
"""Printed by ``bfsbench.entries.host`` if a search wrote outside its array."""

_LOOK_EVERY_S = 0.05
"""Seconds between two checks of a process's memory."""
_GRACE_S = 0.2
"""Seconds that the children of a process get to end after its reply."""
_END_S = 5.0
"""Seconds that a process gets to end after the end of its input."""
_LONGEST_LINE = 1 << 16
_ERRORS_KEPT = 1 << 16
"""Bytes that are kept of the beginning and of the end of a program's standard error."""
_LONGEST_ERROR = 1000
_PROC = Path("/proc")
_RUNNING: set[int] = set()
"""Ids of the entries' processes that this process runs."""
_NUMBER = r"\s*([+-]?[0-9][0-9.eE+-]*)\s*"


class EntryCrashError(DeviceError):
    """Raised if the process of an entry ends too early, or sends an invalid reply."""

    status = "crash"


@dataclass(frozen=True)
class Reply:
    """The reply of an entry's process to one search."""

    said: float | None
    """The time that the program prints, in its own unit. None if it prints no time."""
    wall_ms: float
    """Time from the request to the reply by the host's clock, in ms."""
    digit: float = 0.0
    """The value of one unit in the last digit of the printed time, in the program's unit."""


class Errors:
    """Reads the standard error of a program. Keeps only its beginning and its end, because it may be
    endless."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._begin, self._end, self._is_cut = b"", b"", False
        self._pipe = pipe
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):  # the pipe has been closed
            while found := os.read(self._pipe.fileno(), _ERRORS_KEPT):
                room = _ERRORS_KEPT - len(self._begin)
                self._begin += found[:room]
                self._end += found[room:]
                self._is_cut |= len(self._end) > _ERRORS_KEPT
                self._end = self._end[-_ERRORS_KEPT:]

    def end(self) -> None:
        """Wait until the output so far has been read. The wait is limited, because a process that was left
        running may keep the pipe open."""
        self._thread.join(_GRACE_S)

    def summary(self) -> str:
        """Returns the last line that is not blank, shortened if it is long. If lines were dropped, the first
        line is added before it."""
        lines = [
            line for line in (self._begin + self._end).decode(errors="replace").splitlines() if line.strip()
        ]
        told = [lines[0], lines[-1]] if self._is_cut else lines[-1:]
        return " ... ".join(line.strip()[:_LONGEST_ERROR] for line in told)


class Process:
    """A running process of an entry. Raises LaunchError when it cannot be started."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        time_line: str = "",
        memory_mib: int | None = None,
        on_gpu: bool = False,
    ) -> None:
        self._time = re.compile(time_line or _NUMBER)
        self._whole_line = not time_line
        self._digit = 0.0
        self._mark = f"{os.getpid()}.{secrets.token_hex(8)}"
        self._limit = memory_mib << 20 if memory_mib else available_memory()
        self._lines: list[str] = []
        self._rest = b""
        self.peak_bytes = 0
        """The highest observed memory use of the process on the host, in bytes."""
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(self._mark),
                process_group=0,  # so that all of its processes can be stopped at once
            )
        except OSError as error:
            raise LaunchError(f"cannot start {words[0]}: {error.strerror or error}") from error
        _RUNNING.add(self._process.pid)
        if on_gpu:
            ON_GPU.add(self._process.pid)
        assert self._process.stderr is not None
        self._errors = Errors(self._process.stderr)

    def wait_until_ready(self) -> float:
        """Wait until the process prints ``ready``. Returns the ms since the first line ``loaded``, or since
        the call if that line does not come. Raises the errors of ``ask``."""
        started, is_loaded = time.perf_counter(), False
        while (line := self._line()) != READY:
            if line == LOADED and not is_loaded:
                started, is_loaded = time.perf_counter(), True
            self._refuse(line)
        return (time.perf_counter() - started) * 1e3

    def ask(self, source: int) -> Reply:
        """Search from a source. Returns the reply, and stops the program until ``resume`` is called.

        Raises EntryCrashError, DeviceOutOfMemoryError and WrongResultError.
        """
        started = time.perf_counter()
        try:
            os.write(self._input(), f"{source}\n".encode())
        except BrokenPipeError:
            raise self._crash() from None
        while True:
            line = self._line()
            wall_ms = (time.perf_counter() - started) * 1e3
            said = self._time_in(line)
            if said is not None or line == "done":
                self.pause()  # at once, because later writes would not be timed
                return Reply(said, self._until_alone(started, wall_ms), self._digit)
            self._refuse(line)

    def outcome(self) -> Reply:
        """Wait for the end of a program that runs one search. Returns its reply. Raises EntryCrashError,
        DeviceOutOfMemoryError and WrongResultError."""
        started, said = time.perf_counter(), None
        if self._process.stdin:
            self._process.stdin.close()
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
        return Reply(said, self._until_alone(started, (time.perf_counter() - started) * 1e3), self._digit)

    def _until_alone(self, started: float, wall_ms: float) -> float:
        """Wait for the child processes that the program has left, because they may still write the answer.
        Returns the time in ms from the beginning of the search to the end of the last child. Raises
        WrongResultError if they keep running."""
        deadline = time.monotonic() + _GRACE_S
        while left := self._others():
            if time.monotonic() > deadline:
                self.stop()
                raise WrongResultError(f"it left {len(left)} other processes running after a search")
            self.resume()
            time.sleep(0.01)
            self.pause()
            wall_ms = (time.perf_counter() - started) * 1e3
        return wall_ms

    def _others(self) -> list[int]:
        return left_by(self._process.pid, self._mark, _RUNNING)

    def pause(self) -> None:
        """Stop the process group until ``resume`` is called. Otherwise it could still change its answer, and
        threads of some programs spin while they wait for a source."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process group run again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Close the input of the process, so that it ends by itself. Kill it if it does not end."""
        self.resume()
        with suppress(OSError, subprocess.TimeoutExpired):
            if self._process.stdin:
                self._process.stdin.close()
            self._process.wait(_END_S)
        self.stop()

    def stop(self) -> None:
        """Kill the process and its descendants."""
        left = self._others()  # while it lives, because it may be the parent of some of them
        self._signal(signal.SIGKILL)
        self._process.wait()
        signal_all({*left, *self._others()}, signal.SIGKILL)
        _RUNNING.discard(self._process.pid)
        ON_GPU.discard(self._process.pid)
        self._errors.end()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()

    def _input(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def _line(self, at_end: Exception | None = None) -> str:
        """Returns the next line that the process prints. Raises ``at_end``, by default EntryCrashError, if
        there is no further line."""
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(_LOOK_EVERY_S):
                    self._require_memory()
                    continue
                if len(self._rest) > _LONGEST_LINE or not (found := os.read(output, 1 << 12)):
                    raise at_end or self._crash()
                self._rest += found
        line, _, self._rest = self._rest.partition(b"\n")
        self._lines = [*self._lines[-20:], text := line.decode(errors="replace").strip()]
        return text

    def _time_in(self, line: str) -> float | None:
        found = self._time.fullmatch(line) if self._whole_line else self._time.search(line)
        try:
            if found is None:
                return None
            self._digit = 10.0 ** -len(found[1].partition(".")[2])
            return float(found[1])
        except ValueError:
            return None

    def _refuse(self, line: str) -> None:
        if line.startswith(GUARD_BROKEN):
            self.stop()
            raise WrongResultError(line.removeprefix("error: "))
        if line.startswith("error"):
            self.stop()
            raise EntryCrashError(line.removeprefix("error").lstrip(": ") or "it gave up")

    def _require_memory(self) -> None:
        """Raises DeviceOutOfMemoryError and kills the process if it exceeds its memory limit."""
        self.note_memory()
        if self._limit is not None and self.peak_bytes > self._limit:
            self.stop()
            raise DeviceOutOfMemoryError(f"it took more than {self._limit >> 20} MiB on the host")

    def note_memory(self) -> None:
        """Record the peak memory of the process on the host, if the system reports it."""
        with suppress(OSError, ValueError):
            for line in (_PROC / str(self._process.pid) / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_bytes = max(self.peak_bytes, int(line.split()[1]) << 10)

    def _crash(self) -> EntryCrashError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        code = self._process.poll()
        self.stop()
        if code is None:
            return EntryCrashError("it closed its output and went on running")
        how = f"it ended with exit code {code}"
        if code < 0:
            names = {known.value: known.name for known in signal.Signals}
            how = f"it was killed by {names.get(-code, f'signal {-code}')}"
        said = self._errors.summary()
        return EntryCrashError(f"{how}: {said}" if said else how)


@cache
def round_trip_ms() -> float:
    """Returns the median time in ms to send a line to a process and to get it back."""
    times = []
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdin and echo.stdout
        for _ in range(20):
            started = time.perf_counter()
            echo.stdin.write(b"0\n")
            echo.stdout.read(2)
            times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def _environment(mark: str) -> dict[str, str]:
    """Returns the environment for a process. It adds this package to Python's path, and a mark by which
    descendants of the process are found."""
    path = filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
    return os.environ | {MARK: mark, "PYTHONPATH": os.pathsep.join(path)}


@dataclass
class Running:
    """The process of an entry on one graph, with the figures that are kept between searches."""

    folder: GraphFolder
    path: Path
    """Path of the file for the answers."""
    on_gpu: bool = False
    process: Process | None = None
    preparation_ms: float = 0.0
    held_bytes: int | None = None
    """GPU memory that the process holds after its preparation, plus what later searches added. None if it is
    unknown."""
    before_bytes: int | None = None
    """GPU memory in use before the preparation, and then before each search: other programs may take more in
    between."""
    peak_bytes: int = 0
    beyond_ms: list[float] = field(default_factory=list)
    """For each search of a point: by how many ms the difference of host's time and program's time exceeds the
    allowed difference."""
    first_ms: dict[int, tuple[float, int]] = field(default_factory=dict)
    """For each source, the first search from it in this process: its time in ms, and the number of arcs that
    it traversed."""
    too_fast: list[bool] = field(default_factory=list)
    """For each later search of a point that can be compared with first searches: whether it is too fast."""
    read_digest: str = ""
    """Digest of the last answer when bfsbench read it. Empty before that."""

    def note(self) -> None:
        """Record the memory that the process uses now, on the host and on the GPUs."""
        if self.process is not None:
            self.process.note_memory()
            self.peak_bytes = max(self.peak_bytes, self.process.peak_bytes)
        used = None if self.before_bytes is None else device_memory_used()
        if used is not None and self.before_bytes is not None:
            self.held_bytes = (self.held_bytes or 0) + max(0, used - self.before_bytes)
            self.before_bytes = used

    def require_same_answer(self) -> None:
        """Raises WrongResultError if the answer has changed since bfsbench read it. Afterwards the digest of
        the answer is forgotten."""
        digest, self.read_digest = self.read_digest, ""
        if digest and (not self.path.exists() or storage.digest(self.path) != digest):
            raise WrongResultError("it wrote its answer after it had replied")

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None


class _Kept:
    """Keeps the processes of entries on all graphs in use. The processes on a graph end when the graph is
    deleted."""

    def __init__(self) -> None:
        self._folders: dict[int, GraphFolder] = {}
        self._running: dict[tuple[int, str], Running] = {}

    def of(self, graph: Graph, entry: Entry) -> Running:
        from bfsbench.entries.folder import GraphFolder

        key = id(graph)
        if key not in self._folders:
            self._folders[key] = GraphFolder(graph)
            weakref.finalize(graph, self._end, key)
        if (key, entry.name) not in self._running:
            place = self._folders[key]
            answer_file = place.new_answer(entry.name)
            self._running[key, entry.name] = Running(place, answer_file, entry.call.device == "gpu")
        return self._running[key, entry.name]

    def _end(self, key: int) -> None:
        for name in [name for graph, name in self._running if graph == key]:
            self._running.pop((key, name)).close()
        self._folders.pop(key, None)

    def forget(self, folder: GraphFolder) -> None:
        """Kill the programs that use a graph's folder, and give up the folder."""
        for key in [key for key, one in self._running.items() if one.folder is folder]:
            self._running.pop(key).kill()
        self._folders = {key: kept for key, kept in self._folders.items() if kept is not folder}


_KEPT = _Kept()


def forget(folder: GraphFolder) -> None:
    """Kill the programs that use a graph's folder. The next program on the graph gets a new folder."""
    _KEPT.forget(folder)


def running(graph: Graph, entry: Entry) -> Running:
    """Returns the record of an entry's process on a graph. At the first call the process is not started yet.
    The process ends when the graph is deleted."""
    return _KEPT.of(graph, entry)
