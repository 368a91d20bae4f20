"""What kernels would cost a GPU's memory system, counted by source line while warps run in lockstep."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from bfsbench.emulator.lines import Line

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
    """What warps did at one instruction in one level of one launch. Numbers are sums over its executions."""

    launch: int
    """Counted from 0; child kernels count too."""
    kernel: str
    level: int | None
    """As the kernel noted it; None where it notes none."""
    line: Line | None
    kind: str
    """One of KINDS."""
    memory: str
    """One of MEMORIES; ``none`` for barriers."""
    executions: int
    """By a warp, whatever number of its lanes take part: in memory, a request each."""
    lanes: int
    """That took part."""
    bytes: int
    """That they asked for."""
    polls: int
    """Executions that are left out: a warp looks at the same places again and again, waiting for others."""
    sectors: int
    """Of 32 bytes of global memory, each once an execution."""
    distinct_sectors: int
    """Each once."""
    far_sectors: int
    """That the warp has not loaded lately: not among some 512 others."""
    passes: int
    """Through shared memory: one an execution, and one more for each bank conflict."""
    conflicts: int
    collisions: int
    """Lanes of atomics that are not the first in their execution to come to their word."""
    most_collisions: int
    """In one execution."""
    hottest: int
    """Executions of atomics that met on one word of global memory, of all warps."""


@dataclass(frozen=True)
class LevelCount:
    """One level of one launch; a launch that notes no levels is one."""

    launch: int
    kernel: str
    level: int | None
    blocks: int
    threads: int
    """A block."""
    shared: int
    """Bytes of shared memory a block."""
    steps: int
    """Of the warp whose steps take the longest: accesses to memory and barriers, one after another."""
    far: int
    """Loads from global memory among them, of sectors that the warp has not had lately."""
    near: int
    """Of others that it has."""
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
