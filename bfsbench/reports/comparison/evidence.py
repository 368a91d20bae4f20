"""Computes how much evidence a verdict needs: an interval for a ratio of times, and a correction for many
points.

The interval belongs to the rank sum test of Mann and Whitney (Hodges and Lehmann 1963; Bauer 1972). It
contains the factors by which one sample can be scaled so that the test finds no difference. It assumes no
particular distribution of the times, only that the two distributions are equal up to a factor. If repeats are
few, an outlier widens the interval only on the outlier's side. It can leave a point undecided, but it neither
causes nor hides a difference on the other side.

Unchanged code can look slower or faster for two reasons. First, times of two processes differ by more than
the repeats within one process. This run-to-run noise is estimated from sides that have several runs. If no
side has several, it is estimated from the ratios themselves, within bounds, as if no code had changed.
Second, some of 500 points differ by chance. Benjamini and Hochberg (1995) bound the share of these points
among all that are called slower or faster. Their method sorts the p-values. The k-th smallest of m p-values
suffices if it is at most k / m of the allowed rate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
_MOST_EXACT = 2500
"""Number of pairs of repeats above which the rank sum's distribution is taken to be normal."""


@dataclass(frozen=True)
class LogRatio:
    """The natural logarithm of a ratio of times, second sample / first sample.

    ``middle`` is the best estimate. ``low`` and ``high`` are its bounds. Exchanging the samples swaps the
    bounds and changes all signs, exactly.
    """

    middle: float
    low: float
    high: float


