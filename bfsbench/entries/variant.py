"""An entry as a variant: it is planned, run, checked and reported like those of this package."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bfsbench.entries import answer, build, packages
from bfsbench.entries.declaration import Entry
from bfsbench.entries.memory import device_memory_used
from bfsbench.entries.process import Process, Reply
from bfsbench.entries.running import running
from bfsbench.errors import LaunchError, WrongResultError
from bfsbench.families.bfs.searches import UNREACHED, HostVariant
from bfsbench.programs import Clock
from bfsbench.toolchain import DRIVER_LIBRARY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.graphs.graph import Graph

_UNIT_MS = {"ms": 1.0, "us": 1e-3, "s": 1e3}
_CLOCK_TOLERANCE = 1.01
"""Largest ratio of a program's time to the host's."""
_CLOCK_SLACK_MS = 0.05
_UNTIMED_MS = 100.0
"""Allowed difference of the host's time and a program's: for its reply and for waking up ..."""
_UNTIMED_VERTEX_MS = 4e-5
"""... plus this for each vertex, as the answer is copied, filled and written ..."""
_UNTIMED_ARC_MS = 1e-5
"""... plus this for each arc, where its clock does not cover transfers or conversion."""

_CALLERS = ("answer", "exports", "folder", "host", "process", "running", "variant")
"""Modules of this package that a search of an entry runs through."""
_SEARCHES_TO_JUDGE = 3
"""Fewest searches before a time is rejected; all must exceed the limit, as one may have waited for a core."""


class _EntryClock:
    """The time of the last search, by the clock that the entry declares."""

    def __init__(self, variant: EntryVariant) -> None:
        self._variant = variant

    def wait(self) -> None:
        """Does nothing: a search has ended when its reply arrives."""

    def start(self) -> None:
        self._variant.took_ms = 0.0

    def stop(self) -> float:
        return self._variant.took_ms


class EntryVariant(HostVariant):
    """A search of another program. A subclass of it is made for each entry by ``variant_of``.

    Searches on a graph share a process. The program's work on the graph before the first search is
    ``preprocess_ms``. An initialisation of its own is part of the search: ``reset`` does nothing.
    """

    entry: ClassVar[Entry]
    launched = False
    layout = ("CSR", "CSC")
    frontier = "the program's own"
    parallel_unit = "the program's own"
    work = "the program's own"
    synchronisation = "the program's own"

    def __init__(self, graph: Graph, knobs: Mapping[str, object]) -> None:
        super().__init__(graph, {})
        self.took_ms = 0.0
        self._levels: npt.NDArray[np.int32] | None = None
        self._source = 0
        self._reply: Reply | None = None

    @classmethod
    def missing(cls) -> str:
        return missing(cls.entry)

    @classmethod
    def program_parts(cls) -> Iterator[bytes]:
        """The declaration, the built or installed files, and the program that calls them."""
        entry = cls.entry
        ours = (Path(__file__).with_name(f"{module}.py") for module in _CALLERS)
        files = [entry.file, *ours, *build.made_files(entry)]
        if not entry.build:
            files += [Path(entry.filled(word)) for word in (*entry.call.command[:1], entry.call.library)]
        if module := packages.module_file(entry):
            files.append(module)
        for file in sorted(set(files)):
            if file.is_file():
                yield file.name.encode() + b"\0" + file.read_bytes()
        yield " ".join(packages.versions(entry)).encode()

    def clock(self) -> Clock:
        return _EntryClock(self)

    def prepare(self) -> None:
        """Start the program, which prepares the graph. Raises LaunchError, EntryCrashError and the like."""
        if reason := missing(self.entry):
            raise LaunchError(reason)
        self._running = running(self.graph, self.entry)
        self._running.untimed_ms.clear()
        if self._running.process is None or self.entry.per_search:
            answer.poison(self._running.path, self.graph.num_vertices)
            self._begin()
        self.preprocess_ms = self._running.preparation_ms

    def _begin(self) -> None:
        """Write the graph in the program's format; start a program of several searches, which reads it."""
        running, entry = self._running, self.entry
        for name in entry.exports:
            running.folder.export(name)
        if entry.per_search:
            return
        if running.on_gpu:
            running.before_bytes, running.held_bytes = device_memory_used(), None
        started = time.perf_counter()
        running.process = self._start()
        with self._killed_on_errors():
            running.process.wait_until_ready()
        running.preparation_ms = (time.perf_counter() - started) * 1e3
        running.note()

    def _start(self, source: str = "") -> Process:
        entry, folder = self.entry, self._running.folder
        path = self._running.path
        if entry.call.command:
            exports = {f"graph.{name}": str(folder.export(name)) for name in entry.exports}
            places = {"graph": str(folder.path), "answer": str(path), "source": source, **exports}
            words = [entry.filled(word, **places) for word in entry.call.command]
        else:
            words = [sys.executable, "-m", "bfsbench.entries.host", str(entry.file)]
            words += [str(folder.path), str(path)]
        return Process(words, path.parent, time_line=entry.call.time, memory_mib=entry.call.memory_mib)

    def poison(self) -> None:
        """Let the program run, and overwrite its last answer."""
        running = self._running
        if running.process is not None and not self.entry.per_search:
            running.process.resume()
        if running.before_bytes is not None:
            running.before_bytes = device_memory_used()
        answer.poison(running.path, self.graph.num_vertices)

    def reset(self, source: int) -> None:
        """Does nothing: a program initialises itself at each search."""

    def traverse(self, source: int) -> None:
        """Raises EntryCrashError, DeviceOutOfMemoryError, WrongResultError, LaunchError."""
        self._source, self._levels, self._reply = source, None, None
        with self._killed_on_errors():
            self._reply = self._searched(source)
        if self._reply.said is None or (self.entry.call.command and self.entry.clock.held_by == "ours"):
            self.took_ms = self._reply.wall_ms
        else:
            self.took_ms = self._reply.said * _UNIT_MS[self.entry.call.unit]

    def _searched(self, source: int) -> Reply:
        running = self._running
        if self.entry.per_search:
            running.process = self._start(str(source))
            return running.process.outcome()
        assert running.process is not None
        running.process.resume()
        return running.process.ask(source)

    def levels(self) -> npt.NDArray[np.int32]:
        """The answer as levels, after all checks of the search. Raises WrongResultError for a wrong size,
        unwritten answers, an invalid tree, a time that contradicts the host's clock, and child processes left
        running.
        """
        if self._levels is None:
            with self._killed_on_errors():
                self._levels = self._checked()
        return self._levels

    @property
    def leaves_tree(self) -> bool:
        return self.entry.call.answer == "parents"

    def parents(self) -> npt.NDArray[np.int32]:
        """The tree of the last search, after all of its checks. Raises WrongResultError."""
        if not self.leaves_tree:
            return super().parents()
        self.levels()
        return answer.tree_of(answer.read(self._running.path, self.graph.num_vertices), self._source)

    def _checked(self) -> npt.NDArray[np.int32]:
        running, call = self._running, self.entry.call
        running.note()
        if running.process is not None:
            running.process.require_no_children()
            if self.entry.per_search:
                running.close()
            else:
                running.process.pause()
        self._require_honest_time()
        found = answer.read(running.path, self.graph.num_vertices)
        if self.leaves_tree:
            return answer.levels_of(answer.tree_of(found, self._source), self.graph, self._source)
        found[found == call.unreached] = UNREACHED
        return found

    def _require_honest_time(self) -> None:
        """Raises WrongResultError for a time that contradicts the host's clock: longer, or in every search so
        far so short that the parts not covered by the clock cannot explain the difference."""
        reply, graph = self._reply, self.graph
        if reply is None or reply.said is None:
            return
        said, wall = reply.said * _UNIT_MS[self.entry.call.unit], reply.wall_ms
        if not 0 < said <= wall * _CLOCK_TOLERANCE + _CLOCK_SLACK_MS:
            raise WrongResultError(f"it says a search took {said:g} ms, the host's clock saw {wall:.3f} ms")
        if self.entry.per_search:
            return  # the host's time includes starting and reading the graph
        self._running.untimed_ms.append(wall - said)
        allowed = _UNTIMED_MS + _UNTIMED_VERTEX_MS * graph.num_vertices
        if not {"transfers", "conversion"} <= {*self.entry.clock.covers}:
            allowed += _UNTIMED_ARC_MS * graph.num_edges
        if len(self._running.untimed_ms) >= _SEARCHES_TO_JUDGE and min(self._running.untimed_ms) > allowed:
            raise WrongResultError(
                f"it says a search took {said:g} ms, the host's clock saw {wall:.3f} ms: "
                f"what is not timed explains no more than {allowed:.0f} ms"
            )

    @contextmanager
    def _killed_on_errors(self) -> Iterator[None]:
        """After an exception the process is killed; the next search starts another one."""
        try:
            yield
        except BaseException:
            if self._running.process is not None:
                self._running.process.stop()
                self._running.process = None
            raise

    def measured(self) -> dict[str, str]:
        running = self._running
        return {
            "program": program_of(self.entry),
            "clock": self.entry.clock.held_by,
            "covers": self.entry.covers,
            "host_mib": f"{running.peak_bytes / 2**20:.1f}" if running.peak_bytes else "",
            "device_mib": "" if running.held_bytes is None else f"{running.held_bytes / 2**20:.1f}",
        }


