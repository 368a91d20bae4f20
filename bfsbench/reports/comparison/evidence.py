"""Computes the statistics behind a verdict: an interval for a ratio of times, and a correction for testing
many points.

The interval belongs to the rank sum test of Mann and Whitney (Hodges and Lehmann 1963; Bauer 1972). It
contains the factors by which one sample can be scaled so that the test finds no difference. The test assumes
no particular distribution of the times, only that the two distributions are equal up to a factor. If there
are few repeats, an outlier widens the interval only in the outlier's direction. So an outlier can prevent a
verdict, but it cannot cause a difference.

Unchanged code can look slower or faster for two reasons. First, times of two processes differ by more than
the repeats within one process. This run-to-run noise is estimated from configurations that were measured in
several runs. If there are too few of these configurations, the noise is estimated from the ratios, within
bounds, as if no code had changed. Without enough ratios, a usual value is assumed. Second, some of many
compared configurations differ by chance. The method of Benjamini and Hochberg (1995) bounds the share of
these chance findings among all configurations that are called slower or faster. The method sorts the
p-values. The k-th smallest of m p-values suffices if it is at most k / m of the allowed rate.
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
"""The largest number of pairs of repeats for which the rank sum's exact distribution is computed. For more
pairs, the normal approximation is used."""


@dataclass(frozen=True)
class LogRatio:
    """The natural logarithm of a ratio of times, second sample / first sample.

    ``middle`` is the best estimate. ``low`` and ``high`` are the ends of its confidence interval. Exchanging
    the two samples exchanges the ends and negates all three numbers, without rounding errors.
    """

    middle: float
    low: float
    high: float


def compare_samples(first: Sequence[float], second: Sequence[float]) -> LogRatio:
    """Compares two samples of positive times. Returns the logarithm of the ratio second / first, with a
    confidence interval. The interval is infinite if there are too few times."""
    ratios = np.sort(np.subtract.outer(np.log(second), np.log(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (-math.inf, math.inf)
    return LogRatio(float(np.median(ratios)), low, high)


@lru_cache
def _cut(first: int, second: int) -> int:
    """Returns the number k for which the k-th smallest and the k-th largest ratio are the ends of the
    confidence interval.

    ``first`` and ``second`` are the sizes of the two samples. The ratios are all values of one sample divided
    by all values of the other. k is the largest number for which each end lies on the wrong side of the true
    ratio with a probability of at most ``_TAIL``. k is 0 if there are too few ratios for an interval.
    """
    pairs = first * second
    if pairs > _MOST_EXACT:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return math.floor(pairs / 2 + NormalDist().inv_cdf(_TAIL) * deviation)
    below = np.cumsum(_rank_sum_probabilities(first, second))
    return int(np.count_nonzero(below <= _TAIL))


def _rank_sum_probabilities(first: int, second: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns the distribution of the Mann-Whitney U statistic, as float64[first * second + 1].

    ``first`` and ``second`` are the sizes of two samples from one distribution. U is the number of pairs (x
    from the first sample, y from the second sample) with y < x. Element k is the probability that U is k.

    A recursion over the sizes n and m of the samples removes the largest of all n + m values. The largest
    value is in the first sample with probability n / (n + m). Then all its m pairs add to U. Otherwise none
    of its n pairs add to U.
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
"""The largest accepted share of chance findings among the configurations that are called slower or faster."""
LEAST_NOISE, USUAL_NOISE, MOST_NOISE, MOST_NOISE_ON_HOST = 0.01, 0.03, 0.15, 0.3
"""The run-to-run noise: its lower bound, the value assumed without data, and its upper bounds for GPU kernels
and for CPU programs. Two runs of unchanged code on a GPU in a virtual machine differed by 3 % on one day and
by 9 % on another. Searches that return to the host at each level differed most. Ratios that vary by more than
the upper bound are treated as changes. CPU programs share caches and memory with other processes, so their
upper bound is higher."""
ENOUGH_POINTS = 20
"""The minimum number of compared configurations, or of repeated runs of configurations, from which the
run-to-run noise can be estimated."""
RUNS = (1, 3, 5)
"""Numbers of runs per side for which reports state the power of the test."""
MOST_RUNS = 100
"""The maximum number of runs that a report recommends for deciding an undecided comparison."""

_NORMAL = NormalDist()
_HALF_WIDTH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
"""Half the width of a confidence interval with the probability CONFIDENCE, in standard errors."""
_LIKELY = _NORMAL.inv_cdf(0.9)
"""The 0.9 quantile of the normal distribution. With it, the advised number of runs decides an undecided
comparison with a probability of 0.9."""
SHARES = (0.5, 0.9)
"""Quantiles of the ratios from which the run-to-run noise is estimated: the median, and a high quantile for
the configurations that vary most."""


@dataclass(frozen=True)
class Evidence:
    """The evidence about one configuration that has times on both sides of a comparison, A and B.

    ``runs`` gives the number of rows on side A and on side B. Each row comes from a separate process.
    """

    ratio: LogRatio
    runs: tuple[int, int]
    scatter: float = 0.0
    """Sum of the squared deviations of the runs from the mean of their side, over both sides. The value of a
    run is the logarithm of its median time."""

    @property
    def share_of_noise(self) -> float:
        """The fraction of the variance between runs that remains after the times of each side's runs are
        averaged. It is 1 if each side has one run."""
        return sum(1 / runs for runs in self.runs) / 2

    @property
    def degrees_of_freedom(self) -> int:
        """The degrees of freedom of the variance that is estimated from ``scatter``: the number of runs minus
        one, summed over both sides."""
        return sum(runs - 1 for runs in self.runs)

    @property
    def standard_error(self) -> float:
        """The standard error of the ratio's logarithm, from the spread of the repeats. It is infinite if
        there are too few repeats."""
        return (self.ratio.high - self.ratio.low) / (2 * _HALF_WIDTH)


def run_to_run_noise(points: Sequence[Evidence], most: float = MOST_NOISE) -> float:
    """Estimates how much the times of two runs differ although the code is unchanged. Returns the standard
    deviation of the logarithm of the ratio of the two times.

    If too few configurations have several runs per side, the deviation is estimated from the ratios of all
    configurations in ``points``. This estimate is at most ``most``. If there are fewer than ENOUGH_POINTS
    configurations, USUAL_NOISE is returned. The result is never below LEAST_NOISE.
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
    """Returns the two-sided p-value of a difference between two samples. It is the probability of a
    difference at least this large, if the true ratio lies between 1 / (1 + ``threshold``) and 1 +
    ``threshold``.

    The logarithm of the ratio is assumed to be normally distributed.
    """
    error = math.hypot(noise * math.sqrt(point.share_of_noise), point.standard_error)
    beyond = abs(point.ratio.middle) - math.log1p(threshold)
    return 1.0 if math.isinf(error) else min(1.0, 2 * _NORMAL.cdf(-beyond / error))


