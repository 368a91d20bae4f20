"""Memory of a GPU: buffers, signals, and the bytes of kernels' arguments."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument
from bfsbench.backends.cuda_driver import Driver
from bfsbench.emulator import Struct, struct_of
from bfsbench.errors import DeviceError


def packed(arguments: Iterable[Argument], scalars: int) -> bytes:
    """The bytes of a launch's parameters up to the last ``scalars`` ones, which are ints.

    Parameters are laid out like members of a struct, so a struct needs no packing.
    """
    members = [each for one in arguments for each in (one if isinstance(one, tuple) else (one,))]
    fields = [_field(member) for member in members]
    letters = "".join(letter for letter, _ in fields) + "0i" * (scalars > 0)  # pads for an int
    return struct.pack(letters, *(value for _, value in fields))


def _field(argument: Argument) -> tuple[str, Any]:
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

    def __init__(self, size: int, dtype: npt.DTypeLike | type[Struct], driver: Driver) -> None:
        self.dtype = np.dtype(dtype)
        self.struct = struct_of(dtype)
        self.size = size
        self._item = self.dtype.itemsize
        self._driver = driver
        self._fill_words, self._fill_bytes = driver.fill_words, driver.fill_bytes
        self._memory = driver.allocate(max(1, size) * self._item)
        self.pointer = int(self._memory)

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


@dataclass(frozen=True)
class Member:
    """The address of a member of a signal's struct; an argument."""

    pointer: int
    dtype: np.dtype[Any]
    signal: CudaSignal
    """Kept while the address is in use."""


class CudaSignal:
    """Words in device memory with a mirror in pinned host memory; see backends.base.Signal."""

    def __init__(self, words: int | type[Struct], driver: Driver) -> None:
        self.struct = None if isinstance(words, int) else words
        count = words if isinstance(words, int) else ctypes.sizeof(words) // 4
        self._words = CudaBuffer(count, "int32", driver)
        self.dtype = self._words.dtype
        self.pointer = self._words.pointer
        mirror = driver.mirror(self.pointer, count)
        self._mirror = mirror.words
        self._update = mirror.update
        self._state = None if self.struct is None else self.struct.from_buffer(self._mirror.data)

    def read(self, index: int = 0) -> int:
        self._update()
        return int(self._mirror[index])

    def read_all(self) -> list[int]:
        self._update()
        return [int(word) for word in self._mirror]

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
