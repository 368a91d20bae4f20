"""Declares the sequential breadth-first search on the CPU. It computes the reference levels, and is the CPU
baseline of several papers."""

from bfsbench.programs.families.bfs.search import SequentialSearch
from bfsbench.variants.base import UNREACHED, HostVariant


class CpuQueue(HostVariant):
    """A sequential breadth-first search with a queue.

    It is Algorithm 1 of M. Springer's paper "Breadth-first Search in CUDA", and "CPU-BFS" in the paper of Luo
    et al. (2010). The course report CSE 6230 and the paper on BFS-4K use a sequential search as their CPU
    baseline.
    """

    name = "cpu_queue"
    aliases = ("sequential",)
    summary = "sequential search with a FIFO queue"
    origin = ("Springer, Alg. 1", "Luo, 'CPU-BFS'", "BFS-4K, sequential", "CSE 6230, CPU")
    frontier = "queue"
    parallel_unit = "none"
    work = "O(V + E)"
    space = "3V + E"
    synchronisation = "none: one thread"

    def prepare(self) -> None:
        self.search = SequentialSearch(self.graph)
        self.level_array = self.search.levels

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)

    def traverse(self, source: int) -> None:
        self.search.run(source)