def enough_evidence(p_values: Sequence[float]) -> float:
    """Returns the largest of the p-values that suffices for a verdict of slower or faster, by the method of
    Benjamini and Hochberg. Returns 0 if no p-value suffices."""
    ordered = np.sort(p_values)
    allowed = FALSE_RATE * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    accepted = ordered[ordered <= allowed]
    return float(accepted[-1]) if len(accepted) else 0.0


def runs_that_tell(point: Evidence, noise: float, threshold: float, p_needed: float) -> int | None:
    """Returns an estimate of how many runs per side a verdict needs on a configuration that is undecided so
    far. The number includes the runs that were made already.

    The estimate assumes that all runs have the same number of repeats, and that the true ratio is the middle
    of the confidence interval. ``p_needed`` is the p-value that a verdict of slower or faster needs. Returns
    None if more than MOST_RUNS would be needed, because the ratio is close to the threshold.
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
    """Returns the smallest change of one configuration's time that the statistical test detects with a
    probability of 0.9. The dictionary maps each number of runs per side in RUNS to this change, such as 0.08
    for 8 %.

    The test is less likely to detect smaller changes.
    """
    known = [point.standard_error * math.sqrt(min(point.runs)) for point in points]
    spread = float(np.median([error for error in known if math.isfinite(error)] or [math.inf]))
    z = -_NORMAL.inv_cdf(FALSE_RATE / max(1, len(points)) / 2) + _LIKELY
    error = math.hypot(noise, spread)
    return {runs: math.expm1(math.log1p(threshold) + z * error / math.sqrt(runs)) for runs in RUNS}
