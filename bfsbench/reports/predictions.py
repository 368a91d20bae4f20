"""Measures how well the predicted times in a table agree with the measured times in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NEAR = 2.0
"""The largest factor between predicted and measured time for which ``Trust.share_near`` counts a
prediction."""


@dataclass(frozen=True)
class Trust:
    """Statistics of how well predicted times agree with measured times.

    The factor of a prediction is predicted / measured time, or measured / predicted time, whichever is
    larger.
    """

    searches: int
    rank: float
    """Spearman's rank correlation of predicted and measured times over all searches."""
    rank_by_graph: dict[str, float]
    """Spearman's rank correlation of predicted and measured times, over the searches of each graph."""
    bias: float
    """Geometric mean of predicted / measured times."""
    factor: float
    """Median over all searches of the factor between predicted and measured time."""
    share_near: float
    """Share of the searches whose predicted and measured times differ by at most the factor NEAR."""
    factor_by_graph: dict[str, float]
    """Median factor between predicted and measured time on each graph. The predictions are first divided by
    the bias over all other graphs."""


def trust(table: pd.DataFrame, column: str = "predicted_ms") -> Trust:
    """Compares the predicted times in ``column`` with the measured times in ``measured_ms``. Returns the
    statistics.

    ``table`` has one line per search. It also needs the columns ``graph`` and ``variant``.
    """
    import numpy as np
    import pandas as pd

    log = pd.Series(np.log(table[column] / table["measured_ms"]), index=table.index)
    factors = log.abs().map(np.exp)
    graphs = table["graph"].unique()
    left_out = {graph: log[table["graph"] == graph] - log[table["graph"] != graph].mean() for graph in graphs}
    return Trust(
        searches=len(table),
        rank=_rank(table, column),
        rank_by_graph={str(graph): _rank(some, column) for graph, some in table.groupby("graph", sort=False)},
        bias=float(np.exp(log.mean())),
        factor=float(factors.median()),
        share_near=float((factors <= NEAR).mean()),
        factor_by_graph={str(graph): float(np.exp(logs.abs().median())) for graph, logs in left_out.items()},
    )


def baseline(table: pd.DataFrame) -> Trust:
    """Returns the statistics of a simple prediction that does not use the counters of the emulator. A real
    prediction should be better.

    The simple prediction for a search is the geometric mean of its variant's measured times in all other
    lines of ``table``.
    """
    import numpy as np

    log = np.log(table["measured_ms"])
    of_variant = log.groupby(table["variant"])
    others = (of_variant.transform("sum") - log) / (of_variant.transform("size") - 1)
    return trust(table.assign(usual_ms=np.exp(others)), "usual_ms")


def _rank(table: pd.DataFrame, column: str) -> float:
    return float(table[column].corr(table["measured_ms"], method="spearman"))
