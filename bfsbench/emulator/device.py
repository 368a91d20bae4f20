"""The emulated GPU: it compiles kernels, holds buffers and events, and reports findings and counts."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bfsbench.emulator import watch
from bfsbench.emulator.kernel import Module
from bfsbench.emulator.library import Define, build_kernels, build_runtime, load_runtime, open_kernels
from bfsbench.emulator.watch import Access, Count, Finding, Line, PhaseCount
from bfsbench.kernels.signature import Contract, Struct, struct_of
from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError, KernelError
from bfsbench.support.machine import usable_cores

_SHARE_OF_MEMORY = 0.8
_ALIGNMENT = 256
_POISON = 0xCD

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


def _destroy(runtime: ctypes.CDLL, machine: int, handles: list[int]) -> None:
    runtime.emu_destroy(machine)
    for handle in handles:
        runtime.emu_close(handle)


def _aligned(size: int, dtype: np.dtype[Any], margin: int) -> npt.NDArray[Any]:
    """Returns an aligned array of ``size`` elements, filled with poison bytes. Raises MemoryError.

    ``margin`` bytes before and after the array stay unused.
    """
    count = size * dtype.itemsize
    room = np.empty(count + 2 * margin + _ALIGNMENT, np.uint8)
    start = margin + -(room.ctypes.data + margin) % _ALIGNMENT
    room.fill(_POISON)
    return room[start : start + count].view(dtype)


class _Memory:
    """Memory of the device that kernels and the host access."""

    def __init__(self, device: Emulator, array: npt.NDArray[Any], struct: type[Struct] | None = None) -> None:
        self._device = device
        self._array = array
        self.dtype: np.dtype[Any] = array.dtype
        self.size = array.size
        self.struct = struct
        """The type of the structs that the memory contains, or None."""
        self.pointer = ctypes.c_void_p(array.ctypes.data)


class Buffer(_Memory):
    """An array in device memory."""

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Set ``count`` elements from ``start`` on to a value, by default all elements from there. Raises
        DeviceError if the range exceeds the buffer."""
        stop = self.size if count is None else start + count
        if not 0 <= start <= stop <= self.size:
            raise DeviceError(f"fill of elements {start} to {stop} in a buffer of {self.size}")
        self._array[start:stop] = value
        self._device.set_written(self._array[start:stop])

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array into the buffer. Raises DeviceError if its size or dtype differs from the
        buffer's."""
        if array.size != self.size or array.dtype != self.dtype:
            raise DeviceError(
                f"cannot upload {array.size} x {array.dtype} to a buffer of {self.size} x {self.dtype}"
            )
        self._array[:] = array.reshape(-1)
        self._device.set_written(self._array)

    def download(self) -> npt.NDArray[Any]:
        """Returns a copy of the contents. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return self._array.copy()


class Signal(_Memory):
    """Device memory of int32 words, or of one struct, that kernels write and the host reads."""

    def read(self, index: int = 0) -> int:
        """Returns the word ``index``. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return int(self._array[index])

    def read_struct(self) -> Any:
        """Returns the struct, whose attributes have the present values of its members. Raises KernelError if
        a kernel has failed."""
        assert self.struct is not None
        self._device.synchronize()
        return self.struct.from_buffer(self._array.data)

    def fill(self, value: int, index: int | None = None) -> None:
        """Set the word ``index``, or every word if ``index`` is None."""
        self._set(slice(None) if index is None else slice(index, index + 1), value)

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Set all words of a member of the struct. If the member is an array, set only its element
        ``index``."""
        assert self.struct is not None
        self._set(self.struct.words(member, index), value)

    def _set(self, words: slice, value: int) -> None:
        self._array[words] = value
        self._device.set_written(self._array[words])

    def member(self, name: str) -> Signal:
        """Returns the part of the signal that begins at a member of its struct, as a pointer argument for a
        kernel."""
        assert self.struct is not None
        return Signal(self._device, self._array[self.struct.words(name).start :])


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
        # The struct Limits of runtime/machine.h has the members of Hardware in this order, except ``memory``.
        *limits, _ = astuple(self.hardware)
        native = (ctypes.c_uint64 * len(limits))(*limits)
        self.machine: int = self.runtime.emu_create(ctypes.addressof(native), seed, num_workers, watched)
        if counted:
            self.runtime.emu_start_counting(self.machine, watch.MOST_POLLS)
        self._modules: dict[tuple[object, ...], Module] = {}
        self._handles: list[int] = []
        self._libraries: dict[str, Path] = {}
        """The compiled libraries, by the path of the copy that was loaded."""
        self._finalizer = weakref.finalize(self, _destroy, self.runtime, self.machine, self._handles)
        self._elements: dict[int, int] = {}
        """Element sizes in bytes, by address of the buffer."""
        self.allocated = 0
        """Bytes of all live buffers and signals."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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
        return Buffer(self, self._allocate(size, np.dtype(dtype)), struct_of(dtype))

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
        findings = [watch.finding(found, self._line) for found in self._read("findings", watch.NativeFinding)]
        self.runtime.emu_forget_findings(self.machine)
        return findings

    def lines_run(self) -> set[Line]:
        """Returns the source lines of kernels that have accessed memory so far. The emulator must be created
        with ``watched``."""
        return {line for site in self._read("sites", ctypes.c_void_p) if (line := self._line(site))}

    @contextmanager
    def traced(self) -> Iterator[list[Access]]:
        """Record all accesses to memory in the ``with`` block. Yields a list, which is filled at the end of
        the block. The emulator must be created with ``watched``."""
        accesses: list[Access] = []
        self.runtime.emu_set_recording(self.machine, True)
        try:
            yield accesses
            records = self._read("records", watch.NativeRecord)
            lines = {site: self._line(site) for site in {record.site for record in records}}
            first = records[0].launch if records else 0
            accesses += [
                watch.access(record, first, self._elements, lines[record.site]) for record in records
            ]
        finally:
            self.runtime.emu_set_recording(self.machine, False)

    def counts(self) -> tuple[list[Count], list[PhaseCount]]:
        """Returns the counts since the last call, by instruction and by phase, in the order of launches. The
        emulator must be created with ``counted``."""
        found = self._read("phase_counts", watch.NativePhaseCount)
        first = found[0].launch if found else 0
        phases = [watch.phase_count(phase, first) for phase in found]
        kernels = {phase.launch: phase.kernel for phase in phases}
        counts = [
            watch.count(of, first, kernels, self._line) for of in self._read("counts", watch.NativeCount)
        ]
        self.runtime.emu_forget_counts(self.machine)
        return counts, phases

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

    def _read(self, what: str, kind: Any) -> list[Any]:
        """Returns a list of the runtime, such as its ``findings``. The runtime owns the elements, whose type
        is the ctypes type ``kind``."""
        self.refuse_if_closed()
        first = ctypes.POINTER(kind)()
        number = getattr(self.runtime, f"emu_{what}")(self.machine, ctypes.byref(first))
        return first[:number] if number else []

    def _line(self, site: int | None) -> Line | None:
        """Returns the source line of the call that returns to the address ``site`` in a kernel. Returns None
        if the line is unknown."""
        path = ctypes.c_char_p()
        base = self.runtime.emu_module_of(site, ctypes.byref(path))
        library = self._libraries.get((path.value or b"").decode()) if base else None
        return watch.line_at(library, site - 1 - base) if library and site else None

    def _allocate(self, size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        self.refuse_if_closed()
        size = max(1, size)
        needed = size * dtype.itemsize
        if self.allocated + needed > self.hardware.memory:
            raise DeviceOutOfMemoryError(
                f"{needed} bytes do not fit: {self.allocated} of {self.hardware.memory} are in use"
            )
        try:
            array = _aligned(size, dtype, self.runtime.emu_guard_bytes())
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
