"""Makes an entry (a program of other authors) a variant, so that bfsbench plans, runs, checks and reports it
like its own variants.

If the program has its own clock, bfsbench compares the printed times with the host's clock in two ways.
First, after each search, the host's time may exceed the printed time only by the longest plausible time of
untimed work. Second, once per process, ``untimed_ms`` compares the two clocks on a fixed graph, whose
searches take milliseconds on any device.

The untimed part of a search is the host's time minus the printed time. It should not depend on the search,
because every search sends a line and writes an answer. ``untimed_ms`` therefore searches from a vertex that
reaches nothing, and from a vertex that reaches most of the graph. If the untimed part of the second search is
much longer, the program's clock does not show how long it searches.
"""

from __future__ import annotations

import ctypes
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bfsbench.entries import build, packages
from bfsbench.entries.declaration import Entry
from bfsbench.entries.process import Process, Reply, device_memory_used, forget, round_trip_ms, running
from bfsbench.programs import Clock, ForeignProgram, KnobValue, OwnClock
from bfsbench.programs.families import DEFAULT, families_here
from bfsbench.support.errors import DeviceError, LaunchError, WrongResultError, plural
from bfsbench.support.machine import usable_cores
from bfsbench.support.toolchain import DRIVER_LIBRARY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.graphs.graph import Graph
    from bfsbench.programs.families.base import Problem

WRONG_CLOCK = "its clock contradicts"
"""The beginning of the reason if the comparison of clocks fails. This failure depends on no graph."""
_CLOCK_TOLERANCE = 1.01
"""The largest allowed ratio of a program's printed time to the host's time."""
_CLOCK_SLACK_MS = 0.05
_UNTIMED_SHARE = 0.05
"""The host's time may exceed a program's printed time by this share of the host's time. ``_allowed_ms`` adds
further allowances."""
_UNTIMED_MS = 0.25
"""A constant amount in ms by which the host's time may exceed a program's printed time. The times to send a
line and to fill an answer are also allowed, each ``_PASSES`` times."""
_PASSES = 4
_UNTIMED_VERTEX_MS = 4e-5
"""Additional time in ms per vertex by which the host's time may exceed the printed time. It is allowed if the
program's clock does not include converting the graph."""
_UNTIMED_ARC_MS = 1e-5
"""Additional time in ms per arc by which the host's time may exceed the printed time. It is allowed unless
the program's clock includes both transfers and conversion. The additional times per vertex and per arc
together are at most ``_PASSES`` times the result of ``untimed_ms``."""
_CONTRADICTION_MS = 100.0
"""A program is rejected if, in the median of its searches, the host's time exceeds the allowed time by this
many ms. Waiting for a core cannot explain so much."""
_FASTER = 4
"""A repeated search is too fast if every first search took more than this many times as long per arc."""
_COMPARABLE = 10
"""A repeated search is compared only with first searches that traversed at least one tenth as many arcs."""
_COMPARED_MS = 20.0
"""A repeated search is compared only if each first search would take at least this time, in ms, for as many
arcs."""
_NEW_SOURCES = 8
"""Maximum number of additional first searches that test whether a program keeps its answers."""
_SHORTEST_MS = 1e-6
_CORE_BYTES_PER_MS = 8e8
"""An upper limit of the bytes per ms that one core can read from its nearest cache: 128 bytes per cycle at 6
GHz."""
_GPU_BYTES_PER_MS = 1e11
"""An upper limit of the bytes per ms that all multiprocessors of a GPU can read from their nearest caches."""

_SEARCHES_TO_JUDGE = 3
"""Minimum number of searches before a program can be rejected for its times."""

_GRAPH = "lattice(rows=4096,columns=128,keep=0.7)"
"""The graph on which a program's clock is compared with the host's clock. It has 524,288 vertices, some of
them isolated. A search has 5,000 levels, and each level costs a GPU at least one barrier."""
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 9
"""The minimum and the maximum number of pairs of searches that are compared. A clock can be accepted after
the minimum, and is rejected only after the maximum."""
_LONG_SHARE, _LONG_MS = 0.25, 2.0
"""The untimed part of the long search may exceed the untimed part of the short search by a limit. The limit
is ``_LONG_SHARE`` of the host's time of the long search, plus ``_LONG_MS``."""
_Times = list[tuple[float, float]]
"""A pair of times in ms for each search: its untimed part, and its time by the host's clock."""


