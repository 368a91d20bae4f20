"""The ``cuda`` backend: a GPU through PyCUDA.

Importing this module needs PyCUDA; nothing else in the package does. All work goes to one stream. The context
spins when it waits, because a level of a search is shorter than a thread's sleep and wake-up.
"""

from __future__ import annotations

import atexit
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pycuda.driver as cuda

from bfsbench.backends.base import Argument, Define, Event, Limits
from bfsbench.backends.cuda_clusters import resident_clusters
from bfsbench.backends.cuda_compile import Binary, compile_source
from bfsbench.backends.cuda_memory import CudaBuffer, CudaSignal, packed, translate, translated
from bfsbench.backends.telemetry import Telemetry
from bfsbench.emulator import Contract, Scalars, Signature, Struct
from bfsbench.errors import (
    DeviceError,
    LaunchError,
    ToolchainError,
    UsageError,
)
from bfsbench.paths import KERNEL_HEADERS
from bfsbench.toolchain import NVCC_OPTIONS, unsupported

_PORTABLE_CLUSTER = 8
_LARGE_CLUSTERS = cuda.function_attribute(14)
"""CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, for more than 8 blocks; PyCUDA has no name for it."""
_CLUSTER_WIDTH = cuda.function_attribute(11)
"""CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, the cluster size a kernel is compiled with, or 0; PyCUDA has no
name for it either."""
_MAX_BLOCKS_PER_MULTIPROCESSOR = cuda.device_attribute(106)
"""CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR; nameless likewise."""
_RESERVED_SHARED_MEMORY = cuda.device_attribute(111)
"""CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: what CUDA takes of each block's."""
_PENDING_CHILDREN = 16384
"""Pending child kernels that the device reserves memory for: far more than kernels launch."""


class CudaLaunch:
    """A prepared asynchronous call; see backends.base.Launch."""

    def __init__(
        self,
        function: Any,
        block: int,
        shared: int,
        arguments: bytes,
        scalars: int,
        stream: cuda.Stream,
        keep_alive: tuple[Argument, ...],
    ) -> None:
        self._keep_alive = keep_alive  # the arguments hold only the addresses of buffers
        # The function below PyCUDA's prepared calls. Those pack all arguments at each launch, 2 us of 5.
        self._launch = function._launch_kernel
        self._block = (block, 1, 1)
        self._shared = shared
        self._arguments = arguments
        self._pack = struct.Struct("i" * scalars).pack
        self._stream = stream

    def __call__(self, blocks: int, *scalars: int) -> None:
        try:
            self._launch(
                (blocks, 1), self._block, self._arguments + self._pack(*scalars), self._shared, self._stream
            )
        except cuda.Error as error:
            raise translate(error) from error


class CudaKernel:
    """One function of a module; see backends.base.Kernel."""

    def __init__(self, binary: Binary, name: str, device: CudaDevice, signature: Signature) -> None:
        self._module = binary.module
        self._cubin = binary.cubin
        self._name = name
        self._device = device
        self._signature = signature

    def bind(
        self, *positional: Argument, block: int, shared: int = 0, scalars: Scalars = 0, **named: Argument
    ) -> CudaLaunch:
        function = self._configured(block, shared)
        arguments = tuple(self._signature.arrange(positional, named, scalars))
        scalars = scalars if isinstance(scalars, int) else len(scalars)
        # Parameters are laid out like members of a struct, so a struct needs no packing.
        members = [each for one in arguments for each in (one if isinstance(one, tuple) else (one,))]
        fields = [packed(member) for member in members]
        letters = "".join(letter for letter, _ in fields) + "0i" * (scalars > 0)  # pads for an int
        fixed = struct.pack(letters, *(value for _, value in fields))
        return CudaLaunch(function, block, shared, fixed, scalars, self._device.stream, arguments)

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        function, limits = self._configured(block, shared), self._device.limits
        cluster = function.get_attribute(_CLUSTER_WIDTH) if limits.blocks_per_cluster > 1 else 0
        if cluster > 1 and self._cubin is not None:
            clusters = resident_clusters(self._cubin, self._name, cluster, block, shared)
            if clusters is not None:
                return clusters * int(cluster)
        return _occupancy(function, block, shared, limits) * limits.num_multiprocessors

    def _configured(self, block: int, shared: int) -> Any:
        with translated():
            function = self._module.get_function(self._name)
            if self._device.limits.blocks_per_cluster > _PORTABLE_CLUSTER:
                function.set_attribute(_LARGE_CLUSTERS, 1)
        limits = self._device.limits
        if block > function.max_threads_per_block:
            raise LaunchError(
                f"{self._name}: {block} threads a block, but its {function.num_regs} registers a thread "
                f"allow {function.max_threads_per_block}"
            )
        if function.shared_size_bytes + shared > limits.shared_memory_per_block_optin:
            raise LaunchError(
                f"{self._name}: {function.shared_size_bytes + shared} bytes of shared memory a block, "
                f"but the device has {limits.shared_memory_per_block_optin}"
            )
        if shared > limits.shared_memory_per_block - function.shared_size_bytes:
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        return function


