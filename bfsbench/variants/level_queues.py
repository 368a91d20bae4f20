"""What searches with a queue of vertices per level have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.variants.base import KernelVariant


class LevelQueueVariant(KernelVariant):
    """A search that expands the queue of one level into that of the next, one launch a level.

    The kernel's last parameters are ``const int *queue, int *next_queue, int *sizes, int level``. ``sizes``
    holds the lengths of the queues of levels modulo 3: a launch reads the length of its own level, which the
    launch before has completed, grows the next one and clears the one after that. So the host resets nothing
    between levels and reads one word after each.
    """

    level_kernel: ClassVar[str]
    """The kernel that expands a level."""
    state_words: ClassVar[int] = 3
    """Words of ``sizes``; what follows the three lengths is the variant's own."""

    @abstractmethod
    def arguments(self) -> tuple[Argument, ...]:
        """The kernel's parameters before the queues."""

    def shared_memory(self) -> int:
        """Bytes of dynamic shared memory a block."""
        return 0

    def prepare(self) -> None:
        self.queues = [self.device.empty(self.num_vertices, "int32") for _ in range(2)]
        self.sizes = self.device.signal(self.state_words)
        kernel, arguments, shared = self.kernel(self.level_kernel), self.arguments(), self.shared_memory()
        even, odd = self.queues
        self.expand = [
            kernel.bind(*arguments, source, target, self.sizes, block=self.block, shared=shared, scalars=1)
            for source, target in ((even, odd), (odd, even))
        ]

    def reset(self, source: int) -> None:
        super().reset(source)
        self.sizes.fill(0)
        self.sizes.fill(1, index=0)
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
        return self.sizes.read(level % 3)