class EntryVariant(ForeignProgram):
    """The base class of variants that run programs of other authors. ``variant_of`` makes one subclass per
    entry.

    All searches on one graph share a process, unless the program runs one search per process.
    ``preprocess_ms`` is the time that the program takes to prepare the graph. ``reset`` does nothing, because
    a program initialises itself as part of each search.
    """

    entry: ClassVar[Entry]
    launched = False
    layout = ("CSR", "CSC")
    frontier = "the program's own"
    parallel_unit = "the program's own"
    work = "the program's own"
    synchronisation = "the program's own"

    def __init__(self, graph: Graph, knobs: Mapping[str, KnobValue]) -> None:
        super().__init__(graph, self.knob_values(knobs))
        self._call = self.entry.call_with(self.knob)
        self.took_ms = 0.0
        """The time in ms that result rows record for the last search."""
        self.reply = Reply(None, 0.0)
        """The times of the last search by the program's clock and by the host's clock."""
        self._filling_ms = 0.0
        self._held_by = self.entry.clock.held_by
        self._untimed_ms = math.inf
        self._levels: npt.NDArray[np.int32] | None = None
        self._source = 0

    @classmethod
    def missing(cls) -> str:
        entry = cls.entry
        return packages.missing(entry) or build.missing(entry) or _no_device(entry) or _no_program(entry)

    @classmethod
    def program_parts(cls) -> Iterator[bytes]:
        """Yields bytes that identify the program: its declaration, its files, and the modules of bfsbench
        that call it."""
        entry = cls.entry
        ours = (Path(__file__).with_name(f"{name}.py") for name in ("folder", "host", "process", "variant"))
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
        return OwnClock(self)

    def prepare(self) -> None:
        """Start the program and let it prepare the graph. Both are skipped if the program of an earlier
        variant of this entry still runs on this graph with these values of knobs, because this program has
        prepared it. Raises
        LaunchError if something is missing or the program cannot be started, and EntryCrashError if it
        fails."""
        if reason := self.missing():
            raise LaunchError(reason)
        self._running = running(self.graph, self.entry, self.knob)
        self._beyond_ms: list[float] = []
        """By how many ms the host's time exceeds the allowed time, for each search since this call."""
        self._repeated: list[tuple[float, int]] = []
        """Each repeated search since this call that could be compared with first searches: its time in ms,
        and the number of arcs that it traversed."""
        if self._running.process is None or self.entry.per_search:
            self._running.answer.poison()
            self._begin()
        self.preprocess_ms = self._running.preparation_ms

    def settle_clock(self) -> None:
        """If the program has its own clock, compare it with the host's clock. If they cannot be compared, the
        host's clock measures all later searches. Raises WrongResultError if the clocks contradict each
        other."""
        if self.entry.clock.held_by != "ours":
            self._untimed_ms = untimed_ms(type(self))
            self._held_by = "ours" if self._untimed_ms == math.inf else self.entry.clock.held_by

    def prepared_ms(self) -> tuple[float, float]:
        self.prepare()
        return self.preprocess_ms, 0.0

    def _begin(self) -> None:
        """Write the graph in the formats that the program needs. If one process runs all searches, start it,
        and wait until it has prepared the graph."""
        running, entry = self._running, self.entry
        for name in entry.exports:
            running.folder.export(name)
        if entry.per_search:
            return
        if entry.call.device == "gpu":
            running.before_bytes, running.held_bytes = device_memory_used(), None
        running.process = self._start()
        running.first_ms.clear()
        with self._killed_on_errors():
            running.preparation_ms = running.process.wait_until_ready()
        running.note()

    def _start(self, source: str = "") -> Process:
        entry, folder, answer = self.entry, self._running.folder, self._running.answer.path
        if self._call.command:
            exports = {f"graph.{name}": str(folder.export(name)) for name in entry.exports}
            places = {"graph": str(folder.path), "answer": str(answer), "source": source, **exports}
            words = [entry.filled(word, **places) for word in self._call.command]
        else:
            words = [sys.executable, "-m", "bfsbench.entries.host", str(entry.file)]
            words += [str(folder.path), str(answer)]
        return Process(words, answer.parent, self._call)

    def poison(self) -> None:
        """Overwrite the last answer, so that it cannot pass as the next answer. Raises WrongResultError if
        the program has changed the answer since bfsbench read it."""
        running = self._running
        with self._killed_on_errors():
            running.answer.require_unchanged()
        if running.before_bytes is not None:
            running.before_bytes = device_memory_used()
        started = time.perf_counter()
        running.answer.poison()
        self._filling_ms = (time.perf_counter() - started) * 1e3

    def reset(self, source: int) -> None:
        """Do nothing, because a program initialises itself in each search."""

    def traverse(self, source: int) -> None:
        """Search from a source and record the time. Raises EntryCrashError, DeviceOutOfMemoryError,
        WrongResultError or LaunchError if the program fails."""
        self._source, self._levels, self.reply = source, None, Reply(None, 0.0)
        running = self._running
        with self._killed_on_errors():
            if self.entry.per_search:
                running.process = self._start(str(source))
                self.reply = running.process.outcome()
            else:
                assert running.process is not None
                self.reply = running.process.ask(source)
        said_ms, wall_ms = self.reply
        settled = self._held_by != self.entry.clock.held_by
        if said_ms is None or settled or (self.entry.call.command and self._held_by == "ours"):
            self.took_ms = wall_ms
        # no comparison, because the host's time includes the start of the program
        elif self.entry.per_search:
            self.took_ms = said_ms
        else:
            self.took_ms = max(said_ms, wall_ms - self._allowed_ms())

    def levels(self) -> npt.NDArray[np.int32]:
        """Check the answer and the time of the last search. Returns the levels, int32[V].

        Raises WrongResultError if the answer has a wrong size, unwritten values or an invalid tree. Also
        raises it if the time of the search is implausible, or if the program seems to return stored answers.
        """
        if self._levels is None:
            with self._killed_on_errors():
                self._running.note()
                if self.entry.per_search:
                    self._running.close()
                self._require_honest_time()
                found = self._running.answer.read()
                if not self.leaves_tree:
                    # all families use -1 for unreached vertices
                    found[found == self.entry.call.unreached] = -1
                levels = self.accepted(found, self._source)
                self._require_possible(int((levels >= 0).sum()))
                self._require_searched(levels)
            self._levels = levels
        return self._levels

    @property
    def leaves_tree(self) -> bool:
        return self.entry.call.answer == "parents"

    def parents(self) -> npt.NDArray[np.int32]:
        """Check the answer of the last search. Returns the parents, int32[V]. Raises WrongResultError if a
        check fails, and ValueError if the program gives levels."""
        if not self.leaves_tree:
            raise ValueError(f"{self.name} writes levels, not parents")
        self.levels()
        return self.links(self._running.answer.read(), self._source)

    def _allowed_ms(self) -> float:
        """Returns by how many ms the host's time of the last search may exceed the printed time."""
        num_vertices, num_edges = self.graph.num_vertices, self.graph.num_edges
        allowed = _UNTIMED_SHARE * self.reply.wall_ms + _UNTIMED_MS
        allowed += _PASSES * (round_trip_ms() + self._filling_ms)
        covered, declared = {*self.entry.clock.covers}, 0.0
        if "conversion" not in covered:
            declared += _UNTIMED_VERTEX_MS * num_vertices
        if not {"transfers", "conversion"} <= covered:
            declared += _UNTIMED_ARC_MS * num_edges
        return allowed + min(declared, _PASSES * self._untimed_ms * (num_vertices + num_edges))

    def _require_possible(self, reached: int) -> None:
        """Raise WrongResultError if the time of the search is impossibly short: no machine could read one
        byte per reached vertex in this time."""
        on_gpu = self.entry.call.device == "gpu"
        rate = _GPU_BYTES_PER_MS if on_gpu else _CORE_BYTES_PER_MS * usable_cores()
        if self.took_ms < max(_SHORTEST_MS, reached / rate):
            raise WrongResultError(
                f"it says a search took {self.took_ms:g} ms, in which nothing reads {plural(reached, 'byte')}"
            )

    def _require_searched(self, levels: npt.NDArray[np.int32]) -> None:
        """Raise WrongResultError if the program seems to return stored answers.

        A first search is the first one from its source, and later searches from this source are repeated
        searches. If most repeated searches take far less time per arc than the fastest first search, the
        program is tested by first searches from other sources. The error is raised if these searches are slow
        too. Otherwise the earlier first searches were slow because the machine was busy, or because the
        program had not warmed up.
        """
        first_ms, edges = self._running.first_ms, self.work_of(levels)
        if self.entry.per_search or self._source not in first_ms:
            first_ms[self._source] = self.took_ms, edges
            return
        took_ms, fastest = self.took_ms, self._fastest_first_ms(edges)
        if not fastest:
            return
        self._repeated.append((took_ms, edges))
        if (
            self._seems_to_keep_answers()
            and self._search_new_sources(edges)
            and self._seems_to_keep_answers()
        ):
            raise WrongResultError(
                f"it keeps answers: a search took {took_ms:g} ms, "
                f"and each first search at least {self._fastest_first_ms(edges):g} ms for as many arcs"
            )

    def _fastest_first_ms(self, edges: int) -> float:
        """Takes the first search from each source, and finds the least time per arc. Returns this time in ms,
        multiplied by ``edges`` arcs. Returns 0 if the first searches are too few or too short to be compared
        with a repeated search."""
        first = self._running.first_ms.values()
        found = [ms * edges / arcs for ms, arcs in first if arcs * _COMPARABLE >= edges > 0]
        return min(found) if len(found) > 1 and min(found) >= _COMPARED_MS else 0.0

    def _seems_to_keep_answers(self) -> bool:
        """Returns whether most repeated searches are much faster than all first searches. Returns False if
        there are fewer than three repeated searches."""
        fast = [took_ms * _FASTER < self._fastest_first_ms(edges) for took_ms, edges in self._repeated]
        return len(fast) >= _SEARCHES_TO_JUDGE and statistics.mean(fast) > 0.5

    def _search_new_sources(self, edges: int) -> bool:
        """Search from random sources that have not been searched, and check the answers. End after two
        searches that can be compared with a search of ``edges`` arcs. Returns False if there is no such
        search. The answer and the times of the last search are restored."""
        first_ms, answer, found = self._running.first_ms, self._running.answer, 0
        kept = answer.read(), self._source, self.reply, self.took_ms
        family = families_here()[DEFAULT]
        for source in family.problem(self.graph, self._source).other_sources(_NEW_SOURCES):
            if source not in first_ms and found < 2:
                run = family.problem(self.graph, source).run(self)
                run.poison()
                run.solve()
                run.check()  # adds the search to first_ms
                found += first_ms[source][1] * _COMPARABLE >= edges
        values, self._source, self.reply, self.took_ms = kept
        answer.restore(values)
        return found > 0

    def _require_honest_time(self) -> None:
        """Raise WrongResultError if the printed time of the last search contradicts the host's clock.

        The error is raised if the printed time is longer than the host's time. It is also raised if the
        host's time is so long in most searches that untimed work cannot explain the difference.
        """
        said, wall = self.reply
        if said is None:
            return
        if not 0 < said <= wall * _CLOCK_TOLERANCE + _CLOCK_SLACK_MS:
            raise WrongResultError(f"it says a search took {said:g} ms, the host's clock saw {wall:.3f} ms")
        if self.entry.per_search:
            return  # the host's time includes the start of the program, so it is only an upper limit
        allowed = self._allowed_ms() + _CONTRADICTION_MS
        self._beyond_ms.append(wall - said - allowed)
        if len(self._beyond_ms) >= _SEARCHES_TO_JUDGE and statistics.median(self._beyond_ms) > 0:
            raise WrongResultError(
                f"it says a search took {said:g} ms, the host's clock saw {wall:.3f} ms: "
                f"what is not timed explains no more than {allowed:.0f} ms"
            )

    @contextmanager
    def _killed_on_errors(self) -> Iterator[None]:
        """Kill the program if the ``with`` block raises an exception. The next search then starts a new
        process."""
        try:
            yield
        except BaseException:
            self._running.kill()
            raise

    def require_unwritten(self) -> None:
        """Raise WrongResultError if the program has written to the files of its graph, or to its answer after
        bfsbench read it. The program is then killed."""
        with self._killed_on_errors():
            self._running.answer.require_unchanged()
        if written := self._running.folder.written():
            forget(self.graph)
            raise WrongResultError(f"it wrote into the graph: {', '.join(written)}")

    def measured(self) -> dict[str, str]:
        running, entry = self._running, self.entry
        program = packages.versions(entry) or [entry.name]
        if entry.build and entry.build.commit:
            program.append(f"commit {entry.build.commit[:12]}")
        unknown = {"prepare_ms": "", "preprocess_ms": ""} if entry.per_search else {}
        return {
            **unknown,
            "program": f"{', '.join(program)} ({entry.licence})",
            "clock": self._held_by,
            "covers": entry.covers,
            "host_mib": f"{running.peak_bytes / 2**20:.1f}" if running.peak_bytes else "",
            "device_mib": "" if running.held_bytes is None else f"{running.held_bytes / 2**20:.1f}",
        }


