"""The paper's claims held against the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from bfsbench.experiments.choice import use_of
from bfsbench.experiments.declaration import Claim
from bfsbench.experiments.series import Series, rivals, series_called

if TYPE_CHECKING:
    import pandas as pd

    from bfsbench.experiments.outcome import Outcome

Verdict = Literal["reproduced", "not reproduced", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What the rows say about a claim on one graph."""

    claim: Claim
    graph: str
    """Title, with its marks."""
    verdict: Verdict
    evidence: str
    """The numbers, or what is missing."""


def findings(outcome: Outcome) -> list[Finding]:
    """All claims of the experiment on all graphs they speak of; times of emulated kernels do not count."""
    measured = replace(outcome, rows=outcome.rows[outcome.rows["backend"] != "cpu"])
    return [
        found for claim in outcome.experiment.claims for found in _of_claim(outcome.graphs, measured, claim)
    ]


def verdict_of(found: list[Finding]) -> Verdict:
    """On a claim as a whole: reproduced where it is so on every graph."""
    verdicts = {finding.verdict for finding in found}
    if "not reproduced" in verdicts:
        return "not reproduced"
    return "reproduced" if verdicts == {"reproduced"} else "undecided"


def _of_claim(graphs: list[str], outcome: Outcome, claim: Claim) -> Iterator[Finding]:
    labels = claim.graphs or [use.title for use in outcome.experiment.graphs]
    series = series_called(outcome.experiment, claim.series)
    against = rivals(outcome.experiment, series, claim.versus)
    for label in labels:
        use = outcome.experiment.graph(label)
        names = [name for name in graphs if use_of(outcome.experiment, name) is use]
        if not names:
            yield Finding(claim, use.title, "undecided", "no rows")
        for name in names:
            verdict, evidence = _judged(outcome, claim, name, series, against)
            yield Finding(claim, outcome.title(name), verdict, evidence)


def _judged(
    outcome: Outcome, claim: Claim, graph: str, series: Series, against: list[Series]
) -> tuple[Verdict, str]:
    """The verdict on one graph is that on the rival for whom it is worst."""
    ours = _best(outcome, series, graph)
    if ours is None:
        return "undecided", f"no measured time of {series.title}"
    judged = []
    for rival in against:
        theirs = _best(outcome, rival, graph)
        if theirs is None:
            judged.append((1, 0.0, f"no measured time of {rival.title}"))
        else:
            judged.append(_compared(claim, ours, theirs, series.title, rival.title))
    worst, _, evidence = min(judged)
    verdicts: tuple[Verdict, ...] = ("not reproduced", "undecided", "reproduced")
    return verdicts[worst], evidence


def _best(outcome: Outcome, series: Series, graph: str) -> pd.Series[float] | None:
    best = outcome.best(series)
    return best.loc[[graph]].iloc[0] if graph in best.index else None


def _compared(
    claim: Claim, ours: pd.Series[float], theirs: pd.Series[float], title: str, rival: str
) -> tuple[int, float, str]:
    """Verdict (0 not reproduced, 1 undecided, 2 reproduced), factor and evidence.

    The factor is of fastest samples. It is undecided when it would fall on the other side of a bound with the
    median sample of one of the two.
    """
    fast, slow = (ours, theirs) if claim.relation == "faster" else (theirs, ours)
    factor = slow["search_ms"] / fast["search_ms"]
    least, most = slow["search_ms"] / fast["median_ms"], slow["median_ms"] / fast["search_ms"]
    at_most = claim.at_most or float("inf")
    evidence = (
        f"{title} {ours['search_ms']:.4g} ms, {rival} {theirs['search_ms']:.4g} ms: "
        f"{factor:.3g} times {claim.relation}"
    )
    if claim.by <= least and most <= at_most:
        return 2, factor, evidence
    if most < claim.by or at_most < least:
        return 0, factor, evidence
    return 1, factor, f"{evidence}, within the spread of samples"
