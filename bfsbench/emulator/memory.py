"""The memory of the emulated device: NumPy arrays, which are filled with poison at first."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bfsbench.kernels.signature import Struct
from bfsbench.support.errors import DeviceError

if TYPE_CHECKING:
    from bfsbench.emulator.device import Emulator

_ALIGNMENT = 256
_POISON = 0xCD


def allocate(size: int, dtype: np.dtype[Any], margin: int) -> npt.NDArray[Any]:
    """Returns an aligned array of ``size`` elements, filled with poison bytes. Raises MemoryError.

    ``margin`` bytes before and after the array stay unused.
    """
    count = size * dtype.itemsize
    room = np.empty(count + 2 * margin + _ALIGNMENT, np.uint8)
    start = margin + -(room.ctypes.data + margin) % _ALIGNMENT
    room.fill(_POISON)
    return room[start : start + count].view(dtype)


class Buffer:
    """An array in device memory."""

    def __init__(self, device: Emulator, array: npt.NDArray[Any]) -> None:
        self._device = device
        self._array = array
        self.dtype: np.dtype[Any] = array.dtype
        self.size = array.size
        self.struct: type[Struct] | None = None
        """The struct type of the elements, if kernels declare them as structs."""
        self.pointer = ctypes.c_void_p(array.ctypes.data)

    def fill(self, value: int, start: int = 0, count: int | None = None) -> None:
        """Set ``count`` elements from ``start`` on to a value, by default all elements from there. Raises
        DeviceError if the range exceeds the buffer."""
        stop = self.size if count is None else start + count
        if not 0 <= start <= stop <= self.size:
            raise DeviceError(f"fill of elements {start} to {stop} in a buffer of {self.size}")
        self._array[start:stop] = value
        self._device.set_written(self._array[start:stop])

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array into the buffer. Raises DeviceError if its size or dtype differs from the
        buffer's."""
        if array.size != self.size or array.dtype != self.dtype:
            raise DeviceError(
                f"cannot upload {array.size} x {array.dtype} to a buffer of {self.size} x {self.dtype}"
            )
        self._array[:] = array.reshape(-1)
        self._device.set_written(self._array)

    def download(self) -> npt.NDArray[Any]:
        """Returns a copy of the contents. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return self._array.copy()


class Signal:
    """Device memory of int32 words, or of one struct, that kernels write and the host reads."""

    def __init__(
        self, device: Emulator, array: npt.NDArray[np.int32], struct: type[Struct] | None = None
    ) -> None:
        self._device = device
        self._array = array
        self.dtype = array.dtype
        self.struct = struct
        self.pointer = ctypes.c_void_p(array.ctypes.data)
        self._state = None if struct is None else struct.from_buffer(array.data)

    def read(self, index: int = 0) -> int:
        """Returns the word ``index``. Raises KernelError if a kernel has failed."""
        self._device.synchronize()
        return int(self._array[index])

    def read_struct(self) -> Any:
        """Returns the struct, whose attributes have the present values of its members. Raises KernelError if
        a kernel has failed."""
        self._device.synchronize()
        return self._state

    def fill(self, value: int, index: int | None = None) -> None:
        """Set the word ``index``, or every word if ``index`` is None."""
        self._set(slice(None) if index is None else slice(index, index + 1), value)

    def fill_member(self, value: int, member: str, index: int = 0) -> None:
        """Set all words of a member of the struct. If the member is an array, set only its element
        ``index``."""
        assert self.struct is not None
        self._set(self.struct.words(member, index), value)

    def _set(self, words: slice, value: int) -> None:
        self._array[words] = value
        self._device.set_written(self._array[words])

    def member(self, name: str) -> Signal:
        """Returns the part of the signal that begins at a member of its struct, as a pointer argument for a
        kernel."""
        assert self.struct is not None
        return Signal(self._device, self._array[self.struct.words(name).start :])
