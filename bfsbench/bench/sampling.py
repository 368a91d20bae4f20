"""How many samples of a point are taken, in which state of the device, and the warnings about them.

A warning says what to do: ``KIND: TEXT``, in the row of the point and in reports.
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
"""For each sample wanted, at most this many are discarded because the device throttled."""
REST_S = 0.1
"""Pause after a sample during which the device throttled."""


def enough(method: Method, samples_ms: Sequence[float]) -> bool:
    """Whether these samples, in ms, suffice."""
    count = len(samples_ms)
    if count < method.fewest or count >= method.most:
        return count >= method.most
    share = math.inf if method.max_noise is None else method.max_noise / 100
    return sum(samples_ms) >= 1e3 * method.min_time and noise(samples_ms) <= share


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

    def add(
        self, sample: Sample, state: State, method: Method, rest: Callable[[float], None] = time.sleep
    ) -> None:
        """Keep a sample. One during which the device throttled is discarded, and a pause follows, up to
        RETAKEN times the most samples that are kept."""
        if state.throttle and self.discarded < RETAKEN * method.most:
            self.discarded += 1
            rest(REST_S)
        else:
            self.kept.append(sample)
            self.states.append(state)


NOISY = 1.1
"""Median over minimum from which samples are called noisy."""
SLOW_START = 1.25
"""First sample over the slowest of the others."""
CLOCK_MOVES = 1.05
"""Fastest over slowest clock."""


def advise(samples: Samples, monitor: Monitor) -> list[str]:
    """Problems of the samples or of the machine, the most important first."""
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
    """Problems of samples, in ms, alone."""
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
