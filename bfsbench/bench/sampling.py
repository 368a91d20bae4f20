"""How many samples of a point are taken, and in which state of the device."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from bfsbench.errors import UsageError
from bfsbench.numerals import positive, positive_or_none

USUAL = 5
"""Samples of a point."""
MOST = 1000
"""Most samples where noise or time decides."""
FEWEST_FOR_NOISE = 6
"""Fewest samples that give a 95 % confidence interval of the median."""
RETAKEN = 4
"""For each sample wanted, at most this many are discarded because the device throttled."""
REST_S = 0.1
"""Pause after a sample during which the device throttled."""


@dataclass(frozen=True)
class Sampling:
    """How a point is sampled. ``Sampling.of`` makes one from a user's options."""

    min_samples: int = USUAL
    max_samples: int = USUAL
    max_noise: float = math.inf
    """Sampling stops when ``noise`` is at most this."""
    min_time_s: float = 0.0
    """Sampling goes on until the samples add up to this, in s."""
    warmup: int = 1
    """Runs before the samples, checked but not timed."""
    cold: bool = False
    """Whether the caches are flushed before every sample."""
    energy: bool = False
    """Whether the energy of a run is measured after the samples."""

    @classmethod
    def of(
        cls,
        repeats: int = USUAL,
        min_samples: int | None = None,
        max_samples: int | None = None,
        max_noise_percent: float | None = None,
        min_time_s: float = 0.0,
        *,
        warmup: int = 1,
        cold: bool = False,
        energy: bool = False,
    ) -> Sampling:
        """``repeats`` samples; from ``min_samples`` to ``max_samples`` of them where noise or time decides.

        Raises UsageError for numbers that are too small or contradict each other.
        """
        repeats, warmup = positive("repeats", repeats), positive("warmup", warmup)
        min_samples = positive_or_none("min_samples", min_samples)
        max_samples = positive_or_none("max_samples", max_samples)
        open_ended = max_noise_percent is not None or min_time_s > 0
        if not min_time_s >= 0 or (max_noise_percent is not None and not max_noise_percent > 0):  # or nan
            raise UsageError("--min-time must not be negative, and --max-noise must be positive")
        if (min_samples or max_samples) and not open_ended:
            raise UsageError("--min-samples and --max-samples go with --max-noise or --min-time")
        fewest = min_samples or min(repeats, max_samples or repeats)
        most = max_samples or (max(MOST, fewest) if open_ended else fewest)
        if most < fewest:
            raise UsageError(f"--max-samples {most} is less than --min-samples {fewest}")
        if max_noise_percent is not None and most < FEWEST_FOR_NOISE:
            raise UsageError(f"--max-noise needs {FEWEST_FOR_NOISE} samples, more than --max-samples {most}")
        noise = math.inf if max_noise_percent is None else max_noise_percent / 100
        return cls(fewest, most, noise, min_time_s, warmup, cold, energy)

    def enough(self, samples_ms: Sequence[float]) -> bool:
        """Whether these samples, in ms, suffice."""
        count = len(samples_ms)
        if count < self.min_samples or count >= self.max_samples:
            return count >= self.max_samples
        return sum(samples_ms) >= 1e3 * self.min_time_s and noise(samples_ms) <= self.max_noise

    @property
    def words(self) -> str:
        """What differs from the defaults, as in the column ``method``."""
        said = [f"warmup={self.warmup}"] if self.warmup != 1 else []
        said += [f"max_noise={100 * self.max_noise:g}%"] if math.isfinite(self.max_noise) else []
        said += [f"min_time={self.min_time_s:g}s"] if self.min_time_s else []
        return " ".join([*(["cold"] if self.cold else []), *said])


def noise(samples: Sequence[float]) -> float:
    """Half-width of the median's 95 % confidence interval, as a share of the median: the longer of its two
    sides. Its ends are two of the sorted samples, whatever their distribution is. Infinite for fewer than
    FEWEST_FOR_NOISE samples.
    """
    outside = _outside(len(samples))
    if outside < 0:
        return math.inf
    ordered, middle = sorted(samples), statistics.median(samples)
    reach = max(middle - ordered[outside], ordered[-1 - outside] - middle)
    return reach / middle if middle > 0 else math.inf


@cache
def _outside(count: int) -> int:
    """How many of ``count`` sorted samples lie beyond each end of the interval; -1 when there is none.

    The median is below the sample of index k if at most k samples are below it, with the probability that at
    most k of ``count`` tossed coins show heads; the same holds from the other end.
    """
    outside, ways, term = -1, 0, 1
    while 40 * (ways + term) <= 2**count:  # a chance of 2.5 % at each end
        outside += 1
        ways += term
        term = term * (count - outside) // (outside + 1)
    return outside


@dataclass(frozen=True)
class Sample:
    """The time of one run in ms, by the variant's clock and by the host's."""

    search_ms: float
    wall_ms: float


@dataclass(frozen=True)
class State:
    """The state of a device after a sample."""

    sm_clock_mhz: int | None = None
    throttle: str = ""
    """Why its clocks were lowered; empty if they were not."""


class Monitor(Protocol):
    """The state of the machine while samples are taken."""

    def state(self) -> State: ...

    def energy_joules(self) -> float | None:
        """Energy used so far; None without a counter."""

    def other_processes(self) -> int:
        """How many other processes use the device."""

    def governor(self) -> str:
        """The governor of the CPU's clocks, empty where unknown."""

    def flush(self) -> None:
        """Flush the caches by writing more than they hold."""


@dataclass
class Samples:
    """Samples in the order taken, and the state of the device after each."""

    kept: list[Sample] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    discarded: int = 0
    """How many were discarded because the device throttled."""

    @property
    def search_ms(self) -> list[float]:
        return [sample.search_ms for sample in self.kept]


def take(
    one: Callable[[], Sample],
    sampling: Sampling,
    monitor: Monitor,
    rest: Callable[[float], None] = time.sleep,
) -> Samples:
    """Take samples until there are enough. One during which the device throttled is discarded and taken again
    after a pause, up to RETAKEN times the most samples that are kept."""
    samples = Samples()
    while not sampling.enough(samples.search_ms):
        sample = one()
        state = monitor.state()
        if state.throttle and samples.discarded < RETAKEN * sampling.max_samples:
            samples.discarded += 1
            rest(REST_S)
        else:
            samples.kept.append(sample)
            samples.states.append(state)
    return samples
