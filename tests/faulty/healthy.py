"""The correct base class of the faulty variants; without a name it is not a variant."""

from __future__ import annotations

from bfsbench.backends.base import Kernel
from bfsbench.variants.frontier_numbers import FrontierNumbers


class Healthy(FrontierNumbers):
    """Runs frontier_numbers' kernel under any name."""

    kernel_files = (FrontierNumbers.name,)

    def kernel(self, name: str) -> Kernel:
        return super().kernel(FrontierNumbers.name)
