"""A variant that takes its process with it."""

from __future__ import annotations

import os
import signal

from bfsbench.variants.healthy import Healthy


class Dies(Healthy):
    name = "dies"
    aliases = ()
    summary = "takes its process with it"

    def traverse(self, source: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
