"""Describes faults and costs that the emulator has found in kernels, with their source lines.

A kernel can be compiled for the emulator as a watched kernel or as a counting kernel. A watched kernel
reports its memory accesses to the runtime, which finds faults such as data races. The warps of a counting
kernel run in lockstep, and the work of each memory access is counted as a GPU would perform it. Source lines
come from the debug information of the compiled library.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bfsbench.support.errors import plural


class Line(NamedTuple):
    """A line of a source file."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"

    def comment(self, mark: str) -> Line | None:
        """Find a comment that contains the text ``mark``. The comment may stand on this line, or alone on the
        line above. Returns the line of the comment. Returns None if there is no such comment."""
        if mark in self.text().partition("//")[2]:
            return self
        above = Line(self.file, self.number - 1)
        return above if above.text().startswith("//") and mark in above.text() else None

    def text(self) -> str:
        """Returns the text of the line. Returns an empty string if the file or the line does not exist."""
        lines = _lines_of(self.file)
        return lines[self.number - 1].strip() if 0 < self.number <= len(lines) else ""


@cache
def _lines_of(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def line_at(library: Path, address: int) -> Line | None:
    """Returns the source line of the instruction at an address in a library. Returns None if the line is
    unknown.

    If the instruction belongs to an inlined function of the emulator's headers, returns the line that calls
    this function.
    """
    addresses, lines = _table(library)
    place = bisect_right(addresses, address) - 1
    line = lines[place] if place >= 0 else None
    return _caller(library, address) or line if line and line.file.startswith(_HEADERS) else line


_HEADERS = f"{Path(__file__).resolve().parent / 'include'}{os.sep}"


@cache
def _caller(library: Path, address: int) -> Line | None:
    """Returns the source line that calls the inlined function at an address. If inlined calls are nested,
    this is the innermost line outside of the emulator's headers. Returns None if all lines are in these
    headers, or if ``addr2line`` is not installed."""
    tool = shutil.which("addr2line")
    if tool is None:
        return None
    command = [tool, "-i", "-e", str(library), hex(address)]
    frames = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    places = (frame.partition(" (")[0].rpartition(":") for frame in frames)
    own = (Line(file, int(number)) for file, _, number in places if number.isdigit())
    return next((line for line in own if not line.file.startswith(_HEADERS)), None)


@cache
def _table(library: Path) -> tuple[list[int], list[Line | None]]:
    """Returns two lists for a library: the sorted addresses at which the source line changes, and the source
    line from each of these addresses on."""
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
    """Returns the paths of source files by their numbers in a line program (a table of DWARF debug
    information)."""
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
    *("misaligned access", "stale read", "wrong mask", "bad shuffle"),
    *("divergent barrier", "mismatch of warp functions", "deadlock"),
)
_WORK = {
    "lost launch": "launch",
    "wrong mask": "warp collective",
    "bad shuffle": "shuffle",
    "divergent barrier": "wait",
    "mismatch of warp functions": "warp function",
    "deadlock": "wait",
}
"""What threads do in faults that are not accesses to memory."""
ENDING_LAUNCH = frozenset({"endless", "divergent barrier", "mismatch of warp functions", "deadlock"})
"""Kinds of faults that end a launch."""
_SPACES = ("buffer", "shared memory", "__device__ variables", "no buffer", "array")


_PAGE = 4096
"""Addresses below this number come from a null pointer."""
DECLARATIONS = {"race": "benign race", "uninitialised read": "benign unwritten"}
"""The words in a comment that declare a fault benign, by the kind of fault."""
_BETWEEN_STORES = "benign race between stores"
"""The words in a comment that declare races between stores benign, but not races between a store and a
load."""


