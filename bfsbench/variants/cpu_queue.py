"""Declares the sequential breadth-first search on the CPU. It is the reference for correct levels, and the
CPU baseline of the papers."""

from bfsbench.programs.families.bfs.search import SequentialSearch
from bfsbench.variants.base import UNREACHED, HostVariant


class CpuQueue(HostVariant):
    """A sequential breadth-first search with a queue. Springer calls it Algorithm 1, and Luo calls it
    "CPU-BFS". CSE 6230 and BFS-4K use such a search as their CPU baseline."""

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
