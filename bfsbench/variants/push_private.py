"""A vertex-centric push search with frontiers in shared memory."""

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.programs import KnobValue
from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import LevelQueueVariant


class PushPrivate(LevelQueueVariant):
    """PMPP's push kernel with privatised frontiers.

    The printed kernel has two errors, which are corrected here. Every thread that finds the private frontier
    full sets the length of this frontier to its capacity, while other threads increment the length. So a
    thread may get a place that is already taken, and vertices are lost. Here the length only grows, and it is
    cut to the capacity when the frontier is copied. The printed kernel also needs as many threads as the
    frontier has vertices. Here any grid works.

    The paper leaves LOCAL_FRONTIER_CAPACITY open. The default takes 8 KiB. So shared memory does not limit
    the number of resident blocks of 128 threads or more.
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
