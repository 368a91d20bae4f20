"""A variant that has a bug in its host loop."""

from __future__ import annotations

from bfsbench.variants.healthy import Healthy


class Raises(Healthy):
    name = "raises"
    aliases = ()
    summary = "has a bug in its host loop"

    def traverse(self, source: int) -> None:
        raise ZeroDivisionError("a bug")
