"""Defines the device interface: everything that a variant's host loop may use of a GPU.

There are two implementations: :mod:`bfsbench.backends.cuda` (a GPU, through PyCUDA or cuda-core) and
:mod:`bfsbench.backends.cpu` (the ``.cu`` files compiled as C++). Operations are issued in order on one stream
and may be asynchronous. Only ``synchronize``, ``Buffer.download``, ``Signal.read`` and
``Event.milliseconds_since`` wait. Nothing here allocates or compiles once a search has been prepared.

A kernel argument may be a Buffer or a Signal (a device pointer), None (a null pointer), or a Struct. It may
also be a NumPy scalar of the parameter's type, or a Python int, which becomes the parameter's integer type. A
tuple of these stands for a struct. Its first member must be as wide as any other, and the struct must have no
padding at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.kernels import Argument, Contract, CType, Scalars, Struct

__all__ = ["Argument", "CType", "Contract", "Scalars", "Struct"]

Define = int | str


@dataclass(frozen=True)
class Limits:
    """Limits of the device, as it reports them. Sizes are in bytes."""

    warp_size: int
    max_threads_per_block: int
    max_grid: int
    num_multiprocessors: int
    max_threads_per_multiprocessor: int
    shared_memory_per_block: int
    """The limit for kernels that do not opt in to more."""
    shared_memory_per_block_optin: int
    """The limit for kernels that opt in. The device interface opts in if ``shared`` of ``Kernel.bind`` needs
    it."""
    shared_memory_per_multiprocessor: int
    memory: int
    max_blocks_per_multiprocessor: int = 32
    reserved_shared_memory: int = 0
    """Shared memory of a multiprocessor that the system reserves for each block."""
    blocks_per_cluster: int = 1
    """Largest thread-block cluster. 1 if the device has no clusters."""
    l2_cache: int = 0
    """In bytes. 0 if unknown."""


class Buffer(Protocol):
    """A protocol for one-dimensional arrays on the device."""

    dtype: np.dtype[Any]
    struct: type[Struct] | None
    """The struct type of its elements, if kernels declare them as structs."""
    size: int

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Set ``count`` elements from ``start`` on to a value, asynchronously. The default is all elements
        from ``start`` on.

        Elements must have 1 or 4 bytes. Elements of other sizes can only be set to 0.
        """

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy a host array into the buffer. It must have the buffer's size and dtype."""

    def download(self) -> npt.NDArray[Any]:
        """Wait for the device. Returns a copy of the array on the host."""


class Signal(Protocol):
    """A protocol for int32 words, or a struct, on the device that the host polls through pinned memory."""

    def read(self, index: int = 0) -> int:
        """Wait for all work issued so far. Returns the word ``index``."""

    def read_struct(self) -> Any:
        """Wait for all work issued so far. Returns the struct, whose attributes are its members. The result
        is valid until the next read."""

    def fill(self, value: int, index: int | None = None) -> None:
        """Set the word ``index``, or every word, asynchronously."""

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Set the words of a member of the struct, or of one element of an array, asynchronously."""

    def member(self, name: str) -> Argument:
        """Returns the address of a member of the struct, as a kernel argument."""


class Launch(Protocol):
    """A protocol for kernels that are bound to everything but the number of blocks and the last int
    parameters."""

    def __call__(self, blocks: int, *scalars: int) -> None:
        """Launch the kernel asynchronously. ``scalars`` are the values of the kernel's last parameters, all
        of type ``int``."""


class Kernel(Protocol):
    """A protocol for ``__global__`` functions of a module."""

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        """Fix the kernel's arguments, the threads per block and the bytes of dynamic shared memory. Returns a
        Launch.

        Arguments are given by the names of the kernel's parameters. The first ones may be given by position.
        ``scalars`` are the last ``int`` parameters, which each launch gives: their number, or their names in
        order. Raises a LaunchError that names the parameter if an argument does not fit the kernel's
        declaration. Raises LaunchError also if the device can never launch this configuration.
        """

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Returns how many blocks of this configuration the device holds at a time."""


class Module(Protocol):
    """A protocol for compiled ``.cu`` files."""

    def kernel(self, name: str) -> Kernel: ...


class Event(Protocol):
    """A protocol for points in the device's stream of work."""

    def record(self) -> None: ...

    def milliseconds_since(self, earlier: Event) -> float:
        """Wait for this event. Returns the time in ms from ``earlier`` to it."""


class Device(Protocol):
    """A protocol for a GPU, or an emulation of a GPU."""

    backend: str
    """``cuda``, ``cuda-core`` or ``cpu``. It goes into every row."""
    limits: Limits
    compile_ms: float
    """Time in ms that ``module`` has taken so far."""

    def describe(self) -> dict[str, str]:
        """Returns ``gpu``, ``gpu_bus_id`` (on its host), ``compute_capability``, ``driver`` and ``cuda``, for
        result rows. A value that does not apply is empty."""

    def telemetry(self) -> dict[str, str]:
        """Returns the current ``sm_clock_mhz``, ``memory_clock_mhz`` and ``throttle``. A value is empty if it
        is unknown."""

    def energy_joules(self) -> float | None:
        """Returns the energy in J that the whole board has used since some moment in the past, or None
        without a counter."""

    def other_processes(self) -> int:
        """Returns how many other processes are known to compute on the device now."""

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> Module:
        """Compile a ``.cu`` file with the macros ``defines``. Returns its module. A repeated request returns
        the first module.

        ``child_kernels`` is needed if kernels launch kernels. With a contract the file compiles only if its
        types and macros agree with the host's. Raises ToolchainError with the first error.
        """

    def upload(self, array: npt.NDArray[Any]) -> Buffer:
        """Returns a new buffer with the contents of a host array. Raises DeviceOutOfMemoryError."""

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> Buffer:
        """Returns a new buffer of at least one element, with undefined contents. Raises
        DeviceOutOfMemoryError."""

    def signal(self, words: int | type[Struct] = 1) -> Signal: ...

    def event(self) -> Event: ...

    def reset_persisting_l2(self) -> None:
        """Allow the L2 cache to evict lines that kernels made persist."""

    def synchronize(self) -> None:
        """Wait for all work issued so far. Raises KernelError if a kernel failed."""

    def close(self) -> None:
        """Free all memory and modules of the device, which cannot be used afterwards."""
