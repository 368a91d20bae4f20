"""Declares a push search that runs several small levels in one launch."""

from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import QueueSizes
from bfsbench.variants.push_private import PushPrivate


class PushMultilevel(PushPrivate):
    """The push search of the book PMPP that runs consecutive small levels in one grid. The book has a drawing
    of this search but no kernel.

    The following details are choices of this version. The grid that runs small levels is a single block. A
    level is small if it has at most SMALL_FRONTIER vertices, which the block's shared memory can hold. A
    level that outgrows this limit is completed in global memory. The kernel ``push_private`` then takes over
    until a level is small again. With the default SMALL_FRONTIER, a level in the block takes about as long as
    a launch. We measured this on an H200 with blocks of 256 to 1024 threads.
    """

    name = "push_multilevel"
    kernel_files = ("push_multilevel", "push_private")
    summary = "runs of small levels stay inside one block and one launch; larger levels launch per level"
    origin = ("PMPP ch. 15, Fig. 15.16 (B)",)
    synchronisation = "block barriers while frontiers are small, otherwise one launch per level"
    knobs = (
        *PushPrivate.knobs,
        Knob(
            "SMALL_FRONTIER", 3072, "largest frontier that stays inside one block", minimum=1, maximum=28672
        ),
    )
    structs = (QueueSizes,)
    check_knobs = ({"SMALL_FRONTIER": 16}, {"SMALL_FRONTIER": 16, "LOCAL_FRONTIER_CAPACITY": 8})
    usual_block = 512
    layers = ("push_multilevel",)
    block_layers = layers

    def prepare(self) -> None:
        super().prepare()
        self.small_frontier = int(self.knob["SMALL_FRONTIER"])
        self.small_levels = self.kernel(self.name).bind(
            **self.graph.csr,
            levels=self.level_array,
            small_frontier=self.small_frontier,
            even_queue=self.queues[0],
            odd_queue=self.queues[1],
            state=self.sizes,
            records=self.records,
            block=self.block,
            shared=2 * 4 * self.small_frontier,
            scalars=1,
        )

    def traverse(self, source: int) -> None:
        level, size = 0, 1
        while size:
            small = size <= self.small_frontier
            if small:
                self.small_levels(1, level)
                self.mark(level, self.name)
            else:
                self.expand[level & 1](self.blocks(size), level)
                self.mark(level, self.level_kernel)
            state = self.sizes.read_struct()
            level = state.level if small else level + 1
            size = state.sizes[level % 3]
