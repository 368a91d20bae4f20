"""All-pairs shortest paths by repeated squaring in the min-plus algebra."""

from collections.abc import Mapping

from bfsbench.backends.base import Buffer
from bfsbench.variants.base import KernelAllPairs, KnobValue

_TILE_SIZE, _ELEMENTS = 64, 4
"""Rows and columns of a tile, and of the square in it that one thread computes."""
_THREADS = (_TILE_SIZE // _ELEMENTS) ** 2


class ApspMinPlus(KernelAllPairs):
    """The matrix multiplication of CSE 6230: EXTEND-SHORTEST-PATHS and FAST-ALL-PAIRS-SHORTEST-PATHS.

    The product of the matrix of shortest paths of at most m arcs with itself gives shortest paths of at most
    2 m arcs. So the result takes ceil(log2(V - 1)) products. The paper's best kernel has 16 x 16 threads with
    16 elements each. Here the 16 elements form a square of 4 x 4.
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
