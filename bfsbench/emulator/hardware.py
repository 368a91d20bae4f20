"""Resources of the emulated GPU."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field

_SHARE_OF_MEMORY = 0.8

WARP_SIZE = 32


def _most_of_memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)


@dataclass(frozen=True)
class Hardware:
    """Resources of the emulated GPU; sizes in bytes. The default is a recent one with few multiprocessors."""

    max_threads_per_block: int = 1024
    multiprocessors: int = 8
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    blocks_per_cluster: int = 16
    pending_children: int = 2048
    """Child launches that may wait at a time."""
    max_grid: int = 2**31 - 1
    shared_per_block: int = 227 << 10
    shared_per_multiprocessor: int = 228 << 10
    memory: int = field(default_factory=_most_of_memory)
    """Of all buffers together; by default most of the host's."""

    def native(self) -> NativeLimits:
        """The limits as the runtime takes them; it does not need ``memory``."""
        return NativeLimits(*(getattr(self, name) for name, _ in NativeLimits._fields_))


class NativeLimits(ctypes.Structure):
    """``emu::Limits`` of runtime/machine.h."""

    _fields_ = (
        ("max_threads_per_block", ctypes.c_uint),
        ("multiprocessors", ctypes.c_uint),
        ("threads_per_multiprocessor", ctypes.c_uint),
        ("blocks_per_multiprocessor", ctypes.c_uint),
        ("blocks_per_cluster", ctypes.c_uint),
        ("pending_children", ctypes.c_uint),
        ("max_grid", ctypes.c_uint64),
        ("shared_per_block", ctypes.c_uint64),
        ("shared_per_multiprocessor", ctypes.c_uint64),
    )
