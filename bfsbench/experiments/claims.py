"""Checks a paper's claims, such as "A is faster than B on this graph", against measured rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bfsbench.experiments.declaration import Claim, Relation
from bfsbench.experiments.outcome import Outcome, unlike, use_of
from bfsbench.experiments.series import ENTRIES, Series, rivals, series_called
from bfsbench.experiments.sweeps import settings_due
from bfsbench.reports.comparison import THRESHOLD

_OPPOSITE: dict[Relation, Relation] = {
    "faster": "slower",
    "slower": "faster",
    "fewer": "more",
    "more": "fewer",
}

Verdict = Literal["not reproduced", "undecided", "reproduced"]
NO_ROWS = "no rows"
"""The text that stands for the evidence if a claim's graph was not measured."""
WORST_FIRST: tuple[Verdict, ...] = ("not reproduced", "undecided", "reproduced")


@dataclass(frozen=True)
class ClaimCheck:
    """The verdict on one of a paper's claims, for one graph."""

    claim: Claim
    graph: str
    """The graph's title. The title says whether the graph is a stand-in or shrunk."""
    verdict: Verdict
    evidence: str
    """The numbers behind the verdict. If a verdict is impossible, the text says what is missing."""


@dataclass(frozen=True)
class Amount:
    """The quantity that a claim compares, for one series on one graph: a time in ms, or a count."""

    title: str
    least: float
    typical: float
    """The time of the median repeat. For a count, this member equals ``least``."""
    unit: str

    def __str__(self) -> str:
        number = f"{self.least:,.4g}" if self.unit else f"{self.least:,.0f}"
        return f"{self.title} {number}{self.unit}"


def findings(outcome: Outcome) -> list[ClaimCheck]:
    """Returns the verdicts on all claims of the experiment, one for each claim and graph. Rows of emulated
    kernels are ignored."""
    return [one for _, found in findings_by_claim(outcome) for one in found]


def findings_by_claim(outcome: Outcome) -> list[tuple[Claim, list[ClaimCheck]]]:
    """Returns each claim of the experiment with its verdicts, one per graph. Rows of emulated kernels are
    ignored."""
    measured = replace(outcome, rows=outcome.rows[outcome.rows["backend"] != "cpu"])
    return [(claim, [*_of_claim(outcome.graphs, measured, claim)]) for claim in outcome.experiment.claims]


def verdict_of(found: list[ClaimCheck]) -> Verdict:
    """Returns the verdict on a claim as a whole: the worst of its verdicts on single graphs."""
    return next(verdict for verdict in WORST_FIRST if verdict in {finding.verdict for finding in found})


def _of_claim(graphs: list[str], outcome: Outcome, claim: Claim) -> Iterator[ClaimCheck]:
    series = series_called(outcome.experiment, claim.series)
    against = rivals(outcome.experiment, series, claim)
    if ENTRIES in claim.versus:
        against += [one for one in outcome.series if one not in against and one.variant in outcome.programs]
    for label in claim.graphs or [use.title for use in outcome.experiment.graphs]:
        use = outcome.experiment.graph(label)
        names = [name for name in graphs if use_of(outcome.experiment, name) == use]
        if not names:
            yield ClaimCheck(claim, use.title, "undecided", NO_ROWS)
        for name in names:
            verdict, evidence = _judged(outcome, claim, name, series, against)
            vertices = outcome.vertices(name)
            if vertices and (reason := unlike(name, vertices)):
                verdict, evidence = "undecided", f"does not count, as {reason}; {evidence}"
            yield ClaimCheck(claim, outcome.title(name), verdict, evidence)


def _judged(
    outcome: Outcome, claim: Claim, graph: str, series: Series, against: list[Series]
) -> tuple[Verdict, str]:
    """Returns the verdict on a claim for one graph. Also returns the evidence and reasons for doubt, as text.

    The claim compares ``series`` with the rivals in ``against``. The verdict is the worst verdict over all
    rivals. It is "not reproduced" only if ``series`` was tuned with enough settings (see ``settings_due``).
    It is "reproduced" only if all rivals were measured, each with enough settings.
    """
    ours = _amount(outcome, claim.quantity, series, graph)
    if ours is None:
        return "undecided", f"{claim.quantity} of {series.title} was not measured"
    judged, missing = [], []
    weak: dict[str, str] = {}
    for rival in against:
        theirs = _amount(outcome, claim.quantity, rival, graph)
        if theirs is None:
            missing.append(rival.title)
        else:
            judged.append((*_compared(claim, ours, theirs), rival))
            weak |= _weak(outcome, claim, rival, graph)
    if not judged:
        which = ", ".join(missing) or "a rival"
        return "undecided", f"{claim.quantity} of {which} was not measured"
    worst, _, evidence, nearest = min(judged, key=lambda one: one[:2])
    if WORST_FIRST[worst] == "not reproduced":
        missing, weak = [], _weak(outcome, claim, series, graph)
    known = {"not measured": missing, "tuned with too few settings": [*weak.values()]}
    doubts = [f"{what}: {_listed(names)}" for what, names in known.items() if names]
    remarks = [evidence, *doubts, *_about_host(outcome, graph, (series, nearest))]
    return "undecided" if doubts else WORST_FIRST[worst], "; ".join(remarks)


