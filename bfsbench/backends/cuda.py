"""Implements the device interface on a GPU, for the backends ``cuda`` and ``cuda-core``. The two backends
call NVIDIA's driver through different Python packages. In this module, a driver is a class that wraps one of
these packages.

The first half of the module defines the interface of a driver. :mod:`bfsbench.backends.pycuda_driver`
implements it with PyCUDA, and compiles with nvcc. :mod:`bfsbench.backends.cuda_core_driver` implements it
with cuda-bindings, compiles with NVRTC, and needs no CUDA toolkit. All work goes to one CUDA stream. Methods
of a driver raise DeviceError or a subclass if NVIDIA's driver fails.

The second half implements devices, modules, kernels, buffers and signals, and encodes kernel arguments. A
host thread that waits for the GPU spins, because a level of a search is shorter than the time to wake a
thread.
"""

from __future__ import annotations

import ctypes
import struct
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Define, Event, KernelTimes, Launch, Limits
from bfsbench.backends.cuda_graph import CudaGraph
from bfsbench.backends.cupti_trace import tracing
from bfsbench.backends.telemetry import Telemetry
from bfsbench.kernels import Contract, Scalars, Signature, Struct, struct_of
from bfsbench.support.errors import (
    DeviceError,
    DeviceOutOfMemoryError,
    KernelError,
    LaunchError,
    ToolchainError,
    UnsupportedDeviceError,
)
from bfsbench.support.gpu_memory import DeviceArray, Memory, call
from bfsbench.support.paths import KERNEL_HEADERS
from bfsbench.support.toolchain import DRIVER_LIBRARY, unsupported

PENDING_CHILDREN = 16384
"""Number of waiting child kernels for which the device reserves memory. The kernels in ``cuda_src`` launch
far fewer."""

_LAUNCH_REFUSED = (
    "invalid argument",
    "invalid value",
    "out of resources",
    "too many resources",
    "invalid configuration",
    "cluster misconfiguration",
)
"""Phrases that the driver's message contains if the driver refuses a launch."""


def device_error(message: str, *, out_of_memory: bool = False) -> DeviceError:
    """Returns the error for a failure of the driver. It is a DeviceOutOfMemoryError if ``out_of_memory`` is
    true, and a LaunchError if the driver's message says that a launch was refused. Otherwise it is a
    KernelError.
    """
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
"""Maps fields of :class:`bfsbench.backends.base.Limits` to numbers of device attributes in cuda.h (enum
CUdevice_attribute)."""
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR, MAX_REGISTERS_PER_MULTIPROCESSOR = 75, 76, 82
"""Numbers of further device attributes in cuda.h (enum CUdevice_attribute)."""


class FunctionAttribute(IntEnum):
    """Attributes of kernels, with their numbers in cuda.h (enum CUfunction_attribute)."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    NUM_REGS = 4
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    REQUIRED_CLUSTER_WIDTH = 11
    """The number of blocks per cluster with which a kernel was compiled. It is 0 for a kernel without
    clusters."""
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    """True if clusters may have more than 8 blocks."""


class Function(Protocol):
    """The interface of a kernel that the driver has loaded."""

    def attribute(self, which: FunctionAttribute) -> int: ...

    def set_attribute(self, which: FunctionAttribute, value: int) -> None: ...

    def bind(
        self, block: int, shared: int, arguments: bytes, scalars: int, keep_alive: tuple[Argument, ...]
    ) -> Launch:
        """Returns a launch with ``block`` threads and ``shared`` bytes of dynamic shared memory per block.

        ``arguments`` contains the bytes of all parameters except the last ``scalars`` parameters, which are
        ints. ``keep_alive`` contains the objects whose addresses are among these bytes, so that their memory
        stays allocated.
        """


@dataclass(frozen=True)
class Binary:
    """A ``.cu`` file after compilation, loaded by the driver."""

    cubin: bytes | None
    """The cubin from which the file was loaded. None if the driver has linked the file."""
    function: Callable[[str], Function]
    """Returns the kernel with a given name."""


@dataclass(frozen=True)
class Mirror:
    """Words in pinned host memory. ``update`` copies words from an address on the device into them."""

    words: npt.NDArray[np.int32]
    update: Callable[[], None]
    """Waits for all work issued so far, and then copies the words from the device."""


@dataclass(frozen=True)
class Identity:
    """Describes the GPU and the CUDA versions in use."""

    name: str
    pci_bus_id: str
    compute_capability: tuple[int, int]
    memory: int
    """Memory of the GPU in bytes."""
    driver: int
    """The CUDA version that NVIDIA's driver supports, as a number: 13000 means 13.0."""
    toolkit: str
    """The CUDA version for which PyCUDA was built, or the version of NVRTC, such as 13.0."""


