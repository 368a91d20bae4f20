"""Defines the device interface: the operations on a GPU that the host code of a variant may use.

There are two implementations. :mod:`bfsbench.backends.cuda` runs kernels on a GPU, through PyCUDA or
cuda-core. :mod:`bfsbench.backends.cpu` compiles the ``.cu`` files as C++ and emulates a GPU. Operations run
in the order of their calls on one stream, and may be asynchronous. If an operation waits for the device, its
docstring says so. During a search, the host code should only use operations that neither allocate nor
compile. ``prepare`` does both.

A kernel argument may be one of these:

- a Buffer or a Signal, which becomes a device pointer
- None, which becomes a null pointer
- a Struct
- a NumPy scalar of the parameter's type
- a Python int, which becomes the parameter's integer type
- a tuple of these arguments, which becomes a struct. No member may be wider than the first, and the struct
  must have no padding at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.kernels import Argument, Contract, CType, Scalars, Struct
from bfsbench.support.gpu_memory import DeviceArray

__all__ = ["Argument", "CType", "Contract", "Scalars", "Struct"]

Define = int | str


@dataclass(frozen=True)
class Limits:
    """Limits that the device reports, such as the maximum number of threads per block. Sizes are in bytes."""

    warp_size: int
    max_threads_per_block: int
    max_grid: int
    num_multiprocessors: int
    max_threads_per_multiprocessor: int
    shared_memory_per_block: int
    """Shared memory per block, for kernels that do not opt in to a higher limit."""
    shared_memory_per_block_optin: int
    """Shared memory per block, for kernels that opt in to the higher limit. A kernel is opted in
    automatically if ``shared`` of ``Kernel.bind`` needs it."""
    shared_memory_per_multiprocessor: int
    memory: int
    max_blocks_per_multiprocessor: int = 32
    reserved_shared_memory: int = 0
    """Shared memory per block that the system reserves, in bytes."""
    blocks_per_cluster: int = 1
    """Maximum number of blocks in a thread-block cluster. It is 1 if the device has no clusters."""
    l2_cache: int = 0
    """Size of the L2 cache in bytes. It is 0 if unknown."""


class Buffer(Protocol):
    """The interface of a one-dimensional array in the device's memory."""

    dtype: np.dtype[Any]
    struct: type[Struct] | None
    """The struct type of the elements. None if the elements are numbers."""
    size: int

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Asynchronously set ``count`` elements to a value, beginning at index ``start``. By default, set all
        elements from ``start`` to the end.

        Elements of any size can be set to 0. For another value, elements must have 1 or 4 bytes.
        """

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy a host array into the buffer. The array must have the size and the dtype of the buffer."""

    def download(self) -> npt.NDArray[Any]:
        """Wait for the device. Returns a copy of the buffer's contents on the host."""

    def shared(self) -> DeviceArray | npt.NDArray[Any]:
        """Wait for the device. Returns an array that shares the buffer's memory, for use by other libraries.
        The array stays valid after the device is closed. An emulated GPU returns a copy instead, as a NumPy
        array.
        """


class Signal(Protocol):
    """The interface to a few int32 words, or to one struct, in the device's memory.

    Kernels write the words, and the host reads them often, for example after each level. On a GPU, each read
    copies the words to pinned host memory.
    """

    def read(self, index: int = 0) -> int:
        """Wait for all work issued so far. Returns the int32 word at ``index``."""

    def read_struct(self) -> Any:
        """Wait for all work issued so far. Returns the struct, whose members are attributes of the result.
        The result is valid until the next read."""

    def fill(self, value: int, index: int | None = None) -> None:
        """Asynchronously set the word at ``index`` to a value. If ``index`` is None, set all words."""

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Asynchronously set all words of a member of the struct to a value. If the member is an array, set
        only its element at ``index``."""

    def member(self, name: str) -> Argument:
        """Returns the device address of a member of the struct, as a kernel argument."""


class Launch(Protocol):
    """The interface of a kernel with bound arguments. Calling the object launches the kernel."""

    def __call__(self, blocks: int, *scalars: int) -> None:
        """Asynchronously launch the kernel with ``blocks`` blocks. ``scalars`` are the values of the kernel's
        last parameters, which all have the type ``int``."""


class Kernel(Protocol):
    """The interface of a kernel: one ``__global__`` function of a module."""

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        """Bind the kernel to its arguments, the number of threads per block, and the bytes of dynamic shared
        memory. Returns a Launch.

        Arguments are given by the names of the kernel's parameters. The first arguments may be given by
        position. Each launch may give new values to the last ``int`` parameters. ``scalars`` is the number of
        these parameters, or their names in order. Raises LaunchError, which names the parameter, if an
        argument does not fit the kernel's declaration. Also raises LaunchError if the device cannot launch
        kernels with this ``block`` and ``shared``.
        """

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Returns how many blocks with this block size and dynamic shared memory can run on the whole device
        at once."""


