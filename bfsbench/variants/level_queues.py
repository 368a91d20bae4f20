"""What searches with a queue of vertices per level have in common."""

from collections.abc import Mapping
from ctypes import c_int
from typing import Any, ClassVar

from bfsbench.backends.base import Argument, Buffer, Launch, Signal, Struct
from bfsbench.variants.base import KernelVariant


class QueueSizes(Struct):
    """Lengths of the queues of levels modulo 3; the level at which a kernel of several levels has stopped."""

    _fields_: ClassVar = [("sizes", c_int * 3), ("level", c_int)]


def rebuilds(variant: KernelVariant, queues: list[Buffer], state: Signal, block: int) -> list[Launch]:
    """Launches that make the queue of a level anew from the levels (``rebuild.cuh``), for even levels and for
    odd ones. ``state`` has a member ``sizes``, of which the one of the level is cleared before."""
    kernel = variant.kernel("rebuild_queue")
    search = {"levels": variant.level_array, "num_vertices": variant.num_vertices}
    common: dict[str, Any] = {**search, "sizes": state.member("sizes"), "block": block}
    return [kernel.bind(queue=queue, **common, scalars=("slot", "level")) for queue in queues]


class LevelQueueVariant(KernelVariant):
    """A search that expands the queue of one level into that of the next, one launch a level.

    Among the kernel's parameters are ``const int *queue, int *next_queue, int *sizes`` and, last, ``int
    level``. ``sizes`` holds the lengths of the queues of levels modulo 3: a launch reads the length of its
    own level, which the launch before has completed, grows the next one and clears the one after that. So the
    host resets nothing between levels and reads them once after each.
    """

    level_kernel: ClassVar[str]
    """The kernel that expands a level."""

    def arguments(self) -> Mapping[str, Argument]:
        """The kernel's other parameters by their names."""
        return {**self.graph.csr, "levels": self.level_array, "num_vertices": self.num_vertices}

    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory a block."""
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
        """Wait for the queue of a level; how many vertices it has."""
        return int(self.sizes.read_struct().sizes[level % 3])
