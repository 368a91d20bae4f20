"""Two-level frontier queue, in shared and in global memory."""

from collections.abc import Mapping

from bfsbench.backends.base import Argument
from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import LevelQueueVariant, rebuilds


class FrontierQueue(LevelQueueVariant):
    """Springer's hierarchical frontier queue, the queue of Luo et al. 2010.

    Corrected: the printed kernel writes past its block queue when a round discovers more than
    ``BLOCK_QUEUE_SIZE`` vertices, and past its global queue when duplicates exceed the number of vertices;
    here the first spills to the global queue and the second makes the host rebuild the queue from the levels.
    The printed kernel also lets every thread clear the block queue's length, a write-write race.
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
    """Capacity of a global queue; by default an entry per vertex."""

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
        size = super().queue_size(level) & 0xFFFFFFFF  # an unsigned number; see queue.cuh
        if size <= self.capacity:
            return size
        self.sizes.fill_member(0, "sizes", level % 3)
        self.rebuild[level & 1](self.blocks(self.num_vertices), level % 3, level)
        return super().queue_size(level)
