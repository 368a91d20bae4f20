"""How far samples lie apart."""

from __future__ import annotations

from bfsbench.experiments.drawings.base import Plot


class Spread(Plot, frozen=True, kw_only=True, tag="spread"):
    """Fastest, median and slowest sample of every series."""
