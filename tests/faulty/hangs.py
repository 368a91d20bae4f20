"""A variant whose kernel never ends."""

from __future__ import annotations

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LevelKernelVariant


class Hangs(LevelKernelVariant):
    name = "hangs"
    summary = "never ends"
    origin = ("the tests",)
    layout = ("CSR",)
    frontier = "none"
    parallel_unit = "a thread"
    work = "unbounded"

    def arguments(self) -> tuple[Argument, ...]:
        return (self.level_array,)

    def work_items(self) -> int:
        return 1
