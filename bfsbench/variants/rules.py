"""Classifies graphs. The preset ``--knobs auto`` chooses knob values by a graph's classes.

The limits between the classes are numbers in this module. We found them by tuning every search on one graph
of each class (results/h200/tuned.csv). They give each of these graphs the knob values that were best for it.
Each function takes the statistics of a graph, which :func:`bfsbench.graphs.statistics.describe` returns.
"""

from collections.abc import Mapping

Statistics = Mapping[str, float]


def has_hubs(statistics: Statistics) -> bool:
    """Returns whether the largest degree is at least 16 times the mean degree. This holds for social graphs,
    web crawls, R-MAT graphs and Kronecker graphs."""
    return statistics["degree_max"] >= 16 * statistics["degree_mean"]


def has_long_rows(statistics: Statistics) -> bool:
    """Returns whether rows are long enough to keep a whole warp busy. This holds if the graph has hubs, or if
    its mean degree is at least 16."""
    return has_hubs(statistics) or statistics["degree_mean"] >= 16


def is_deep(statistics: Statistics) -> bool:
    """Returns whether the diameter of the graph is known to be at least 500. A search then has many levels
    with few vertices each, as in road networks and lattices."""
    return statistics["diameter_at_least"] >= 500
