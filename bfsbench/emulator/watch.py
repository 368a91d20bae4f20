"""What watching and counting kernels find, with its source lines.

A watched kernel gives its memory accesses and the faults in them. A counting one gives its cost in a GPU's
memory system, counted while warps run in lockstep. Lines come from the debug information of a library.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A place in the source."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"

    def says(self, mark: str) -> bool:
        """Whether a comment on the line, or a comment alone on the line above, contains these words."""
        return self.comment(mark) is not None

    def comment(self, mark: str) -> Line | None:
        """The line of that comment."""
        lines = _lines_of(self.file)
        if not 0 < self.number <= len(lines):
            return None
        if mark in lines[self.number - 1].partition("//")[2]:
            return self
        above = lines[self.number - 2].strip() if self.number > 1 else ""
        return Line(self.file, self.number - 1) if above.startswith("//") and mark in above else None

    def text(self) -> str:
        """The text of the line; empty where the file cannot be read."""
        lines = _lines_of(self.file)
        return lines[self.number - 1].strip() if 0 < self.number <= len(lines) else ""


@cache
def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def line_at(library: Path, address: int) -> Line | None:
    """The line that the instruction at an address of a library comes from; None if nothing is known."""
    addresses, lines = _table(library)
    place = bisect_right(addresses, address) - 1
    return lines[place] if place >= 0 else None


@cache
def _table(library: Path) -> tuple[list[int], list[Line | None]]:
    """Sorted addresses at which the source line changes, and the lines."""
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
    """Paths by their numbers in a line program."""
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
"""What a comment says that declares a finding benign."""
_BETWEEN_STORES = "benign race between stores"
"""Said of a store whose races with loads are not meant."""


class NativeActor(ctypes.Structure):
    """``emu::Actor`` of runtime/watch.h."""

    _fields_ = (
        ("site", ctypes.c_void_p),
        *((name, ctypes.c_int) for name in ("act", "scope")),
        *((name, ctypes.c_uint) for name in ("block", "thread")),
    )


class NativeFinding(ctypes.Structure):
    """``emu::Finding``."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("fault", "space")),
        *((name, NativeActor) for name in ("actor", "other")),
        ("begin", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("bytes", "element")),
        ("offset", ctypes.c_int64),
        ("count", ctypes.c_uint64),
        ("kernel", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("line", ctypes.c_int),
    )


class NativeRecord(ctypes.Structure):
    """``emu::Record``."""

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
    """The launch, counted from 0 when tracing began; child kernels count too."""
    kernel: str
    block: int
    thread: int
    """Index in its block."""
    act: str
    """``read``, ``write`` or ``update`` (an atomic function, whether or not it changed the word)."""
    buffer: int | None
    """Address of the buffer (``Buffer.pointer.value``); None for other memory."""
    index: int
    """Index of the element in the buffer; of the byte in other memory."""
    before: int
    after: int
    """The old value, as an unsigned number of up to 8 bytes; of vectors the first 8 bytes."""
    line: Line | None


@dataclass(frozen=True)
class Actor:
    """One side of a finding."""

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
    """A fault, as first seen at these lines."""

    fault: str
    """``race``, ``out of bounds``, ``use after free``, ``uninitialised read``, ``misaligned access``;
    ``stale read``: by a cache that does not see what the launch writes; ``lost launch``: a child
    kernel was refused, unnoticed; ``endless``: the last access of a thread of an endless launch;
    ``wrong mask``: a lane calls a warp function with a mask that lacks it, and goes on alone.
    """
    kernel: str
    where: str
    """Element and size of the buffer, or other memory."""
    actor: Actor
    other: Actor | None
    """The other access of a race, or the store that a stale read does not see."""
    count: int
    """How many times it was seen at these lines."""

    @property
    def benign(self) -> bool:
        """Whether a comment in the source says so, on the line or on the one above.

        It says ``benign race`` at each plain store that races or, where others are atomic, at the plain load;
        between volatile accesses at either; ``benign race between stores`` covers no race with a load. It
        says ``benign unwritten`` where what was never written is read.
        """
        return bool(self.declarations)

    @property
    def declarations(self) -> tuple[Line, ...]:
        """The comments that say so; none unless all say so that have to."""
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
        if comment and self.fault == "race" and with_load and comment.says(_BETWEEN_STORES):
            return None
        return comment

    @property
    def lines(self) -> tuple[Line | None, ...]:
        """The one or two source lines involved."""
        return (self.actor.line, self.other.line) if self.other else (self.actor.line,)

    def shown(self, how_often: str) -> Iterator[str]:
        """The finding and the source lines of its accesses, for a terminal."""
        yield f"  {self.fault} on {self.where}, kernel '{self.kernel}' [{how_often}]"
        for actor in filter(None, (self.actor, self.other)):
            yield f"    {actor}"
            if actor.line and actor.line.text():
                yield f"        {actor.line.text()}"

    def __str__(self) -> str:
        others = f" and {self.other}" if self.other else ""
        return f"{self.fault} in kernel '{self.kernel}' on {self.where}: {self.actor}{others}"


