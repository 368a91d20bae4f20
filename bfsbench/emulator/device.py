"""Defines the emulated GPU. It compiles and launches kernels, allocates buffers, and reports the faults and
the counted costs of kernels."""

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
from bfsbench.emulator.library import Define, build_kernels, build_runtime, load_runtime, open_kernels
from bfsbench.emulator.watch import Access, Count, Finding, Line, PhaseCount
from bfsbench.kernels.signature import Argument, Contract, Scalars, Signature, Struct, struct_of
from bfsbench.support.errors import (
    DeviceError,
    DeviceOutOfMemoryError,
    KernelError,
    LaunchError,
    ToolchainError,
)
from bfsbench.support.machine import usable_cores

_SHARE_OF_MEMORY = 0.8
_ALIGNMENT = 256
_POISON = 0xCD

WARP_SIZE = 32

_REFUSED = 1
"""Result of the C++ function ``emu_launch`` if a launch exceeds the device's limits."""

_INT_MAX = 2**31 - 1
_SCALARS = frozenset(map(np.dtype, ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")))
"""The types of NumPy scalars that a kernel accepts as arguments."""


def _most_of_memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)


@dataclass(frozen=True)
class Hardware:
    """The resources of the emulated GPU. Sizes are in bytes. The defaults describe a recent GPU, but with few
    multiprocessors."""

    max_threads_per_block: int = 1024
    multiprocessors: int = 8
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    blocks_per_cluster: int = 16
    pending_children: int = 2048
    """Maximum number of child kernels that may wait for their start at one time."""
    max_grid: int = 2**31 - 1
    shared_per_block: int = 227 << 10
    shared_per_multiprocessor: int = 228 << 10
    memory: int = field(default_factory=_most_of_memory)
    """Total memory for buffers. The default is 80 % of the host's memory."""


def _destroy(runtime: ctypes.CDLL, machine: int, handles: list[int]) -> None:
    runtime.emu_destroy(machine)
    for handle in handles:
        runtime.emu_close(handle)


def _aligned(size: int, dtype: np.dtype[Any], margin: int) -> npt.NDArray[Any]:
    """Returns an aligned array of ``size`` elements, filled with poison bytes (0xCD). ``margin`` bytes before
    and after the array stay unused. Raises MemoryError if the memory is not available."""
    count = size * dtype.itemsize
    room = np.empty(count + 2 * margin + _ALIGNMENT, np.uint8)
    start = margin + -(room.ctypes.data + margin) % _ALIGNMENT
    room.fill(_POISON)
    return room[start : start + count].view(dtype)


class _Memory:
    """The base class of device memory that kernels and the host access."""

    def __init__(self, device: Emulator, array: npt.NDArray[Any], struct: type[Struct] | None = None) -> None:
        self._device = device
        self._array = array
        self.dtype: np.dtype[Any] = array.dtype
        self.size = array.size
        self.struct = struct
        """The struct type of the elements. None if the elements are numbers."""
        self.pointer = ctypes.c_void_p(array.ctypes.data)


class Buffer(_Memory):
    """An array in device memory."""

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Set ``count`` elements to a value, beginning at index ``start``. By default, set all elements from
        ``start`` to the end. Raises DeviceError if this range is not within the buffer."""
        stop = self.size if count is None else start + count
        if not 0 <= start <= stop <= self.size:
            raise DeviceError(f"fill of elements {start} to {stop} in a buffer of {self.size}")
        self._array[start:stop] = value
        self._device.set_written(self._array[start:stop])

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy a host array into the buffer. Raises DeviceError if its size or dtype differs from the
        buffer's."""
        if array.size != self.size or array.dtype != self.dtype:
            raise DeviceError(
                f"cannot upload {array.size} x {array.dtype} to a buffer of {self.size} x {self.dtype}"
            )
        self._array[:] = array.reshape(-1)
        self._device.set_written(self._array)

    def download(self) -> npt.NDArray[Any]:
        """Returns a copy of the buffer's contents. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return self._array.copy()

    shared = download
    """Returns a copy of the buffer's contents as a NumPy array, which other libraries can use."""


class Signal(_Memory):
    """Device memory that kernels write and the host reads. It holds int32 words or one struct."""

    def read(self, index: int = 0) -> int:
        """Returns the int32 word at ``index``. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return int(self._array[index])

    def read_struct(self) -> Any:
        """Returns the struct. Its attributes are the current values of its members. Raises KernelError if a
        kernel has failed."""
        assert self.struct is not None
        self._device.synchronize()
        return self.struct.from_buffer(self._array.data)

    def fill(self, value: int, index: int | None = None) -> None:
        """Set the word at ``index`` to a value. If ``index`` is None, set all words."""
        self._set(slice(None) if index is None else slice(index, index + 1), value)

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Set all words of a member of the struct to a value. If the member is an array, set only its element
        at ``index``."""
        assert self.struct is not None
        self._set(self.struct.words(member, index), value)

    def _set(self, words: slice, value: int) -> None:
        self._array[words] = value
        self._device.set_written(self._array[words])

    def member(self, name: str) -> Signal:
        """Returns a signal whose memory begins at one member of this signal's struct. As a kernel argument,
        it is a pointer to the member in device memory."""
        assert self.struct is not None
        return Signal(self._device, self._array[self.struct.words(name).start :])


class Event:
    """A moment in time, measured by the host's clock."""

    def __init__(self, device: Emulator) -> None:
        self._device = device
        self._seconds = 0.0

    def record(self) -> None:
        """Record the current time. All earlier launches are complete, because each launch completes before it
        returns."""
        self._seconds = time.perf_counter()

    def milliseconds_since(self, earlier: object) -> float:
        """Returns the time in ms from the event ``earlier`` to this event, by the host's clock. Raises
        KernelError if a kernel has failed, and TypeError for an event of another kind of device."""
        if not isinstance(earlier, Event):
            raise TypeError("both events must be of the emulated device")
        self._device.synchronize()
        return (self._seconds - earlier._seconds) * 1000.0


@dataclass
class Module:
    """A loaded library of compiled kernels."""

    device: Emulator
    name: str
    handle: int
    signatures: Mapping[str, Signature]

    def kernel(self, name: str) -> Kernel:
        """Returns the kernel with a given name. Raises ToolchainError if no kernel in the module is declared
        ``extern "C"`` with this name."""
        pointer = self.device.runtime.emu_kernel(self.handle, name.encode())
        if not pointer:
            raise ToolchainError(f"{self.name} has no kernel 'extern \"C\" __global__ void {name}(...)'")
        return Kernel(self.device, name, pointer, self.signatures[name])


@dataclass
class Kernel:
    """A CUDA kernel, that is, one ``__global__`` function of a module."""

    device: Emulator
    name: str
    pointer: int
    signature: Signature

    def parameter_sizes(self) -> list[int]:
        """Returns the size in bytes of each parameter of the kernel."""
        runtime = self.device.runtime
        count = runtime.emu_parameter_count(self.pointer)
        return [runtime.emu_parameter_size(self.pointer, i) for i in range(count)]

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Returns how many blocks of ``block`` threads the emulated GPU holds at once, if each has ``shared``
        bytes of dynamic shared memory. Raises LaunchError if the GPU cannot hold one block."""
        self._require_launchable(block, shared)
        return int(self.device.runtime.emu_resident_blocks(self.device.machine, self.pointer, block, shared))

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        """Bind the kernel to a block size, to a number of bytes of dynamic shared memory, and to its
        arguments. Returns a launch. The kernel's last parameters get new values at each launch. ``scalars``
        is the number of these parameters, or their names in order. All other parameters get their arguments
        here, by position or by name. Raises LaunchError if the arguments do not fit the kernel's parameters,
        or if the device cannot run one block of this size.
        """
        self._require_launchable(block, shared)
        arguments, num_scalars = self.signature.arrange(positional, named, scalars)
        values = [self._c_value(i, argument) for i, argument in enumerate(arguments)]
        values += [ctypes.c_int() for _ in range(num_scalars)]
        expected, given = self.parameter_sizes(), [ctypes.sizeof(value) for value in values]
        if len(given) != len(expected):
            raise LaunchError(f"kernel '{self.name}' has {len(expected)} parameters, {len(given)} were bound")
        for i, (wanted, got) in enumerate(zip(expected, given, strict=True)):
            if wanted != got:
                raise LaunchError(f"kernel '{self.name}': parameter {i + 1} takes {wanted} bytes, not {got}")
        return Launch(self, arguments, values, block, shared, num_scalars)

    def _require_launchable(self, block: int, shared: int) -> None:
        if not 1 <= block <= _INT_MAX or not 0 <= shared <= _INT_MAX:
            raise LaunchError(
                f"kernel '{self.name}': {block} threads a block and {shared} bytes of shared memory"
            )
        runtime = self.device.runtime
        if runtime.emu_check(self.device.machine, self.pointer, block, shared):
            raise LaunchError(runtime.emu_message().decode())

    def _c_value(self, position: int, argument: Argument) -> Any:
        if isinstance(pointer := getattr(argument, "pointer", None), ctypes.c_void_p):
            return pointer
        if argument is None:
            return ctypes.c_void_p()
        if isinstance(argument, np.generic) and argument.dtype in _SCALARS:
            return np.ctypeslib.as_ctypes(np.array(argument))
        if isinstance(argument, Struct):
            return argument
        if isinstance(argument, int) and -_INT_MAX - 1 <= argument <= _INT_MAX:
            return ctypes.c_int(argument)
        if isinstance(argument, tuple):
            members = [self._c_value(position, member) for member in argument]
            fields = [(f"member_{i}", type(member)) for i, member in enumerate(members)]
            return type("Struct", (ctypes.Structure,), {"_fields_": fields})(*members)
        given = f"the {type(argument).__name__} {argument}"
        raise LaunchError(
            f"kernel '{self.name}': parameter {position + 1} was given {given}; "
            "bind a buffer, a signal, None for a null pointer, a 32-bit int, a NumPy scalar or a tuple"
        )


class Launch:
    """A kernel with bound arguments. Calling it runs the kernel until it ends."""

    def __init__(
        self,
        kernel: Kernel,
        arguments: tuple[Argument, ...],
        values: list[Any],
        block: int,
        shared: int,
        scalars: int,
    ) -> None:
        self._kernel = kernel
        self._keep_alive = (arguments, values)
        self._scalars = values[len(values) - scalars :]
        self._pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self._shape = (block, shared, ctypes.addressof(self._pointers))
        self._launch = kernel.device.runtime.emu_launch

    def __call__(self, blocks: int, *scalars: int) -> None:
        """Run ``blocks`` blocks with the given values of the last parameters. Raises LaunchError if the
        device cannot launch a grid of this size. Also raises LaunchError if ``scalars`` has a wrong number of
        values, or a value that does not fit an int.

        If the kernel fails, the next operation that waits for the device reports the failure. Until then,
        further launches do nothing.
        """
        device = self._kernel.device
        device.refuse_if_closed()
        if device.failure:
            return
        if len(scalars) != len(self._scalars) or not 1 <= blocks <= _INT_MAX:
            raise LaunchError(
                f"kernel '{self._kernel.name}': launched with {blocks} blocks and {len(scalars)} scalars, "
                f"bound for {len(self._scalars)}"
            )
        for value, scalar in zip(self._scalars, scalars, strict=True):
            if not -_INT_MAX - 1 <= scalar <= _INT_MAX:
                raise LaunchError(f"kernel '{self._kernel.name}': scalar {scalar} does not fit an int")
            value.value = scalar
        if device.launches == device.most_launches:
            made = f"{device.launches} launches"
            device.failure = f"kernel '{self._kernel.name}': the host's loop has no end: {made}"
            return
        device.launches += 1
        status = self._launch(device.machine, self._kernel.pointer, blocks, *self._shape)
        if status:
            message = device.runtime.emu_message().decode()
            if status == _REFUSED:
                raise LaunchError(message)
            device.failure = message


class Emulator:
    """A GPU that is emulated on the CPU of this machine. Each launch completes before it returns.

    - seed: With 0, blocks run on ``workers`` cores (default: all) in the fastest order. With another seed,
      one core runs blocks and threads in a random order, and interrupts threads at random. Equal seeds give
      equal runs.
    - include: Folders where kernels find headers, besides their own folder.
    - watched: Kernels run on one core, and every access to memory is checked. ``findings`` returns the
      faults, such as data races, accesses outside buffers, and reads of memory that was never written.
      ``traced`` records all accesses.
    - counted: The lanes of every warp run in lockstep, on one core. ``counts`` returns what their memory
      accesses would cost a GPU, by source line. An emulator cannot be both watched and counted.
    - most_launches: The maximum number of launches. Further launches fail, which ends a loop of the host that
      would launch kernels forever.
    - portable_fibers: Use the slow context switch of POSIX, as on processors other than x86-64.

    The method ``close``, or the end of a ``with`` block, closes the device. The constructor raises
    ToolchainError if there is no C++ compiler, and ValueError with both ``watched`` and ``counted``.
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
        """Number of launches that the host has asked for so far."""
        self.compile_ms = 0.0
        """Total time in ms of the calls of ``module`` that compiled or loaded a file."""
        self.failure = ""
        """Error message of a kernel that has failed, until it is reported."""
        self._runtime_path = build_runtime(portable_fibers=portable_fibers)
        self.runtime: ctypes.CDLL = load_runtime(self._runtime_path)
        # The struct Limits of runtime/machine.h has the same fields in this order, except the last field of
        # Hardware, ``memory``.
        *limits, _ = astuple(self.hardware)
        native = (ctypes.c_uint64 * len(limits))(*limits)
        self.machine: int = self.runtime.emu_create(ctypes.addressof(native), seed, num_workers, watched)
        if counted:
            self.runtime.emu_start_counting(self.machine, watch.MOST_POLLS)
        self._modules: dict[tuple[object, ...], Module] = {}
        self._handles: list[int] = []
        self._libraries: dict[str, Path] = {}
        """Maps the path of each loaded copy of a library to the path of the compiled library."""
        self._finalizer = weakref.finalize(self, _destroy, self.runtime, self.machine, self._handles)
        self._elements: dict[int, int] = {}
        """Maps the address of each buffer to the size of its elements in bytes."""
        self.allocated = 0
        """Total bytes of all buffers and signals that exist now."""

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
        """Translate, compile and load a ``.cu`` file. Returns the module. A further call with equal arguments
        returns the same module. Raises ToolchainError if the file has an error.

        With a ``contract``, the file compiles only if its structs, integer types and constants agree with the
        declarations of the host code.
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
        """Allocate a buffer and copy an array into it. Returns the buffer, which is one-dimensional. Raises
        DeviceOutOfMemoryError if there is too little memory."""
        buffer = self.empty(array.size, array.dtype)
        if array.size:
            buffer.upload(array)
        return buffer

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> Buffer:
        """Allocate a buffer of at least one element, filled with poison bytes (0xCD). Returns the buffer.
        Raises DeviceOutOfMemoryError if there is too little memory."""
        return Buffer(self, self._allocate(size, np.dtype(dtype)), struct_of(dtype))

    def adopt(self, array: npt.NDArray[Any]) -> Buffer:
        """Returns a buffer that uses the memory of a one-dimensional host array. Kernels write directly to
        the array."""
        self.refuse_if_closed()
        self.runtime.emu_adopt_buffer(self.machine, array.ctypes.data, array.nbytes, array.itemsize)
        buffer = Buffer(self, array)
        weakref.finalize(buffer, self._forget, array.ctypes.data)
        return buffer

    def signal(self, words: int | type[Struct] = 1) -> Signal:
        """Allocate memory that kernels write and the host reads. It holds ``words`` int32 words, or one
        struct. Returns the signal. Raises DeviceOutOfMemoryError if there is too little memory."""
        if isinstance(words, int):
            return Signal(self, self._allocate(words, np.dtype(np.int32)))
        return Signal(self, self._allocate(ctypes.sizeof(words) // 4, np.dtype(np.int32)), words)

    def event(self) -> Event:
        """Returns a new event that is not recorded yet."""
        return Event(self)

    def synchronize(self) -> None:
        """Raise KernelError if a kernel has failed and the failure has not been reported yet. After the
        error, the device can be used again."""
        self.refuse_if_closed()
        if self.failure:
            message, self.failure = self.failure, ""
            raise KernelError(message)

    def close(self) -> None:
        """Unload all kernels and end the worker threads. A second call does nothing."""
        self._finalizer()

    def findings(self) -> list[Finding]:
        """Returns the faults that were found in kernels since the last call of ``findings``. Raises
        ValueError unless the emulator was created with ``watched``."""
        if not self.watched:
            raise ValueError("faults are found by an emulator that is watched")
        return self._report().findings

    def lines_run(self) -> set[Line]:
        """Returns the source lines at which kernels have accessed memory so far. The emulator must be created
        with ``watched``."""
        return {line for site in self._read("sites", ctypes.c_void_p) if (line := self._line(site))}

    @contextmanager
    def traced(self) -> Iterator[list[Access]]:
        """Record all memory accesses of kernels in the ``with`` block. Yields a list, which is filled at the
        end of the block. The emulator must be created with ``watched``."""
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
        """Returns two lists of memory costs that were counted since the last call of ``counts``, in the order
        of launches. The first list has one Count per instruction, and the second list has one PhaseCount per
        phase. Raises ValueError unless the emulator was created with ``counted``."""
        if not self.counted:
            raise ValueError("costs are counted by an emulator that is counted")
        report = self._report()
        return report.counts, report.launches

    def _report(self) -> watch.Report:
        """Returns the faults and the counted costs since the last call of this method."""
        self.refuse_if_closed()
        report = watch.Report()
        text: str = self.runtime.emu_report(self.machine).decode()
        watch.read_rows((line.split("\t") for line in text.splitlines()), self._line, report)
        return report

    def note_phases_in(self, records: Buffer) -> None:
        """Set the buffer in which kernels mark phases, such as the levels of a search. Phase i begins when a
        kernel writes to element i of the buffer. These writes are not counted. If the emulator was created
        without ``counted``, do nothing."""
        if self.counted:
            size = records.size * records.dtype.itemsize
            self.runtime.emu_note_phases_at(self.machine, records.pointer, size, records.dtype.itemsize)

    def stacks_in_use(self) -> int:
        """Returns the number of stacks that emulated threads hold. It is 0 whenever no kernel runs."""
        self.refuse_if_closed()
        return int(self.runtime.emu_stacks_in_use(self.machine))

    def refuse_if_closed(self) -> None:
        """Raise DeviceError if the device has been closed."""
        if not self._finalizer.alive:
            raise DeviceError("the emulated device has been closed")

    def set_written(self, words: npt.NDArray[Any]) -> None:
        """Record that the host has written to a buffer. ``words`` is the written part of the buffer's memory.
        Reads of this part by kernels are then not reported as faults."""
        if self.watched and words.size:
            self.runtime.emu_set_written(self.machine, words.ctypes.data, words.nbytes)

    def _read(self, what: str, kind: Any) -> list[Any]:
        """Returns one of the lists that the C++ runtime keeps. ``what`` is the name of the list, such as
        ``records``. ``kind`` is the ctypes type of an element. Structs in the list are not copies: they refer
        to the runtime's memory."""
        self.refuse_if_closed()
        first = ctypes.POINTER(kind)()
        number = getattr(self.runtime, f"emu_{what}")(self.machine, ctypes.byref(first))
        return first[:number] if number else []

    def _line(self, site: int | None) -> Line | None:
        """Returns the source line of a call in a kernel. ``site`` is the call's return address. Returns None
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
