"""A variant that does not compile."""

from __future__ import annotations

from bfsbench.variants.frontier_numbers import FrontierNumbers


class Misspelt(FrontierNumbers):
    name = "misspelt"
    aliases = ()
    summary = "does not compile"

    def work_items(self) -> int:
        return 1
