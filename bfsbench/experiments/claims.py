"""The paper's claims, checked against the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from bfsbench.experiments.choice import use_of
from bfsbench.experiments.declaration import Claim, Relation
from bfsbench.experiments.series import Series, rivals, series_called

if TYPE_CHECKING:
    from bfsbench.experiments.outcome import Outcome

_OPPOSITE: dict[Relation, Relation] = {
    "faster": "slower",
    "slower": "faster",
    "fewer": "more",
    "more": "fewer",
}

Verdict = Literal["not reproduced", "undecided", "reproduced"]
WORST_FIRST: tuple[Verdict, ...] = ("not reproduced", "undecided", "reproduced")


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim on one graph."""

    claim: Claim
    graph: str
    """The graph's title, with its marks."""
    verdict: Verdict
    evidence: str
    """The numbers behind the verdict, or what is missing."""


@dataclass(frozen=True)
class Amount:
    """A quantity of one series on one graph: time in ms, or a count."""

    title: str
    least: float
    typical: float
    """Time of the median sample; equals ``least`` for counts."""
    unit: str

    def __str__(self) -> str:
        return (
            f"{self.title} {self.least:,.4g}{self.unit}" if self.unit else f"{self.title} {self.least:,.0f}"
        )


def findings(outcome: Outcome) -> list[Finding]:
    """Findings on all claims of the experiment and all their graphs; emulated kernels are left out."""
    measured = replace(outcome, rows=outcome.rows[outcome.rows["backend"] != "cpu"])
    return [
        found for claim in outcome.experiment.claims for found in _of_claim(outcome.graphs, measured, claim)
    ]


def verdict_of(found: list[Finding]) -> Verdict:
    """The verdict on a claim as a whole: reproduced if it is reproduced on every graph."""
    return next(verdict for verdict in WORST_FIRST if verdict in {finding.verdict for finding in found})


def _of_claim(graphs: list[str], outcome: Outcome, claim: Claim) -> Iterator[Finding]:
    series = series_called(outcome.experiment, claim.series)
    against = rivals(outcome.experiment, series, claim.versus)
    for label in claim.graphs or [use.title for use in outcome.experiment.graphs]:
        use = outcome.experiment.graph(label)
        names = [name for name in graphs if use_of(outcome.experiment, name) == use]
        if not names:
            yield Finding(claim, use.title, "undecided", "no rows")
        for name in names:
            verdict, evidence = _judged(outcome, claim, name, series, against)
            yield Finding(claim, outcome.title(name), verdict, evidence)


def _judged(
    outcome: Outcome, claim: Claim, graph: str, series: Series, against: list[Series]
) -> tuple[Verdict, str]:
    """The verdict on one graph is the worst verdict over the rivals."""
    ours = _amount(outcome, claim.quantity, series, graph)
    if ours is None:
        return "undecided", f"{claim.quantity} of {series.title} was not measured"
    judged = []
    for rival in against:
        theirs = _amount(outcome, claim.quantity, rival, graph)
        if theirs is None:
            judged.append((1, 0.0, f"{claim.quantity} of {rival.title} was not measured"))
        else:
            judged.append(_compared(claim, ours, theirs))
    worst, _, evidence = min(judged)
    return WORST_FIRST[worst], evidence


def _amount(outcome: Outcome, quantity: str, series: Series, graph: str) -> Amount | None:
    """The best time of a series, or its count summed over the levels of one search."""
    if quantity == "time":
        best = outcome.best(series)
        if graph not in best.index:
            return None
        row = best.loc[[graph]].iloc[0]
        return Amount(series.title, float(row["search_ms"]), float(row["median_ms"]), " ms")
    sums = outcome.counter_sums(series, graph)
    return None if sums is None else Amount(series.title, sums[quantity], sums[quantity], "")


def _compared(claim: Claim, ours: Amount, theirs: Amount) -> tuple[int, float, str]:
    """Place of the verdict in WORST_FIRST, factor, and evidence.

    The factor is of fastest samples. The verdict is undecided when the median sample of one of the two would
    give another one.
    """
    small, large = (ours, theirs) if claim.relation in ("faster", "fewer") else (theirs, ours)
    factor = _ratio(large.least, small.least)
    least, most = _ratio(large.least, small.typical), _ratio(large.typical, small.least)
    evidence = f"{ours}, {theirs}{_in_words(factor, claim.relation)}"
    if claim.by <= least and most <= (claim.at_most or math.inf):
        return 2, factor, evidence
    if most < claim.by or least > (claim.at_most or math.inf):
        return 0, factor, evidence
    return 1, factor, f"{evidence}, within the spread of samples"


def _in_words(factor: float, relation: Relation) -> str:
    """The factor as text, in the direction in which it exceeds 1; empty where one amount is 0."""
    if factor < 1:
        factor, relation = _ratio(1, factor), _OPPOSITE[relation]
    return "" if math.isinf(factor) else f": {factor:.3g} times {relation}"


def _ratio(large: float, small: float) -> float:
    """The ratio, where 0 / 0 is 1 and x / 0 is infinite."""
    if small == 0:
        return 1.0 if large == 0 else math.inf
    return large / small
