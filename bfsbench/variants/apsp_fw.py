"""Declares the variant that finds all-pairs shortest paths by Floyd and Warshall's algorithm, without
blocking."""

from bfsbench.variants.base import KernelAllPairs


class ApspFw(KernelAllPairs):
    """The "naive GPU implementation" of the course paper CSE 6230. It uses one thread per element of the
    matrix."""

    name = "apsp_fw"
    aliases = ("floyd_warshall",)
    summary = "Floyd-Warshall, one launch for each vertex that paths may lead through"
    origin = ("CSE 6230, Naive Implementation",)
    parallel_unit = "a thread per pair"
    work = "O(V^3)"

    def prepare(self) -> None:
        super().prepare()
        self.relax = self.kernel(self.name).bind(**self.padded(), block=self.block, scalars=1)
        self.num_blocks = self.blocks(-(-self.pitch // self.block) * self.block * self.pitch)

    def solve(self) -> None:
        for k in range(self.num_vertices):
            self.relax(self.num_blocks, k)
