"""The emulated GPU: it compiles kernels, holds buffers and events, and reports findings and counts."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bfsbench.emulator import watch
from bfsbench.emulator.kernel import Module
from bfsbench.emulator.library import Define, build_kernels, build_runtime, load_runtime, open_kernels
from bfsbench.emulator.memory import Buffer, Signal, allocate
from bfsbench.emulator.watch import (
    Access,
    Count,
    Finding,
    Line,
    NativeCount,
    NativeFinding,
    NativePhaseCount,
    NativeRecord,
    PhaseCount,
    Sites,
    access,
    count,
    finding,
    phase_count,
)
from bfsbench.kernels.signature import Contract, Struct, struct_of
from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError, KernelError
from bfsbench.support.machine import usable_cores

_SHARE_OF_MEMORY = 0.8

WARP_SIZE = 32


def _most_of_memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)


@dataclass(frozen=True)
class Hardware:
    """The resources of the emulated GPU. Sizes are in bytes. The defaults describe a recent GPU with few
    multiprocessors."""

    max_threads_per_block: int = 1024
    multiprocessors: int = 8
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    blocks_per_cluster: int = 16
    pending_children: int = 2048
    """Most child launches that may wait at one time."""
    max_grid: int = 2**31 - 1
    shared_per_block: int = 227 << 10
    shared_per_multiprocessor: int = 228 << 10
    memory: int = field(default_factory=_most_of_memory)
    """Memory for all buffers together. The default is 80 % of the host's memory."""

    def native(self) -> NativeLimits:
        """Returns the resources as the struct that the C++ runtime takes. The runtime does not need
        ``memory``."""
        return NativeLimits(*(getattr(self, name) for name, *_ in NativeLimits._fields_))


_COUNTS = (
    *("max_threads_per_block", "multiprocessors", "threads_per_multiprocessor"),
    *("blocks_per_multiprocessor", "blocks_per_cluster", "pending_children"),
)


class NativeLimits(ctypes.Structure):
    """The struct ``emu::Limits`` of runtime/machine.h."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in _COUNTS),
        *((name, ctypes.c_uint64) for name in ("max_grid", "shared_per_block", "shared_per_multiprocessor")),
    )


def _destroy(runtime: ctypes.CDLL, machine: int, handles: list[int]) -> None:
    runtime.emu_destroy(machine)
    for handle in handles:
        runtime.emu_close(handle)


class Event:
    """A point in time, measured by the host's clock."""

    def __init__(self, device: Emulator) -> None:
        self._device = device
        self._seconds = 0.0

    def record(self) -> None:
        """Record the present time. All earlier launches are complete, because each launch completes before it
        returns."""
        self._seconds = time.perf_counter()

    def milliseconds_since(self, earlier: object) -> float:
        """Returns the host time between two events in ms. Raises KernelError if a kernel has failed, and
        TypeError for an event of another device type."""
        if not isinstance(earlier, Event):
            raise TypeError("both events must be of the emulated device")
        self._device.synchronize()
        return (self._seconds - earlier._seconds) * 1000.0


