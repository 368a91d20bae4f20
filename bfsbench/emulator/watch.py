"""Findings and counts of watched and counting kernels, with their source lines.

A watched kernel reports its memory accesses and their faults. A counting kernel reports its cost in a GPU's
memory system, while its warps run in lockstep. Source lines come from a library's debug information.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line of a source file."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"

    def comment(self, mark: str) -> Line | None:
        """Returns the line of the comment that contains the words ``mark``: this line, or the line above if
        that is only a comment. Returns None if neither has the words."""
        if mark in self.text().partition("//")[2]:
            return self
        above = Line(self.file, self.number - 1)
        return above if above.text().startswith("//") and mark in above.text() else None

    def text(self) -> str:
        """Returns the text of the line, or an empty string if the file or the line does not exist."""
        lines = _lines_of(self.file)
        return lines[self.number - 1].strip() if 0 < self.number <= len(lines) else ""


@cache
def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def line_at(library: Path, address: int) -> Line | None:
    """Returns the source line of the instruction at an address of a library. Returns None if it is
    unknown."""
    addresses, lines = _table(library)
    place = bisect_right(addresses, address) - 1
    return lines[place] if place >= 0 else None


@cache
def _table(library: Path) -> tuple[list[int], list[Line | None]]:
    """Returns the sorted addresses at which the source line changes, and the source line at each of them."""
    from elftools.elf.elffile import ELFFile

    rows: list[tuple[int, Line | None]] = []
    with library.open("rb") as file:
        elf = ELFFile(file)
        for unit in elf.get_dwarf_info().iter_CUs() if elf.has_dwarf_info() else ():
            program = unit.dwarfinfo.line_program_for_CU(unit)
            if program is not None:
                names = _file_names(program)
                for entry in program.get_entries():
                    state = entry.state
                    if state is not None:
                        known = not state.end_sequence
                        rows.append((state.address, Line(names[state.file], state.line) if known else None))
    rows.sort(key=lambda row: (row[0], row[1] is not None))
    return [address for address, _ in rows], [line for _, line in rows]


def _file_names(program: Any) -> dict[int, str]:
    """Returns the paths of source files by their numbers in a line program of DWARF."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    folders = [folder.decode() for folder in header.include_directory]

    def path(entry: Any) -> str:
        place = entry.dir_index - (0 if header.version >= 5 else 1)
        folder = folders[place] if 0 <= place < len(folders) else ""
        return str(Path(folder) / entry.name.decode())

    return {number: path(entry) for number, entry in enumerate(header.file_entry, first)}


ACTS = ("read", "write", "update")
_SCOPES = ("plain", "block's atomic", "atomic", "volatile")
_FAULTS = (
    *("race", "out of bounds", "use after free", "uninitialised read", "lost launch", "endless"),
    *("misaligned access", "stale read", "wrong mask"),
)
_SPACES = ("buffer", "shared memory", "__device__ variables", "no buffer", "array")


DECLARATIONS = {"race": "benign race", "uninitialised read": "benign unwritten"}
"""The words in a comment that declare a finding benign, by the kind of fault."""
_BETWEEN_STORES = "benign race between stores"
"""The words in a comment that declare only races with other stores benign, not races with loads."""


class NativeActor(ctypes.Structure):
    """The struct ``emu::Actor`` of runtime/watch.h."""

    _fields_ = (
        ("site", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("act", "scope")),
        *((name, ctypes.c_uint) for name in ("block", "thread")),
    )


class NativeFinding(ctypes.Structure):
    """The struct ``emu::Finding`` of runtime/watch.h."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("fault", "space")),
        *((name, NativeActor) for name in ("actor", "other")),
        ("begin", ctypes.c_char_p),  # a text only if the space is an array
        *((name, ctypes.c_uint64) for name in ("bytes", "element")),
        ("offset", ctypes.c_int64),
        ("count", ctypes.c_uint64),
        *((name, ctypes.c_char_p) for name in ("kernel", "file")),
        ("line", ctypes.c_int),
    )


class NativeRecord(ctypes.Structure):
    """The struct ``emu::Record`` of runtime/watch.h."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        *((name, ctypes.c_void_p) for name in ("begin", "site")),
        *((name, ctypes.c_uint64) for name in ("offset", "before", "after")),
        *((name, ctypes.c_uint) for name in ("launch", "block", "thread", "bytes")),
        *((name, ctypes.c_int) for name in ("act", "space")),
    )


@dataclass(frozen=True)
class Access:
    """One access of one thread to memory."""

    launch: int
    """Number of the launch, from 0 when tracing began. Child kernels count as launches."""
    kernel: str
    block: int
    thread: int
    """Index of the thread in its block."""
    act: str
    """One of ``read``, ``write`` and ``update``. An update is an atomic function, whether or not it changed
    the word."""
    buffer: int | None
    """Address of the buffer (``Buffer.pointer.value``). None for other memory."""
    index: int
    """Index of the element in the buffer. In other memory, the index of the byte."""
    before: int
    after: int
    """``before`` and ``after`` are the old and the new value, as unsigned numbers of up to 8 bytes. For a
    vector they have its first 8 bytes."""
    line: Line | None


