"""Declares the variant that finds all-pairs shortest paths by repeated squaring of the matrix of distances in
the min-plus algebra."""

from collections.abc import Mapping

from bfsbench.backends.base import Buffer
from bfsbench.variants.base import KernelAllPairs, KnobValue

_TILE_SIZE, _ELEMENTS = 64, 4
"""``_TILE_SIZE`` is the number of rows and columns of a tile. Within the tile, each thread computes a square
of ``_ELEMENTS`` rows and columns."""
_THREADS = (_TILE_SIZE // _ELEMENTS) ** 2


class ApspMinPlus(KernelAllPairs):
    """The matrix multiplication of the course paper CSE 6230, with its procedures EXTEND-SHORTEST-PATHS and
    FAST-ALL-PAIRS-SHORTEST-PATHS.

    Let a matrix hold the lengths of shortest paths of at most m arcs. Its min-plus product with itself holds
    the lengths of shortest paths of at most 2 m arcs. So ceil(log2(V - 1)) products give all distances. The
    paper's best kernel has blocks of 16 x 16 threads with 16 elements per thread. Here the 16 elements form a
    square of 4 x 4.
    """

    name = "apsp_min_plus"
    aliases = ("matrix_multiplication",)
    summary = "repeated squaring of the weights in the min-plus algebra"
    origin = ("CSE 6230, Matrix Multiplication based Algorithm",)
    parallel_unit = "a thread per 4 x 4 pairs"
    work = "O(V^3 log V)"

    @classmethod
    def own_block(cls, knobs: Mapping[str, KnobValue]) -> int:
        return _THREADS

    def defines(self) -> dict[str, int | str]:
        elements = {"ELEMENTS_X": _ELEMENTS, "ELEMENTS_Y": _ELEMENTS}
        return {**super().defines(), "TILE_SIZE": _TILE_SIZE, **elements, "DEPTH": 16}

    def tile(self) -> int:
        return _TILE_SIZE

    def prepare(self) -> None:
        super().prepare()
        kernel, other = self.kernel(self.name), self.device.empty(self.pitch**2, "int32")
        self.matrices = self.matrix, other
        self.square = [
            kernel.bind(matrix=source, product=target, via=self.via, pitch=self.pitch, block=_THREADS)
            for source, target in (self.matrices, self.matrices[::-1])
        ]
        self.num_products = (self.num_vertices - 2).bit_length() if self.num_vertices > 2 else 0
        self.num_blocks = (self.pitch // _TILE_SIZE) ** 2

    def solve(self) -> None:
        for product in range(self.num_products):
            self.square[product % 2](self.num_blocks)

    def result(self) -> Buffer:
        return self.matrices[self.num_products % 2]
