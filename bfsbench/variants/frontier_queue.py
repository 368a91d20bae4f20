"""Two-level frontier queue, in shared and in global memory."""

from __future__ import annotations

from bfsbench.variants.base import KernelVariant, Knob


class FrontierQueue(KernelVariant):
    """Springer's hierarchical frontier queue, the queue of Luo et al. 2010.

    Mended: the printed kernel writes past its block queue when a round discovers more than
    ``BLOCK_QUEUE_SIZE`` vertices, and past its global queue when duplicates exceed the number of vertices;
    here the first spills to the global queue and the second makes the host rebuild the queue from the levels.
    The printed kernel also lets every thread clear the block queue's length, a write-write race.
    """

    name = "frontier_queue"
    summary = "blocks gather discoveries in shared memory and append them to a global queue"
    origin = ("Springer, section 3.6 and Fig. 14",)
    layout = ("CSR",)
    frontier = "queue in shared and global memory, duplicates possible"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E), more with duplicates"
    knobs = (
        Knob(
            "BLOCK_QUEUE_SIZE",
            8192,
            "vertices a block's queue in shared memory holds",
            minimum=1,
            maximum=57344,
        ),
    )
    queue_capacity: int | None = None
    """Entries of a global queue that are used; by default all, one a vertex."""

    def prepare(self) -> None:
        capacity = min(self.queue_capacity or self.num_vertices, self.num_vertices)
        queue_size = int(self.knob["BLOCK_QUEUE_SIZE"])
        self.capacity = capacity
        self.queues = [self.device.empty(self.num_vertices, "int32") for _ in range(2)]
        self.sizes = self.device.signal(words=3)
        expand, rebuild = self.kernel("frontier_queue"), self.kernel("rebuild_queue")
        head = (self.graph.row_offsets, self.graph.column_indices, self.level_array, capacity, queue_size)
        even, odd = self.queues
        self.expand = [
            expand.bind(*head, source, target, self.sizes, block=self.block, shared=4 * queue_size, scalars=1)
            for source, target in ((even, odd), (odd, even))
        ]
        self.rebuild = [
            rebuild.bind(self.level_array, self.num_vertices, queue, self.sizes, block=self.block, scalars=2)
            for queue in self.queues
        ]

    def reset(self, source: int) -> None:
        super().reset(source)
        self.sizes.fill(0)
        self.sizes.fill(1, index=0)
        self.queues[0].fill(source, start=0, count=1)

    def traverse(self, source: int) -> None:
        expand, sizes, blocks, capacity = self.expand, self.sizes, self.blocks, self.capacity
        level, frontier_size = 0, 1
        while frontier_size:
            expand[level & 1](blocks(frontier_size), level)
            self.mark(level, self.name)
            level += 1
            frontier_size = sizes.read(level % 3)
            if frontier_size > capacity:
                sizes.fill(0, index=level % 3)
                self.rebuild[level & 1](blocks(self.num_vertices), level % 3, level)
                frontier_size = sizes.read(level % 3)
