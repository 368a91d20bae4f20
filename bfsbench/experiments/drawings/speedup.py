"""Speed-ups over one series."""

from __future__ import annotations

from typing import ClassVar

from bfsbench.experiments.drawings.base import Plot


class SpeedUp(Plot, frozen=True, kw_only=True, tag="speedup"):
    """Time of ``baseline`` / time of each series, a group a graph."""

    shows_times: ClassVar[bool] = True

    baseline: str = "cpu_queue"

    @property
    def compared(self) -> list[str]:
        return [self.baseline]

    def options(self) -> dict[str, object]:
        return {"baselines": (self.baseline,)}
