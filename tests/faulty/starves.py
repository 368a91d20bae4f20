"""A variant that asks for more memory than there is."""

from __future__ import annotations

from bfsbench.variants.frontier_numbers import FrontierNumbers


class Starves(FrontierNumbers):
    name = "starves"
    aliases = ()
    summary = "asks for more memory than there is"

    def prepare(self) -> None:
        self.device.empty(2**46, "int32")
