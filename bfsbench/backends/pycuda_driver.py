"""Implements the driver of the backend ``cuda`` with PyCUDA and nvcc. Importing this module requires PyCUDA.

PyCUDA writes its cache of binaries in place, and does not check what it reads. If a process were killed while
it writes, later processes would load a broken kernel. To avoid this, each process has its own folder, which
at first contains links to all finished binaries. When a process has completed a binary, it links the binary
into the folder that all processes share.
"""

from __future__ import annotations

import atexit
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pycuda.driver as cuda
from pycuda.compiler import DynamicSourceModule, compile

from bfsbench.backends.base import Argument, Define, Event, Launch
from bfsbench.backends.cuda import (
    PENDING_CHILDREN,
    Binary,
    FunctionAttribute,
    Identity,
    Mirror,
    device_error,
)
from bfsbench.support import storage
from bfsbench.support.errors import DeviceError, ToolchainError
from bfsbench.support.gpu_memory import call
from bfsbench.support.paths import KERNEL_HEADERS, cache_dir
from bfsbench.support.toolchain import NVCC_OPTIONS, find_nvcc, first_error


def compile_source(
    source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
) -> tuple[Any, bytes | None]:
    """Compile a ``.cu`` file with the C++ code ``appended`` after it, and load it in the current CUDA
    context.

    Returns PyCUDA's module, and the cubin from which it was loaded. If ``child_kernels`` is true, the driver
    links the module, and the cubin is None. Raises ToolchainError if the file cannot be compiled.
    """
    try:
        nvcc = find_nvcc()
        finished, own = _folders()
        settings: dict[str, Any] = {
            "nvcc": str(nvcc),
            "options": [*NVCC_OPTIONS, *(f"-D{name}={value}" for name, value in defines.items())],
            "no_extern_c": True,
            "include_dirs": [str(folder) for folder in (source.parent, *KERNEL_HEADERS)],
            "cache_dir": str(own),
        }
        text = f'#line 1 "{source}"\n{source.read_text()}\n{appended}'
        if child_kernels:
            libraries = str(nvcc.resolve().parent.parent / "lib64")
            module, cubin = DynamicSourceModule(text, cuda_libdir=libraries, **settings), None
        else:
            cubin = compile(text, **settings)
            module = cuda.module_from_buffer(cubin)
        for binary in own.iterdir():
            if not (finished / binary.name).exists():
                storage.link(binary, finished / binary.name)
    except cuda.CompileError as error:
        raise ToolchainError(f"cannot compile {source.name}: {first_error(str(error.stderr))}") from error
    except OSError as error:
        where = f"cannot write {cache_dir()}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error
    return module, cubin


