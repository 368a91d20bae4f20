"""Declares a vertex-centric push search with frontier queues in shared memory."""

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.programs import KnobValue
from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import LevelQueueVariant


class PushPrivate(LevelQueueVariant):
    """The push kernel with privatised frontiers from the book PMPP.

    The printed kernel has an error. Every thread that finds the private frontier full sets its length to the
    capacity, while other threads increment the length. A thread may then get a place that is already taken,
    and vertices are lost. In this version the length only grows, and it is cut to the capacity when the block
    copies the frontier. The printed kernel also needs as many threads as the frontier has vertices. In this
    version any grid works.

    The book leaves LOCAL_FRONTIER_CAPACITY open. The default takes 8 KiB of shared memory. With blocks of 128
    threads or more, shared memory then does not limit the number of resident blocks.
    """

    name = level_kernel = "push_private"
    summary = "push_frontier with a frontier per block in shared memory that overflows to the global one"
    origin = ("PMPP ch. 15, Fig. 15.14",)
    frontier = "queue in shared and global memory, every vertex once"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E)"
    space = "4V + E"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "LOCAL_FRONTIER_CAPACITY",
            2048,
            "vertices a block's frontier in shared memory holds",
            minimum=1,
            maximum=57344,
        ),
    )
    check_knobs: ClassVar[tuple[Mapping[str, KnobValue], ...]] = ({"LOCAL_FRONTIER_CAPACITY": 8},)

    def arguments(self) -> Mapping[str, Argument]:
        return {**super().arguments(), "local_capacity": self.knob["LOCAL_FRONTIER_CAPACITY"]}

    def shared_memory(self) -> int:
        return 4 * int(self.knob["LOCAL_FRONTIER_CAPACITY"])