class NativeRecord(ctypes.Structure):
    """The C++ struct ``emu::Record`` of runtime/watch.h, which describes a traced access."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        *((name, ctypes.c_void_p) for name in ("begin", "site")),
        *((name, ctypes.c_uint64) for name in ("offset", "before", "after")),
        *((name, ctypes.c_uint) for name in ("launch", "block", "thread", "bytes")),
        *((name, ctypes.c_int) for name in ("act", "space")),
    )


@dataclass(frozen=True)
class Access:
    """One memory access of one thread, as ``Emulator.traced`` records it."""

    launch: int
    """Number of the launch, counted from 0 at the beginning of the trace. Child kernels count as launches."""
    kernel: str
    block: int
    thread: int
    """Index of the thread within its block."""
    act: str
    """``read``, ``write`` or ``update``. An update is an atomic function, whether or not it changes the
    word."""
    buffer: int | None
    """Address of the buffer (``Buffer.pointer.value``). None if the memory is not a buffer."""
    index: int
    """Index of the element in the buffer. If the memory is not a buffer, the index of the byte."""
    before: int
    after: int
    """``before`` and ``after`` are the contents of the memory just before and just after the access took
    place, as unsigned numbers. If an access has more than 8 bytes, they contain the first 8 bytes."""
    line: Line | None


@dataclass(frozen=True)
class Actor:
    """One memory access that takes part in a fault: its kind, thread and source line."""

    what: str
    """The kind of access, such as "plain write"."""
    block: int
    """Index of the block in its grid. In a grid of several dimensions, x varies fastest."""
    thread: int
    """Index of the thread in its block. In a block of several dimensions, x varies fastest."""
    who: str
    """A text that names the thread and its block. It has coordinates instead of an index for a block or grid
    of several dimensions."""
    line: Line | None

    def __str__(self) -> str:
        return f"{self.what} by {self.who} at {self.line or 'an unknown line'}"


@dataclass(frozen=True)
class Finding:
    """A fault that the emulator has found in a kernel. Repeated faults at the same source lines, in the same
    array, are one finding."""

    fault: str
    """The kind of fault:

    - ``race``, ``out of bounds``, ``use after free``, ``uninitialised read``, ``misaligned access``.
    - ``stale read``: A read goes through a cache that does not see what the launch writes.
    - ``lost launch``: A child kernel was refused, and the parent thread did not ask for the error.
    - ``endless``: The launch does not end. The finding names the last access of one of its threads, or a loop
      if no thread accesses memory.
    - ``wrong mask``: A lane calls a warp function with a mask that does not contain the lane itself.
    - ``bad shuffle``: A lane reads from a lane that is not in the mask, has ended or does not exist.
    - ``divergent barrier``, ``mismatch of warp functions``: Two threads wait at different barriers, or lanes
      call different warp functions with one mask.
    - ``deadlock``: No thread of a block can continue.
    """
    kernel: str
    where: str
    """A text that names the element and the size of the buffer, or describes other memory. For a deadlock,
    the text says where the threads of the block wait. The text is empty for other faults of barriers."""
    actor: Actor
    other: Actor | None
    """The second access of a race, the store that a stale read does not see, or a thread that waits at
    another line. None for other faults."""
    count: int
    """How often the fault occurred at these source lines, in this array."""
    array: str = ""
    """The array in which the fault occurred: the name of a variable, or the pointer to a buffer and the line
    that allocates the buffer. The text is empty if neither is known."""
    is_shared: bool = False
    """True if the fault occurred in shared memory."""

    @property
    def lacks_barrier(self) -> bool:
        """True for a race that a barrier of the block would prevent: a race of two threads of one block in
        shared memory."""
        one_block = self.other is not None and self.other.block == self.actor.block
        return self.fault == "race" and self.is_shared and one_block

    @property
    def benign(self) -> bool:
        """True if comments in the source declare the finding benign. A comment stands on the line of an
        access, or on the line above.

        The comment ``benign race`` must stand at each plain store of a race. If the race has no plain store,
        the comment must stand at the plain load. In a race of volatile accesses, it may stand at either
        access. The comment ``benign race between stores`` does not cover a race with a load. The comment
        ``benign unwritten`` must stand at the read of memory that was never written.
        """
        return bool(self.declarations)

    @property
    def declarations(self) -> tuple[Line, ...]:
        """The lines of the comments that declare the finding benign. The tuple is empty if the finding is not
        benign."""
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
        """The source lines of the one or two accesses of the finding."""
        return (self.actor.line, self.other.line) if self.other else (self.actor.line,)

    def shown(self, how_often: str) -> Iterator[str]:
        """Yields the lines that show the finding on a terminal, with the source lines of its accesses.
        ``how_often`` says in words how often the fault occurred."""
        yield f"  {self.fault}{self._at}, kernel '{self.kernel}' [{how_often}]"
        for actor in filter(None, (self.actor, self.other)):
            yield f"    {actor}"
            if actor.line and actor.line.text():
                yield f"        {actor.line.text()}"

    def __str__(self) -> str:
        others = f" and {self.other}" if self.other else ""
        return f"{self.fault} in kernel '{self.kernel}'{self._at}: {self.actor}{others}"

    @property
    def _at(self) -> str:
        return (
            f" on {self.where}"
            if self.where and self.fault != "deadlock"
            else self.where and f": {self.where}"
        )


def access(native: NativeRecord, first: int, elements: Mapping[int, int], line: Line | None) -> Access:
    """Convert a traced memory access of the C++ runtime to a Python object with the source line ``line``.
    Returns the object.

    ``first`` is the runtime's number of the first launch in the trace. In the object, launches are counted
    from this launch, beginning at 0. ``elements`` contains the element size in bytes of each buffer, by the
    buffer's address.
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
"""Maximum number of consecutive steps in which a launch only repeats earlier reads. A launch with more such
steps counts as endless, because no thread will change the memory that it reads."""
KINDS = ("load", "store", "atomic", "barrier")
STEPS = ("steps", "far", "near", "shared_steps", "atomics", "barriers")
"""The members of PhaseCount that count steps of the slowest warp."""
MEMORIES = ("global", "shared", "remote shared", "none")


