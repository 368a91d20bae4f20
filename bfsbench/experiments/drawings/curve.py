"""Curves of best times over graphs."""

from __future__ import annotations

from typing import ClassVar, Literal

from bfsbench.experiments.drawings.base import Plot


class Curve(Plot, frozen=True, kw_only=True, tag="curve"):
    """Best time of every series over the graphs, ordered by their size or by their ``x``."""

    shows_times: ClassVar[bool] = True

    x: Literal["num_vertices", "given"] = "num_vertices"
    x_label: str = "vertices"
    log_x: bool = False
    log_y: bool = False
