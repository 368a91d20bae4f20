"""The device interface: everything a variant's host loop may use of a GPU.

Two implementations: :mod:`bfsbench.backends.cuda` (a GPU, through PyCUDA or cuda-core) and
:mod:`bfsbench.backends.cpu` (the same ``.cu`` files compiled as C++). Operations are issued in order on one
stream and may be asynchronous; only ``synchronize``, ``Buffer.download``, ``Signal.read`` and
``Event.milliseconds_since`` wait. Nothing here allocates or compiles once a search has been prepared.

Kernel arguments are a Buffer or a Signal (a device pointer), None (a null pointer), a Python int (of the
parameter's integer type), a NumPy scalar of the parameter's type, a Struct, or a tuple of these for a struct
of such members, of which the first is as wide as any, without padding at its end.
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
    """Limits of the device, as it reports them. Sizes in bytes."""

    warp_size: int
    max_threads_per_block: int
    max_grid: int
    num_multiprocessors: int
    max_threads_per_multiprocessor: int
    shared_memory_per_block: int
    """Without asking."""
    shared_memory_per_block_optin: int
    """The limit for kernels that opt in, which the device interface does when ``shared`` of ``Kernel.bind``
    needs it."""
    shared_memory_per_multiprocessor: int
    memory: int
    max_blocks_per_multiprocessor: int = 32
    reserved_shared_memory: int = 0
    """Shared memory of a multiprocessor that the system reserves for each block."""
    blocks_per_cluster: int = 1
    """Largest thread-block cluster; 1 where there are none."""
    l2_cache: int = 0
    """In bytes; 0 where unknown."""


class Buffer(Protocol):
    """A one-dimensional array on the device."""

    dtype: np.dtype[Any]
    struct: type[Struct] | None
    """The struct type of its elements, if kernels declare them as structs."""
    size: int

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Set elements (4-byte or 1-byte dtypes; others to 0) to a value, asynchronously."""

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy a host array of the same size and dtype in."""

    def download(self) -> npt.NDArray[Any]:
        """Wait, and copy the array to the host."""


class Signal(Protocol):
    """Some int32 words, or a struct, on the device that the host polls through pinned memory."""

    def read(self, index: int = 0) -> int:
        """Wait for all work issued so far and return the word ``index``."""

    def read_struct(self) -> Any:
        """Wait for all work issued so far and return the struct: its attributes are the members, valid until
        the next read."""

    def fill(self, value: int, index: int | None = None) -> None:
        """Set the word ``index``, or every word, asynchronously."""

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Set the words of a member of the struct, or of one element of an array, asynchronously."""

    def member(self, name: str) -> Argument:
        """The address of a member of the struct, as a kernel argument."""


class Launch(Protocol):
    """A kernel with everything bound but the number of blocks and the last int parameters."""

    def __call__(self, blocks: int, *scalars: int) -> None:
        """Launch asynchronously; ``scalars`` fill the kernel's last parameters, all of type ``int``."""


class Kernel(Protocol):
    """One ``__global__`` function of a module."""

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        """Fix all arguments but the last, threads a block and dynamic shared memory (bytes).

        Arguments are given by the names of the kernel's parameters; some, the first ones, may be given by
        position. ``scalars`` are the last ``int`` parameters, which each launch gives: their number, or their
        names in order. Raises LaunchError, naming the parameter, where arguments do not fit the kernel's
        declaration, or if the device can never launch this configuration.
        """

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """How many blocks of this configuration are resident on the device at a time."""


class Module(Protocol):
    """A compiled ``.cu`` file."""

    def kernel(self, name: str) -> Kernel: ...


class Event(Protocol):
    """A point in the device's stream."""

    def record(self) -> None: ...

    def milliseconds_since(self, earlier: Event) -> float:
        """Wait for this event; the time from ``earlier`` to it in ms."""


class Device(Protocol):
    """One GPU, or an emulation of one."""

    backend: str
    """``cuda``, ``cuda-core`` or ``cpu``; goes into every row."""
    limits: Limits
    compile_ms: float
    """Time that ``module`` has taken so far."""

    def describe(self) -> dict[str, str]:
        """Provenance: ``gpu``, ``gpu_bus_id`` (on its host), ``compute_capability``, ``driver``, ``cuda``.

        Empty where it does not apply.
        """

    def telemetry(self) -> dict[str, str]:
        """The current state: ``sm_clock_mhz``, ``memory_clock_mhz``, ``throttle``; empty where unknown."""

    def energy_joules(self) -> float | None:
        """Energy used by the whole board since an unspecified moment in the past; None without a counter."""

    def other_processes(self) -> int:
        """How many other processes are known to compute on the device now."""

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> Module:
        """Compile a ``.cu`` file with macros defined; the same request again returns the same module.

        ``child_kernels`` is needed when kernels launch kernels. With a contract the file compiles only if its
        types and macros agree with the host's. Raises ToolchainError with the first error.
        """

    def upload(self, array: npt.NDArray[Any]) -> Buffer:
        """A new buffer with the contents of a host array. Raises DeviceOutOfMemoryError."""

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> Buffer:
        """A new buffer of undefined contents (at least one element). Raises DeviceOutOfMemoryError."""

    def signal(self, words: int | type[Struct] = 1) -> Signal: ...

    def event(self) -> Event: ...

    def reset_persisting_l2(self) -> None:
        """Let lines that kernels made persist in the L2 cache be evicted as any other."""

    def synchronize(self) -> None:
        """Wait for everything. Raises KernelError if a kernel failed."""

    def close(self) -> None:
        """Free everything; the device cannot be used afterwards."""
