"""Checks arrays on a device between timed runs: compares results, and detects forbidden writes
(``cuda_src/check.cu``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bfsbench.support.paths import CUDA_SRC

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bfsbench.backends.base import Buffer, Device

POISON = -0x5A5A5A5B
"""The value that fills result arrays before every run. A check thus notices elements that a run did not
write. No variant computes this value: it is not a level, distance, vertex or label."""

SOURCE = CUDA_SRC / "check.cu"
_BLOCK = 256
_BLOCKS_PER_MULTIPROCESSOR = 8
_ITEMS_PER_THREAD = 16
"""Number of items per thread, so that a kernel over few items starts few blocks. Threads get more items if
the number of blocks has reached its limit."""


def blocks_for(device: Device, items: int) -> int:
    """Returns how many blocks of 256 threads a checking kernel needs for ``items`` items."""
    most = _BLOCKS_PER_MULTIPROCESSOR * device.limits.num_multiprocessors
    return max(1, min(-(-items // (_BLOCK * _ITEMS_PER_THREAD)), most, device.limits.max_grid))


class ExpectedAnswer:
    """Holds the expected result on a device, and compares other device arrays with it.

    ``expected`` is int32[N, width], or int32[N]. It may contain only N of the rows of the compared arrays. In
    that case ``rows``, int32[N], has the numbers of these rows. Rows of a compared array begin ``pitch``
    elements apart, by default ``width``. The constructor raises DeviceOutOfMemoryError if the expected result
    does not fit into the memory of the device.
    """

    def __init__(
        self,
        device: Device,
        expected: npt.NDArray[np.int32],
        *,
        rows: npt.NDArray[np.int32] | None = None,
        pitch: int | None = None,
    ) -> None:
        import numpy as np

        width = 1 if expected.ndim == 1 else expected.shape[1]
        words = np.ascontiguousarray(expected, np.int32).reshape(-1)
        self._kernel = device.module(SOURCE, {"WIDE_OFFSETS": 0}).kernel("count_differences")
        self._differences = device.signal()
        rows_there = None if rows is None else device.upload(np.ascontiguousarray(rows, np.int32))
        self._expected = (device.upload(words), rows_there, len(expected), width, pitch or width)
        self._blocks = blocks_for(device, len(words))

    def differences(self, found: Buffer) -> int:
        """Wait for the device. Returns the number of elements in which the int32 device array ``found``
        differs from the expected result."""
        self._differences.fill(0)
        self._kernel.bind(found, *self._expected, self._differences, block=_BLOCK)(self._blocks)
        return self._differences.read()


class GuardedArrays:
    """Detects writes to device arrays that must not change. It compares a checksum of each array with an
    earlier checksum."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._sums: dict[str, tuple[Callable[[], int], int]] = {}
        """Maps the name of each array to a function that sums the array's words, and to this sum at the time
        when ``add`` was called."""

    def add(self, name: str, array: Buffer) -> None:
        """Record the sum of an array's 32-bit words, so that ``changed`` can detect writes. Call this method
        before any variant gets the array."""
        import numpy as np

        words = array.size * array.dtype.itemsize // 4
        zero = np.zeros(1, np.uint64)
        found = self._device.upload(zero)
        kernel = self._device.module(SOURCE, {"WIDE_OFFSETS": 0}).kernel("sum_words")
        launch = kernel.bind(array=array, num_words=words, sum=found, block=_BLOCK)
        blocks = blocks_for(self._device, words)

        def summing() -> int:
            found.upload(zero)
            launch(blocks)
            return int(found.download()[0])

        self._sums[name] = summing, summing()

    def changed(self) -> list[str]:
        """Wait for the device. Returns the names of the arrays that have changed since they were added."""
        return [name for name, (summing, first) in self._sums.items() if summing() != first]
