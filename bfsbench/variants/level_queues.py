"""Defines the base class of searches that have a queue of vertices for each level."""

from collections.abc import Mapping
from ctypes import c_int
from typing import Any, ClassVar

from bfsbench.backends.base import Argument, Buffer, Launch, Signal, Struct
from bfsbench.variants.base import KernelVariant


class QueueSizes(Struct):
    """Lengths of the queues of three consecutive levels. The index of a queue is its level modulo 3.
    ``level`` is the level at which a kernel that runs several levels has stopped."""

    _fields_: ClassVar = [("sizes", c_int * 3), ("level", c_int)]


def rebuilds(variant: KernelVariant, queues: list[Buffer], state: Signal, block: int) -> list[Launch]:
    """Returns two launches that rebuild the queue of a level from the level array (``rebuild.cuh``). The
    first launch is for even levels, and the second for odd levels.

    ``state`` has a member ``sizes``. Before a launch, the host must clear the element of ``sizes`` that
    belongs to the level.
    """
    kernel = variant.kernel("rebuild_queue")
    search = {"levels": variant.level_array, "num_vertices": variant.num_vertices}
    common: dict[str, Any] = {**search, "sizes": state.member("sizes"), "block": block}
    return [kernel.bind(queue=queue, **common, scalars=("slot", "level")) for queue in queues]


class LevelQueueVariant(KernelVariant):
    """A search whose kernel expands the queue of one level into the queue of the next level. Each level is
    one launch.

    The kernel's parameters include ``const int *queue, int *next_queue, int *sizes``. The kernel's last
    parameter is ``int level``. ``sizes`` contains the length of the queue of level L at index L modulo 3. The
    launch for level L reads the length for L, increases the length for L + 1, and clears the length for L +
    2. So the host clears nothing between levels, and reads ``sizes`` once after each level.
    """

    level_kernel: ClassVar[str]
    """Name of the kernel that expands a level."""

    def arguments(self) -> Mapping[str, Argument]:
        """Returns the kernel's arguments by name, except the queues, ``sizes`` and ``level``."""
        return {**self.graph.csr, "levels": self.level_array, "num_vertices": self.num_vertices}

    def shared_memory(self) -> int:
        """Returns the bytes of dynamic shared memory per block."""
        return 0

    def prepare(self) -> None:
        self.queues = [self.device.empty(self.num_vertices, "int32") for _ in range(2)]
        self.sizes = self.device.signal(QueueSizes)
        kernel, (even, odd) = self.kernel(self.level_kernel), self.queues
        common: dict[str, Any] = {**self.arguments(), "sizes": self.sizes.member("sizes")}
        common |= {"block": self.block, "shared": self.shared_memory(), "scalars": 1}
        self.expand = [
            kernel.bind(queue=queue, next_queue=next_queue, **common)
            for queue, next_queue in ((even, odd), (odd, even))
        ]

    def reset(self, source: int) -> None:
        super().reset(source)
        self.sizes.fill(0)
        self.sizes.fill_member(1, "sizes", 0)
        self.queues[0].fill(source, start=0, count=1)

    def traverse(self, source: int) -> None:
        level, size = 0, 1
        while size:
            self.expand[level & 1](self.blocks(size), level)
            self.mark(level, self.level_kernel)
            level += 1
            size = self.queue_size(level)

    def queue_size(self, level: int) -> int:
        """Wait until the queue of a level is complete. Returns the number of entries in the queue."""
        return int(self.sizes.read_struct().sizes[level % 3])
