"""Decide how many samples of a point to take, and warn about unreliable samples.

A warning has the form ``KIND: TEXT`` and often says what to do. It stands in the row of the point and in
reports.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from bfsbench.bench.options import Method

RETAKEN = 4
"""For each sample wanted, at most this many samples are discarded because the device throttled."""
REST_S = 0.1
"""Pause in seconds after a sample during which the device throttled."""


def enough(method: Method, samples_ms: Sequence[float]) -> bool:
    """Return whether these samples, in ms, are enough for the count, total time and noise that ``method``
    requires.
    """
    count = len(samples_ms)
    if count < method.fewest or count >= method.most:
        return count >= method.most
    share = math.inf if method.max_noise is None else method.max_noise / 100
    return sum(samples_ms) >= 1e3 * method.min_time and noise(samples_ms) <= share


def noise(samples: Sequence[float]) -> float:
    """Return the noise of samples: half the width of the median's 95 % confidence interval, divided by the
    median.

    The interval's ends are two of the sorted samples, so no distribution is assumed. If the median is not in
    the middle of the interval, the longer side counts. Returns infinity for fewer than FEWEST_FOR_NOISE
    samples.
    """
    outside = _outside(len(samples))
    if outside < 0:
        return math.inf
    ordered, middle = sorted(samples), statistics.median(samples)
    reach = max(middle - ordered[outside], ordered[-1 - outside] - middle)
    return reach / middle if middle > 0 else math.inf


@cache
def _outside(count: int) -> int:
    """Return how many of ``count`` sorted samples lie beyond each end of the median's 95 % confidence
    interval.

    Returns -1 if there are too few samples for an interval. The chance that at most k samples lie below the
    median equals the chance of at most k heads in ``count`` tosses of a coin.
    """
    outside, ways, term = -1, 0, 1
    while 40 * (ways + term) <= 2**count:  # a chance of 2.5 % at each end
        outside += 1
        ways += term
        term = term * (count - outside) // (outside + 1)
    return outside


@dataclass(frozen=True)
class Sample:
    """The time of one run in ms: ``search_ms`` by the variant's clock, ``wall_ms`` by the host's clock."""

    search_ms: float
    wall_ms: float


@dataclass(frozen=True)
class State:
    sm_clock_mhz: int | None = None
    throttle: str = ""
    """Why the device lowered its clocks; empty if it did not."""


class Monitor(Protocol):
    """Reads the state of the machine while samples are taken."""

    def state(self) -> State: ...

    def energy_joules(self) -> float | None:
        """Return the energy in joules that the device has used so far, or None if it has no counter."""

    def other_processes(self) -> int:
        """Return how many other processes use the device."""

    def governor(self) -> str:
        """Return the name of the governor that sets the clock rates of the CPU, or "" if it is unknown."""

    def flush(self) -> None:
        """Flush the caches by writing more data than they hold."""


@dataclass
class Samples:
    """The samples of a point in the order taken, and the state of the device after each sample."""

    kept: list[Sample] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    discarded: int = 0
    """The number of samples that were discarded because the device throttled."""

    @property
    def search_ms(self) -> list[float]:
        return [sample.search_ms for sample in self.kept]

    def add(
        self, sample: Sample, state: State, method: Method, rest: Callable[[float], None] = time.sleep
    ) -> None:
        """Keep a sample, or discard it and pause if the device throttled during it.

        After RETAKEN discarded samples for each sample wanted, samples of a throttled device are kept.
        """
        if state.throttle and self.discarded < RETAKEN * method.most:
            self.discarded += 1
            rest(REST_S)
        else:
            self.kept.append(sample)
            self.states.append(state)


NOISY = 1.1
"""Samples are called noisy if their median is more than this many times the minimum."""
SLOW_START = 1.25
"""The start is called slow if the first sample is more than this many times the slowest later sample."""
CLOCK_MOVES = 1.05
"""A warning is given if the fastest clock is more than this many times the slowest clock."""


def advise(samples: Samples, monitor: Monitor) -> list[str]:
    """Return warnings about the samples and the machine, the most important one first."""
    return [*_throttling(samples), *advise_times(samples.search_ms), *_clocks(samples), *_machine(monitor)]


def _throttling(samples: Samples) -> list[str]:
    kept = [state.throttle for state in samples.states if state.throttle]
    if kept:
        why = kept[0].replace("; ", ", ")
        return [f"throttled: {len(kept)} samples are of a slowed GPU ({why}), cool it or raise its limits"]
    if samples.discarded:
        return [f"throttled: {samples.discarded} samples were taken again"]
    return []


def advise_times(times: Sequence[float]) -> list[str]:
    """Return warnings about samples that follow from their times, in ms, alone."""
    if len(times) < 3:
        return []
    first, others = times[0], times[1:]
    if first > SLOW_START * max(others):
        ratio = first / statistics.median(others)
        return [f"slow start: the first sample took {ratio:.1f} times as long as the others, try --warmup 3"]
    above = statistics.median(times) / min(times)
    if above > NOISY:
        return [f"noisy: the median is {100 * (above - 1):.0f} % above the minimum, try --max-noise 1"]
    return []


def _clocks(samples: Samples) -> list[str]:
    clocks = [state.sm_clock_mhz for state in samples.states if state.sm_clock_mhz]
    if clocks and max(clocks) > CLOCK_MOVES * min(clocks):
        moved = f"from {min(clocks)} to {max(clocks)} MHz"
        return [f"clocks: the GPU's moved {moved}, try --warmup 20 or lock it with nvidia-smi -lgc"]
    return []


def _machine(monitor: Monitor) -> list[str]:
    found = []
    if others := monitor.other_processes():
        who = f"{others} other processes compute" if others > 1 else "another process computes"
        found.append(f"shared: {who} on the GPU")
    if monitor.governor() == "powersave":
        found.append("powersave: so the CPU is governed, try cpupower frequency-set -g performance")
    return found
