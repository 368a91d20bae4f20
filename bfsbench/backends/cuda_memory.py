"""Memory of a GPU through PyCUDA: buffers, signals, kernel arguments, and what its errors mean.

Importing this module needs PyCUDA, as :mod:`bfsbench.backends.cuda` does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pycuda.driver as cuda

from bfsbench.backends.base import Argument
from bfsbench.emulator import Struct, struct_of
from bfsbench.errors import DeviceError, DeviceOutOfMemoryError, KernelError, LaunchError

LAUNCH_REFUSED = (
    "invalid argument",
    "invalid value",
    "out of resources",
    "too many resources",
    "invalid configuration",
    "cluster misconfiguration",
)


def translate(error: Exception) -> DeviceError:
    """Turn PyCUDA's exceptions into the project's, by the driver's message."""
    text = str(error).splitlines()[0]
    if isinstance(error, cuda.MemoryError):
        return DeviceOutOfMemoryError(text)
    if any(words in text.lower() for words in LAUNCH_REFUSED):
        return LaunchError(text)
    return KernelError(text)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except cuda.Error as error:
        raise translate(error) from error


def packed(argument: Argument) -> tuple[str, Any]:
    """Format letters and value of a kernel argument, as ``struct.pack`` takes them."""
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
    """Device memory of its own; see backends.base.Buffer."""

    def __init__(self, size: int, dtype: npt.DTypeLike | type[Struct], stream: cuda.Stream) -> None:
        self.dtype = np.dtype(dtype)
        self.struct = struct_of(dtype)
        self.size = size
        self._stream = stream
        with translated():
            self._memory = cuda.mem_alloc(max(1, size) * self.dtype.itemsize)
        self.pointer = int(self._memory)

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        count = self.size - start if count is None else count
        if count == 0:
            return
        at = self.pointer + start * self.dtype.itemsize
        try:
            if self.dtype.itemsize == 4:
                cuda.memset_d32_async(at, value & 0xFFFFFFFF, count, self._stream)
            elif self.dtype.itemsize == 1:
                cuda.memset_d8_async(at, value & 0xFF, count, self._stream)
            elif value == 0:
                cuda.memset_d8_async(at, 0, count * self.dtype.itemsize, self._stream)
            else:
                raise DeviceError(f"cannot fill elements of {self.dtype.itemsize} bytes")
        except cuda.Error as error:
            raise translate(error) from error

    def upload(self, array: npt.NDArray[Any]) -> None:
        with translated():
            cuda.memcpy_htod(self.pointer, np.ascontiguousarray(array, self.dtype))

    def download(self) -> npt.NDArray[Any]:
        array = np.empty(self.size, self.dtype)
        with translated():
            self._stream.synchronize()
            if self.size:
                cuda.memcpy_dtoh(array, self.pointer)
        return array


@dataclass(frozen=True)
class Member:
    """The address of a member of a signal's struct; an argument."""

    pointer: int
    dtype: np.dtype[Any]
    signal: CudaSignal
    """Kept while the address is in use."""


class CudaSignal:
    """Words in device memory with a mirror in pinned host memory; see backends.base.Signal."""

    def __init__(self, words: int | type[Struct], stream: cuda.Stream) -> None:
        self.struct = None if isinstance(words, int) else words
        count = words if isinstance(words, int) else ctypes.sizeof(words) // 4
        self._words = CudaBuffer(count, "int32", stream)
        with translated():
            self._mirror = cuda.pagelocked_empty(count, np.int32)
        self._state = None if self.struct is None else self.struct.from_buffer(self._mirror.data)
        self._stream = stream
        self.dtype = self._words.dtype
        self.pointer = self._words.pointer

    def read(self, index: int = 0) -> int:
        self._update()
        return int(self._mirror[index])

    def read_all(self) -> list[int]:
        self._update()
        return [int(word) for word in self._mirror]

    def _update(self) -> None:
        try:
            cuda.memcpy_dtoh_async(self._mirror, self.pointer, self._stream)
            self._stream.synchronize()
        except cuda.Error as error:
            raise translate(error) from error

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