@dataclass(frozen=True)
class Actor:
    """One of the accesses of a finding: its kind, thread and source line."""

    what: str
    """The kind of access, such as "plain write"."""
    block: int
    thread: int
    line: Line | None

    def __str__(self) -> str:
        return (
            f"{self.what} by thread {self.thread} of block {self.block} at {self.line or 'an unknown line'}"
        )


@dataclass(frozen=True)
class Finding:
    """A fault in a kernel. If a fault occurs several times at the same source lines, it is one finding."""

    fault: str
    """One of these kinds:

    - ``race``, ``out of bounds``, ``use after free``, ``uninitialised read``, ``misaligned access``.
    - ``stale read``: the read goes through a cache that does not see what the launch writes.
    - ``lost launch``: a child kernel was refused, and the program did not notice.
    - ``endless``: the launch does not end. The finding names the last access of one of its threads.
    - ``wrong mask``: a lane calls a warp function with a mask that lacks the lane itself, and goes on alone.
    """
    kernel: str
    where: str
    """The element and the size of the buffer, or a description of other memory."""
    actor: Actor
    other: Actor | None
    """The other access of a race, or the store that a stale read does not see."""
    count: int
    """How many times the fault was seen at these lines."""

    @property
    def benign(self) -> bool:
        """True if comments in the source declare the finding benign. A comment is on the line of an access,
        or on the line above.

        ``benign race`` must stand at each plain store that races. If the race has no plain store, it must
        stand at the plain load. Between volatile accesses it may stand at either. ``benign race between
        stores`` does not cover a race with a load. ``benign unwritten`` must stand where memory that was
        never written is read.
        """
        return bool(self.declarations)

    @property
    def declarations(self) -> tuple[Line, ...]:
        """The lines of the comments that declare the finding benign. Empty if a comment is missing at an
        access that needs a comment."""
        actors = [actor for actor in (self.actor, self.other) if actor]
        if self.fault not in DECLARATIONS:
            return ()
        loads = [actor for actor in actors if actor.what == "plain read"]
        stores = [actor for actor in actors if actor.what in ("plain write", "plain update")]
        declaring = (stores or loads if self.fault == "race" else actors) or actors
        comments = [self._declaration(actor) for actor in declaring]
        found = tuple(comment for comment in comments if comment)
        enough = len(found) == len(comments) or (found and declaring == actors and not stores + loads)
        return found if enough else ()

    def _declaration(self, actor: Actor) -> Line | None:
        comment = actor.line.comment(DECLARATIONS[self.fault]) if actor.line else None
        with_load = any(side.what.endswith("read") for side in (self.actor, self.other) if side)
        if comment and self.fault == "race" and with_load and comment.comment(_BETWEEN_STORES):
            return None
        return comment

    @property
    def lines(self) -> tuple[Line | None, ...]:
        """The one or two source lines of the finding."""
        return (self.actor.line, self.other.line) if self.other else (self.actor.line,)

    def shown(self, how_often: str) -> Iterator[str]:
        """Yields the lines that show the finding on a terminal, with the source lines of its accesses.
        ``how_often`` says how many times it was seen."""
        yield f"  {self.fault} on {self.where}, kernel '{self.kernel}' [{how_often}]"
        for actor in filter(None, (self.actor, self.other)):
            yield f"    {actor}"
            if actor.line and actor.line.text():
                yield f"        {actor.line.text()}"

    def __str__(self) -> str:
        others = f" and {self.other}" if self.other else ""
        return f"{self.fault} in kernel '{self.kernel}' on {self.where}: {self.actor}{others}"


def finding(native: NativeFinding, line: Callable[[int], Line | None]) -> Finding:
    """Convert a finding of the C++ runtime. Returns it with its source lines, which the function ``line``
    finds by address."""

    fault = _FAULTS[native.fault]

    def actor(found: NativeActor) -> Actor:
        own = {"lost launch": "launch", "wrong mask": "warp collective"}
        what = own.get(fault, f"{_SCOPES[found.scope]} {ACTS[found.act]}")
        place = Line(native.file.decode(), native.line) if native.file else line(found.site)
        return Actor(what, found.block, found.thread, place)

    space = _SPACES[native.space]
    size = f"{native.bytes // native.element} elements of {native.element} bytes"
    where = f"element {native.offset // native.element} of a buffer of {size}"
    if native.element == 1:
        where = f"byte {native.offset} of a buffer of {native.bytes} bytes"
    if fault == "lost launch":
        where = f"a child kernel, refused with error {native.offset}"
    elif fault == "wrong mask":
        where = "a mask that lacks its own lane"
    elif space == "array":
        where = f"index {native.offset} of an array of type {native.begin.decode()}"
    elif space != "buffer":
        where = f"byte {native.offset} of {space}"
    return Finding(
        fault,
        native.kernel.decode(),
        where,
        actor(native.actor),
        actor(native.other) if native.other.site else None,
        native.count,
    )


