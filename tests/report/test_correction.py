"""Verdicts on many points at once, and how many repeats an undecided one needs."""

import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st
from result_rows import row
from scipy.stats import mannwhitneyu

from bfsbench.reports.comparison.evidence import (
    CONFIDENCE,
    FALSE_RATE,
    MOST_NOISE,
    USUAL_NOISE,
    compare_samples,
    enough_evidence,
)
from bfsbench.reports.comparison.points import FASTER, SAME, SLOWER, UNDECIDED, Comparison, Side, compare
from tests.parameters import one_in

NUM_POINTS, REPEATS = 500, 5
Times = npt.NDArray[np.float64]
"""Of shape [point, run, repeat]."""


def measured(seed: int, *, spread: float, noise: float, runs: int = 1, points: int = NUM_POINTS) -> Times:
    """Times of unchanged code: ``spread`` within a run, ``noise`` from run to run."""
    random = np.random.default_rng(seed)
    of_run = random.normal(0, noise, (points, runs, 1))
    return np.exp(of_run + random.normal(0, spread, (points, runs, REPEATS)))


def compared(first: Times, second: Times) -> Comparison:
    sides = []
    for name, times in (("a", first), ("b", second)):
        rows = [
            row(min(samples), source=source, search_ms_samples=";".join(map(str, samples)))
            for source, of_point in enumerate(times.tolist())
            for samples in of_point
        ]
        sides.append(Side(name, [{key: str(value) for key, value in one.items()} for one in rows]))
    return compare(*sides, 0.05)


def verdicts(found: Comparison) -> Counter[str]:
    return Counter(point.verdict for point in found.points)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_it_is_the_procedure_of_benjamini_and_hochberg(p_values: list[float]) -> None:
    from scipy.stats import false_discovery_control  # takes a second, and each worker imports this module

    accepted = np.asarray(p_values) <= enough_evidence(p_values)
    adjusted = false_discovery_control(p_values)
    assert all(accepted[adjusted < FALSE_RATE - 1e-9])
    assert not any(accepted[adjusted > FALSE_RATE + 1e-9])


@pytest.mark.parametrize(("spread", "noise"), [(0.001, 0.03), (0.01, 0.02), (0.05, 0.12), (0.2, 0.0)])
def test_of_500_unchanged_points_at_most_1_percent_are_called_changed(spread: float, noise: float) -> None:
    for seed in (1, 3, 5):
        first, second = (measured(seed + side, spread=spread, noise=noise / 2**0.5) for side in (0, 1))
        found = verdicts(compared(first, second))
        assert found[SLOWER] + found[FASTER] <= NUM_POINTS // 100


@pytest.mark.parametrize("changed", [1, 20, 400])
def test_clear_changes_are_found_among_many(changed: int) -> None:
    first, second = measured(1, spread=0.01, noise=0.01), measured(2, spread=0.01, noise=0.01)
    second[:changed] *= 1.5
    found = compared(first, second)
    assert found.noise["cuda"] <= MOST_NOISE
    assert [point.verdict for point in found.points[:changed]] == [SLOWER] * changed
    assert verdicts(found)[FASTER] == 0
    assert verdicts(found)[SLOWER] <= 1.1 * changed + 1


@pytest.mark.parametrize(("factor", "verdict"), one_in(2, [(1.0, SAME), (1.15, SLOWER)]))
def test_as_many_repeats_as_advised_decide_most_points(factor: float, verdict: str) -> None:
    sides = [measured(seed, spread=0.03, noise=0.014, runs=12, points=300) for seed in (7, 8)]
    sides[1][:30] *= factor
    once = compared(*(side[:, :1] for side in sides)).points[:30]
    undecided = (point for point in once if point.verdict == UNDECIDED)
    advised = {int(point.axes[1]): point for point in undecided if point.runs_needed}
    advised = {place: point for place, point in advised.items() if (point.runs_needed or 0) <= 12}
    assert len(advised) > 10
    decided = 0
    for runs in {point.runs_needed for point in advised.values()}:
        again = compared(*(side[:, :runs] for side in sides)).points
        decided += sum(
            again[k].verdict == verdict for k, point in advised.items() if point.runs_needed == runs
        )
    assert decided >= 0.75 * len(advised)
    assert all(point.repeats_needed == REPEATS * (point.runs_needed or 0) for point in advised.values())


