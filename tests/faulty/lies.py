"""A variant that returns a wrong level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from bfsbench.variants.healthy import Healthy


class Lies(Healthy):
    name = "lies"
    aliases = ()
    summary = "returns a wrong level"

    def levels(self) -> npt.NDArray[np.int32]:
        levels = super().levels()
        levels[-1] += 1
        return levels