class Module(Protocol):
    """The interface of a compiled ``.cu`` file."""

    def kernel(self, name: str) -> Kernel: ...


class Event(Protocol):
    """The interface of a marker in the device's stream of work. The device records the time when it reaches
    the marker."""

    def record(self) -> None: ...

    def milliseconds_since(self, earlier: Event) -> float:
        """Wait for this event. Returns the time in ms from the event ``earlier`` to this event."""


@dataclass(frozen=True)
class KernelTimes:
    """The total time and the number of the kernels that ran on a device during a trace."""

    milliseconds: float
    """The time in which at least one kernel ran. It includes neither launches nor copies nor fills."""
    launches: int
    """The number of kernels. Each kernel of a CUDA graph counts."""


class Device(Protocol):
    """The interface of a GPU or of an emulated GPU."""

    backend: str
    """``cuda``, ``cuda-core`` or ``cpu``. Result rows record it."""
    limits: Limits
    compile_ms: float
    """Total time in ms that calls of ``module`` have taken so far."""

    def describe(self) -> dict[str, str]:
        """Returns the values of the result columns that describe the device: ``gpu``, ``gpu_bus_id``,
        ``compute_capability``, ``driver`` and ``cuda``. A value is empty if it does not apply to the device.
        """

    def telemetry(self) -> dict[str, str]:
        """Returns the current values of the result columns ``sm_clock_mhz``, ``memory_clock_mhz`` and
        ``throttle``. A value is empty if it is unknown."""

    def energy_joules(self) -> float | None:
        """Returns the energy in J that the whole board has used since a fixed moment in the past. Returns
        None if the device has no energy counter."""

    def other_processes(self) -> int:
        """Returns the number of other processes that currently compute on the device. Returns 0 if the number
        is unknown."""

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> Module:
        """Compile a ``.cu`` file with the macros ``defines``. Returns its module. A repeated call with equal
        arguments returns the module of the first call.

        Set ``child_kernels`` if kernels launch kernels. ``contract`` lists the structs, integer types and
        constants that both the file and the host code declare. Compilation fails if the two declarations
        differ. Raises ToolchainError, with the compiler's first error, if the file cannot be compiled.
        """

    def upload(self, array: npt.NDArray[Any]) -> Buffer:
        """Returns a new buffer with a copy of a host array. Raises DeviceOutOfMemoryError if the device has
        too little free memory."""

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> Buffer:
        """Returns a new buffer of ``size`` elements with undefined contents. Memory is allocated even if
        ``size`` is 0. Raises DeviceOutOfMemoryError if the device has too little free memory."""

    def borrow(self, array: DeviceArray) -> Buffer | None:
        """Returns a buffer that shares the memory of another library's array. Returns None if the device
        cannot read this memory."""

    def signal(self, words: int | type[Struct] = 1) -> Signal: ...

    def event(self) -> Event: ...

    def capture(self, launch_all: Callable[[], None]) -> Callable[[], None]:
        """Record the launches that ``launch_all`` issues, without running the kernels. ``launch_all`` must
        not do anything else with the device.

        Returns a function that repeats these launches asynchronously, with equal arguments. A GPU runs them
        as one CUDA graph. Raises DeviceError if the driver does not support CUDA graphs.
        """

    def tracing(self) -> AbstractContextManager[Callable[[], KernelTimes]]:
        """Returns a context manager that records all kernels that run in its ``with`` block. The context
        manager yields a function. The function waits for the device, and returns the times of the kernels
        that have run since its last call.

        Afterwards launches may be slower. Raises DeviceError if the device has no tracer or if the tracer
        fails, and ToolchainError if a package is missing.
        """

    def reset_persisting_l2(self) -> None:
        """Allow the L2 cache to evict lines that kernels have marked as persisting."""

    def synchronize(self) -> None:
        """Wait for all work issued so far. Raises KernelError if a kernel failed."""

    def close(self) -> None:
        """Free all memory and modules of the device. The device cannot be used afterwards."""