_MOST_NAMED = 5


def _weak(outcome: Outcome, claim: Claim, series: Series, graph: str) -> dict[str, str]:
    """Returns a dictionary that maps a series' title to a remark, if the series was measured with too few
    settings for a verdict. Otherwise, returns an empty dictionary. The remark gives the number of settings
    measured and the number needed."""
    due = settings_due(outcome.experiment, series) if claim.quantity == "time" else 0
    have = outcome.num_settings(series, graph)
    return {series.title: f"{series.title} ({have} of {due})"} if have < due else {}


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMED])} and {more} more"


def _about_host(outcome: Outcome, graph: str, compared: tuple[Series, ...]) -> list[str]:
    """Returns a remark for each of the compared series that is a CPU program.

    The remark says whether a faster CPU program is known. If only this CPU program was measured, the remark
    says so.
    """
    times, remarks = outcome.host_times(graph), []
    for series in compared:
        if series.variant in times:
            fastest = min(times, key=lambda name: times[name])
            factor = times[series.variant] / times[fastest]
            says = "the fastest CPU program in the rows"
            if factor > 1:
                both = ", ".join(f"{name} {times[name]:,.4g} ms" for name in (series.variant, fastest))
                says = f"a slow CPU program (best times in all files: {both})"
            elif len(times) == 1:
                says = "perhaps a slow CPU program: no other one was measured"
            remarks.append(f"rests on {series.title}, {says}")
    return remarks


def _amount(outcome: Outcome, quantity: str, series: Series, graph: str) -> Amount | None:
    """Returns the best time of a series on a graph, or the sum of a counter over the levels if ``quantity``
    is a counter. Returns None if the quantity was not measured."""
    if quantity == "time":
        best = outcome.best(series)
        if graph not in best.index:
            return None
        row = best.loc[[graph]].iloc[0]
        return Amount(series.title, float(row["search_ms"]), float(row["median_ms"]), " ms")
    sums = outcome.counter_sums(series, graph)
    return None if sums is None else Amount(series.title, sums[quantity], sums[quantity], "")


def _compared(claim: Claim, ours: Amount, theirs: Amount) -> tuple[int, float, str]:
    """Checks a claim that compares two amounts. Returns the verdict as its index in WORST_FIRST, the factor
    between the amounts, and the evidence as text.

    The factor is computed from the fastest repeats. The verdict is undecided if the factor differs from a
    limit of the claim by at most THRESHOLD, because times vary from run to run. The verdict is also undecided
    if replacing the fastest repeat of one series by its median repeat would change the verdict.
    """
    small, large = (ours, theirs) if claim.relation in ("faster", "fewer") else (theirs, ours)
    factor = _ratio(large.least, small.least)
    least, most = _ratio(large.least, small.typical), _ratio(large.typical, small.least)
    evidence = f"{ours}, {theirs}{_in_words(factor, claim.relation)}{_limits(claim)}"
    lower, upper = claim.by, claim.at_most or math.inf
    near, beyond = factor / (1 + THRESHOLD), factor * (1 + THRESHOLD)
    for limit in (lower, upper):
        if near <= limit <= beyond and factor < math.inf:
            return 1, factor, f"{evidence}, within {100 * THRESHOLD:g} % of the claim's limit of {limit:g}"
    if lower <= least and most <= upper:
        return 2, factor, evidence
    if most < lower or least > upper:
        return 0, factor, evidence
    return 1, factor, f"{evidence}, within the spread of samples"


def _limits(claim: Claim) -> str:
    """Returns the range of factors that a claim allows as text, such as `` (claim: 0.5 to 2 times faster)``.
    The text is empty if the claim gives no factor."""
    if claim.at_most is not None:
        return f" (claim: {claim.by:g} to {claim.at_most:g} times {claim.relation})"
    return "" if claim.by == 1 else f" (claim: at least {claim.by:g} times {claim.relation})"


def _in_words(factor: float, relation: Relation) -> str:
    """Returns a factor as text, such as ``: 2.5 times faster``.

    If the factor is below 1, the text has its reciprocal and the opposite word, such as ``slower``. The text
    is empty for an infinite factor.
    """
    if factor < 1:
        factor, relation = _ratio(1, factor), _OPPOSITE[relation]
    return "" if math.isinf(factor) else f": {factor:.3g} times {relation}"


def _ratio(large: float, small: float) -> float:
    """Returns large / small, where 0 / 0 is 1 and x / 0 is infinite."""
    if small == 0:
        return 1.0 if large == 0 else math.inf
    return large / small
