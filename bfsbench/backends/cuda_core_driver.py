"""Implements the driver of the backend ``cuda-core`` with NVIDIA's Python packages, which need no CUDA
toolkit. Importing this module requires the package cuda-core.

NVRTC, NVIDIA's compiler as a library, compiles ``.cu`` files, and the cubins are cached. The libraries and
headers come from PyPI, or from a CUDA toolkit if there is one. Launches and reads occur in every level of a
search. Therefore these two operations call the driver's library through ctypes, with arguments that were
converted once. All other operations use cuda-bindings, which convert arguments at each call.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver as cuda
from cuda.core import Linker, LinkerOptions, ObjectCode, Program, ProgramOptions
from cuda.pathfinder import (
    DynamicLibNotFoundError,
    StaticLibNotFoundError,
    find_nvidia_header_directory,
    find_static_lib,
    load_nvidia_dynamic_lib,
)

from bfsbench.backends.base import Argument, Define, Event, Launch
from bfsbench.backends.cuda import (
    COMPUTE_CAPABILITY_MAJOR,
    COMPUTE_CAPABILITY_MINOR,
    PENDING_CHILDREN,
    Binary,
    FunctionAttribute,
    Identity,
    LaunchConfig,
    Mirror,
    device_error,
)
from bfsbench.kernels import source_files
from bfsbench.support import storage
from bfsbench.support.errors import DeviceError, ToolchainError
from bfsbench.support.paths import KERNEL_HEADERS, cache_dir
from bfsbench.support.toolchain import (
    DRIVER_LIBRARY,
    NVRTC_OPTIONS,
    first_error,
    nvrtc_version,
    pip_install,
    too_new,
)


def compile_source(
    source: Path, defines: Mapping[str, Define], appended: str, arch: str, *, child_kernels: bool
) -> bytes:
    """Compile a ``.cu`` file with the C++ code ``appended`` after it. Returns the cubin. ``arch`` is a GPU
    architecture such as ``sm_90``.

    A cached cubin is returned if the file, its headers, the macros and the compiler are unchanged. Raises
    ToolchainError if the file cannot be compiled (with the compiler's first error), if a library or a header
    is missing, or if the cache cannot be written.
    """
    files = [*source_files(source, KERNEL_HEADERS)]
    parts = (nvrtc_version(), repr(NVRTC_OPTIONS), arch, str(child_kernels), repr(sorted(defines.items())))
    digest = hashlib.sha256()
    for part in (*map(str.encode, (*parts, appended, str(source))), *(file.read_bytes() for file in files)):
        digest.update(hashlib.sha256(part).digest())
    cached = cache_dir() / "nvrtc" / f"{source.stem}-{digest.hexdigest()[:20]}.cubin"
    if cached.exists():
        return cached.read_bytes()
    make = _linked if child_kernels else _compiled
    made = bytes(make(source, defines, appended, arch).code)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        storage.write(cached, made)
    except OSError as error:
        where = f"cannot write {cached.parent}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error
    return made


def _linked(source: Path, defines: Mapping[str, Define], appended: str, arch: str) -> ObjectCode:
    """Compile a file whose kernels launch kernels. Returns its code, linked with CUDA's device runtime."""
    try:
        load_nvidia_dynamic_lib("nvJitLink")
        runtime = find_static_lib("cudadevrt")
    except (DynamicLibNotFoundError, StaticLibNotFoundError) as error:
        fix = pip_install("nvidia-nvjitlink", "nvidia-cuda-runtime")
        raise ToolchainError(
            f"{source.name} launches kernels from kernels, which needs NVIDIA's linker and libcudadevrt.a: "
            f"run '{fix}'"
        ) from error
    program = _compiled(source, defines, appended, arch, relocatable=True)
    options = LinkerOptions(arch=arch, lineinfo=True)
    return Linker(program, ObjectCode.from_library(runtime), options=options).link("cubin")


def _compiled(
    source: Path, defines: Mapping[str, Define], appended: str, arch: str, *, relocatable: bool = False
) -> ObjectCode:
    options = ProgramOptions(
        name=str(source),  # the name that messages and line numbers show
        arch=arch,
        define_macro=[(name, str(value)) for name, value in defines.items()] or None,
        include_path=[str(folder) for folder in (source.parent, *KERNEL_HEADERS, *_cuda_headers())],
        relocatable_device_code=relocatable,
        **NVRTC_OPTIONS,
    )
    try:
        return Program(f"{source.read_text()}\n{appended}", "c++", options).compile("cubin")
    except Exception as error:  # cuda-core raises an exception class that has no public name
        said, found, log = str(error).partition("compilation log:")
        if not found:
            raise
        raise ToolchainError(f"cannot compile {source.name}: {first_error(log) or said}") from error


def _cuda_headers() -> list[str]:
    """Returns the folders of NVIDIA's headers: the headers of the CUDA runtime, and the headers of the C++
    library that the runtime's headers include."""
    folders = [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    if None in folders:
        fix = pip_install("nvidia-cuda-runtime", "nvidia-cuda-cccl")
        raise ToolchainError(f"CUDA's headers are missing: run '{fix}'")
    return [str(folder) for folder in folders]


_BUFFER_POINTER, _BUFFER_SIZE = 1, 2
"""The constants CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE of cuda.h."""
_NAME_LENGTH = 256

Owner = TypeVar("Owner")


def _error(status: Any) -> DeviceError:
    """Returns a DeviceError for a CUresult (a status code of the driver) other than success."""
    _, text = cuda.cuGetErrorString(status)
    told = text.decode() if text else str(status)
    return device_error(told, out_of_memory=status == cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY)


def _text(buffer: bytes) -> str:
    """Returns the text in a byte buffer that the driver has filled. The text ends at the first zero byte."""
    return buffer.split(b"\0", 1)[0].decode()


def _checked(returned: tuple[Any, ...]) -> Any:
    """Check what a driver function has returned: a status code (CUresult), perhaps followed by a result.
    Returns the result, or None. Raises DeviceError if the status is an error."""
    if returned[0]:
        raise _error(returned[0])
    return returned[1] if len(returned) > 1 else None


class CoreFunction:
    """A kernel, called through ctypes and cuda-bindings. Implements
    :class:`bfsbench.backends.cuda.Function`."""

    def __init__(self, library: ctypes.CDLL, function: Any, stream: Any) -> None:
        self._library = library
        self._function = function
        self._stream = stream

    def attribute(self, which: FunctionAttribute) -> int:
        return int(_checked(cuda.cuFuncGetAttribute(cuda.CUfunction_attribute(int(which)), self._function)))

    def set_attribute(self, which: FunctionAttribute, value: int) -> None:
        _checked(cuda.cuFuncSetAttribute(self._function, cuda.CUfunction_attribute(int(which)), value))

    def bind(
        self, block: int, shared: int, arguments: bytes, scalars: int, keep_alive: tuple[Argument, ...]
    ) -> Launch:
        # All parameters are in one buffer, which the driver copies at each launch. Only the last ints change
        # between launches.
        fixed = len(arguments)
        parameters = ctypes.create_string_buffer(arguments, max(1, fixed + 4 * scalars))
        last: Any = (ctypes.c_int * scalars).from_buffer(parameters, fixed)
        size = ctypes.c_size_t(fixed + 4 * scalars)
        at, size_at = ctypes.addressof(parameters), ctypes.addressof(size)
        extra = ctypes.byref((ctypes.c_void_p * 5)(_BUFFER_POINTER, at, _BUFFER_SIZE, size_at, None))
        config = LaunchConfig(1, 1, 1, block, 1, 1, shared, int(self._stream))
        config_at, function = ctypes.byref(config), ctypes.c_void_p(int(self._function))
        launch_kernel = self._library.cuLaunchKernelEx

        def launch(blocks: int, *scalars: int) -> None:
            if scalars:
                last[:] = scalars
            config.grid_dim_x = blocks
            status = launch_kernel(config_at, function, None, extra)
            if status:
                raise _error(cuda.CUresult(status))

        # the driver reads these objects at each launch, so they must not be freed
        launch.__dict__["keep_alive"] = (keep_alive, parameters, size)
        return launch


class CoreEvent:
    """A CUDA event. Implements :class:`bfsbench.backends.base.Event`."""

    def __init__(self, event: Any, stream: Any) -> None:
        self._event = event
        self._stream = stream

    def record(self) -> None:
        (status,) = cuda.cuEventRecord(self._event, self._stream)
        if status:
            raise _error(status)

    def milliseconds_since(self, earlier: Event) -> float:
        if not isinstance(earlier, CoreEvent):
            raise TypeError("both events must be of the same device")
        _checked(cuda.cuEventSynchronize(self._event))
        return float(_checked(cuda.cuEventElapsedTime(earlier._event, self._event)))


class CoreDriver:
    """Accesses the first visible GPU through cuda-bindings. Implements
    :class:`bfsbench.backends.cuda.Driver`.

    The constructor raises DeviceError if there is no GPU. It raises ToolchainError if NVRTC is missing or too
    new for the driver.
    """

    backend = "cuda-core"

    def __init__(self) -> None:
        try:
            _checked(cuda.cuInit(0))
        except RuntimeError as error:
            raise DeviceError(f"{DRIVER_LIBRARY} cannot be loaded") from error
        self._library = ctypes.CDLL(DRIVER_LIBRARY)
        toolkit = nvrtc_version()
        version = int(_checked(cuda.cuDriverGetVersion()))
        if reason := too_new(toolkit, version):
            raise ToolchainError(reason)
        if _checked(cuda.cuDeviceGetCount()) == 0:
            raise DeviceError("no CUDA device is visible")
        self._device = _checked(cuda.cuDeviceGet(0))
        # This call may fail if another library uses the context. The failure does no harm.
        cuda.cuDevicePrimaryCtxSetFlags(self._device, cuda.CUctx_flags.CU_CTX_SCHED_SPIN)
        _checked(cuda.cuCtxSetCurrent(_checked(cuda.cuDevicePrimaryCtxRetain(self._device))))
        pending = cuda.CUlimit.CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
        _checked(cuda.cuCtxSetLimit(pending, PENDING_CHILDREN))
        self._stream = _checked(cuda.cuStreamCreate(0))
        self.stream = int(self._stream)
        self._closed = False
        self._handles: dict[int, tuple[Any, Any]] = {}
        """Pairs of a function of the driver and a handle that it frees, by consecutive numbers. ``close``
        frees all handles, because other libraries may keep the context."""
        self._numbers = itertools.count()
        self._free_at_the_end(cuda.cuStreamDestroy, self._stream)
        major, minor = map(self.attribute, (COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR))
        self.identity = Identity(
            name=_text(_checked(cuda.cuDeviceGetName(_NAME_LENGTH, self._device))),
            pci_bus_id=_text(_checked(cuda.cuDeviceGetPCIBusId(_NAME_LENGTH, self._device))),
            compute_capability=(major, minor),
            memory=int(_checked(cuda.cuDeviceTotalMem(self._device))),
            driver=version,
            toolkit=toolkit,
        )
        self._arch = f"sm_{major}{minor}"

    def attribute(self, which: int) -> int:
        asked = cuda.CUdevice_attribute(which)
        return int(_checked(cuda.cuDeviceGetAttribute(asked, self._device)))

    def mirror(self, address: int, count: int) -> Mirror:
        pinned = int(_checked(cuda.cuMemAllocHost(4 * count)))
        memory = memoryview((ctypes.c_int32 * count).from_address(pinned))
        words = self._owned(np.frombuffer(memory, np.int32), cuda.cuMemFreeHost, pinned)
        copy, wait = self._library.cuMemcpyDtoHAsync_v2, self._library.cuStreamSynchronize
        here, there, size = ctypes.c_void_p(pinned), ctypes.c_void_p(address), ctypes.c_size_t(4 * count)
        stream = ctypes.c_void_p(int(self._stream))

        def update() -> None:
            status = copy(here, there, size, stream) or wait(stream)
            if status:
                raise _error(cuda.CUresult(status))

        return Mirror(words, update)

    def fill_words(self, address: int, value: int, count: int) -> None:
        (status,) = cuda.cuMemsetD32Async(address, value, count, self._stream)
        if status:
            raise _error(status)

    def fill_bytes(self, address: int, value: int, count: int) -> None:
        (status,) = cuda.cuMemsetD8Async(address, value, count, self._stream)
        if status:
            raise _error(status)

    def upload(self, address: int, array: npt.NDArray[Any]) -> None:
        _checked(cuda.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))

    def download(self, array: npt.NDArray[Any], address: int) -> None:
        _checked(cuda.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))

    def event(self) -> CoreEvent:
        event = _checked(cuda.cuEventCreate(0))
        return self._owned(CoreEvent(event, self._stream), cuda.cuEventDestroy, event)

    def synchronize(self) -> None:
        (status,) = cuda.cuStreamSynchronize(self._stream)
        if status:
            raise _error(status)

    def load(
        self, source: Path, defines: Mapping[str, Define], appended: str, *, child_kernels: bool
    ) -> Binary:
        cubin = compile_source(source, defines, appended, self._arch, child_kernels=child_kernels)
        module = _checked(cuda.cuModuleLoadData(cubin))
        self._free_at_the_end(cuda.cuModuleUnload, module)

        def function(name: str) -> CoreFunction:
            found = _checked(cuda.cuModuleGetFunction(module, name.encode()))
            return CoreFunction(self._library, found, self._stream)

        return Binary(cubin, function)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for number in [*self._handles]:
                self._free(number)
            cuda.cuDevicePrimaryCtxRelease(self._device)  # this call may fail if a kernel has failed

    def _owned(self, owner: Owner, free: Any, handle: Any) -> Owner:
        """Arrange that ``handle`` is freed when the object ``owner`` is deleted, or when the driver is
        closed, whichever is first. Returns ``owner``."""
        weakref.finalize(owner, self._free, self._free_at_the_end(free, handle)).atexit = False
        return owner

    def _free_at_the_end(self, free: Any, handle: Any) -> int:
        """Arrange that ``handle`` is freed when the driver is closed. Returns a number, which can be passed
        to ``_free`` to free the handle earlier."""
        number = next(self._numbers)
        self._handles[number] = free, handle
        return number

    def _free(self, number: int) -> None:
        free, handle = self._handles.pop(number, (None, None))
        if free is not None:
            free(handle)
