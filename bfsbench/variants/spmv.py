"""Declares a breadth-first search that computes a matrix-vector product in each level."""

from typing import Any, ClassVar

from bfsbench.variants.base import LevelKernelVariant, Traffic


class Spmv(LevelKernelVariant):
    """The matrix-based search of Deng et al. 2009. The authors of the searches Luo and BFS-4K compare their
    searches with this search.

    Deng et al. describe their kernels only by their complexity. The kernel of this project has that
    complexity. It uses one thread per row, and multiplies every row in every level, without a mask. Comments
    in the kernel say why. The vectors x and y have one byte per vertex, and swap roles after each level.
    """

    name = "spmv"
    aliases = ("deng",)
    summary = "every level is a product of the transposed adjacency matrix with the frontier"
    origin = ("Deng et al. 2009, in Luo, section 2", "BFS-4K, section 3, reference 6")
    layout = ("CSC",)
    frontier = "boolean vector"
    parallel_unit = "a thread per row"
    work = "O(V + DE)"
    space = "2.5V + E"
    # An element of a vector takes one byte. In every level, each row's offset is read and each row's element
    # is written.
    traffic = Traffic(per_edge=5, per_vertex=4, per_scan=5)
    edge_reads: ClassVar = {"spmv": "all"}

    def prepare(self) -> None:
        self.vectors = [self.device.empty(self.num_vertices, "uint8") for _ in range(2)]
        self.progress = self.device.signal()
        self.num_blocks = self.blocks(self.work_items())
        even, odd = self.vectors
        common: dict[str, Any] = {
            **self.graph.csc,
            "num_vertices": self.num_vertices,
            "levels": self.level_array,
            "progress": self.progress,
            "block": self.block,
        }
        kernel = self.kernel("spmv")
        multiply = [kernel.bind(x=x, y=y, **common, scalars=1) for x, y in ((even, odd), (odd, even))]
        self.expand = lambda blocks, *level: multiply[level[0] & 1](blocks, *level)

    def reset(self, source: int) -> None:
        super().reset(source)
        self.vectors[0].fill(0)
        self.vectors[0].fill(1, start=source, count=1)
