"""Allocates memory of the first GPU, and shares it with other libraries, such as CuPy and PyTorch.

These libraries work in CUDA's primary context. bfsbench works in this context too, so it can use their
memory, and they can use its memory. Arrays are exchanged by the protocol DLPack. A DLPack capsule describes
an array, and keeps its memory allocated. NumPy reads and makes the capsules of this module. NumPy does not
accept arrays on a GPU, so a capsule names the host as its device while NumPy has it. NumPy then uses the
address of the array, and never reads its elements.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError, KernelError, UsageError, size_text
from bfsbench.support.toolchain import DRIVER_LIBRARY

_HOST, _FIRST_GPU = (1, 0), (2, 0)
"""Devices as DLPack names them: the number of the type in dlpack.h, and the number of the device."""
_LEGACY_STREAM = 1
"""DLPack's number for CUDA's legacy default stream. A library that exports an array makes this stream wait
for pending work on the array. bfsbench's copies and kernels then wait for this stream."""
_OUT_OF_MEMORY = 2
"""The driver's status CUDA_ERROR_OUT_OF_MEMORY."""
_ALIGNMENT = 16
"""Kernels read up to this many bytes of an array at once, so an array must begin at a multiple of it."""


def call(function: str, *arguments: Any) -> None:
    """Call a function of NVIDIA's driver. Arguments are small integers or objects of ctypes.

    Raises DeviceError if there is no driver, DeviceOutOfMemoryError if the GPU has too little memory, and
    KernelError if the function fails for another reason.
    """
    try:
        status = getattr(ctypes.CDLL(DRIVER_LIBRARY), function)(*arguments)
    except OSError as error:
        raise DeviceError(f"{DRIVER_LIBRARY} cannot be loaded") from error
    if status == _OUT_OF_MEMORY:
        raise DeviceOutOfMemoryError(f"{function}: the GPU is out of memory")
    if status:
        raise KernelError(f"{function} failed with CUDA error {status}")


@contextmanager
def primary_context() -> Iterator[None]:
    """Make the primary context of the first GPU current in this thread while the ``with`` block runs."""
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    try:
        call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(context))
    finally:
        call("cuDevicePrimaryCtxRelease_v2", 0)


class SupportsDLPack(Protocol):
    """A protocol for arrays of any library that can export them through DLPack."""

    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...