def access(native: NativeRecord, first: int, elements: Mapping[int, int], line: Line | None) -> Access:
    """Convert a traced access of the C++ runtime. Returns it with the given source line.

    ``first`` is the number of the first launch, which becomes 0. ``elements`` has the element size of each
    buffer by its address.
    """
    return Access(
        launch=native.launch - first,
        kernel=native.kernel.decode(),
        act=ACTS[native.act],
        buffer=native.begin if native.begin in elements else None,
        index=native.offset // elements.get(native.begin, 1),
        line=line,
        **{name: getattr(native, name) for name in ("block", "thread", "before", "after")},
    )


MOST_POLLS = 20_000_000
"""Most steps in a row in which a launch only repeats earlier reads. After these steps the launch counts as
endless, because no thread will change the memory that it reads."""
KINDS = ("load", "store", "atomic", "barrier")
STEPS = ("steps", "far", "near", "shared_steps", "atomics", "barriers")
"""The kinds of steps that are counted for the longest warp. PhaseCount describes them."""
MEMORIES = ("global", "shared", "remote shared", "none")


@dataclass(frozen=True)
class Count:
    """The work of all warps at one instruction, in one phase of one launch. Numbers are sums over all
    executions of the instruction."""

    launch: int
    """Number of the launch, from 0. Child kernels count as launches."""
    kernel: str
    phase: int | None
    """The number of the phase that the kernel has marked, or None if it marks no phases."""
    line: Line | None
    kind: str
    """One of KINDS."""
    memory: str
    """One of MEMORIES. It is ``none`` for barriers."""
    executions: int
    """Executions by a warp, with any number of lanes. For memory accesses this is the number of requests."""
    lanes: int
    """Lanes that took part, summed over the executions."""
    bytes: int
    """Bytes that the lanes requested."""
    polls: int
    """Executions that are not counted, because a warp repeats a read while it waits for others."""
    sectors: int
    """Sectors of 32 bytes of global memory. A sector counts once per execution."""
    distinct_sectors: int
    """Sectors of 32 bytes of global memory. A sector counts once in all."""
    far_sectors: int
    """Sectors that are not among the last 512 or so that the warp has loaded."""
    passes: int
    """Passes through shared memory: one per execution, and one more for each bank conflict."""
    conflicts: int
    collisions: int
    """Lanes of atomics that are not the first one on their word in an execution."""
    most_collisions: int
    """The most collisions in one execution."""
    hottest: int
    """Most executions of atomics on one word of global memory, over all warps."""


@dataclass(frozen=True)
class PhaseCount:
    """The work of one phase of one launch. A launch that marks no phases is a single phase."""

    launch: int
    kernel: str
    phase: int | None
    blocks: int
    threads: int
    """Threads per block."""
    shared: int
    """Bytes of shared memory per block."""
    steps: int
    """Steps of the warp whose steps take the longest: its memory accesses and barriers, one after the
    other."""
    far: int
    """Steps that load sectors of global memory that the warp has not loaded recently."""
    near: int
    """Steps that load sectors of global memory that the warp has loaded recently."""
    shared_steps: int
    """Steps that access shared memory."""
    atomics: int
    """Steps that are atomics in global memory."""
    barriers: int


_NUMBERS = tuple(field.name for field in fields(Count))[6:]
"""The numbers that are counted for each instruction. In Count they follow the six fields that name it."""


class NativeCount(ctypes.Structure):
    """The struct ``emu::Count`` of runtime/counting.h."""

    _fields_ = (
        ("site", ctypes.c_void_p),
        ("launch", ctypes.c_uint),
        *((name, ctypes.c_int) for name in ("phase", "kind", "memory")),
        *((name, ctypes.c_uint64) for name in _NUMBERS),
    )


class NativePhaseCount(ctypes.Structure):
    """The struct ``emu::PhaseCount`` of runtime/counting.h."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("launch", ctypes.c_uint),
        ("phase", ctypes.c_int),
        ("blocks", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        *((name, ctypes.c_uint64) for name in ("shared", *STEPS)),
    )


def count(
    native: NativeCount, first: int, kernels: Mapping[int, str], line: Callable[[int], Line | None]
) -> Count:
    """Convert a count of the C++ runtime. Returns a count with its source line.

    ``first`` is the number of the first launch, which becomes 0. ``kernels`` has the kernel of each launch.
    """
    return Count(
        launch=native.launch - first,
        kernel=kernels[native.launch - first],
        phase=native.phase if native.phase >= 0 else None,
        line=line(native.site),
        kind=KINDS[native.kind],
        memory=MEMORIES[native.memory],
        **{name: getattr(native, name) for name in _NUMBERS},
    )


def phase_count(native: NativePhaseCount, first: int) -> PhaseCount:
    """Convert the count of a phase of the C++ runtime. ``first`` is the number of the first launch, which
    becomes 0. Returns the count."""
    return PhaseCount(
        launch=native.launch - first,
        kernel=native.kernel.decode(),
        phase=native.phase if native.phase >= 0 else None,
        blocks=native.blocks,
        threads=native.threads,
        shared=native.shared,
        **{name: getattr(native, name) for name in STEPS},
    )
