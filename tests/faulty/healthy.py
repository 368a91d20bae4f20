"""What the faulty variants are but for their fault; it has no name and is none itself."""

from __future__ import annotations

from bfsbench.backends.base import Kernel
from bfsbench.variants.frontier_numbers import FrontierNumbers


class Healthy(FrontierNumbers):
    """Runs frontier_numbers' kernel under whatever name."""

    kernel_files = (FrontierNumbers.name,)

    def kernel(self, name: str) -> Kernel:
        return super().kernel(FrontierNumbers.name)
