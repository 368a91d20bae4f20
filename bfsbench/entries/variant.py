"""An entry as a variant: it is planned, run, checked and reported like those of this package."""

from __future__ import annotations

import ctypes
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bfsbench.entries import answer, build, clocks, packages
from bfsbench.entries.declaration import Entry
from bfsbench.entries.process import Process, Reply, device_memory_used, forget, round_trip_ms, running
from bfsbench.programs import Clock, ForeignProgram
from bfsbench.programs.families import DEFAULT, families_here
from bfsbench.support import storage
from bfsbench.support.errors import LaunchError, WrongResultError, plural
from bfsbench.support.machine import usable_cores
from bfsbench.support.toolchain import DRIVER_LIBRARY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.graphs.graph import Graph

_UNIT_MS = {"ms": 1.0, "us": 1e-3, "s": 1e3}
_CLOCK_TOLERANCE = 1.01
"""Largest ratio of a program's time to the host's."""
_CLOCK_SLACK_MS = 0.05
_UNTIMED_SHARE = 0.05
"""Allowed difference of the host's time and a program's: this share of the host's ..."""
_UNTIMED_MS = 0.25
"""... plus this, and _PASSES times a measured round trip of a line and a measured filling of an answer ..."""
_PASSES = 4
_UNTIMED_VERTEX_MS = 4e-5
"""... plus this for each vertex, where the program's clock does not cover conversion ..."""
_UNTIMED_ARC_MS = 1e-5
"""... plus this for each arc, where it does not cover transfers or conversion. What is not covered is at most
_PASSES times as long for a vertex or arc as in the searches that ``clocks`` measures."""
_CONTRADICTION_MS = 100.0
"""A program whose median difference is larger than allowed by this does not just wait for a core."""
_FASTER = 4
"""A repeated search that is faster than a first one from another source by this repeats an answer ..."""
_COMPARABLE = 10
"""... if the other one traverses at least this part of its arcs ..."""
_COMPARED_MS = 20.0
"""... and would take at least this time."""
_SHORTEST_MS = 1e-6
_CORE_BYTES_PER_MS = 8e8
"""More than a core reads from its nearest cache: 128 bytes a cycle at 6 GHz."""
_GPU_BYTES_PER_MS = 1e11
"""More than all multiprocessors of a GPU read from their nearest caches."""

_CALLERS = ("answer", "clocks", "folder", "host", "process", "variant")
"""Modules of this package that a search of an entry runs through."""
_SEARCHES_TO_JUDGE = 3
"""Fewest searches before a program is rejected."""


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


