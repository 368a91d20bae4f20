"""Declares a breadth-first search with two levels of frontier queues: one in shared memory and one in global
memory."""

from collections.abc import Mapping

from bfsbench.backends.base import Argument
from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import LevelQueueVariant, rebuilds


class FrontierQueue(LevelQueueVariant):
    """The search with a hierarchical frontier queue from M. Springer's paper "Breadth-first Search in CUDA",
    after the queue of Luo et al. 2010.

    The kernel printed in the paper has three errors:

    - It writes past its block queue when a round discovers more than ``BLOCK_QUEUE_SIZE`` vertices. In this
      version, the excess vertices go to the global queue.
    - It writes past its global queue when there are more duplicates than vertices. In this version, the host
      then rebuilds the queue from the levels.
    - It lets every thread clear the length of the block queue, which is a race between writes.
    """

    name = level_kernel = "frontier_queue"
    summary = "blocks gather discoveries in shared memory and append them to a global queue"
    origin = ("Springer, section 3.6 and Fig. 14",)
    frontier = "queue in shared and global memory, duplicates possible"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E), more with duplicates"
    space = "4V + E"
    knobs = (
        Knob(
            "BLOCK_QUEUE_SIZE",
            8192,
            "vertices a block's queue in shared memory holds",
            minimum=1,
            maximum=57344,
        ),
    )
    check_knobs = ({"BLOCK_QUEUE_SIZE": 8},)
    queue_capacity: int | None = None
    """Capacity of each global queue, in vertices. None gives room for every vertex of the graph."""

    def arguments(self) -> Mapping[str, Argument]:
        return {
            **self.graph.csr,
            "levels": self.level_array,
            "capacity": self.capacity,
            "block_queue_size": self.knob["BLOCK_QUEUE_SIZE"],
        }

    def shared_memory(self) -> int:
        return 4 * int(self.knob["BLOCK_QUEUE_SIZE"])

    def prepare(self) -> None:
        self.capacity = min(self.queue_capacity or self.num_vertices, self.num_vertices)
        super().prepare()
        self.rebuild = rebuilds(self, self.queues, self.sizes, self.block)

    def queue_size(self, level: int) -> int:
        size = super().queue_size(level) & 0xFFFFFFFF  # kernels declare this word as unsigned (queue.cuh)
        if size <= self.capacity:
            return size
        self.sizes.fill_member(0, "sizes", level % 3)
        self.rebuild[level & 1](self.blocks(self.num_vertices), level % 3, level)
        return super().queue_size(level)