def compare_samples(first: Sequence[float], second: Sequence[float]) -> LogRatio:
    """Returns the ratio of two samples of positive times, with bounds. The bounds are infinite if there are
    too few times."""
    ratios = np.sort(np.subtract.outer(np.log(second), np.log(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (-math.inf, math.inf)
    return LogRatio(float(np.median(ratios)), low, high)


@lru_cache
def _cut(first: int, second: int) -> int:
    """Returns the rank k of the sorted ratios that bound the interval: the k-th smallest and the k-th
    largest.

    k is 0 if there are too few ratios. For samples that do not differ, fewer than k pairs favour one sample
    with a probability of at most ``_TAIL``. k is the largest number with this property.
    """
    pairs = first * second
    if pairs > _MOST_EXACT:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return math.floor(pairs / 2 + NormalDist().inv_cdf(_TAIL) * deviation)
    below = np.cumsum(_rank_sum_probabilities(first, second))
    return int(np.count_nonzero(below <= _TAIL))


def _rank_sum_probabilities(first: int, second: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns the distribution of the rank sum statistic, as float64[first * second + 1].

    A pair has one value of the first sample and one value of the second sample. Element k is the probability
    that the second value is smaller in exactly k pairs. The recursion removes the largest value of both
    samples. If this value belongs to the first sample, the second value is smaller in all pairs with it. If
    it belongs to the second sample, it is the smaller value in no pair.
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


FALSE_RATE = 0.05
"""The share of points called slower or faster that may be called so by chance."""
LEAST_NOISE, USUAL_NOISE, MOST_NOISE, MOST_NOISE_ON_HOST = 0.01, 0.03, 0.15, 0.3
"""Bounds of the run-to-run noise, and the value assumed without data. Two runs of unchanged code on a GPU in
a virtual machine differed by 3 % and by 9 % on different days. They differed most where a search returns to
the host at each level. Ratios that vary by more than the upper bound are treated as changes. CPU programs
share caches and memory with other processes, so their upper bound is higher."""
ENOUGH_POINTS = 20
"""The fewest points from which the noise is estimated, and the fewest runs beyond the first of each point."""
RUNS = (1, 3, 5)
"""Numbers of runs on either side for which the power of the test is stated."""
MOST_RUNS = 100
"""The largest number of runs that is advised."""

_NORMAL = NormalDist()
_HALF_WIDTH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
"""Half the width of an interval of CONFIDENCE, in standard errors."""
_LIKELY = _NORMAL.inv_cdf(0.9)
"""The number of runs advised decides a point with a probability of 0.9, if its estimates are right."""
SHARES = (0.5, 0.9)
"""Quantiles of the ratios from which the noise is estimated: the median, and one for the points that vary
most."""


@dataclass(frozen=True)
class Evidence:
    """The evidence about one point, from the repeats in its own rows.

    ``runs`` has the point's number of rows on side A and on side B. Each row comes from a separate process.
    """

    ratio: LogRatio
    runs: tuple[int, int]
    scatter: float = 0.0
    """Sum over both sides of the squared deviations of the runs from their side's mean. A run counts by the
    logarithm of its median."""

    @property
    def share_of_noise(self) -> float:
        """The share of the variance of the run-to-run noise that remains when sides have several runs."""
        return sum(1 / runs for runs in self.runs) / 2

    @property
    def degrees_of_freedom(self) -> int:
        """The degrees of freedom of ``scatter``."""
        return sum(runs - 1 for runs in self.runs)

    @property
    def standard_error(self) -> float:
        """The standard error of the ratio's logarithm, from the spread of the repeats. It is infinite if
        there are too few."""
        return (self.ratio.high - self.ratio.low) / (2 * _HALF_WIDTH)


def run_to_run_noise(points: Sequence[Evidence], most: float = MOST_NOISE) -> float:
    """Returns the standard deviation of the logarithm of a ratio of two runs of unchanged code.

    If too few points have several runs per side, the deviation is estimated from the ratios of all points.
    That estimate is at most ``most``.
    """
    freedom = sum(point.degrees_of_freedom for point in points)
    if freedom >= ENOUGH_POINTS:
        of_one_run = math.sqrt(sum(point.scatter for point in points) / freedom)
        return max(LEAST_NOISE, math.sqrt(2) * of_one_run)
    if len(points) < ENOUGH_POINTS:
        return USUAL_NOISE
    ratios = [abs(point.ratio.middle) / math.sqrt(point.share_of_noise) for point in points]
    spread = np.quantile(ratios, SHARES) / [_NORMAL.inv_cdf((1 + share) / 2) for share in SHARES]
    return float(np.clip(spread.max(), LEAST_NOISE, most))


def p_value(point: Evidence, noise: float, threshold: float) -> float:
    """Returns the probability of a difference this large if the true ratio lies between 1 + ``threshold`` and
    its inverse.

    The test is two-sided and uses the normal distribution.
    """
    error = math.hypot(noise * math.sqrt(point.share_of_noise), point.standard_error)
    beyond = abs(point.ratio.middle) - math.log1p(threshold)
    return 1.0 if math.isinf(error) else min(1.0, 2 * _NORMAL.cdf(-beyond / error))


def enough_evidence(p_values: Sequence[float]) -> float:
    """Returns the largest of the p-values that suffices for a verdict, or 0 if none does."""
    ordered = np.sort(p_values)
    allowed = FALSE_RATE * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    accepted = ordered[ordered <= allowed]
    return float(accepted[-1]) if len(accepted) else 0.0


def runs_that_tell(point: Evidence, noise: float, threshold: float, p_needed: float) -> int | None:
    """Returns the number of runs of each side that are likely to decide an undecided point.

    It includes the runs taken so far, and assumes equally many repeats in each run. It also assumes that the
    true ratio is the middle of the interval. ``p_needed`` is the p-value that a verdict of slower or faster
    needs. Returns None if more than MOST_RUNS would be needed, because the ratio is close to the threshold.
    """
    runs = min(point.runs)
    if math.isinf(point.standard_error):
        return runs + 1
    distance = abs(point.ratio.middle) - math.log1p(threshold)
    spread = point.standard_error * math.sqrt(runs)
    error = math.hypot(noise, spread) if distance > 0 else spread
    z = -_NORMAL.inv_cdf((p_needed if distance > 0 else 1 - CONFIDENCE) / 2) + _LIKELY
    if abs(distance) * math.sqrt(MOST_RUNS) < z * error:
        return None
    return max(runs + 1, math.ceil((z * error / distance) ** 2))


def detected(points: Sequence[Evidence], noise: float, threshold: float) -> dict[int, float]:
    """Returns the least change of a point's time that the test detects with a probability of 0.9, as a share
    of the time.

    The keys are the numbers of runs in RUNS. Each side is assumed to have that many runs.
    """
    known = [point.standard_error * math.sqrt(min(point.runs)) for point in points]
    spread = float(np.median([error for error in known if math.isfinite(error)] or [math.inf]))
    z = -_NORMAL.inv_cdf(FALSE_RATE / max(1, len(points)) / 2) + _LIKELY
    error = math.hypot(noise, spread)
    return {runs: math.expm1(math.log1p(threshold) + z * error / math.sqrt(runs)) for runs in RUNS}