class EntryVariant(ForeignProgram):
    """A search of another program. ``variant_of`` makes a subclass of it and of the family's class.

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
        self._filling_ms = 0.0
        self._held_by = self.entry.clock.held_by
        self._untimed_ms = math.inf
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
        self._running.beyond_ms.clear()
        self._running.too_fast.clear()
        if self._running.process is None or self.entry.per_search:
            answer.poison(self._running.path, self.graph.num_vertices)
            self._begin()
        self.preprocess_ms = self._running.preparation_ms

    def settle_clock(self) -> None:
        """Compare the program's own clock with the host's, if it has one. The host's clock counts if they
        cannot be compared. Raises WrongResultError if they contradict each other."""
        if self.entry.clock.held_by != "ours":
            untimed_ms = clocks.untimed_ms(type(self))
            self._held_by = "ours" if untimed_ms is None else self.entry.clock.held_by
            self._untimed_ms = math.inf if untimed_ms is None else untimed_ms

    def prepared_ms(self) -> tuple[float, float]:
        self.prepare()
        return self.preprocess_ms, 0.0

    def _begin(self) -> None:
        """Write the graph in the program's format; start a program of several searches, which reads it."""
        running, entry = self._running, self.entry
        for name in entry.exports:
            running.folder.export(name)
        if entry.per_search:
            return
        if running.on_gpu:
            running.before_bytes, running.held_bytes = device_memory_used(), None
        running.process = self._start()
        running.first_ms.clear()
        with self._killed_on_errors():
            running.preparation_ms = running.process.wait_until_ready()
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
        call = entry.call
        return Process(
            words, path.parent, time_line=call.time, memory_mib=call.memory_mib, on_gpu=call.device == "gpu"
        )

    def poison(self) -> None:
        """Overwrite the last answer. Raises WrongResultError if that has changed since it was read."""
        running = self._running
        with self._killed_on_errors():
            running.require_same_answer()
        if running.before_bytes is not None:
            running.before_bytes = device_memory_used()
        started = time.perf_counter()
        answer.poison(running.path, self.graph.num_vertices)
        self._filling_ms = (time.perf_counter() - started) * 1e3

    def reset(self, source: int) -> None:
        """Does nothing: a program initialises itself at each search."""

    def traverse(self, source: int) -> None:
        """Raises EntryCrashError, DeviceOutOfMemoryError, WrongResultError, LaunchError."""
        self._source, self._levels, self._reply = source, None, None
        with self._killed_on_errors():
            self._reply = self._searched(source)
        said_ms, wall_ms = self.last_times
        settled = self._held_by != self.entry.clock.held_by
        if self._reply.said is None or settled or (self.entry.call.command and self._held_by == "ours"):
            self.took_ms = wall_ms
        elif self.entry.per_search:  # the host's time includes starting and reading the graph
            self.took_ms = said_ms
        else:
            self.took_ms = max(said_ms, wall_ms - self._allowed_ms())

    @property
    def last_times(self) -> tuple[float, float]:
        """Returns the time in ms of the last search by the program's clock, and by the host's clock.

        The first is NaN if the program printed no time. A time that the program rounds to 0 counts as half of
        its last digit, at most the host's time.
        """
        assert self._reply is not None
        said, wall_ms, unit = self._reply.said, self._reply.wall_ms, _UNIT_MS[self.entry.call.unit]
        if said is None:
            return math.nan, wall_ms
        return said * unit or min(self._reply.digit / 2 * unit, wall_ms), wall_ms

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
                self._require_possible(int((self._levels >= 0).sum()))
                self._require_searched(self._levels)
        return self._levels

    @property
    def leaves_tree(self) -> bool:
        return self.entry.call.answer == "parents"

    def parents(self) -> npt.NDArray[np.int32]:
        """The tree of the last search, after all of its checks. Raises WrongResultError."""
        if not self.leaves_tree:
            raise ValueError(f"{self.name} leaves levels")
        self.levels()
        return self.links(answer.read(self._running.path, self.graph.num_vertices), self._source)

    def _checked(self) -> npt.NDArray[np.int32]:
        running, call = self._running, self.entry.call
        running.note()
        if running.process is not None and self.entry.per_search:
            running.close()
        self._require_honest_time()
        found = answer.read(running.path, self.graph.num_vertices)
        running.read_digest = storage.digest(running.path)
        if not self.leaves_tree:
            found[found == call.unreached] = -1  # which says the same to every family
        return self.accepted(found, self._source)

    def _allowed_ms(self) -> float:
        """Returns how much longer the last search may take by the host's clock than by the program's."""
        assert self._reply is not None
        num_vertices, num_edges = self.graph.num_vertices, self.graph.num_edges
        allowed = _UNTIMED_SHARE * self._reply.wall_ms + _UNTIMED_MS
        allowed += _PASSES * (round_trip_ms() + self._filling_ms)
        covered, declared = {*self.entry.clock.covers}, 0.0
        if "conversion" not in covered:
            declared += _UNTIMED_VERTEX_MS * num_vertices
        if not {"transfers", "conversion"} <= covered:
            declared += _UNTIMED_ARC_MS * num_edges
        return allowed + min(declared, _PASSES * self._untimed_ms * (num_vertices + num_edges))

    def _require_possible(self, reached: int) -> None:
        """Raises WrongResultError if no machine could read a byte for each reached vertex in the time."""
        rate = _GPU_BYTES_PER_MS if self._running.on_gpu else _CORE_BYTES_PER_MS * usable_cores()
        if self.took_ms < max(_SHORTEST_MS, reached / rate):
            raise WrongResultError(
                f"it says a search took {self.took_ms:g} ms, in which nothing reads {plural(reached, 'byte')}"
            )

    def _require_searched(self, levels: npt.NDArray[np.int32]) -> None:
        """Raises WrongResultError if most searches from a source that the process has searched from before
        take far less time for an arc than the fastest first search from another source."""
        running, edges = self._running, self.work_of(levels)
        if self.entry.per_search or self._source not in running.first_ms:
            running.first_ms[self._source] = self.took_ms, edges
            return
        first = [
            ms * edges / arcs
            for source, (ms, arcs) in running.first_ms.items()
            if source != self._source and arcs * _COMPARABLE >= edges > 0
        ]
        if not first or min(first) < _COMPARED_MS:
            return
        running.too_fast.append(self.took_ms * _FASTER < min(first))
        if len(running.too_fast) >= _SEARCHES_TO_JUDGE and statistics.mean(running.too_fast) > 0.5:
            raise WrongResultError(
                f"it keeps answers: a search took {self.took_ms:g} ms, "
                f"and a first one from another source {min(first):g} ms for as many arcs"
            )

    def _require_honest_time(self) -> None:
        """Raises WrongResultError for a time that contradicts the host's clock: longer, or in most searches
        so far so short that the parts not covered by the clock cannot explain the difference."""
        if self._reply is None or self._reply.said is None:
            return
        said, wall = self.last_times
        if not 0 < said <= wall * _CLOCK_TOLERANCE + _CLOCK_SLACK_MS:
            raise WrongResultError(f"it says a search took {said:g} ms, the host's clock saw {wall:.3f} ms")
        if self.entry.per_search:
            return  # the host's time includes starting and reading the graph
        allowed = self._allowed_ms() + _CONTRADICTION_MS
        self._running.beyond_ms.append(wall - said - allowed)
        beyond = self._running.beyond_ms
        if len(beyond) >= _SEARCHES_TO_JUDGE and statistics.median(beyond) > 0:
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
            self._running.kill()
            raise

    def require_unwritten(self) -> None:
        """Raises WrongResultError if the program has written into the files of its graph, or into its answer
        after that was read, and ends it."""
        with self._killed_on_errors():
            self._running.require_same_answer()
        if written := self._running.folder.written():
            forget(self._running.folder)
            raise WrongResultError(f"it wrote into the graph: {', '.join(written)}")

    def measured(self) -> dict[str, str]:
        running = self._running
        unknown = {"prepare_ms": "", "preprocess_ms": ""} if self.entry.per_search else {}
        return {
            **unknown,
            "program": program_of(self.entry),
            "clock": self._held_by,
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
    return type(f"Entry_{entry.name}", (EntryVariant, families_here()[DEFAULT].foreign()), declared)
