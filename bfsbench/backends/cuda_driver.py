"""What :mod:`bfsbench.backends.cuda` needs of NVIDIA's driver, whichever Python package calls it.

Two implementations: :mod:`bfsbench.backends.pycuda_driver`, which compiles with nvcc, and
:mod:`bfsbench.backends.cuda_core_driver`, which compiles with NVRTC and needs no CUDA toolkit. All work goes
to one stream. All methods raise DeviceError or one of its subclasses where the driver fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Define, Event, Launch
from bfsbench.errors import DeviceError, DeviceOutOfMemoryError, KernelError, LaunchError

PENDING_CHILDREN = 16384
"""Pending child kernels that the device reserves memory for: far more than kernels launch."""

_LAUNCH_REFUSED = (
    "invalid argument",
    "invalid value",
    "out of resources",
    "too many resources",
    "invalid configuration",
    "cluster misconfiguration",
)
"""What the driver says of launches that it has refused."""


def device_error(message: str, *, out_of_memory: bool = False) -> DeviceError:
    """The project's error for a failure of the driver, by the driver's message."""
    text = message.splitlines()[0]
    if out_of_memory:
        return DeviceOutOfMemoryError(text)
    if any(words in text.lower() for words in _LAUNCH_REFUSED):
        return LaunchError(text)
    return KernelError(text)


class DeviceAttribute(IntEnum):
    """CUdevice_attribute of cuda.h."""

    MAX_THREADS_PER_BLOCK = 1
    MAX_GRID_DIM_X = 5
    MAX_SHARED_MEMORY_PER_BLOCK = 8
    WARP_SIZE = 10
    MULTIPROCESSOR_COUNT = 16
    L2_CACHE_SIZE = 38
    MAX_THREADS_PER_MULTIPROCESSOR = 39
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111


class FunctionAttribute(IntEnum):
    """CUfunction_attribute of cuda.h."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    NUM_REGS = 4
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    REQUIRED_CLUSTER_WIDTH = 11
    """The cluster size that a kernel is compiled with, or 0."""
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    """Whether clusters may have more than 8 blocks."""


class Function(Protocol):
    """A kernel that the driver has loaded."""

    def attribute(self, which: FunctionAttribute) -> int: ...

    def set_attribute(self, which: FunctionAttribute, value: int) -> None: ...

    def bind(
        self, block: int, shared: int, arguments: bytes, scalars: int, keep_alive: tuple[Argument, ...]
    ) -> Launch:
        """A launch of ``block`` threads a block with the parameters' bytes, but for the last ``scalars`` ones
        of type int. ``keep_alive`` are objects whose addresses are among the bytes.
        """


class Binary(Protocol):
    """A compiled ``.cu`` file that the driver has loaded."""

    cubin: bytes | None
    """What it was loaded from; None where that is not known."""

    def function(self, name: str) -> Function: ...


class Mirror(Protocol):
    """Words in pinned memory of the host."""

    words: npt.NDArray[np.int32]

    def update(self) -> None:
        """Wait for all work issued so far, then copy the words from the device."""


@dataclass(frozen=True)
class Identity:
    """Which device and which software."""

    name: str
    pci_bus_id: str
    compute_capability: tuple[int, int]
    memory: int
    """In bytes."""
    driver: int
    """The CUDA version that the driver is for: 13000 is 13.0."""
    toolkit: str
    """The CUDA version of the compiler: 13.0."""


class Driver(Protocol):
    """The first visible GPU, through one Python package."""

    backend: str
    """Its name in ``--backend`` and in rows."""
    identity: Identity

    def attribute(self, which: DeviceAttribute) -> int: ...

    def allocate(self, size: int) -> Any:
        """``size`` bytes of device memory; ``int()`` of the object is their address. They are freed with
        it."""

    def mirror(self, address: int, count: int) -> Mirror:
        """A mirror of ``count`` words at an address of the device."""

    def fill_words(self, address: int, value: int, count: int) -> None: ...

    def fill_bytes(self, address: int, value: int, count: int) -> None: ...

    def upload(self, address: int, array: npt.NDArray[Any]) -> None: ...

    def download(self, array: npt.NDArray[Any], address: int) -> None: ...

    def event(self) -> Event: ...

    def synchronize(self) -> None: ...

    def load(
        self, source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
    ) -> Binary:
        """Compile a file with ``appended`` behind it and load it. Raises ToolchainError."""

    def close(self) -> None: ...