@cache
def untimed_ms(variant: type[EntryVariant]) -> float:
    """Compare the clock of an entry's program with the host's clock on a fixed graph. The result is cached,
    so that each process of bfsbench compares the clocks of an entry only once.

    The untimed part of a search is the host's time minus the time that the program prints. Returns the
    untimed part in ms, divided by the number of vertices and arcs of the graph. Returns infinity if the
    program cannot search this graph. Raises WrongResultError if the clocks contradict each other.
    """
    from bfsbench.graphs.load import load

    graph = load(_GRAPH)
    program = variant(graph, {})
    family, degrees = families_here()[DEFAULT], graph.row_offsets[1:] - graph.row_offsets[:-1]
    short, long = (family.problem(graph, int(place)) for place in (degrees.argmin(), degrees.argmax()))
    try:
        program.prepare()
        # these times do not count, because a program may load its kernels in its first search
        for search in (short, long):
            _times(program, search)
        shorts: _Times = []
        longs: _Times = []
        while len(longs) < _FEWEST_ROUNDS or (_contradict(shorts, longs) and len(longs) < _MOST_ROUNDS):
            shorts.append(_times(program, short))
            longs.append(_times(program, long))
    except (DeviceError, WrongResultError):
        return math.inf
    if _contradict(shorts, longs):
        (untimed, wall), between = longs[-1], min(shorts)[0]
        said = wall - untimed
        raise WrongResultError(
            f"{WRONG_CLOCK} the host's: it says that a search of {_GRAPH} took {said:g} ms; "
            f"the host's clock saw {wall:.3f} ms, of which {between:.3f} ms go without a search"
        )
    untimed = max(statistics.median(untimed for untimed, _ in times) for times in (shorts, longs))
    return untimed / (graph.num_vertices + graph.num_edges)


