"""The ratio of the times of two samples, with a confidence interval.

The interval belongs to the rank sum test of Mann and Whitney (Hodges and Lehmann 1963; Bauer 1972): it
contains the factors by which one sample can be scaled such that the test finds no difference. It assumes no
particular distribution of the times, only that both samples have the same one up to the factor. Where repeats
are few, an outlier widens it on its own side only: it can leave a point undecided, but neither cause nor hide
a difference on the other side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
_MOST_EXACT = 2500
"""Pairs of repeats above which the rank sum's distribution is taken to be normal."""


@dataclass(frozen=True)
class LogRatio:
    """Natural logarithm of the ratio of the second sample's times to the first's: best estimate and bounds.

    Exchanging the samples exchanges the bounds and changes all signs, exactly.
    """

    middle: float
    low: float
    high: float


def compare_samples(first: Sequence[float], second: Sequence[float]) -> LogRatio:
    """The ratio of two samples of positive times. Its bounds are infinite where there are too few."""
    ratios = np.sort(np.subtract.outer(np.log(second), np.log(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (-math.inf, math.inf)
    return LogRatio(float(np.median(ratios)), low, high)


@lru_cache
def _cut(first: int, second: int) -> int:
    """Which of the sorted ratios, counted from either end, bounds the interval; 0 when none does. The largest
    k for which, without a difference, fewer than k pairs favour one sample with a probability of at most
    _TAIL.
    """
    pairs = first * second
    if pairs > _MOST_EXACT:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return math.floor(pairs / 2 + NormalDist().inv_cdf(_TAIL) * deviation)
    below = np.cumsum(_rank_sum_probabilities(first, second))
    return int(np.count_nonzero(below <= _TAIL))


def _rank_sum_probabilities(first: int, second: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """float64[first * second + 1]: the probability that in k pairs the second sample's value is the smaller
    one. A recursion over the largest of all values: if it is the first sample's, all values of the second are
    below it; if it is the second's, it is below none.
    """
    probabilities: dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for n in range(first + 1):
        for m in range(second + 1):
            counts = np.zeros(n * m + 1)
            if n == 0 or m == 0:
                counts[0] = 1
            else:
                counts[m:] += probabilities[m] * (n / (n + m))
                counts[: n * (m - 1) + 1] += probabilities[m - 1] * (m / (n + m))
            probabilities[m] = counts
    return probabilities[second]
