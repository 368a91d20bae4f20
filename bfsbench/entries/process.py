"""The process of an entry, and its protocol.

The process prints ``ready`` when the graph is prepared. Then each line on its standard input is a source
vertex: it searches, writes the answer to its file, and prints the time. It ends at the end of its input.
``error TEXT`` instead of either line ends the process with a message. Programs of one search per process are
started for each search, and print the time among other output.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bfsbench.errors import DeviceError, DeviceOutOfMemoryError, LaunchError, WrongResultError
from bfsbench.machine import available_memory
from bfsbench.paths import PACKAGE

MARK = "BFSBENCH_ENTRY"
"""Environment variable by which a process and its descendants are identified."""
READY = "ready"
GUARD_BROKEN = "error: it wrote outside its array"
"""Line of ``bfsbench.entries.host``."""

_LOOK_EVERY_S = 0.05
"""Seconds between checks of a process's memory."""
_GRACE_S = 0.2
"""Seconds for children of a process to end after its reply."""
_END_S = 5.0
"""Seconds for a process to end after its input."""
_LONGEST_LINE = 1 << 16
_PROC = Path("/proc")
_NUMBER = r"\s*([+-]?[0-9][0-9.eE+-]*)\s*"


class EntryCrashError(DeviceError):
    """The process of an entry ended, or sent an invalid reply."""

    status = "crash"


@dataclass(frozen=True)
class Reply:
    """The reply to one search."""

    said: float | None
    """The time that the program prints, in its unit; None if it prints none."""
    wall_ms: float
    """From the request to the reply, by the host's clock."""


class Process:
    """A running program. Raises LaunchError when it cannot be started."""

    def __init__(
        self, words: Sequence[str], folder: Path, *, time_line: str = "", memory_mib: int | None = None
    ) -> None:
        self._time = re.compile(time_line or _NUMBER)
        self._whole_line = not time_line
        self._mark = secrets.token_hex(8)
        self._limit = memory_mib << 20 if memory_mib else available_memory()
        self._log = folder / "stderr.txt"
        self._lines: list[str] = []
        self._rest = b""
        self.peak_bytes = 0
        """The peak of its memory on the host that was observed."""
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    words,
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=_environment(self._mark),
                )
        except OSError as error:
            raise LaunchError(f"cannot start {words[0]}: {error.strerror or error}") from error

    def wait_until_ready(self) -> None:
        """Wait for ``ready``. Raises as ``ask`` does."""
        while (line := self._line()) != READY:
            self._refuse(line)

    def ask(self, source: int) -> Reply:
        """Search from a source. Raises EntryCrashError, DeviceOutOfMemoryError, WrongResultError."""
        started = time.perf_counter()
        try:
            os.write(self._input(), f"{source}\n".encode())
        except BrokenPipeError:
            raise self._crash() from None
        while True:
            line = self._line()
            wall_ms = (time.perf_counter() - started) * 1e3
            if (said := self._time_in(line)) is not None:
                return Reply(said, wall_ms)
            if line == "done":
                return Reply(None, wall_ms)
            self._refuse(line)

    def outcome(self) -> Reply:
        """Wait for the end of a program of one search. Raises as ``ask`` does."""
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
        return Reply(said, (time.perf_counter() - started) * 1e3)

    def require_no_children(self) -> None:
        """Kill the child processes that it has left. Raises WrongResultError if there were any."""
        deadline = time.monotonic() + _GRACE_S
        while left := [pid for pid in _marked(self._mark) if pid != self._process.pid]:
            if time.monotonic() > deadline:
                self.stop()
                raise WrongResultError(f"it left {len(left)} other processes running after a search")
            time.sleep(0.01)

    def pause(self) -> None:
        """Stop it until ``resume``: threads of some programs go on spinning while they wait for a source, and
        would take the cores from others."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it run again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def close(self) -> None:
        """Let it end by itself."""
        self.resume()
        with suppress(OSError, subprocess.TimeoutExpired):
            if self._process.stdin:
                self._process.stdin.close()
            self._process.wait(_END_S)
        self.stop()

    def stop(self) -> None:
        """Kill it and its descendants."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        for pid in _marked(self._mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()

    def _input(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def _line(self, at_end: Exception | None = None) -> str:
        """The next line that it prints. Raises ``at_end``, by default EntryCrashError, when there is none."""
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
            return float(found[1]) if found else None
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
        """Raises DeviceOutOfMemoryError, and kills the process, when it exceeds its limit."""
        self.note_memory()
        if self._limit is not None and self.peak_bytes > self._limit:
            self.stop()
            raise DeviceOutOfMemoryError(f"it took more than {self._limit >> 20} MiB on the host")

    def note_memory(self) -> None:
        """Record its memory, or its peak where the system has that."""
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
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return EntryCrashError(f"{how}: {said[-1].strip()}" if said else how)


def _environment(mark: str) -> dict[str, str]:
    """The environment of this process, with this package on Python's path, and the mark."""
    path = filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
    return os.environ | {MARK: mark, "PYTHONPATH": os.pathsep.join(path)}


def _marked(mark: str) -> Iterator[int]:
    """The processes with this mark that are visible."""
    wanted = f"{MARK}={mark}".encode()
    for place in _PROC.glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in place.read_bytes().split(b"\0") and not _is_dead(place.parent):
                yield int(place.parent.name)


def _is_dead(process: Path) -> bool:
    """Whether it is a zombie."""
    return (process / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