class CudaModule:
    """A compiled ``.cu`` file; see backends.base.Module."""

    def __init__(
        self, binary: Binary, name: str, device: CudaDevice, signatures: Mapping[str, Signature]
    ) -> None:
        self._binary = binary
        self._name = name
        self._device = device
        self._signatures = signatures

    def kernel(self, name: str) -> CudaKernel:
        if name not in self._signatures:
            raise ToolchainError(f"{self._name} has no kernel 'extern \"C\" __global__ void {name}(...)'")
        return CudaKernel(self._binary, name, self._device, self._signatures[name])


class CudaEvent:
    """A CUDA event; see backends.base.Event."""

    def __init__(self, stream: cuda.Stream) -> None:
        with translated():
            self._event = cuda.Event()
        self._stream = stream

    def record(self) -> None:
        try:
            self._event.record(self._stream)
        except cuda.Error as error:
            raise translate(error) from error

    def milliseconds_since(self, earlier: Event) -> float:
        if not isinstance(earlier, CudaEvent):
            raise TypeError("both events must be CUDA events")
        with translated():
            self._event.synchronize()
            return float(self._event.time_since(earlier._event))


class CudaDevice:
    """The first visible GPU; see backends.base.Device. Raises DeviceError when there is none."""

    backend = "cuda"

    def __init__(self) -> None:
        with translated():
            cuda.init()
            if cuda.Device.count() == 0:
                raise DeviceError("no CUDA device is visible")
            self._device = cuda.Device(0)
        if reason := unsupported(self._device.compute_capability()):
            raise UsageError(f"{self._device.name()} has {reason}: use --backend cpu")
        with translated():
            self._context = self._device.make_context(cuda.ctx_flags.SCHED_SPIN)
            cuda.Context.set_limit(cuda.limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT, _PENDING_CHILDREN)
        atexit.register(self.close)  # PyCUDA aborts a process that ends with a context on its stack
        self.stream = cuda.Stream()
        self.limits = self._read_limits()
        self._modules: dict[tuple[object, ...], CudaModule] = {}
        self._telemetry = Telemetry(self._device.pci_bus_id())

    def _read_limits(self) -> Limits:
        get, of = self._device.get_attribute, cuda.device_attribute
        return Limits(
            warp_size=get(of.WARP_SIZE),
            max_threads_per_block=get(of.MAX_THREADS_PER_BLOCK),
            max_grid=get(of.MAX_GRID_DIM_X),
            num_multiprocessors=get(of.MULTIPROCESSOR_COUNT),
            max_threads_per_multiprocessor=get(of.MAX_THREADS_PER_MULTIPROCESSOR),
            shared_memory_per_block=get(of.MAX_SHARED_MEMORY_PER_BLOCK),
            shared_memory_per_block_optin=get(of.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            shared_memory_per_multiprocessor=get(of.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            memory=self._device.total_memory(),
            max_blocks_per_multiprocessor=get(_MAX_BLOCKS_PER_MULTIPROCESSOR),
            reserved_shared_memory=get(_RESERVED_SHARED_MEMORY),
            blocks_per_cluster=_blocks_per_cluster(self._device.compute_capability()),
            l2_cache=get(of.L2_CACHE_SIZE),
        )

    def describe(self) -> dict[str, str]:
        driver, toolkit = cuda.get_driver_version(), cuda.get_version()
        return {
            "gpu": self._device.name(),
            "gpu_bus_id": self._device.pci_bus_id(),
            "compute_capability": "{}.{}".format(*self._device.compute_capability()),
            "driver": self._telemetry.driver or f"{driver // 1000}.{driver % 1000 // 10}",
            "cuda": ".".join(map(str, toolkit[:2])),
        }

    def telemetry(self) -> dict[str, str]:
        return self._telemetry.read()

    def energy_joules(self) -> float | None:
        return self._telemetry.energy_joules()

    def other_processes(self) -> int:
        return self._telemetry.other_processes()

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
            appended = contract.assertions(source, KERNEL_HEADERS, defines) if contract else ""
            options = [*NVCC_OPTIONS, *(f"-D{name}={value}" for name, value in defines.items())]
            binary = compile_source(source, options, child_kernels, appended)
            signatures = agreed.signatures(source, KERNEL_HEADERS)
            self._modules[key] = CudaModule(binary, source.name, self, signatures)
        return self._modules[key]

    def upload(self, array: npt.NDArray[Any]) -> CudaBuffer:
        buffer = CudaBuffer(array.size, array.dtype, self.stream)
        if array.size:
            buffer.upload(array)
        return buffer

    def empty(self, size: int, dtype: npt.DTypeLike | type[Struct]) -> CudaBuffer:
        return CudaBuffer(size, dtype, self.stream)

    def signal(self, words: int | type[Struct] = 1) -> CudaSignal:
        return CudaSignal(words, self.stream)

    def event(self) -> CudaEvent:
        return CudaEvent(self.stream)

    def synchronize(self) -> None:
        with translated():
            self.stream.synchronize()

    def close(self) -> None:
        atexit.unregister(self.close)
        self._modules.clear()
        with suppress(cuda.Error):  # a context in which a kernel failed goes with the process
            self._context.pop()
            self._context.detach()


def _blocks_per_cluster(compute_capability: tuple[int, int]) -> int:
    """The largest cluster a launch may have, by CUDA's documentation: PyCUDA cannot query the driver."""
    if compute_capability < (9, 0):
        return 1
    return _PORTABLE_CLUSTER if compute_capability >= (12, 0) else 16


def _occupancy(function: Any, block: int, shared: int, limits: Limits) -> int:
    """Blocks of a function that one multiprocessor holds, by threads, registers and shared memory.

    PyCUDA does not wrap the driver's function; this is NVIDIA's documented calculation for compute
    capability 5.0 and later: registers are given to warps by 256 from four equal parts of the register file.
    """
    get, of = cuda.Context.get_device().get_attribute, cuda.device_attribute
    warps = -(-block // 32)
    registers_per_warp = max(256, -(-function.num_regs * 32 // 256) * 256)
    warps_by_registers = get(of.MAX_REGISTERS_PER_MULTIPROCESSOR) // 4 // registers_per_warp * 4
    most = limits.max_blocks_per_multiprocessor
    used = -(-(function.shared_size_bytes + shared + limits.reserved_shared_memory) // 128) * 128
    by_shared = limits.shared_memory_per_multiprocessor // used if used else most
    by_threads = limits.max_threads_per_multiprocessor // (warps * limits.warp_size)
    return int(min(most, by_threads, warps_by_registers // warps, by_shared))
