"""How much evidence a verdict needs: the interval of a ratio of times, and a correction for many points.

The interval belongs to the rank sum test of Mann and Whitney (Hodges and Lehmann 1963; Bauer 1972): it
contains the factors by which one sample can be scaled such that the test finds no difference. It assumes no
particular distribution of the times, only that both samples have the same one up to the factor. Where repeats
are few, an outlier widens it on its own side only: it can leave a point undecided, but neither cause nor hide
a difference on the other side.

Two things make unchanged code look slower or faster. Times differ between processes by more than the repeats
within one process show. This run-to-run noise is estimated from the runs of a side that has several; where
neither has, from the ratios themselves, within bounds, as if no code had changed. And of 500 points some
differ by chance. Benjamini and Hochberg (1995) bound the share of such points among all that are called
slower or faster: the p-values are sorted, and the k-th smallest of m suffices if it is at most k / m of the
rate allowed.
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


FALSE_RATE = 0.05
"""Share of the points called slower or faster that may be so by chance."""
LEAST_NOISE, USUAL_NOISE, MOST_NOISE, MOST_NOISE_ON_HOST = 0.01, 0.03, 0.15, 0.3
"""The run-to-run noise: its bounds, and the value assumed without data. Two runs of unchanged code on a GPU
in a virtual machine differed by 3 % and by 9 % on different days, most where a search returns to the host at
each level. Ratios that vary by more than the upper bound are treated as changes. Programs of the CPU share
caches and memory with other processes."""
ENOUGH_POINTS = 20
"""Fewest points, or runs beyond the first of a point, that the noise is estimated from."""
RUNS = (1, 3, 5)
"""Runs on either side that the power of the test is stated for."""
MOST_RUNS = 100
"""Most runs that are advised."""

_NORMAL = NormalDist()
_HALF_WIDTH = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
"""Half-width of an interval of that confidence, in standard errors."""
_LIKELY = _NORMAL.inv_cdf(0.9)
"""The runs advised are to decide a point with a probability of 0.9, if its estimates are right."""
SHARES = (0.5, 0.9)
"""Quantiles of the ratios that estimate the noise: a central one, and one of the points that vary most."""


@dataclass(frozen=True)
class Evidence:
    """The evidence in a point's own repeats. ``runs`` counts the rows of each side; each run is a separate
    process."""

    ratio: LogRatio
    runs: tuple[int, int]
    scatter: float = 0.0
    """Of the runs of each side: squared deviations of the logarithms of their medians from their mean."""

    @property
    def share_of_noise(self) -> float:
        """The variance of the run-to-run noise that remains when sides have several runs."""
        return sum(1 / runs for runs in self.runs) / 2

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of ``scatter``."""
        return sum(runs - 1 for runs in self.runs)

    @property
    def standard_error(self) -> float:
        """Standard error of the ratio's logarithm, from the spread of the repeats; infinite where they are
        too few."""
        return (self.ratio.high - self.ratio.low) / (2 * _HALF_WIDTH)


def run_to_run_noise(points: Sequence[Evidence], most: float = MOST_NOISE) -> float:
    """Standard deviation of the logarithm of a ratio where nothing has changed, one run on either side; at
    most ``most`` where no side has several runs."""
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
    """The probability of a difference this large if the true ratio lies between 1 + ``threshold`` and its
    inverse. A two-sided test by the normal distribution."""
    error = math.hypot(noise * math.sqrt(point.share_of_noise), point.standard_error)
    beyond = abs(point.ratio.middle) - math.log1p(threshold)
    return 1.0 if math.isinf(error) else min(1.0, 2 * _NORMAL.cdf(-beyond / error))


def enough_evidence(p_values: Sequence[float]) -> float:
    """The largest of these p-values that suffices for a verdict; 0 where none does."""
    ordered = np.sort(p_values)
    allowed = FALSE_RATE * np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    accepted = ordered[ordered <= allowed]
    return float(accepted[-1]) if len(accepted) else 0.0


def runs_that_tell(point: Evidence, noise: float, threshold: float, p_needed: float) -> int | None:
    """Runs of each side, those taken included and with as many repeats each, that are likely to decide an
    undecided point. The estimate takes the middle of the interval for the true ratio. ``p_needed`` is the
    p-value that a verdict of slower or faster needs. None where more than MOST_RUNS would be needed, because
    the ratio is close to the threshold.
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
    """The power of the test: for each of RUNS, as many runs on either side, the least change of one of these
    points that is called slower or faster with a probability of 0.9; a share of its time."""
    known = [point.standard_error * math.sqrt(min(point.runs)) for point in points]
    spread = float(np.median([error for error in known if math.isfinite(error)] or [math.inf]))
    z = -_NORMAL.inv_cdf(FALSE_RATE / max(1, len(points)) / 2) + _LIKELY
    error = math.hypot(noise, spread)
    return {runs: math.expm1(math.log1p(threshold) + z * error / math.sqrt(runs)) for runs in RUNS}
