"""The memory accesses of a watched kernel, and the faults found in them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bfsbench.emulator.lines import Line, line_at

ACTS = ("read", "write", "update")
_SCOPES = ("plain", "block's atomic", "atomic", "volatile")
_FAULTS = (
    *("race", "out of bounds", "use after free", "uninitialised read", "lost launch", "endless"),
    *("misaligned access", "stale read"),
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
        ("act", ctypes.c_int),
        ("scope", ctypes.c_int),
        ("block", ctypes.c_uint),
        ("thread", ctypes.c_uint),
    )


class NativeFinding(ctypes.Structure):
    """``emu::Finding``."""

    _fields_ = (
        ("fault", ctypes.c_int),
        ("space", ctypes.c_int),
        ("actor", NativeActor),
        ("other", NativeActor),
        ("begin", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("element", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("count", ctypes.c_uint64),
        ("kernel", ctypes.c_char_p),
    )


class NativeRecord(ctypes.Structure):
    """``emu::Record``."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("begin", ctypes.c_void_p),
        ("site", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("before", ctypes.c_uint64),
        ("after", ctypes.c_uint64),
        ("launch", ctypes.c_uint),
        ("block", ctypes.c_uint),
        ("thread", ctypes.c_uint),
        ("bytes", ctypes.c_uint),
        ("act", ctypes.c_int),
        ("space", ctypes.c_int),
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
    kernel was refused, unnoticed; ``endless``: the last access of a thread of an endless launch.
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
        what = "launch" if fault == "lost launch" else f"{_SCOPES[found.scope]} {ACTS[found.act]}"
        return Actor(what, found.block, found.thread, line(found.site))

    space = _SPACES[native.space]
    size = f"{native.bytes // native.element} elements of {native.element} bytes"
    where = f"element {native.offset // native.element} of a buffer of {size}"
    if fault == "lost launch":
        where = f"a child kernel, refused with error {native.offset}"
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
