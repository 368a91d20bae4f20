"""A variant that has a bug in its host loop."""

from __future__ import annotations

from bfsbench.variants.frontier_numbers import FrontierNumbers


class Raises(FrontierNumbers):
    name = "raises"
    aliases = ()
    summary = "has a bug in its host loop"

    def traverse(self, source: int) -> None:
        raise ZeroDivisionError("a bug")
