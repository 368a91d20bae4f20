"""Vertex-centric push with frontiers in shared memory."""

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.programs import KnobValue
from bfsbench.variants.base import Knob
from bfsbench.variants.level_queues import LevelQueueVariant


class PushPrivate(LevelQueueVariant):
    """PMPP's push kernel with privatised frontiers.

    Corrected: in the printed kernel every thread that finds the private frontier full stores its capacity
    over the length that others are incrementing. A thread may then be given a place that is already taken,
    and vertices are lost. Here the length only grows and is cut to the capacity when the frontier is copied.
    The printed kernel also needs as many threads as the frontier has vertices; here any grid works.

    The paper leaves LOCAL_FRONTIER_CAPACITY open. The default takes 8 KiB, so that shared memory does not
    limit how many blocks of 128 threads or more fit a multiprocessor.
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
