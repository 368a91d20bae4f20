"""Classes of graphs by their statistics, for the rules of ``--knobs auto``.

The rules were found by tuning every search on a graph of each class (results/h200/tuned.csv); with these
bounds each of the graphs gets the values that were best for it. ``statistics`` are those of
:func:`bfsbench.graphs.statistics.describe`.
"""

from collections.abc import Mapping

Statistics = Mapping[str, float]


def has_hubs(statistics: Statistics) -> bool:
    """Whether some rows are much longer than most: social graphs, web crawls, R-MAT and Kronecker graphs."""
    return statistics["degree_max"] >= 16 * statistics["degree_mean"]


def has_long_rows(statistics: Statistics) -> bool:
    """Whether rows are long enough for a warp: all of them, or the hubs that dominate a level."""
    return has_hubs(statistics) or statistics["degree_mean"] >= 16


def is_deep(statistics: Statistics) -> bool:
    """Whether a search has many levels with few vertices each: roads and lattices."""
    return statistics["diameter_at_least"] >= 500