def program_of(entry: Entry) -> str:
    """The version of the program: versions of packages, or the commit."""
    found = packages.versions(entry) or [entry.name]
    if entry.build and entry.build.commit:
        found.append(f"commit {entry.build.commit[:12]}")
    return f"{', '.join(found)} ({entry.licence})"


def missing(entry: Entry) -> str:
    """What is missing before an entry can run here, in one line; empty if nothing."""
    return packages.missing(entry) or build.missing(entry) or _no_device(entry) or _no_program(entry)


def _no_device(entry: Entry) -> str:
    if entry.call.device == "gpu":
        try:
            ctypes.CDLL(DRIVER_LIBRARY)
        except OSError:
            return f"entry {entry.name} needs an NVIDIA GPU: there is no driver ({DRIVER_LIBRARY}) here"
    return ""


def _no_program(entry: Entry) -> str:
    """The message for a missing program that is neither built nor installed by this package."""
    for word in (*entry.call.command[:1], entry.call.library):
        path = Path(entry.filled(word))
        if "{" in word and not path.exists():
            return f"entry {entry.name}: there is no {path}"
    return ""


def variant_of(entry: Entry) -> type[EntryVariant]:
    """The variant that runs an entry."""
    declared = {
        "name": entry.name,
        "entry": entry,
        "summary": entry.summary,
        "origin": (entry.paper or entry.authors,),
        "host": entry.call.device == "cpu",
        "__module__": __name__,
        "__doc__": f"{entry.summary}, by {entry.authors} ({entry.licence}; {entry.source}).",
    }
    return type(f"Entry_{entry.name}", (EntryVariant,), declared)
