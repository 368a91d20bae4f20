"""The sequential search on the CPU: the reference for correctness, and the CPU baseline of the papers."""

from bfsbench.programs.families.bfs.search import SequentialSearch
from bfsbench.variants.base import UNREACHED, HostVariant


class CpuQueue(HostVariant):
    """A sequential search with a queue: Springer's Algorithm 1, Luo's "CPU-BFS", and the CPU baselines of CSE
    6230 and BFS-4K."""

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
