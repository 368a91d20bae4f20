"""A variant that asks for more memory than there is."""

from __future__ import annotations

from bfsbench.variants.healthy import Healthy


class Starves(Healthy):
    name = "starves"
    aliases = ()
    summary = "asks for more memory than there is"

    def prepare(self) -> None:
        self.device.empty(2**46, "int32")