def _times(program: EntryVariant, search: Problem) -> tuple[float, float]:
    """Run one search and check its answer. Returns two times in ms: the untimed part of the search, and the
    time of the search by the host's clock. Raises DeviceError or WrongResultError if the search fails."""
    run = search.run(program)
    run.poison()
    run.solve()
    run.check()
    said_ms, wall_ms = program.reply
    if said_ms is None:
        raise WrongResultError("it printed no time")
    return wall_ms - said_ms, wall_ms


def _contradict(shorts: _Times, longs: _Times) -> bool:
    """Returns whether the program's clock contradicts the host's clock. ``shorts`` has the times of searches
    that reach nothing, and ``longs`` the times of searches that reach most of the graph. The clocks
    contradict each other if the untimed part is much longer in ``longs``.

    The shortest untimed parts are compared, because waiting for a core can only lengthen an untimed part.
    """
    wall = min(wall for _, wall in longs)
    return min(longs)[0] - min(shorts)[0] > _LONG_SHARE * wall + _LONG_MS


def _no_device(entry: Entry) -> str:
    if entry.call.device == "gpu":
        try:
            ctypes.CDLL(DRIVER_LIBRARY)
        except OSError:
            return f"entry {entry.name} needs an NVIDIA GPU: there is no driver ({DRIVER_LIBRARY}) here"
    return ""


def _no_program(entry: Entry) -> str:
    """Returns an error message if the command or the library of the entry does not exist. Otherwise returns
    an empty string. A path without a name in braces is not checked."""
    for word in (*entry.call.command[:1], entry.call.library):
        path = Path(entry.filled(word))
        if "{" in word and not path.exists():
            return f"entry {entry.name}: there is no {path}"
    return ""


def variant_of(entry: Entry) -> type[EntryVariant]:
    """Returns a new variant class that runs an entry."""
    declared = {
        "name": entry.name,
        "entry": entry,
        "summary": entry.summary,
        "origin": (entry.paper or entry.authors,),
        "host": entry.call.device == "cpu",
        "knobs": tuple(parameter.knob() for parameter in entry.knobs),
        "__module__": __name__,
        "__doc__": f"{entry.summary}, by {entry.authors} ({entry.licence}; {entry.source}).",
    }
    return type(f"Entry_{entry.name}", (EntryVariant, families_here()[DEFAULT].foreign()), declared)