@cache
def _folders() -> tuple[Path, Path]:
    """Returns the shared folder of finished binaries, and the folder of this process. First removes the
    folders of processes that were killed."""
    finished = cache_dir() / "pycuda"
    finished.mkdir(parents=True, exist_ok=True)
    for left in cache_dir().glob("pycuda-*-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            shutil.rmtree(left, ignore_errors=True)  # the process of this folder was killed
    own = Path(tempfile.mkdtemp(dir=cache_dir(), prefix=f"pycuda-{os.getpid()}-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    for binary in finished.iterdir():
        storage.link(binary, own / binary.name)
    return finished, own


def _translated(error: Exception) -> DeviceError:
    """Returns the DeviceError that corresponds to an exception of PyCUDA."""
    return device_error(str(error), out_of_memory=isinstance(error, cuda.MemoryError))


@contextmanager
def translated() -> Iterator[None]:
    """Convert PyCUDA's exceptions in the ``with`` block to DeviceError.

    Operations that every search repeats use a ``try`` statement instead, because it takes less time than this
    block.
    """
    try:
        yield
    except cuda.Error as error:
        raise _translated(error) from error


class PycudaFunction:
    """A kernel, called through PyCUDA. Implements :class:`bfsbench.backends.cuda.Function`."""

    def __init__(self, function: Any, stream: cuda.Stream) -> None:
        self._function = function
        self._stream = stream

    def attribute(self, which: FunctionAttribute) -> int:
        with translated():
            return int(self._function.get_attribute(cuda.function_attribute(int(which))))

    def set_attribute(self, which: FunctionAttribute, value: int) -> None:
        with translated():
            self._function.set_attribute(cuda.function_attribute(int(which)), value)

    def bind(
        self, block: int, shared: int, arguments: bytes, scalars: int, keep_alive: tuple[Argument, ...]
    ) -> Launch:
        # This function is what PyCUDA's prepared calls use internally. Calling it directly avoids packing all
        # arguments at each launch, which takes 2 of 5 us.
        launch_kernel, stream = self._function._launch_kernel, self._stream
        shape, pack = (block, 1, 1), struct.Struct("i" * scalars).pack

        def launch(blocks: int, *scalars: int) -> None:
            try:
                launch_kernel((blocks, 1), shape, arguments + pack(*scalars), shared, stream)
            except cuda.Error as error:
                raise _translated(error) from error

        launch.__dict__["keep_alive"] = keep_alive  # the arguments contain addresses in these objects
        return launch


class PycudaEvent:
    """A CUDA event. Implements :class:`bfsbench.backends.base.Event`."""

    def __init__(self, stream: cuda.Stream) -> None:
        with translated():
            self._event = cuda.Event()
        self._stream = stream

    def record(self) -> None:
        try:
            self._event.record(self._stream)
        except cuda.Error as error:
            raise _translated(error) from error

    def milliseconds_since(self, earlier: Event) -> float:
        if not isinstance(earlier, PycudaEvent):
            raise TypeError("both events must be of the same device")
        with translated():
            self._event.synchronize()
            return float(self._event.time_since(earlier._event))


@cache
def _primary_context() -> Any:
    """Returns the primary context of the first GPU. PyCUDA frees streams, events and modules only if the
    object of their context still exists, so this object is kept until the process ends."""
    with suppress(DeviceError):  # this may fail if another library uses the context, which does no harm
        call("cuDevicePrimaryCtxSetFlags_v2", 0, int(cuda.ctx_flags.SCHED_SPIN))
    return cuda.Device(0).retain_primary_context()


class PycudaDriver:
    """Accesses the first visible GPU through PyCUDA. Implements :class:`bfsbench.backends.cuda.Driver`. The
    constructor raises DeviceError if there is no GPU, and ToolchainError if nvcc is missing."""

    backend = "cuda"

    def __init__(self) -> None:
        find_nvcc()
        with translated():
            cuda.init()
            if cuda.Device.count() == 0:
                raise DeviceError("no CUDA device is visible")
            self._device = cuda.Device(0)
            self._context = _primary_context()
            self._context.push()
            # PyCUDA aborts a process that ends while a context is on PyCUDA's stack
            atexit.register(self.close)
            cuda.Context.set_limit(cuda.limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT, PENDING_CHILDREN)
            self._stream = cuda.Stream()
        self.stream = int(self._stream.handle)
        self.identity = Identity(
            name=self._device.name(),
            pci_bus_id=self._device.pci_bus_id(),
            compute_capability=self._device.compute_capability(),
            memory=self._device.total_memory(),
            driver=cuda.get_driver_version(),
            toolkit=".".join(map(str, cuda.get_version()[:2])),
        )

    def attribute(self, which: int) -> int:
        with translated():
            return int(self._device.get_attribute(cuda.device_attribute(which)))

    def mirror(self, address: int, count: int) -> Mirror:
        stream = self._stream
        with translated():
            words: npt.NDArray[np.int32] = cuda.pagelocked_empty(count, np.int32)

        def update() -> None:
            try:
                cuda.memcpy_dtoh_async(words, address, stream)
                stream.synchronize()
            except cuda.Error as error:
                raise _translated(error) from error

        return Mirror(words, update)

    def fill_words(self, address: int, value: int, count: int) -> None:
        try:
            cuda.memset_d32_async(address, value, count, self._stream)
        except cuda.Error as error:
            raise _translated(error) from error

    def fill_bytes(self, address: int, value: int, count: int) -> None:
        try:
            cuda.memset_d8_async(address, value, count, self._stream)
        except cuda.Error as error:
            raise _translated(error) from error

    def upload(self, address: int, array: npt.NDArray[Any]) -> None:
        with translated():
            cuda.memcpy_htod(address, array)

    def download(self, array: npt.NDArray[Any], address: int) -> None:
        with translated():
            cuda.memcpy_dtoh(array, address)

    def event(self) -> PycudaEvent:
        return PycudaEvent(self._stream)

    def synchronize(self) -> None:
        with translated():
            self._stream.synchronize()

    def load(
        self, source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
    ) -> Binary:
        module, cubin = compile_source(source, defines, appended, child_kernels=child_kernels)

        def function(name: str) -> PycudaFunction:
            with translated():
                return PycudaFunction(module.get_function(name), self._stream)

        return Binary(cubin, function)

    def close(self) -> None:
        atexit.unregister(self.close)
        with suppress(cuda.Error):
            self._stream.synchronize()
            self._context.pop()
            return
        # a kernel has failed and broken the context
        _primary_context.cache_clear()
        with suppress(cuda.Error):
            self._context.detach()
