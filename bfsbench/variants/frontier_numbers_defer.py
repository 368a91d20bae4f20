"""Declares a push search that expands vertices of high out-degree at the end of each level."""

from collections.abc import Mapping

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LEVEL_SCAN, Knob, LevelKernelVariant


class FrontierNumbersDefer(LevelKernelVariant):
    """The kernel that defers outliers (vertices of high degree) from M. Springer's paper "Breadth-first
    Search in CUDA", after Hong et al. 2011.

    The kernel printed in the paper has errors. It treats its queue as full when fewer places are left than
    the block has threads. This check needs a barrier in every round, and leaves places unused. If the block
    has more threads than the queue has places, an unsigned difference becomes huge. The kernel then writes
    past the end of the queue. In this version, a thread immediately expands a vertex for which the queue has
    no place. So this version accepts every block size and queue size.
    """

    name = "frontier_numbers_defer"
    summary = "vertices of high out-degree wait in shared memory until the end of the level"
    origin = ("Springer, section 3.3 and Fig. 12",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN
    knobs = (
        Knob("DEFER_MAX", 16, "lowest out-degree that is deferred", minimum=0, maximum=1e9),
        Knob(
            "D_BLOCK_QUEUE_SIZE",
            2048,
            "vertices a block can defer, in shared memory",
            minimum=1,
            maximum=57344,
        ),
    )
    check_knobs = ({"DEFER_MAX": 2, "D_BLOCK_QUEUE_SIZE": 4},)

    def arguments(self) -> Mapping[str, Argument]:
        return {
            **super().arguments(),
            "defer_max": self.knob["DEFER_MAX"],
            "queue_size": self.knob["D_BLOCK_QUEUE_SIZE"],
        }

    def shared_memory(self) -> int:
        return 4 * int(self.knob["D_BLOCK_QUEUE_SIZE"])