@dataclass(frozen=True)
class Count:
    """The work of all warps at one instruction, in one phase (such as a level) of one launch."""

    launch: int
    """Number of the launch, counted from 0. Child kernels count as launches."""
    kernel: str
    phase: int | None
    """The number of the phase (such as a level) that the kernel has marked. None if the kernel marks no
    phases."""
    line: Line | None
    kind: str
    """The kind of instruction, one of KINDS."""
    memory: str
    """The memory that the instruction accesses, one of MEMORIES. It is ``none`` for barriers."""
    executions: int
    """How often a warp executed the instruction, with any number of lanes. For memory accesses, this is the
    number of requests."""
    lanes: int
    """The number of lanes that took part, summed over all executions."""
    bytes: int
    """The number of bytes that lanes requested, summed over all executions."""
    polls: int
    """The number of executions in which a warp only repeats a read while it waits for other threads. All
    other counts leave them out."""
    sectors: int
    """The number of sectors (32 bytes of global memory) that the executions access. A sector counts once per
    execution. A collision of atomics counts as one more sector, unless nvcc would combine the lanes'
    updates."""
    distinct_sectors: int
    """The number of sectors (32 bytes of global memory) that no earlier instruction of the phase has
    accessed. The sum over all instructions is the number of different sectors that the phase accesses."""
    far_sectors: int
    """The number of accessed sectors that the warp has not loaded recently. The emulator remembers up to 512
    recent sectors of each warp."""
    streamed_sectors: int
    """The number of sectors in ``far_sectors`` that belong to coalesced executions. An execution is coalesced
    if its sectors are neighbours and have 128 bytes or more, the size of a cache line."""
    passes: int
    """The number of passes through shared memory: one per execution, and one more for each bank conflict."""
    conflicts: int
    collisions: int
    """The number of lanes whose atomic operation updates a word that an earlier lane of the same execution
    also updates."""
    most_collisions: int
    """The largest number of collisions in one execution."""
    hottest: int
    """The number of executions, over all warps, that update the most frequently updated word of global
    memory."""


@dataclass(frozen=True)
class PhaseCount:
    """The work of one phase (such as a level) of one launch. A launch that marks no phases is a single
    phase."""

    launch: int
    kernel: str
    phase: int | None
    blocks: int
    threads: int
    """Number of threads per block."""
    shared: int
    """Bytes of shared memory per block."""
    steps: int
    """Number of steps of the slowest warp, whose steps together have the longest estimated time. A step is a
    memory access or a barrier."""
    far: int
    """Number of steps of the slowest warp that load a sector of global memory which the warp has not loaded
    recently."""
    near: int
    """Number of steps of the slowest warp that load only sectors of global memory which the warp has loaded
    recently."""
    shared_steps: int
    """Number of steps of the slowest warp that access shared memory."""
    atomics: int
    """Number of steps of the slowest warp that are atomic operations in global memory."""
    barriers: int


