"""A variant that takes its time where the environment says so."""

from __future__ import annotations

import os
import time

from bfsbench.variants.healthy import Healthy


class Dawdles(Healthy):
    name = "dawdles"
    aliases = ()
    summary = "takes as many seconds more as DAWDLE_S says"

    def traverse(self, source: int) -> None:
        time.sleep(float(os.environ.get("DAWDLE_S", "0")))
        super().traverse(source)
