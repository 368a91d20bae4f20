"""A program that fails only from one source."""

from __future__ import annotations

import os
import time

from bfsbench.variants.base import Knob
from bfsbench.variants.cpu_queue import CpuQueue


class Unlucky(CpuQueue):
    name = "unlucky"
    aliases = ()
    summary = "fails from vertex 2, at its third search"
    knobs = (Knob("FAILURE", "dies", "in what way", choices=("dies", "hangs", "errs")),)
    searches = 0

    def traverse(self, source: int) -> None:
        super().traverse(source)
        self.searches += source == 2
        if source == 2 and self.searches == 3:
            how = self.knob["FAILURE"]
            if how == "dies":
                os._exit(3)
            if how == "hangs":
                time.sleep(100)
            self.level_array[0] += 1
