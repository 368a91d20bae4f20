"""The emulated device."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Define, Event, Limits
from bfsbench.backends.cpu.kernel import CpuModule
from bfsbench.backends.cpu.library import (
    NativeLimits,
    build_kernels,
    build_runtime,
    load_runtime,
    open_kernels,
)
from bfsbench.backends.cpu.memory import CpuBuffer, CpuSignal, allocate
from bfsbench.errors import DeviceError, DeviceOutOfMemoryError, KernelError
from bfsbench.machine import cpu_model

_BLOCKS_PER_MULTIPROCESSOR = 32
_PENDING_CHILDREN = 2048
_SHARE_OF_MEMORY = 0.8


def _limits() -> Limits:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Limits(
        warp_size=32,
        max_threads_per_block=1024,
        max_grid=2**31 - 1,
        num_multiprocessors=8,
        max_threads_per_multiprocessor=2048,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=227 << 10,
        shared_memory_per_multiprocessor=228 << 10,
        memory=int(memory * _SHARE_OF_MEMORY),
        blocks_per_cluster=16,
    )


def _native(limits: Limits) -> NativeLimits:
    return NativeLimits(
        limits.max_threads_per_block,
        limits.num_multiprocessors,
        limits.max_threads_per_multiprocessor,
        _BLOCKS_PER_MULTIPROCESSOR,
        limits.blocks_per_cluster,
        _PENDING_CHILDREN,
        limits.max_grid,
        limits.shared_memory_per_block_optin,
        limits.shared_memory_per_multiprocessor,
    )


def _destroy(runtime: ctypes.CDLL, machine: int, handles: list[int]) -> None:
    runtime.emu_destroy(machine)
    for handle in handles:
        runtime.emu_close(handle)


class CpuEvent:
    """The host's clock; see :class:`bfsbench.backends.base.Event`."""

    def __init__(self, device: CpuDevice) -> None:
        self._device = device
        self._seconds = 0.0

    def record(self) -> None:
        """Take the time now: everything issued before has run already."""
        self._seconds = time.perf_counter()

    def milliseconds_since(self, earlier: Event) -> float:
        """Host time between two events, in ms. Raises KernelError if a kernel has failed."""
        if not isinstance(earlier, CpuEvent):
            raise TypeError("both events must be of the emulated device")
        self._device.synchronize()
        return (self._seconds - earlier._seconds) * 1000.0


class CpuDevice:
    """A GPU stood in for by this machine's CPU; see :class:`bfsbench.backends.base.Device`.

    seed: 0 runs blocks on ``workers`` cores (default: all) in the fastest order. Any other value runs them on
    one core in an order drawn from it: of blocks, of threads, and of interruptions; equal seeds, equal runs.
    portable_fibers: use the context switch of other processors than x86-64.
    """

    backend = "cpu"

    def __init__(self, seed: int = 0, workers: int | None = None, *, portable_fibers: bool = False) -> None:
        self.limits = _limits()
        self.seed = seed
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = 1 if seed else workers or cores
        self.failure = ""
        """Message of a failed kernel that has not been reported yet."""
        self._runtime_path = build_runtime(portable_fibers=portable_fibers)
        self.runtime: ctypes.CDLL = load_runtime(self._runtime_path)
        native = _native(self.limits)
        self.machine: int = self.runtime.emu_create(ctypes.addressof(native), seed, count)
        self._modules: dict[tuple[object, ...], CpuModule] = {}
        self._handles: list[int] = []
        self._finalizer = weakref.finalize(self, _destroy, self.runtime, self.machine, self._handles)
        self.allocated = 0
        """Bytes of all live buffers and signals."""

    def describe(self) -> dict[str, str]:
        """Provenance; ``gpu`` says that this is an emulation, and in which schedule if not the usual one."""
        schedule = f", schedule {self.seed}" if self.seed else ""
        gpu = f"emulated on {cpu_model()}{schedule}"
        return {"gpu": gpu, "gpu_bus_id": "", "compute_capability": "", "driver": "", "cuda": ""}

    def telemetry(self) -> dict[str, str]:
        """Nothing: there are no clocks to read."""
        return {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}

    def module(
        self, source: Path, defines: Mapping[str, Define], *, child_kernels: bool = False
    ) -> CpuModule:
        """Translate, compile and load a ``.cu`` file. Raises ToolchainError naming its file and line."""
        self.refuse_if_closed()
        key = (source.resolve(), tuple(sorted(defines.items())), child_kernels)
        if key not in self._modules:
            library = build_kernels(
                source.resolve(),
                defines,
                self._runtime_path,
                child_kernels=child_kernels,
                interruptible=self.seed != 0,
            )
            self._handles.append(open_kernels(self.runtime, library))
            self._modules[key] = CpuModule(self, source.name, self._handles[-1])
        return self._modules[key]

    def upload(self, array: npt.NDArray[Any]) -> CpuBuffer:
        """A buffer with the contents of an array, flattened. Raises DeviceOutOfMemoryError."""
        buffer = self.empty(array.size, array.dtype)
        if array.size:
            buffer.upload(array)
        return buffer

    def empty(self, size: int, dtype: npt.DTypeLike) -> CpuBuffer:
        """A buffer of poison bytes (0xCD), at least one element. Raises DeviceOutOfMemoryError."""
        return CpuBuffer(self, self._allocate(size, np.dtype(dtype)))

    def signal(self, words: int = 1) -> CpuSignal:
        """int32 words that kernels write and the host reads."""
        return CpuSignal(self, self._allocate(words, np.dtype(np.int32)))

    def event(self) -> CpuEvent:
        """A clock reading to be."""
        return CpuEvent(self)

    def synchronize(self) -> None:
        """Raise KernelError if a kernel has failed since the last call; the device can be used again then."""
        self.refuse_if_closed()
        if self.failure:
            message, self.failure = self.failure, ""
            raise KernelError(message)

    def close(self) -> None:
        """Unload all kernels and end the worker threads. Closing twice does nothing."""
        self._finalizer()

    def stacks_in_use(self) -> int:
        """Stacks held by threads; 0 whenever no kernel runs."""
        self.refuse_if_closed()
        return int(self.runtime.emu_stacks_in_use(self.machine))

    def refuse_if_closed(self) -> None:
        """Raise DeviceError if the device has been closed."""
        if not self._finalizer.alive:
            raise DeviceError("the emulated device has been closed")

    def _allocate(self, size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        self.refuse_if_closed()
        size = max(1, size)
        needed = size * dtype.itemsize
        if self.allocated + needed > self.limits.memory:
            raise DeviceOutOfMemoryError(
                f"{needed} bytes do not fit: {self.allocated} of {self.limits.memory} are in use"
            )
        try:
            array = allocate(size, dtype)
        except MemoryError:
            raise DeviceOutOfMemoryError(f"the host has no {needed} bytes left") from None
        self.allocated += needed
        weakref.finalize(array, self._release, needed)
        return array

    def _release(self, count: int) -> None:
        self.allocated -= count
