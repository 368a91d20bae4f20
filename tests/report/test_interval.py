"""The interval of the ratio of two samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from bfsbench.compare.interval import CONFIDENCE, compare_samples

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
    assert compare_samples(calm, slow_and_wild).low == pytest.approx(
        compare_samples(calm, slow).low, abs=0.01
    )
