"""A variant that stops inside its kernel."""

from __future__ import annotations

from bfsbench.variants.frontier_numbers import FrontierNumbers


class Traps(FrontierNumbers):
    name = "traps"
    aliases = ()
    summary = "stops inside its kernel"

    def work_items(self) -> int:
        return 1
