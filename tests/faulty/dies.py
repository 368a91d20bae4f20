"""A variant that takes its process with it."""

from __future__ import annotations

import os
import signal

from bfsbench.variants.frontier_numbers import FrontierNumbers


class Dies(FrontierNumbers):
    name = "dies"
    aliases = ()
    summary = "takes its process with it"

    def traverse(self, source: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