@dataclass
class Report:
    """The faults and the counted costs of kernels."""

    findings: list[Finding] = field(default_factory=list)
    """Faults that were found in kernels."""
    launches: list[PhaseCount] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)


def read_rows(rows: Iterable[Sequence[str]], line: Callable[[int], Line | None], report: Report) -> None:
    """Read rows of a report file that runtime/report.cpp has written. Add their faults and costs to
    ``report``, and ignore rows of other kinds.

    The function ``line`` returns the source line of the instruction at an address, and None for the address
    0. The launches in ``report`` are counted from the first launch of the rows, beginning at 0.
    """
    first, kernels = 0, dict[int, str]()
    rows = list(rows)
    allocations = Allocations(rows, line)
    for row, *values in rows:
        if row == "finding":
            report.findings.append(_finding(values, line, allocations))
        elif row == "launch":
            kernel, launch, phase, *others = (values[0], *map(int, values[1:]))
            first = first if kernels else launch
            kernels[launch] = kernel
            report.launches.append(PhaseCount(launch - first, kernel, _phase(phase), *others))
        elif row == "count":
            site, launch, phase, kind, memory, *numbers = map(int, values)
            where = (launch - first, kernels[launch], _phase(phase), line(site))
            report.counts.append(Count(*where, KINDS[kind], MEMORIES[memory], *numbers))


class Allocations:
    """A program's calls that have allocated device memory."""

    def __init__(self, rows: Iterable[Sequence[str]], line: Callable[[int], Line | None]) -> None:
        """Reads, from the rows of a report file, the calls that have allocated memory. ``line`` returns the
        source line of the instruction at an address."""
        self._instructions: dict[Line | None, list[int]] = {}
        for row, *values in rows:
            if row == "allocation":
                file, number, site = values
                self._instructions.setdefault(place(line, file, number, site), []).append(int(site))

    def pointer(self, allocated: Line, site: int) -> str:
        """Returns the source text of the pointer that receives a buffer's address, such as ``x`` in
        ``cudaMalloc(&x, n)``.

        ``allocated`` is the source line of the call that allocated the buffer, and ``site`` is the return
        address of this call. A line may have several such calls. Calls in separate statements run from left
        to right, so the order in which they ran tells which of them allocated the buffer. The text is empty
        if the pointer is unknown, because a call has not run or because C++ does not fix the order of the
        calls.
        """
        text = allocated.text()
        pointers, ran = _ALLOCATED.findall(text), self._instructions.get(allocated, [])
        if len(pointers) == 1:
            return str(pointers[0])
        if not all(map(_ordered, text.split(";"))):
            return ""
        return pointers[ran.index(site)] if len(pointers) == len(ran) and site in ran else ""


def _ordered(statement: str) -> bool:
    """Returns whether the calls that allocate memory in a statement run from left to right. This is the case
    if there is at most one call, or if comma operators separate the calls. C++ does not fix the order in
    which the arguments of a function are evaluated."""
    calls = [*_ALLOCATED.finditer(statement)]
    depths = [statement[: call.start()].count("(") - statement[: call.start()].count(")") for call in calls]
    return len(calls) < 2 or (not any(depths) and "?" not in statement)


def place(line: Callable[[int], Line | None], file: str, number: str, site: str) -> Line | None:
    """Returns the source line for a file and a line number. If ``file`` is empty, returns the source line of
    the instruction at the address ``site``."""
    return Line(str(Path(file).absolute()), int(number)) if file else line(int(site))


def _phase(number: int) -> int | None:
    return number if number >= 0 else None


