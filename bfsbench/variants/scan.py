"""Computes prefix sums on the device, for searches that need them."""

from bfsbench.backends.base import Buffer, Launch
from bfsbench.variants.base import KernelVariant


class PrefixSum:
    """Computes the exclusive prefix sum of the first elements of an array, in place.

    The variant's ``.cu`` file must include ``scan.cuh``, and is compiled with the knob ``TILE_SIZE``. The
    type of the elements is ``SCAN_TYPE`` of that file, by default int32. Calling the object issues one launch
    if there is one tile. Each further level of recursion issues two more launches.
    """

    def __init__(self, variant: KernelVariant, array: Buffer, max_length: int, tile_size: int) -> None:
        scan, add = variant.kernel("scan_tiles"), variant.kernel("add_tile_offsets")
        block = variant.block
        self._blocks, self._block, self._tile_size = variant.blocks, block, tile_size
        self._max_length = max_length
        self._arrays = [array]
        """Keeps the buffers alive, because launches hold only addresses of buffers."""
        self._going_down: list[Launch] = []
        self._going_up: list[Launch] = []
        while True:
            num_tiles = max(1, -(-max_length // tile_size))
            sums = variant.device.empty(num_tiles, array.dtype)
            self._arrays.append(sums)
            self._going_down.append(scan.bind(array=array, tile_sums=sums, block=block, scalars=1))
            if num_tiles == 1:
                break
            self._going_up.append(add.bind(array=array, tile_offsets=sums, block=block, scalars=1))
            array, max_length = sums, num_tiles

    def __call__(self, length: int | None = None) -> None:
        """Compute the prefix sum of the first ``length`` elements. By default, compute it for all
        elements."""
        lengths = [self._max_length if length is None else length]
        for scan in self._going_down:
            num_tiles = -(-lengths[-1] // self._tile_size)
            scan(self._blocks(num_tiles * self._block), lengths[-1])
            if num_tiles <= 1:
                break
            lengths.append(num_tiles)
        for depth in reversed(range(len(lengths) - 1)):
            self._going_up[depth](self._blocks(lengths[depth]), lengths[depth])
