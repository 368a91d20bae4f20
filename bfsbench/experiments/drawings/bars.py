"""Bars of best times."""

from __future__ import annotations

from typing import ClassVar

from bfsbench.experiments.drawings.base import Plot


class Bars(Plot, frozen=True, kw_only=True, tag="bars"):
    """The best time of every series, a group a graph."""

    shows_times: ClassVar[bool] = True