class Emulator:
    """A GPU that is emulated on the CPU of this machine. Each launch completes before it returns.

    - seed: 0 runs blocks on ``workers`` cores (default: all) in the fastest order. With another seed, one
      core runs blocks, threads and interruptions in a random order. Runs with equal seeds are equal.
    - include: folders where kernels find headers, besides their own folder.
    - watched: every access to memory is checked, on one core. ``findings`` returns data races, accesses
      outside buffers and reads of memory that was never written. ``traced`` records all accesses.
    - counted: the lanes of every warp run in lockstep, on one core. ``counts`` returns what their memory
      accesses would cost a GPU, by source line. An emulator cannot be both watched and counted.
    - most_launches: the next launch after this number fails. This ends a loop of the host that waits for a
      result that no kernel gives.
    - portable_fibers: use the context switch for processors other than x86-64.

    ``close`` or the end of a ``with`` statement closes the device. Raises ToolchainError without a C++
    compiler.
    """

    def __init__(
        self,
        seed: int = 0,
        workers: int | None = None,
        hardware: Hardware | None = None,
        include: Sequence[Path] = (),
        *,
        watched: bool = False,
        counted: bool = False,
        most_launches: int | None = None,
        portable_fibers: bool = False,
    ) -> None:
        self.hardware = hardware or Hardware()
        self.seed = seed
        self._include = tuple(include)
        if watched and counted:
            raise ValueError("an emulator is either watched or counted")
        self.watched = watched
        self.counted = counted
        num_workers = 1 if seed or watched or counted else workers or usable_cores()
        self.most_launches = most_launches
        self.launches = 0
        """Number of launches so far."""
        self.compile_ms = 0.0
        """Total time of all calls of ``module`` that compiled or loaded a file, in ms."""
        self.failure = ""
        """Message of a failed kernel that has not been reported yet."""
        self._runtime_path = build_runtime(portable_fibers=portable_fibers)
        self.runtime: ctypes.CDLL = load_runtime(self._runtime_path)
        native = self.hardware.native()
        self.machine: int = self.runtime.emu_create(ctypes.addressof(native), seed, num_workers, watched)
        if counted:
            self.runtime.emu_start_counting(self.machine, watch.MOST_POLLS)
        self._modules: dict[tuple[object, ...], Module] = {}
        self._handles: list[int] = []
        self._libraries: dict[str, Path] = {}
        self._finalizer = weakref.finalize(self, _destroy, self.runtime, self.machine, self._handles)
        self._elements: dict[int, int] = {}
        """Element sizes in bytes, by address of the buffer."""
        self.allocated = 0
        """Bytes of all live buffers and signals."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> Module:
        """Translate, compile and load a ``.cu`` file. Returns the module. Raises ToolchainError that names
        file and line of the error.

        A ``contract`` adds a check: the file compiles only if its types and macros agree with the types and
        macros of the host.
        """
        self.refuse_if_closed()
        source = source.resolve()
        agreed = contract or Contract("")
        key = (source, tuple(sorted(defines.items())), child_kernels, agreed.key())
        if key not in self._modules:
            started = time.perf_counter()
            library = build_kernels(
                source,
                defines,
                self._include,
                self._runtime_path,
                appended=contract.assertions(source, self._include, defines) if contract else "",
                child_kernels=child_kernels,
                interruptible=self.seed != 0,
                watched=self.watched,
                counted=self.counted,
            )
            handle, loaded = open_kernels(self.runtime, self.machine, library, source, self._include)
            self._handles.append(handle)
            self._libraries[loaded] = library
            signatures = agreed.signatures(source, self._include)
            self._modules[key] = Module(self, source.name, handle, signatures)
            self.compile_ms += (time.perf_counter() - started) * 1e3
        return self._modules[key]

    def upload(self, array: npt.NDArray[Any]) -> Buffer:
        """Allocate a buffer and copy an array into it, flattened. Returns the buffer. Raises
        DeviceOutOfMemoryError."""
        buffer = self.empty(array.size, array.dtype)
        if array.size:
            buffer.upload(array)
        return buffer

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> Buffer:
        """Allocate a buffer filled with poison bytes (0xCD). It has at least one element. Returns the buffer.
        Raises DeviceOutOfMemoryError."""
        buffer = Buffer(self, self._allocate(size, np.dtype(dtype)))
        buffer.struct = struct_of(dtype)
        return buffer

    def adopt(self, array: npt.NDArray[Any]) -> Buffer:
        """Returns a buffer that uses the memory of a one-dimensional host array. Kernels write to the array
        in place."""
        self.refuse_if_closed()
        self.runtime.emu_adopt_buffer(self.machine, array.ctypes.data, array.nbytes, array.itemsize)
        buffer = Buffer(self, array)
        weakref.finalize(buffer, self._forget, array.ctypes.data)
        return buffer

    def signal(self, words: int | type[Struct] = 1) -> Signal:
        """Allocate int32 words, or a struct, that kernels write and the host reads. Returns the signal.
        Raises DeviceOutOfMemoryError."""
        if isinstance(words, int):
            return Signal(self, self._allocate(words, np.dtype(np.int32)))
        return Signal(self, self._allocate(ctypes.sizeof(words) // 4, np.dtype(np.int32)), words)

    def event(self) -> Event:
        """Returns a new event that is not recorded yet."""
        return Event(self)

    def synchronize(self) -> None:
        """Raises KernelError if a kernel has failed since the last call. Afterwards the device can be used
        again."""
        self.refuse_if_closed()
        if self.failure:
            message, self.failure = self.failure, ""
            raise KernelError(message)

    def close(self) -> None:
        """Unload all kernels and end the worker threads. A second call does nothing."""
        self._finalizer()

    def findings(self) -> list[Finding]:
        """Returns the faults found since the last call. The emulator must be created with ``watched``."""
        self.refuse_if_closed()
        found = ctypes.POINTER(NativeFinding)()
        count = self.runtime.emu_findings(self.machine, ctypes.byref(found))
        sites = Sites(self.runtime, self._libraries)
        findings = [finding(found[i], sites.line) for i in range(count)]
        self.runtime.emu_forget_findings(self.machine)
        return findings

    def lines_run(self) -> set[Line]:
        """Returns the source lines of kernels that have accessed memory so far. The emulator must be created
        with ``watched``."""
        self.refuse_if_closed()
        found = ctypes.POINTER(ctypes.c_void_p)()
        count = self.runtime.emu_sites(self.machine, ctypes.byref(found))
        sites = Sites(self.runtime, self._libraries)
        return {line for i in range(count) if (line := sites.line(found[i] or 0))}

    @contextmanager
    def traced(self) -> Iterator[list[Access]]:
        """Record all accesses to memory in the ``with`` block. Yields a list, which is filled at the end of
        the block. The emulator must be created with ``watched``."""
        accesses: list[Access] = []
        self.runtime.emu_set_recording(self.machine, True)
        try:
            yield accesses
            records = ctypes.POINTER(NativeRecord)()
            count = self.runtime.emu_records(self.machine, ctypes.byref(records))
            sites = Sites(self.runtime, self._libraries)
            lines = {site: sites.line(site) for site in {records[i].site for i in range(count)}}
            first = records[0].launch if count else 0
            accesses += [
                access(records[i], first, self._elements, lines[records[i].site]) for i in range(count)
            ]
        finally:
            self.runtime.emu_set_recording(self.machine, False)

    def counts(self) -> tuple[list[Count], list[PhaseCount]]:
        """Returns the counts since the last call, by instruction and by phase, in the order of launches. The
        emulator must be created with ``counted``."""
        self.refuse_if_closed()
        lines = Sites(self.runtime, self._libraries).line
        phases = ctypes.POINTER(NativePhaseCount)()
        num_phases = self.runtime.emu_phase_counts(self.machine, ctypes.byref(phases))
        first = phases[0].launch if num_phases else 0
        phase_counts = [phase_count(phases[i], first) for i in range(num_phases)]
        kernels = {phase.launch: phase.kernel for phase in phase_counts}
        found = ctypes.POINTER(NativeCount)()
        num_counts = self.runtime.emu_counts(self.machine, ctypes.byref(found))
        counts = [count(found[i], first, kernels[found[i].launch - first], lines) for i in range(num_counts)]
        self.runtime.emu_forget_counts(self.machine)
        return counts, phase_counts

    def note_phases_in(self, records: Buffer) -> None:
        """Set the buffer in which kernels mark the beginning of a phase. They write to the element whose
        index is the number of the phase. These writes are not counted."""
        if self.counted:
            size = records.size * records.dtype.itemsize
            self.runtime.emu_note_phases_at(self.machine, records.pointer, size, records.dtype.itemsize)

    def stacks_in_use(self) -> int:
        """Returns the number of stacks that threads hold. It is 0 whenever no kernel runs."""
        self.refuse_if_closed()
        return int(self.runtime.emu_stacks_in_use(self.machine))

    def refuse_if_closed(self) -> None:
        """Raises DeviceError if the device has been closed."""
        if not self._finalizer.alive:
            raise DeviceError("the emulated device has been closed")

    def set_written(self, words: npt.NDArray[Any]) -> None:
        """Mark the words of a buffer as written by the host, so that reading them is not a fault."""
        if self.watched and words.size:
            self.runtime.emu_set_written(self.machine, words.ctypes.data, words.nbytes)

    def _allocate(self, size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        self.refuse_if_closed()
        size = max(1, size)
        needed = size * dtype.itemsize
        if self.allocated + needed > self.hardware.memory:
            raise DeviceOutOfMemoryError(
                f"{needed} bytes do not fit: {self.allocated} of {self.hardware.memory} are in use"
            )
        try:
            array = allocate(size, dtype, self.runtime.emu_guard_bytes())
        except MemoryError:
            raise DeviceOutOfMemoryError(f"the host has no {needed} bytes left") from None
        self.allocated += needed
        address = array.ctypes.data
        self.runtime.emu_add_buffer(self.machine, address, needed, dtype.itemsize)
        self._elements[address] = dtype.itemsize
        weakref.finalize(array, self._release, address, needed)
        return array

    def _release(self, address: int, count: int) -> None:
        self.allocated -= count
        self._forget(address)

    def _forget(self, address: int) -> None:
        if self._finalizer.alive:
            self.runtime.emu_remove_buffer(self.machine, address)
            self._elements.pop(address, None)
