"""Classes of graphs, by which ``--knobs auto`` chooses the values of knobs.

The rules were found by tuning every search on one graph of each class (results/h200/tuned.csv). With these
bounds, each of the graphs gets the values that were best for it. Each function takes a graph's statistics,
which :func:`bfsbench.graphs.statistics.describe` returns.
"""

from collections.abc import Mapping

Statistics = Mapping[str, float]


def has_hubs(statistics: Statistics) -> bool:
    """Returns whether some rows are much longer than most, as in social graphs, web crawls, R-MAT and
    Kronecker graphs."""
    return statistics["degree_max"] >= 16 * statistics["degree_mean"]


def has_long_rows(statistics: Statistics) -> bool:
    """Returns whether rows are long enough for a warp. That holds if the graph has hubs, or if its mean
    degree is at least 16."""
    return has_hubs(statistics) or statistics["degree_mean"] >= 16


def is_deep(statistics: Statistics) -> bool:
    """Returns whether a search has many levels with few vertices each, as on roads and lattices."""
    return statistics["diameter_at_least"] >= 500
