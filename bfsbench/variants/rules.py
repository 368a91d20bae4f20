"""Classes of graphs by their statistics, for the rules of ``--knobs auto``.

The rules were found by tuning every search on a graph of each class (results/h200/tuned.csv); the bounds put
each of these graphs where its best values are. ``statistics`` are those of
:func:`bfsbench.graphs.statistics.describe`.
"""

from __future__ import annotations

from collections.abc import Mapping

Statistics = Mapping[str, float]


def has_hubs(statistics: Statistics) -> bool:
    """Whether some rows are much longer than most: social graphs, web crawls, R-MAT and Kronecker graphs."""
    return statistics["degree_max"] >= 16 * statistics["degree_mean"]


def has_long_rows(statistics: Statistics) -> bool:
    """Whether rows keep a warp busy, all of them or those that a level waits for."""
    return has_hubs(statistics) or statistics["degree_mean"] >= 16


def is_deep(statistics: Statistics) -> bool:
    """Whether a search has many levels with few vertices each: roads and lattices."""
    return statistics["diameter_at_least"] >= 500