class Driver(Protocol):
    """The interface of a driver, which gives access to the first visible GPU through one Python package."""

    backend: str
    """The name of the backend on the command line (``--backend``) and in result rows."""
    identity: Identity
    stream: int
    """The address of the stream to which all work goes."""

    def attribute(self, which: int) -> int:
        """Returns a device attribute, selected by its number in cuda.h."""

    def mirror(self, address: int, count: int) -> Mirror:
        """Returns pinned host memory into which ``count`` words at a device address can be copied."""

    def fill_words(self, address: int, value: int, count: int) -> None: ...

    def fill_bytes(self, address: int, value: int, count: int) -> None: ...

    def upload(self, address: int, array: npt.NDArray[Any]) -> None: ...

    def download(self, array: npt.NDArray[Any], address: int) -> None: ...

    def event(self) -> Event: ...

    def synchronize(self) -> None: ...

    def load(
        self, source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
    ) -> Binary:
        """Compile a ``.cu`` file with the C++ code ``appended`` after it, and load it. Returns the loaded
        file. Raises ToolchainError if the file cannot be compiled."""

    def close(self) -> None: ...


class LaunchConfig(ctypes.Structure):
    """The struct CUlaunchConfig of cuda.h."""

    _fields_ = (
        *((f"grid_dim_{axis}", ctypes.c_uint) for axis in "xyz"),
        *((f"block_dim_{axis}", ctypes.c_uint) for axis in "xyz"),
        ("shared_memory_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("num_attributes", ctypes.c_uint),
    )


def resident_clusters(cubin: bytes, kernel: str, cluster: int, block: int, shared: int) -> int | None:
    """Returns how many clusters of a kernel can run on the device at once. Returns None if the driver cannot
    compute this number.

    ``cubin`` contains the kernel, compiled for clusters of ``cluster`` blocks. The result is for the device
    of the current context.
    """
    driver, of = ctypes.CDLL(DRIVER_LIBRARY), FunctionAttribute
    if not hasattr(driver, "cuOccupancyMaxActiveClusters"):
        return None
    module, function, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    if driver.cuModuleLoadData(ctypes.byref(module), cubin):
        return None
    try:
        config = LaunchConfig(cluster, 1, 1, block, 1, 1, shared)
        failed = (
            driver.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode())
            or driver.cuFuncSetAttribute(function, of.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            or driver.cuFuncSetAttribute(function, of.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
            or driver.cuOccupancyMaxActiveClusters(ctypes.byref(count), function, ctypes.byref(config))
        )
        return None if failed else count.value
    finally:
        driver.cuModuleUnload(module)


def packed(arguments: Iterable[Argument], scalars: int) -> bytes:
    """Returns the bytes of a launch's parameters, in the layout of a C struct. The last ``scalars``
    parameters, which are ints, are left out."""
    members = [each for one in arguments for each in (one if isinstance(one, tuple) else (one,))]
    fields = [_field(member) for member in members]
    # "0i" pads the bytes so that an int can follow
    letters = "".join(letter for letter, _ in fields) + "0i" * (scalars > 0)
    return struct.pack(letters, *(value for _, value in fields))


def _field(argument: Argument) -> tuple[str, Any]:
    """Returns the format letters and the value with which ``struct.pack`` encodes a kernel argument."""
    if isinstance(argument, CudaBuffer | CudaSignal | Member):
        return "P", argument.pointer
    if isinstance(argument, Struct):
        aligned = "0P" if ctypes.alignment(argument) == 8 else "0i"
        return f"{aligned}{ctypes.sizeof(argument)}s", bytes(argument)
    if argument is None:
        return "P", 0
    if isinstance(argument, np.generic):
        return argument.dtype.char, argument
    return "i", argument


class CudaBuffer:
    """Device memory of one array. It is allocated for the array, or belongs to another library. Implements
    :class:`bfsbench.backends.base.Buffer`."""

    def __init__(
        self,
        size: int,
        dtype: npt.DTypeLike | type[Struct],
        device: CudaDevice,
        memory: Memory | DeviceArray | None = None,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.struct = struct_of(dtype)
        self.size = size
        self._item = self.dtype.itemsize
        self._device, self._driver = device, device.driver
        self._fill_words, self._fill_bytes = self._driver.fill_words, self._driver.fill_bytes
        self._memory = memory or device.allocate(max(1, size) * self._item)
        self.pointer = self._memory.pointer

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        count = self.size - start if count is None else count
        if count == 0:
            return
        at = self.pointer + start * self._item
        if self._item == 4:
            self._fill_words(at, value & 0xFFFFFFFF, count)
        elif self._item == 1:
            self._fill_bytes(at, value & 0xFF, count)
        elif value == 0:
            self._fill_bytes(at, 0, count * self._item)
        else:
            raise DeviceError(f"cannot fill elements of {self._item} bytes")

    def upload(self, array: npt.NDArray[Any]) -> None:
        self._driver.upload(self.pointer, np.ascontiguousarray(array, self.dtype))

    def download(self) -> npt.NDArray[Any]:
        array = np.empty(self.size, self.dtype)
        self._driver.synchronize()
        if self.size:
            self._driver.download(array, self.pointer)
        return array

    def shared(self) -> DeviceArray:
        self._driver.synchronize()
        self._device.keep(self._memory)
        return DeviceArray(self.pointer, self.size, self.dtype, self._memory)


@dataclass(frozen=True)
class Member:
    """The device address of one member of a struct, as a kernel argument. A CudaSignal owns the struct's
    memory."""

    pointer: int
    dtype: np.dtype[Any]
    signal: CudaSignal
    """The signal that owns the memory. This reference keeps the memory allocated while the address is in
    use."""


class CudaSignal:
    """Words in device memory, with a copy in pinned host memory. Implements
    :class:`bfsbench.backends.base.Signal`."""

    def __init__(self, words: int | type[Struct], device: CudaDevice) -> None:
        self.struct = None if isinstance(words, int) else words
        count = words if isinstance(words, int) else ctypes.sizeof(words) // 4
        self._words = CudaBuffer(count, "int32", device)
        self.dtype = self._words.dtype
        self.pointer = self._words.pointer
        mirror = device.driver.mirror(self.pointer, count)
        self._mirror = mirror.words
        self._update = mirror.update
        self._state = None if self.struct is None else self.struct.from_buffer(self._mirror.data)

    def read(self, index: int = 0) -> int:
        self._update()
        return int(self._mirror[index])

    def read_struct(self) -> Any:
        self._update()
        return self._state

    def fill(self, value: int, index: int | None = None) -> None:
        self._words.fill(value, index or 0, None if index is None else 1)

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        assert self.struct is not None
        words = self.struct.words(member, index)
        self._words.fill(value, words.start, words.stop - words.start)

    def member(self, name: str) -> Argument:
        assert self.struct is not None
        return Member(self.pointer + 4 * self.struct.words(name).start, self.dtype, self)


_PORTABLE_CLUSTER = 8


@dataclass
class CudaKernel:
    """A kernel: one ``__global__`` function of a module. Implements
    :class:`bfsbench.backends.base.Kernel`."""

    binary: Binary
    name: str
    device: CudaDevice
    signature: Signature

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> Launch:
        function = self._configured(block, shared)
        arguments, num_scalars = self.signature.arrange(positional, named, scalars)
        return function.bind(block, shared, packed(arguments, num_scalars), num_scalars, arguments)

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        function, limits = self._configured(block, shared), self.device.limits
        clusters = limits.blocks_per_cluster > 1
        cluster = function.attribute(FunctionAttribute.REQUIRED_CLUSTER_WIDTH) if clusters else 0
        if cluster > 1 and self.binary.cubin is not None:
            found = resident_clusters(self.binary.cubin, self.name, cluster, block, shared)
            if found is not None:
                return found * cluster
        registers = self.device.driver.attribute(MAX_REGISTERS_PER_MULTIPROCESSOR)
        return _occupancy(function, block, shared, limits, registers) * limits.num_multiprocessors

    def _configured(self, block: int, shared: int) -> Function:
        function, of = self.binary.function(self.name), FunctionAttribute
        limits = self.device.limits
        if limits.blocks_per_cluster > _PORTABLE_CLUSTER:
            function.set_attribute(of.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        most, static = function.attribute(of.MAX_THREADS_PER_BLOCK), function.attribute(of.SHARED_SIZE_BYTES)
        if block > most:
            raise LaunchError(
                f"{self.name}: {block} threads a block, but its {function.attribute(of.NUM_REGS)} "
                f"registers a thread allow {most}"
            )
        if static + shared > limits.shared_memory_per_block_optin:
            raise LaunchError(
                f"{self.name}: {static + shared} bytes of shared memory a block, "
                f"but the device has {limits.shared_memory_per_block_optin}"
            )
        if shared > limits.shared_memory_per_block - static:
            function.set_attribute(of.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        return function


@dataclass
class CudaModule:
    """A compiled ``.cu`` file. Implements :class:`bfsbench.backends.base.Module`."""

    binary: Binary
    name: str
    device: CudaDevice
    signatures: Mapping[str, Signature]

    def kernel(self, name: str) -> CudaKernel:
        if name not in self.signatures:
            raise ToolchainError(f"{self.name} has no kernel 'extern \"C\" __global__ void {name}(...)'")
        return CudaKernel(self.binary, name, self.device, self.signatures[name])


class CudaDevice:
    """The first visible GPU. Implements :class:`bfsbench.backends.base.Device`. The constructor raises
    UnsupportedDeviceError if kernels cannot run on the GPU."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.backend = driver.backend
        if reason := unsupported(driver.identity.compute_capability):
            name = driver.identity.name
            driver.close()
            raise UnsupportedDeviceError(f"{name} has {reason}")
        self.limits = Limits(
            memory=driver.identity.memory,
            blocks_per_cluster=_blocks_per_cluster(driver.identity.compute_capability),
            **{name: driver.attribute(number) for name, number in LIMITS.items()},
        )
        self.compile_ms = 0.0
        self._modules: dict[tuple[object, ...], CudaModule] = {}
        self._graphs: weakref.WeakSet[CudaGraph] = weakref.WeakSet()
        self._memory: weakref.WeakSet[Memory] = weakref.WeakSet()
        """The memory that is freed when the device is closed."""
        telemetry = Telemetry(driver.identity.pci_bus_id)
        self._driver_version = telemetry.driver
        # The driver or Telemetry implements these methods of the device interface.
        self.telemetry, self.energy_joules = telemetry.read, telemetry.energy_joules
        self.other_processes = telemetry.other_processes
        self.event, self.synchronize = driver.event, driver.synchronize

    def describe(self) -> dict[str, str]:
        identity = self.driver.identity
        return {
            "gpu": identity.name,
            "gpu_bus_id": identity.pci_bus_id,
            "compute_capability": "{}.{}".format(*identity.compute_capability),
            "driver": self._driver_version or f"{identity.driver // 1000}.{identity.driver % 1000 // 10}",
            "cuda": identity.toolkit,
        }

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> CudaModule:
        agreed = contract or Contract("")
        key = (source, tuple(sorted(defines.items())), child_kernels, agreed.key())
        if key not in self._modules:
            started = time.perf_counter()
            appended = contract.assertions(source, KERNEL_HEADERS, defines) if contract else ""
            binary = self.driver.load(source, defines, appended, child_kernels=child_kernels)
            signatures = agreed.signatures(source, KERNEL_HEADERS)
            self._modules[key] = CudaModule(binary, source.name, self, signatures)
            self.compile_ms += (time.perf_counter() - started) * 1e3
        return self._modules[key]

    def upload(self, array: npt.NDArray[Any]) -> CudaBuffer:
        buffer = CudaBuffer(array.size, array.dtype, self)
        if array.size:
            buffer.upload(array)
        return buffer

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> CudaBuffer:
        return CudaBuffer(size, dtype, self)

    def borrow(self, array: DeviceArray) -> CudaBuffer:
        return CudaBuffer(array.size, array.dtype, self, array)

    def allocate(self, size: int) -> Memory:
        """Allocate ``size`` bytes of device memory. The memory is freed when the device is closed, if not
        before. Raises DeviceOutOfMemoryError if the device has too little free memory.
        """
        memory = Memory(size)
        self._memory.add(memory)
        return memory

    def keep(self, memory: Memory | DeviceArray) -> None:
        """Do not free ``memory`` when the device is closed. It is freed when its last Python reference is
        deleted.
        """
        if isinstance(memory, Memory):
            self._memory.discard(memory)

    def signal(self, words: int | type[Struct] = 1) -> CudaSignal:
        return CudaSignal(words, self)

    def capture(self, launch_all: Callable[[], None]) -> CudaGraph:
        graph = CudaGraph(launch_all, self.driver.stream)
        self._graphs.add(graph)
        return graph

    def tracing(self) -> AbstractContextManager[Callable[[], KernelTimes]]:
        return tracing(self.synchronize)

    def reset_persisting_l2(self) -> None:
        call("cuCtxResetPersistingL2Cache")  # PyCUDA does not wrap this function

    def close(self) -> None:
        for graph in self._graphs:
            graph.destroy()
        self._modules.clear()
        for memory in [*self._memory]:
            memory.free()
        self.driver.close()


def _blocks_per_cluster(compute_capability: tuple[int, int]) -> int:
    """Returns the largest number of blocks per cluster for a compute capability. The number comes from CUDA's
    documentation, because PyCUDA cannot query the driver."""
    if compute_capability < (9, 0):
        return 1
    return _PORTABLE_CLUSTER if compute_capability >= (12, 0) else 16


def _occupancy(function: Function, block: int, shared: int, limits: Limits, registers: int) -> int:
    """Returns how many blocks of a kernel can run on one multiprocessor at once. ``registers`` is the number
    of registers that a multiprocessor has.

    PyCUDA does not wrap the driver's occupancy function. The number is therefore calculated here, according
    to NVIDIA's documentation for compute capability 5.0 and later. The register file has four equal parts. A
    warp gets registers from one part, in units of 256.
    """
    warps = -(-block // 32)
    used_registers = function.attribute(FunctionAttribute.NUM_REGS) * 32
    registers_per_warp = max(256, -(-used_registers // 256) * 256)
    warps_by_registers = registers // 4 // registers_per_warp * 4
    most = limits.max_blocks_per_multiprocessor
    static = function.attribute(FunctionAttribute.SHARED_SIZE_BYTES)
    used = -(-(static + shared + limits.reserved_shared_memory) // 128) * 128
    by_shared = limits.shared_memory_per_multiprocessor // used if used else most
    by_threads = limits.max_threads_per_multiprocessor // (warps * limits.warp_size)
    return int(min(most, by_threads, warps_by_registers // warps, by_shared))
