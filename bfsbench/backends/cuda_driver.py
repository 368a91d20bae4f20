"""Defines what :mod:`bfsbench.backends.cuda` needs from NVIDIA's driver, whichever Python package calls the
driver.

There are two implementations. :mod:`bfsbench.backends.pycuda_driver` compiles with nvcc.
:mod:`bfsbench.backends.cuda_core_driver` compiles with NVRTC and needs no CUDA toolkit. All work goes to one
stream. All methods raise DeviceError or one of its subclasses if the driver fails. Clocks, throttle state,
energy and users of a GPU come from NVML, which needs no CUDA context.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Define, Event, Launch
from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError, KernelError, LaunchError

THROTTLE_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "software thermal",
    0x0000000000000040: "hardware thermal",
    0x0000000000000080: "power brake",
}
"""Bits of NVML's clocks-event reasons that slow a kernel down. Idleness and user settings are left out."""


class Telemetry:
    """Reads clocks, energy and processes of one GPU. A value is empty if nvidia-ml-py or the driver does not
    have it."""

    def __init__(self, pci_bus_id: str) -> None:
        self.driver = ""
        self._nvml: Any = None
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            self._nvml = pynvml
        except pynvml.NVMLError:
            return

    def _ask(self, function: str, *arguments: object) -> Any:
        """Returns NVML's answer about the GPU, or None if it has no answer."""
        if self._nvml is None:
            return None
        try:
            return getattr(self._nvml, function)(self._handle, *arguments)
        except self._nvml.NVMLError:
            return None

    def read(self) -> dict[str, str]:
        """Returns ``sm_clock_mhz``, ``memory_clock_mhz`` and ``throttle``, the reasons for slower clocks or
        ``none``."""
        values = {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}
        if self._nvml is None:
            return values
        for name, clock in (("sm", self._nvml.NVML_CLOCK_SM), ("memory", self._nvml.NVML_CLOCK_MEM)):
            megahertz = self._ask("nvmlDeviceGetClockInfo", clock)
            values[f"{name}_clock_mhz"] = "" if megahertz is None else str(megahertz)
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is not None:
            reasons = (text for bit, text in THROTTLE_REASONS.items() if bits & bit)
            values["throttle"] = "; ".join(reasons) or "none"
        return values

    def energy_joules(self) -> float | None:
        """Returns the energy in J that the board has used since the driver was loaded. The result is None if
        the GPU has no counter."""
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoules is None else int(millijoules) / 1e3

    def other_processes(self) -> int:
        """Returns how many processes besides this one compute on the GPU. The result is 0 if the driver has
        no answer."""
        return max(0, len(self._ask("nvmlDeviceGetComputeRunningProcesses") or ()) - 1)


PENDING_CHILDREN = 16384
"""Number of pending child kernels for which the device reserves memory. Kernels launch far fewer."""

_LAUNCH_REFUSED = (
    "invalid argument",
    "invalid value",
    "out of resources",
    "too many resources",
    "invalid configuration",
    "cluster misconfiguration",
)
"""Phrases in the driver's messages about launches that it has refused."""


def device_error(message: str, *, out_of_memory: bool = False) -> DeviceError:
    """Returns the project's error for a failure of the driver, chosen by the driver's message."""
    text = message.splitlines()[0]
    if out_of_memory:
        return DeviceOutOfMemoryError(text)
    if any(words in text.lower() for words in _LAUNCH_REFUSED):
        return LaunchError(text)
    return KernelError(text)


LIMITS = {
    "warp_size": 10,
    "max_threads_per_block": 1,
    "max_grid": 5,
    "num_multiprocessors": 16,
    "max_threads_per_multiprocessor": 39,
    "shared_memory_per_block": 8,
    "shared_memory_per_block_optin": 97,
    "shared_memory_per_multiprocessor": 81,
    "max_blocks_per_multiprocessor": 106,
    "reserved_shared_memory": 111,
    "l2_cache": 38,
}
"""The number in cuda.h, as CUdevice_attribute, of the attribute that gives a limit of
:class:`bfsbench.backends.base.Limits`."""
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR, MAX_REGISTERS_PER_MULTIPROCESSOR = 75, 76, 82
"""Numbers in cuda.h of other attributes that this package reads."""


class FunctionAttribute(IntEnum):
    """Attributes of kernels that this package uses, numbered as CUfunction_attribute in cuda.h."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    NUM_REGS = 4
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    REQUIRED_CLUSTER_WIDTH = 11
    """The cluster size that a kernel is compiled with, or 0."""
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    """True if clusters may have more than 8 blocks."""


class Function(Protocol):
    """A protocol for kernels that the driver has loaded."""

    def attribute(self, which: FunctionAttribute) -> int: ...

    def set_attribute(self, which: FunctionAttribute, value: int) -> None: ...

    def bind(
        self, block: int, shared: int, arguments: bytes, scalars: int, keep_alive: tuple[Argument, ...]
    ) -> Launch:
        """Returns a launch with ``block`` threads per block. ``shared`` is the bytes of dynamic shared
        memory.

        ``arguments`` are the bytes of all parameters but the last ``scalars`` parameters, which are ints.
        ``keep_alive`` has the objects whose addresses are among the bytes.
        """


@dataclass(frozen=True)
class Binary:
    """A compiled ``.cu`` file that the driver has loaded."""

    cubin: bytes | None
    """The cubin from which the file was loaded. None if the driver has linked it."""
    function: Callable[[str], Function]
    """Returns the kernel with a given name."""


@dataclass(frozen=True)
class Mirror:
    """Words in pinned host memory that mirror words on the device."""

    words: npt.NDArray[np.int32]
    update: Callable[[], None]
    """Waits for all work issued so far, then copies the words from the device."""


@dataclass(frozen=True)
class Identity:
    """The device and the CUDA versions in use."""

    name: str
    pci_bus_id: str
    compute_capability: tuple[int, int]
    memory: int
    """In bytes."""
    driver: int
    """The CUDA version that the driver supports. 13000 means 13.0."""
    toolkit: str
    """The CUDA version of the compiler, such as 13.0."""


class Driver(Protocol):
    """A protocol for access to the first visible GPU through one Python package."""

    backend: str
    """Its name in ``--backend`` and in rows."""
    identity: Identity

    def attribute(self, which: int) -> int:
        """Returns the device attribute with a number of cuda.h."""

    def allocate(self, size: int) -> Any:
        """Returns ``size`` bytes of device memory as an object. ``int()`` of the object is their address. The
        memory is freed with the object."""

    def mirror(self, address: int, count: int) -> Mirror:
        """Returns pinned host memory that mirrors ``count`` words at an address on the device."""

    def fill_words(self, address: int, value: int, count: int) -> None: ...

    def fill_bytes(self, address: int, value: int, count: int) -> None: ...

    def upload(self, address: int, array: npt.NDArray[Any]) -> None: ...

    def download(self, array: npt.NDArray[Any], address: int) -> None: ...

    def event(self) -> Event: ...

    def synchronize(self) -> None: ...

    def load(
        self, source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
    ) -> Binary:
        """Compile a file with the C++ code ``appended`` after it, and load it. Raises ToolchainError."""

    def close(self) -> None: ...
