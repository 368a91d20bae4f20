"""What each part of a search contributes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from bfsbench.experiments.drawings.base import Plot


class Ablation(Plot, frozen=True, kw_only=True, tag="ablation"):
    """Speed-up over ``baseline`` as parts are added, in the order of ``series``."""

    shows_times: ClassVar[bool] = True

    baseline: str = "cpu_queue"
    references: list[str] = msgspec.field(default_factory=list)
    """Series drawn as lines across the bars."""

    @property
    def compared(self) -> list[str]:
        return [self.baseline, *self.references]
