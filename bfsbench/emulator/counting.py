"""The cost of kernels in a GPU's memory system, counted by source line while warps run in lockstep."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from bfsbench.emulator.lines import Line

MOST_POLLS = 20_000_000
"""If all that a launch has done this often is to look at the same places again, nobody will change them."""
KINDS = ("load", "store", "atomic", "barrier")
STEPS = ("steps", "far", "near", "shared_steps", "atomics", "barriers")
"""Of the longest warp; see LevelCount."""
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
        ("level", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("memory", ctypes.c_int),
        *((name, ctypes.c_uint64) for name in _NUMBERS),
    )


class NativeLevelCount(ctypes.Structure):
    """``emu::LevelCount``."""

    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("launch", ctypes.c_uint),
        ("level", ctypes.c_int),
        ("blocks", ctypes.c_uint),
        ("threads", ctypes.c_uint),
        *((name, ctypes.c_uint64) for name in ("shared", *STEPS)),
    )


@dataclass(frozen=True)
class Count:
    """The work of warps at one instruction in one level of one launch. Numbers are sums over its
    executions."""

    launch: int
    """Counted from 0; child kernels count too."""
    kernel: str
    level: int | None
    """The level that the kernel has recorded; None if it records none."""
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
class LevelCount:
    """One level of one launch; a launch without level records is one level."""

    launch: int
    kernel: str
    level: int | None
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
        level=native.level if native.level >= 0 else None,
        line=line(native.site),
        kind=KINDS[native.kind],
        memory=MEMORIES[native.memory],
        **{name: getattr(native, name) for name in _NUMBERS},
    )


def level_count(native: NativeLevelCount, first: int) -> LevelCount:
    """``first`` is the first launch's number."""
    return LevelCount(
        launch=native.launch - first,
        kernel=native.kernel.decode(),
        level=native.level if native.level >= 0 else None,
        blocks=native.blocks,
        threads=native.threads,
        shared=native.shared,
        **{name: getattr(native, name) for name in STEPS},
    )