def _finding(values: Sequence[str], line: Callable[[int], Line | None], allocations: Allocations) -> Finding:
    fault_number, space_number = map(int, values[:2])
    size, element, offset, times = map(int, values[20:24])
    kernel, what, name, width, file, number, site = values[24:]
    fault, space = _FAULTS[fault_number], _SPACES[space_number]
    is_loop = fault == "endless" and space == "no buffer"

    def actor(fields: Sequence[str]) -> Actor:
        act, scope, block, thread = map(int, fields[1:5])
        work = _WORK.get(fault, f"{_SCOPES[scope]} {ACTS[act]}")
        did = "loop" if is_loop else "access" if space == "array" else work
        who = f"thread {fields[6]} of block {fields[5]}"
        return Actor(did, block, thread, who, place(line, fields[7], fields[8], fields[0]))

    first = actor(values[2:11])
    allocated = place(line, file, number, site)
    pointer = allocations.pointer(allocated, int(site)) if allocated else ""
    array = name or (f"{pointer} {allocated}" if allocated else "")
    where = _element(offset, size, element, int(width), space, name, allocated, pointer)
    if fault == "lost launch":
        where = f"a child kernel, refused with error {offset}"
    elif fault == "wrong mask":
        where = "a mask that lacks its own lane"
    elif fault == "bad shuffle":
        where = "a lane that takes no part"
    elif fault in ENDING_LAUNCH - {"endless"}:
        where = what
    elif is_loop:
        where = "a loop without memory accesses"
    elif space == "array":
        variable = _array_on(first.line)
        named = f"the array '{variable}'" if variable else "an array"
        where = f"index {offset} of {named} of type {what}"
    elif space == "no buffer":
        null = "a null pointer" if offset < _PAGE else "is it a pointer of the host?"
        where = f"address {offset:#x}, which is in no buffer of the device ({null})"
    other = actor(values[11:20]) if int(values[11]) else None
    return Finding(fault, kernel, where, first, other, times, array, space == "shared memory")


_SUBSCRIPTED = re.compile(r"\b([A-Za-z_]\w*)\s*\[")
_DECLARED = r"(?<=[\w>])(?<!\breturn)(?<!\belse)\s+(?:\w+\s*(?:\[[^\]]*\]\s*)+,\s*)*{}\s*\["
"""A declaration of an array by its name, after a type and perhaps after other arrays."""


def _array_on(line: Line | None) -> str:
    """Returns the name of the array that ``line`` accesses. Only arrays that the file declares with their
    number of elements are considered. Returns an empty string if the line accesses none of these arrays, or
    several."""
    if line is None:
        return ""
    code = "\n".join(text.partition("//")[0] for text in _lines_of(line.file))
    names = dict.fromkeys(_SUBSCRIPTED.findall(line.text().partition("//")[0]))
    found = [name for name in names if re.search(_DECLARED.format(name), code)]
    return found[0] if len(found) == 1 else ""


_ALLOCATED = re.compile(
    r"\bcuda(?:Malloc|HostAlloc)\w*\s*(?:<[^<>]*>)?\(\s*(?:\([^()]*\)|\w+_cast<[^<>]*>\()?\s*&?\s*([\w.>\[\]-]+)"
)
"""A call that allocates a buffer. The group is the pointer that gets the buffer's address."""


def _element(
    offset: int,
    size: int,
    element: int,
    width: int,
    space: str,
    name: str,
    allocated: Line | None,
    pointer: str,
) -> str:
    """Returns a text that names the element at a byte ``offset`` of a buffer or variable of ``size`` bytes.

    If the elements have an unknown size (``element`` is 1), each of them is assumed to have the ``width`` of
    the access.
    """
    if element == 1 and width and offset % width == 0 and size % width == 0:
        element = width
    of = f"{size} bytes" if element == 1 else f"{plural(size // element, 'element')} of {element} bytes"
    at = f"byte {offset}" if element == 1 else f"element {offset // element}"
    if space == "shared memory" and not size:
        return f"{at} of dynamic shared memory (the launch asked for 0 bytes)"
    if allocated:
        buffer = f"'{pointer}'" if pointer else "a buffer"
        return f"{at} of {buffer} ({of}, allocated at {allocated})"
    if name:
        kind = "shared" if space == "shared memory" else "__device__"
        return f"{at} of the {kind} variable '{name}' ({of})"
    return f"{at} of a buffer of {of}" if space == "buffer" else f"{at} of {space} ({of})"