class Sites:
    """Finds the lines of instructions in loaded modules."""

    def __init__(self, runtime: ctypes.CDLL, libraries: dict[str, Path]) -> None:
        self._runtime = runtime
        self._libraries = libraries
        """By the path that each was loaded from."""

    def line(self, site: int) -> Line | None:
        """The line of the call that returns to ``site``."""
        path = ctypes.c_char_p()
        base = self._runtime.emu_module_of(site, ctypes.byref(path))
        library = self._libraries.get((path.value or b"").decode()) if base else None
        return line_at(library, site - 1 - base) if library else None


def finding(native: NativeFinding, line: Callable[[int], Line | None]) -> Finding:
    """A finding with its lines."""

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
        where = f"index {native.offset} of an array of type {ctypes.string_at(native.begin).decode()}"
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


def access(native: NativeRecord, first_launch: int, elements: dict[int, int], line: Line | None) -> Access:
    """A traced access; ``elements`` are sizes of elements by the addresses of buffers."""
    element = elements.get(native.begin, 1)
    return Access(
        native.launch - first_launch,
        native.kernel.decode(),
        native.block,
        native.thread,
        ACTS[native.act],
        native.begin if native.begin in elements else None,
        native.offset // element,
        native.before,
        native.after,
        line,
    )


MOST_POLLS = 20_000_000
"""If all that a launch has done this often is to look at the same places again, nobody will change them."""
KINDS = ("load", "store", "atomic", "barrier")
STEPS = ("steps", "far", "near", "shared_steps", "atomics", "barriers")
"""Of the longest warp; see PhaseCount."""
MEMORIES = ("global", "shared", "remote shared", "none")


_NUMBERS = (
    *("executions", "lanes", "bytes", "polls", "sectors", "distinct_sectors"),
    *("far_sectors", "passes", "conflicts", "collisions", "most_collisions", "hottest"),
)


class NativeCount(ctypes.Structure):
    """``emu::Count`` of runtime/counting.h."""

    _fields_ = (
        ("site", ctypes.c_void_p),
        ("launch", ctypes.c_uint),
        *((name, ctypes.c_int) for name in ("phase", "kind", "memory")),
        *((name, ctypes.c_uint64) for name in _NUMBERS),
    )


class NativePhaseCount(ctypes.Structure):
    """``emu::PhaseCount``."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("launch", ctypes.c_uint),
        ("phase", ctypes.c_int),
        ("blocks", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        *((name, ctypes.c_uint64) for name in ("shared", *STEPS)),
    )


@dataclass(frozen=True)
class Count:
    """The work of warps at one instruction in one phase of one launch. Numbers are sums over its
    executions."""

    launch: int
    """Counted from 0; child kernels count too."""
    kernel: str
    phase: int | None
    """The number that a kernel has noted for what it does now; None if it notes none."""
    line: Line | None
    kind: str
    """One of KINDS."""
    memory: str
    """One of MEMORIES; ``none`` for barriers."""
    executions: int
    """Executions by a warp, with any number of lanes; for memory accesses this is the number of requests."""
    lanes: int
    """That took part."""
    bytes: int
    """Bytes requested by the lanes."""
    polls: int
    """Executions that are left out: a warp polls the same addresses while it waits for others."""
    sectors: int
    """Sectors of 32 bytes of global memory, each once per execution."""
    distinct_sectors: int
    """Each once."""
    far_sectors: int
    """Sectors that the warp has not loaded recently: not among its last 512 or so."""
    passes: int
    """Passes through shared memory: one per execution, and one more for each bank conflict."""
    conflicts: int
    collisions: int
    """Lanes of atomics that are not the first one on their word in an execution."""
    most_collisions: int
    """In one execution."""
    hottest: int
    """Executions of atomics by different warps on the same word of global memory."""


@dataclass(frozen=True)
class PhaseCount:
    """One phase of one launch; a launch that notes no phases is one."""

    launch: int
    kernel: str
    phase: int | None
    blocks: int
    threads: int
    """A block."""
    shared: int
    """Bytes of shared memory per block."""
    steps: int
    """Steps of the warp whose steps take the longest: accesses to memory and barriers in sequence."""
    far: int
    """Loads from global memory among them, of sectors that the warp has not loaded recently."""
    near: int
    """Loads of recently loaded sectors."""
    shared_steps: int
    """Accesses to shared memory."""
    atomics: int
    """In global memory."""
    barriers: int


def count(native: NativeCount, first: int, kernel: str, line: Callable[[int], Line | None]) -> Count:
    """With its line; ``first`` is the first launch's number."""
    return Count(
        launch=native.launch - first,
        kernel=kernel,
        phase=native.phase if native.phase >= 0 else None,
        line=line(native.site),
        kind=KINDS[native.kind],
        memory=MEMORIES[native.memory],
        **{name: getattr(native, name) for name in _NUMBERS},
    )


def phase_count(native: NativePhaseCount, first: int) -> PhaseCount:
    """``first`` is the first launch's number."""
    return PhaseCount(
        launch=native.launch - first,
        kernel=native.kernel.decode(),
        phase=native.phase if native.phase >= 0 else None,
        blocks=native.blocks,
        threads=native.threads,
        shared=native.shared,
        **{name: getattr(native, name) for name in STEPS},
    )
