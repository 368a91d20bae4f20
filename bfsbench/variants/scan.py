"""Prefix sums on the device."""

from __future__ import annotations

from bfsbench.backends.base import Buffer, Launch
from bfsbench.variants.base import KernelVariant


class PrefixSum:
    """The exclusive prefix sum, in place, of an int32 array of any length.

    The variant's ``.cu`` file includes ``scan.cuh``, compiled with its compile-time knob ``TILE_SIZE``.
    Calling the object issues one launch if the array is a single tile, else two more per level of recursion.
    """

    def __init__(self, variant: KernelVariant, array: Buffer, length: int, tile_size: int) -> None:
        scan, add = variant.kernel("scan_tiles"), variant.kernel("add_tile_offsets")
        scans: list[tuple[Launch, int]] = []
        additions: list[tuple[Launch, int]] = []
        self._arrays = [array]
        """Kept, because a launch knows only their addresses."""
        while True:
            num_tiles = max(1, -(-length // tile_size))
            sums = variant.device.empty(num_tiles, "int32")
            self._arrays.append(sums)
            launch = scan.bind(array, length, sums, block=variant.block)
            scans.append((launch, variant.blocks(num_tiles * variant.block)))
            if num_tiles == 1:
                break
            launch = add.bind(array, length, sums, block=variant.block)
            additions.append((launch, variant.blocks(length)))
            array, length = sums, num_tiles
        self._launches = scans + additions[::-1]

    def __call__(self) -> None:
        """Issue the launches."""
        for launch, blocks in self._launches:
            launch(blocks)
