"""Replaces PyCUDA and cuda-bindings on machines without a GPU. Device memory is memory of the host."""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.support.toolchain import DRIVER_LIBRARY

MEMORY = 1 << 20
"""The size of the device's memory in bytes."""
DEVICE = {
    **{1: 1024, 5: 2**31 - 1, 8: 48 << 10, 10: 32, 16: 4, 38: 1 << 20, 39: 2048, 75: 9, 76: 0},
    **{81: 228 << 10, 82: 65536, 97: 227 << 10, 106: 32, 111: 1024},
}
"""Attributes of the device by their numbers in cuda.h."""
FUNCTION = {0: 512, 1: 1024, 4: 32, 8: 0, 11: 0, 14: 0}


@dataclass
class Launched:
    """A launch that the driver received."""

    blocks: int
    block: int
    shared: int
    parameters: bytes


@dataclass
class Kept:
    """A record of the calls of the driver."""

    launches: list[Launched] = field(default_factory=list)
    blocks_of_memory: dict[int, Any] = field(default_factory=dict)
    freed: list[int] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)
    """The device address and the size in bytes of each copy between host and device, except of signals."""
    retained: int = 0
    """How often the primary context is retained. At 0 its memory no longer exists."""
    attributes: dict[int, int] = field(default_factory=dict)
    """Attributes that were set on kernels, by their numbers in cuda.h."""
    calls: list[str] = field(default_factory=list)
    says: str = ""
    """The message of the error of the next launch. Empty if the launch succeeds."""
    run: Callable[[Launched], object] = lambda launched: None
    """Called instead of a kernel, for each launch that is not captured and for each launch of a graph."""
    captured: list[Launched] | None = None
    """The launches of the capture in progress. None if there is no capture."""
    graphs: list[list[Launched]] = field(default_factory=list)
    """The launches of each CUDA graph."""

    def done(self, call: str) -> int:
        """Record a call. Returns the status of success."""
        self.calls.append(call)
        return 0

    def allocate(self, size: int) -> int:
        block = ctypes.create_string_buffer(size)
        self.blocks_of_memory[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def launch(self, blocks: int, block: int, shared: int, parameters: bytes) -> None:
        launched = Launched(blocks, block, shared, parameters)
        if self.captured is not None:
            self.captured.append(launched)
        else:
            self.launches.append(launched)
            self.run(launched)

    def launch_graph(self, number: int) -> int:
        for launched in self.graphs[number - 1]:
            self.run(launched)
        return self.done("launch graph")


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_OTHER = 999


def _set_words(at: int, value: int, count: int) -> None:
    for place in range(count):
        ctypes.c_uint32.from_address(at + 4 * place).value = value


_WITHOUT_EFFECT = (
    *(
        "cuInit",
        "cuDevicePrimaryCtxSetFlags",
        "cuDevicePrimaryCtxRelease",
        "cuCtxSetCurrent",
        "cuCtxSetLimit",
    ),
    *("cuStreamSynchronize", "cuStreamDestroy", "cuModuleUnload"),
    *("cuEventDestroy", "cuEventRecord", "cuEventSynchronize"),
)


def bindings(kept: Kept) -> SimpleNamespace:
    """Returns a replacement of ``cuda.bindings.driver``, whose functions return a status and a result."""
    done = (CUresult.CUDA_SUCCESS,)

    def allocated(size: int) -> tuple[Any, ...]:
        return (*done, kept.allocate(size)) if size <= MEMORY else (CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0)

    def nothing(*_given: Any) -> tuple[Any, ...]:
        return done

    def filled(at: int, value: int, count: int, _stream: Any) -> tuple[Any, ...]:
        _set_words(int(at), value, count)
        return done

    def to_device(at: int, source: int, size: int) -> tuple[Any, ...]:
        kept.copies.append((at, size))
        ctypes.memmove(at, source, size)
        return done

    def to_host(to: int, at: int, size: int) -> tuple[Any, ...]:
        kept.copies.append((at, size))
        ctypes.memmove(to, at, size)
        return done

    return SimpleNamespace(
        **dict.fromkeys(_WITHOUT_EFFECT, nothing),
        CUresult=CUresult,
        CUctx_flags=SimpleNamespace(CU_CTX_SCHED_SPIN=1),
        CUlimit=SimpleNamespace(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT=4),
        CUdeviceptr=int,
        CUdevice_attribute=int,
        CUfunction_attribute=int,
        cuDriverGetVersion=lambda: (*done, 13000),
        cuDeviceGetCount=lambda: (*done, 1),
        cuDeviceGet=lambda _ordinal: (*done, 0),
        cuDeviceGetName=lambda size, _device: (*done, b"Made-up GPU\0".ljust(size)),
        cuDeviceGetPCIBusId=lambda size, _device: (*done, b"0000:01:00.0\0".ljust(size)),
        cuDeviceTotalMem=lambda _device: (*done, MEMORY),
        cuDeviceGetAttribute=lambda which, _device: (*done, DEVICE[which]),
        cuDevicePrimaryCtxRetain=lambda _device: (*done, "context"),
        cuStreamCreate=lambda _flags: (*done, 32),
        cuEventCreate=lambda _flags: (*done, "event"),
        cuEventElapsedTime=lambda _start, _end: (*done, 1.5),
        cuMemAllocHost=allocated,
        cuMemFreeHost=lambda at: kept.freed.append(at) or done,  # type: ignore[func-returns-value]
        cuMemsetD32Async=filled,
        cuMemsetD8Async=lambda at, value, count, _stream: (ctypes.memset(int(at), value, count), done)[1],
        cuMemcpyDtoH=to_host,
        cuMemcpyHtoD=to_device,
        cuModuleLoadData=lambda _cubin: (*done, "module"),
        cuModuleGetFunction=lambda _module, _name: (*done, 64),
        cuFuncGetAttribute=lambda which, _function: (*done, FUNCTION[which]),
        cuFuncSetAttribute=lambda _function, which, value: kept.attributes.update({which: value}) or done,  # type: ignore[func-returns-value]
        cuGetErrorString=lambda status: (*done, (kept.says or CUresult(status).name).lower().encode()),
    )


def library(kept: Kept) -> SimpleNamespace:
    """Returns a replacement of the driver's library as loaded by ctypes."""

    def launch(config: Any, _function: Any, parameters: Any, extra: Any) -> int:
        assert parameters is None
        settings, how = extra._obj, config._obj
        assert (settings[0], settings[2], settings[4]) == (1, 2, None)
        size = ctypes.c_size_t.from_address(settings[3]).value
        kept.launch(
            how.grid_dim_x, how.block_dim_x, how.shared_memory_bytes, ctypes.string_at(settings[1], size)
        )
        return CUresult.CUDA_ERROR_OTHER if kept.says else 0

    def copied(to: Any, source: Any, size: Any, *stream: Any) -> int:
        if not stream:
            kept.copies.append((source.value, size.value))
        ctypes.memmove(to, source.value, size.value)
        return 0

    def allocated(address: Any, size: Any) -> int:
        if size.value > MEMORY:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY
        address._obj.value = kept.allocate(size.value)
        return 0

    def retained(*_given: Any) -> int:
        kept.retained += 1
        return 0

    def released(_device: int) -> int:
        kept.retained -= 1
        return 0

    def freed(address: Any) -> int:
        assert kept.retained, "the context of this memory has ended"
        kept.freed.append(address.value)
        return 0

    def begin_capture(_stream: Any, _mode: Any) -> int:
        assert kept.captured is None
        kept.captured = []
        return 0

    def end_capture(_stream: Any, graph: Any) -> int:
        assert kept.captured is not None
        kept.graphs.append(kept.captured)
        kept.captured, graph._obj.value = None, len(kept.graphs)
        return 0

    def instantiate(executable: Any, graph: Any, _flags: Any) -> int:
        executable._obj.value = graph.value
        return 0

    return SimpleNamespace(
        cuStreamBeginCapture_v2=begin_capture,
        cuStreamEndCapture=end_capture,
        cuGraphInstantiateWithFlags=instantiate,
        cuGraphDestroy=lambda _graph: 0,
        cuGraphLaunch=lambda executable, _stream: kept.launch_graph(executable.value),
        cuGraphExecDestroy=lambda _executable: kept.done("destroy graph"),
        **dict.fromkeys(
            ("cuInit", "cuDevicePrimaryCtxSetFlags_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"),
            lambda *_given: 0,
        ),
        cuDevicePrimaryCtxRetain=retained,
        cuDevicePrimaryCtxRelease_v2=released,
        cuMemAlloc_v2=allocated,
        cuMemFree_v2=freed,
        cuMemcpyDtoH_v2=copied,
        cuLaunchKernelEx=launch,
        cuMemcpyDtoHAsync_v2=copied,
        cuStreamSynchronize=lambda _stream: 0,
        cuCtxResetPersistingL2Cache=lambda: kept.done("reset persisting L2"),
    )


def pycuda(kept: Kept) -> MagicMock:
    """Returns a replacement of ``pycuda.driver``, whose functions raise exceptions."""
    driver = MagicMock(name="pycuda.driver")
    driver.Error = type("Error", (Exception,), {})
    driver.MemoryError = type("MemoryError", (driver.Error,), {})
    driver.CompileError = type("CompileError", (driver.Error,), {})

    def launch(grid: Any, block: Any, parameters: bytes, shared: int, _stream: Any) -> None:
        kept.launch(grid[0], block[0], shared, parameters)
        if kept.says:
            raise driver.Error(f"cuLaunchKernel failed: {kept.says}")

    def to_host(array: Any, at: int, _stream: Any = None) -> None:
        kept.copies.append((at, array.nbytes))
        ctypes.memmove(array.ctypes.data, at, array.nbytes)

    def to_device(at: int, array: Any) -> None:
        kept.copies.append((at, array.nbytes))
        ctypes.memmove(at, array.ctypes.data, array.nbytes)

    function = MagicMock()
    function._launch_kernel.side_effect = launch
    function.get_attribute.side_effect = FUNCTION.__getitem__
    function.set_attribute.side_effect = lambda which, value: kept.attributes.update({which: value})
    driver.module_from_buffer.return_value.get_function.return_value = function
    driver.function_attribute.side_effect = driver.device_attribute.side_effect = int
    device = driver.Device.return_value
    device.name.return_value, device.pci_bus_id.return_value = "Made-up GPU", "0000:01:00.0"
    device.compute_capability.return_value, device.total_memory.return_value = (9, 0), MEMORY
    device.get_attribute.side_effect = DEVICE.__getitem__
    driver.Device.count.return_value = 1
    driver.get_driver_version.return_value, driver.get_version.return_value = 13000, (13, 0, 0)
    driver.Event.return_value.time_since.return_value = 1.5
    driver.Stream.return_value.handle = 32
    driver.pagelocked_empty.side_effect = np.zeros
    driver.memset_d32_async.side_effect = lambda at, value, count, _stream: _set_words(at, value, count)
    driver.memset_d8_async.side_effect = lambda at, value, count, _stream: ctypes.memset(at, value, count)
    driver.memcpy_dtoh_async.side_effect = driver.memcpy_dtoh.side_effect = to_host
    driver.memcpy_htod.side_effect = to_device
    return driver


def forget(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget an imported module. The next import runs it again, also after the test."""
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    del sys.modules[module]


def install(backend: str, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the backend use a made-up driver for the rest of a test. Its compiler accepts every file."""
    if backend == "cuda":
        compiler = MagicMock(compile=MagicMock(return_value=b"cubin"))
        package = ModuleType("pycuda")
        modules = {"pycuda": package, "pycuda.driver": pycuda(kept), "pycuda.compiler": compiler}
        name = "pycuda_driver"
    else:
        package = ModuleType("cuda")
        core, inside = MagicMock(), SimpleNamespace(driver=bindings(kept))
        core.Program.return_value.compile.return_value.code = b"cubin"
        finder = MagicMock(DynamicLibNotFoundError=RuntimeError, StaticLibNotFoundError=OSError)
        modules = {"cuda": package, "cuda.bindings": inside, "cuda.core": core, "cuda.pathfinder": finder}
        name = "cuda_core_driver"
    load, made = ctypes.CDLL, library(kept)
    monkeypatch.setattr("ctypes.CDLL", lambda name: made if name == DRIVER_LIBRARY else load(name))
    for path, module in modules.items():
        monkeypatch.setitem(sys.modules, path, module)
        setattr(package, path.rpartition(".")[2], module)
    forget(f"bfsbench.backends.{name}", monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.nvrtc_version", lambda: "13.0")


def opened(backend: str, kept: Kept, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Device:
    """Returns a device of the backend with a made-up driver, and an empty cache in ``folder``."""
    monkeypatch.setenv("BFSBENCH_CACHE", str(folder / "cache"))
    install(backend, kept, monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.find_nvcc", lambda: folder / "nvcc")
    return open_device(backend)