def test_runs_of_one_side_show_the_noise_whatever_has_changed() -> None:
    sides = [measured(seed, spread=0.01, noise=0.02, runs=3, points=60) for seed in (1, 2)]
    sides[1] *= 1.2
    found = compared(*sides)
    assert found.noise["cuda"] == pytest.approx(0.02 * 2**0.5, rel=0.3)
    assert verdicts(found) == {SLOWER: 60}


def test_few_points_of_one_run_are_taken_to_vary_as_usual() -> None:
    found = compared(*(measured(seed, spread=0.001, noise=0, points=5) for seed in (1, 2)))
    assert found.noise["cuda"] == USUAL_NOISE


times = st.floats(1e-4, 1e4)
samples = st.lists(times, min_size=1, max_size=9)


@given(samples, samples)
def test_exchanging_the_samples_mirrors_everything(first: list[float], second: list[float]) -> None:
    there, back = compare_samples(first, second), compare_samples(second, first)
    assert (back.low, back.middle, back.high) == (-there.high, -there.middle, -there.low)
    assert there.low <= there.middle <= there.high


@given(samples)
def test_a_sample_does_not_differ_from_itself(sample: list[float]) -> None:
    found = compare_samples(sample, sample)
    assert found.low <= 0 <= found.high
    assert found.middle == 0


@given(st.lists(times, min_size=4, max_size=9), st.lists(times, min_size=4, max_size=9), st.floats(0.5, 2))
def test_scaling_a_sample_shifts_the_interval(first: list[float], second: list[float], by: float) -> None:
    found, scaled = compare_samples(first, second), compare_samples(first, [by * time for time in second])
    for name in ("low", "middle", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(found, name) + math.log(by), abs=1e-9)


@given(
    st.lists(times, min_size=3, max_size=7, unique=True), st.lists(times, min_size=3, max_size=7, unique=True)
)
def test_it_excludes_equality_when_the_rank_sum_test_does(first: list[float], second: list[float]) -> None:
    if set(first) & set(second):
        return
    found = compare_samples(first, second)
    p = mannwhitneyu(first, second, method="exact").pvalue
    assert (found.low > 0 or found.high < 0) == (p <= 1 - CONFIDENCE + 1e-12)


@pytest.mark.parametrize(
    ("first", "second", "bounded"), [(3, 3, False), (3, 5, True), (4, 4, True), (1, 30, False)]
)
def test_few_repeats_bound_nothing(first: int, second: int, bounded: bool) -> None:
    found = compare_samples([1.0] * first, [2.0] * second)
    assert math.isfinite(found.low) == math.isfinite(found.high) == bounded
    assert found.middle == pytest.approx(math.log(2))


@pytest.mark.parametrize("size", [5, 12, 60])  # 60 x 60 pairs are approximated
def test_it_holds_the_true_ratio_as_often_as_it_says(size: int) -> None:
    random = np.random.default_rng(size)
    held = 0
    for _ in range(1000):
        first, second = random.lognormal(0, 0.1, (2, size))
        found = compare_samples(list(first), list(1.3 * second))
        held += found.low <= math.log(1.3) <= found.high
    assert 0.93 <= held / 1000 <= 0.99


def test_a_wild_repeat_neither_makes_nor_hides_a_difference() -> None:
    calm, wild = [1.0, 1.001, 1.002, 1.003, 1.004], [1.0, 1.001, 1.002, 1.003, 9.0]
    assert compare_samples(calm, wild).low < 0 < compare_samples(calm, wild).high
    slow, slow_and_wild = [1.2 * time for time in calm], [1.2 * time for time in wild]
    low = compare_samples(calm, slow).low
    assert compare_samples(calm, slow_and_wild).low == pytest.approx(low, abs=0.01)
