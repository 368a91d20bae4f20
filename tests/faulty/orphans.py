"""A variant that kills its parent process."""

from __future__ import annotations

import os
import signal
import time

from bfsbench.variants.healthy import Healthy


class Orphans(Healthy):
    name = "orphans"
    aliases = ()
    summary = "kills its parent process"

    def traverse(self, source: int) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