class Memory:
    """A block of device memory. The memory is freed when this object is deleted, and the primary context
    exists at least until then.

    The constructor raises DeviceOutOfMemoryError if the GPU has no room for ``size`` bytes.
    """

    def __init__(self, size: int) -> None:
        address = ctypes.c_uint64()
        with primary_context():
            try:
                call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            except DeviceOutOfMemoryError as error:
                raise DeviceOutOfMemoryError(f"out of memory: no room for {size_text(size)}") from error
            call("cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), 0)
        self.pointer = address.value
        """The address of the memory."""
        self.free = weakref.finalize(self, _free, self.pointer)
        """Frees the memory. A second call does nothing."""
        self.free.atexit = False


def _free(pointer: int) -> None:
    with suppress(DeviceError), primary_context():  # a kernel may have failed and broken the context
        call("cuDevicePrimaryCtxRelease_v2", 0)
        call("cuMemFree_v2", ctypes.c_uint64(pointer))


class DeviceArray:
    """A one-dimensional array in the memory of the first GPU, which other libraries can share.

    ``cupy.from_dlpack`` and ``torch.from_dlpack`` return arrays that share its memory. The memory stays
    allocated as long as one of these arrays or the DeviceArray exists. ``numpy.asarray`` returns a copy in
    host memory.
    """

    def __init__(self, pointer: int, size: int, dtype: np.dtype[Any], owner: object) -> None:
        self.pointer = pointer
        self.size = size
        self.dtype = dtype
        self.owner = owner
        """The object that keeps the memory allocated."""

    @property
    def shape(self) -> tuple[int]:
        return (self.size,)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Returns the description of the array for libraries that do not read DLPack, such as Numba."""
        description = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False)}
        return {**description, "strides": None, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        return _FIRST_GPU

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Returns a DLPack capsule. ``stream`` is ignored, because all work on the array has completed.
        Raises BufferError if the caller requests a copy or another device."""
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != _FIRST_GPU):
            raise BufferError("the array is shared on the first GPU only, without a copy")
        view: Any = np.asarray(SimpleNamespace(__array_interface__=self.__cuda_array_interface__, array=self))
        try:
            capsule: object = view.__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1
            capsule = view.__dlpack__()
        _device_in(capsule)[:] = _FIRST_GPU
        return capsule

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Returns a copy in host memory. Raises ValueError if ``copy`` is False."""
        if copy is False:
            raise ValueError("an array on a GPU can only be copied to the host")
        host = np.empty(self.size, self.dtype)
        if self.size:
            with primary_context():
                call(
                    "cuMemcpyDtoH_v2",
                    *(ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(self.pointer)),
                    ctypes.c_size_t(host.nbytes),
                )
        return host if dtype is None else host.astype(dtype)


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _device_in(capsule: object) -> Any:
    """Returns the two integers in a DLPack capsule that name the device, as an array. Writing to the array
    changes the capsule."""
    name = _capsule_name(capsule)
    place = {b"dltensor": 8, b"dltensor_versioned": 40}[name]  # offsets in the structs of dlpack.h
    return (ctypes.c_int32 * 2).from_address(_capsule_pointer(capsule, name) + place)


class _AsIfOnHost:
    """Makes NumPy accept an array on a GPU. NumPy refuses a DLPack capsule of an array on a GPU. So the
    capsule of this object says that the array is on the host.

    ``device`` holds the two integers of the capsule that name the device. The caller must change them back to
    the GPU.
    """

    device: Any

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: object) -> object:
        version = {} if max_version is None else {"max_version": max_version}
        capsule = self._array.__dlpack__(stream=_LEGACY_STREAM, **version)
        self.device = _device_in(capsule)
        self.device[:] = _HOST
        return capsule


def shared(array: Any, what: str) -> npt.NDArray[Any] | DeviceArray:
    """Returns an array that shares the memory of ``array``, a one-dimensional array of any library that
    supports DLPack. The result is a NumPy array if the memory is on the host, and a DeviceArray if it is on
    the first GPU.

    Raises UsageError, whose message begins with ``what``, for an object without DLPack, and for an array on
    another device. Raises UsageError also if the array has several dimensions, or if its elements do not lie
    one after the other. An array on the GPU must also begin at a multiple of 16 bytes.
    """
    if not (hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")):
        kind = type(array).__qualname__
        raise UsageError(f"{what}: an object of type {kind} cannot be shared, because it has no __dlpack__")
    device = tuple(map(int, array.__dlpack_device__()))
    on_gpu = device[0] == _FIRST_GPU[0]
    if on_gpu and device != _FIRST_GPU:
        raise UsageError(f"{what}: the array is on GPU {device[1]}, but searches run on GPU 0")
    given: Any = _AsIfOnHost(array) if on_gpu else array
    try:
        view = np.from_dlpack(given)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"{what}: the array cannot be shared: {error}") from error
    if isinstance(given, _AsIfOnHost):
        given.device[:] = _FIRST_GPU  # the library that frees the array may read this
    if view.ndim != 1:
        raise UsageError(f"{what}: the array has {view.ndim} dimensions instead of 1")
    if not view.flags.c_contiguous:
        raise UsageError(f"{what}: the elements do not lie one after the other: share a contiguous copy")
    if not on_gpu:
        return view
    if view.size and view.ctypes.data % _ALIGNMENT:
        raise UsageError(
            f"{what}: the array does not begin at a multiple of {_ALIGNMENT} bytes: share a copy"
        )
    return DeviceArray(view.ctypes.data, view.size, view.dtype, view)
