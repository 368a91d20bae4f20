"""Measure one prepared variant. The answer of every timed run is checked, and the check is not timed. When
energy is measured, runs are repeated without a pause, and only the last answer is checked.

``search_ms`` is the time of a run from its first operation to its last, including its initialisation. It
includes no transfers: the graph is on the device before the run, and the answer stays on the device. CUDA
events measure this time on a GPU, and the host's clock measures it for host programs. ``wall_ms`` is the time
of a run by the host's clock.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Buffer, Device
from bfsbench.bench.options import Method
from bfsbench.programs import Clock, HostClock, Variant
from bfsbench.programs.families.base import Run
from bfsbench.support.descendants import ON_GPU

Begin = Callable[[int], None]
"""A function that is called with the index of a run or point before work on this run or point begins."""
ENERGY_S = 1.0
"""Runs follow each other for at least this many seconds when their energy is measured."""
ENERGY_LIMIT_S = 10.0
"""A measurement of energy is given up if it has not ended after this many seconds. It does not end if the
counter does not change."""
READ_EVERY_MS = 20.0
"""Approximate time in ms between two readings of the energy counter. The counter changes every 20 to 100 ms,
and reading it takes time."""


RETAKEN = 4
"""At most RETAKEN * n samples of a point are discarded because the device throttled. The number n is the
largest number of samples that the point may take."""
REST_S = 0.1
"""Pause in seconds after a sample was discarded because the device throttled."""


def enough(method: Method, samples_ms: Sequence[float]) -> bool:
    """Return whether a point has enough samples. ``samples_ms`` are its samples in ms.

    The samples are enough if their count, their total time and their noise satisfy ``method``.
    ``method.most`` samples are always enough.
    """
    count = len(samples_ms)
    if count < method.fewest or count >= method.most:
        return count >= method.most
    share = math.inf if method.max_noise is None else method.max_noise / 100
    return sum(samples_ms) >= 1e3 * method.min_time and noise(samples_ms) <= share


def noise(samples: Sequence[float]) -> float:
    """Return the noise of samples: the distance from the median to the farther end of its 95 % confidence
    interval, divided by the median.

    Returns infinity for fewer than FEWEST_FOR_NOISE samples, and for a median of 0.
    """
    (low, high), middle = interval(samples), statistics.median(samples)
    return max(middle - low, high - middle) / middle if middle > 0 else math.inf


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median.

    The ends of the interval are two of the sorted samples, so no distribution is assumed. For fewer than
    FEWEST_FOR_NOISE samples the interval is unbounded.
    """
    outside = _outside(len(samples))
    ordered = sorted(samples)
    return (ordered[outside], ordered[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)


def contenders(times: Sequence[Sequence[float]]) -> tuple[int, dict[int, float]]:
    """Return the index of the configuration with the lowest median, and the configurations that may be as
    fast: a dictionary from their indices to the largest possible difference, in per cent.

    ``times`` contains the samples of each configuration. A configuration may be as fast if its median's
    confidence interval overlaps the interval of the lowest median. The largest possible difference is the
    width of the two intervals together, as a share of the lowest median.
    """
    best = min(range(len(times)), key=lambda place: statistics.median(times[place]))
    low, high = interval(times[best])
    middle = statistics.median(times[best])
    percent = 100 / middle if middle > 0 else math.inf
    intervals = enumerate(map(interval, times))
    return best, {
        place: percent * (max(high, to) - min(low, from_))
        for place, (from_, to) in intervals
        if place != best and high >= from_
    }


@cache
def _outside(count: int) -> int:
    """Return how many of ``count`` sorted samples lie beyond each end of the median's 95 % confidence
    interval.

    Returns -1 if there are too few samples for an interval. The number of samples below the median is
    distributed like the number of heads in ``count`` tosses of a coin.
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
    """The reason why the device lowered its clocks, or an empty string if it did not."""


FLUSHED = 4
"""Flushing the L2 cache writes this many times its size."""
FLUSHED_BYTES = 256 << 20
"""Flushing a cache of unknown size, as on the host, writes this many bytes."""
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


class Machine:
    """Reads the state of a device between samples, and flushes the device's caches. If the device is None,
    the state is empty, and the caches of the host are flushed.
    """

    def __init__(self, device: Device | None) -> None:
        self._device = device
        self._flushes = 0

    def state(self) -> State:
        if self._device is None:
            return State()
        told = self._device.telemetry()
        throttle = "" if told["throttle"] == "none" else told["throttle"]
        return State(int(told["sm_clock_mhz"]) if told["sm_clock_mhz"] else None, throttle)

    def energy_joules(self) -> float | None:
        """Return the value of the device's energy counter in joules. Returns None for the host, which has no
        counter."""
        return None if self._device is None else self._device.energy_joules()

    def other_processes(self) -> int:
        """Return how many other processes use the device. Waiting programs that bfsbench itself has started
        are not counted.
        """
        return 0 if self._device is None else max(0, self._device.other_processes() - len(ON_GPU))

    def governor(self) -> str:
        """Return the name of the frequency governor of the first CPU core, or an empty string if it cannot be
        read.
        """
        try:
            return _GOVERNOR.read_text().strip()
        except OSError:
            return ""

    def flush(self) -> None:
        """Evict the caches: write a new value to every byte of a large buffer.

        The buffer has FLUSHED times the size of the L2 cache, or FLUSHED_BYTES if this size is unknown. Lines
        of the L2 cache that kernels have marked as persisting are first made evictable.
        """
        if self._device is not None:
            self._device.reset_persisting_l2()
        self._flushes += 1
        self._buffer.fill(self._flushes % 128)

    @cached_property
    def _buffer(self) -> Buffer | npt.NDArray[np.uint8]:
        if self._device is None:
            return np.empty(FLUSHED_BYTES, np.uint8)
        return self._device.empty(FLUSHED * self._device.limits.l2_cache or FLUSHED_BYTES, np.uint8)


@dataclass
class Samples:
    """The samples of one configuration in the order taken, and the state of the device after each sample."""

    kept: list[Sample] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    discarded: int = 0
    """The number of samples that were discarded because the device throttled."""

    @property
    def search_ms(self) -> list[float]:
        return [sample.search_ms for sample in self.kept]

    def add(self, sample: Sample, state: State, method: Method) -> None:
        """Keep a sample. If the device throttled during the sample, discard it and pause instead.

        At most ``RETAKEN * method.most`` samples are discarded. Afterwards, samples of a throttled device are
        kept, too.
        """
        if state.throttle and self.discarded < RETAKEN * method.most:
            self.discarded += 1
            time.sleep(REST_S)
        else:
            self.kept.append(sample)
            self.states.append(state)


NOISY = 1.1
"""Samples are called noisy if their median is more than this many times the minimum."""
SLOW_START = 1.25
"""The start is called slow if the first sample is more than this many times the slowest later sample."""
CLOCK_MOVES = 1.05
"""A warning is given if the highest clock frequency is more than this many times the lowest one."""


def advise(samples: Samples, machine: Machine) -> list[str]:
    """Return warnings about the samples and the machine, the most important one first."""
    found = []
    throttled = [state.throttle for state in samples.states if state.throttle]
    if throttled:
        why = throttled[0].replace("; ", ", ")
        slowed = f"{len(throttled)} samples are of a slowed GPU ({why})"
        found.append(f"throttled: {slowed}, cool it or raise its limits")
    elif samples.discarded:
        found.append(f"throttled: {samples.discarded} samples were taken again")
    found += advise_times(samples.search_ms)
    clocks = [state.sm_clock_mhz for state in samples.states if state.sm_clock_mhz]
    if clocks and max(clocks) > CLOCK_MOVES * min(clocks):
        moved = f"from {min(clocks)} to {max(clocks)} MHz"
        found.append(f"clocks: the GPU clock moved {moved}, try --warmup 20 or lock it with nvidia-smi -lgc")
    if others := machine.other_processes():
        who = f"{others} other processes compute" if others > 1 else "another process computes"
        found.append(f"shared: {who} on the GPU")
    if machine.governor() == "powersave":
        found.append("powersave: this is the CPU's governor, try cpupower frequency-set -g performance")
    return found


def advise_times(times: Sequence[float]) -> list[str]:
    """Return a list with one warning about the measured ``times`` in ms: a slow first sample, or noise. The
    list is empty if neither is found, or if there are fewer than three times."""
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


@dataclass(frozen=True)
class Timing:
    """The measured times of one variant on one problem, in ms. The samples are in the order taken."""

    samples: Samples
    reset_ms: float
    prepare_ms: float
    compile_ms: float
    preprocess_ms: float
    energy: Energy | None
    warnings: list[str]

    @property
    def search_ms(self) -> list[float]:
        return self.samples.search_ms

    @property
    def wall_ms(self) -> list[float]:
        return [sample.wall_ms for sample in self.samples.kept]


def time_runs(
    variant: Variant,
    runs: Sequence[Run],
    method: Method,
    machine: Machine,
    others: Sequence[Run] = (),
    begin: Begin = lambda place: None,
) -> list[Timing]:
    """Prepare a variant, and time its runs. Returns one Timing per run.

    Each of ``runs`` solves a different problem with the variant. First, untimed runs warm up the device. Then
    the initialisation of each run is timed, and then whole runs are timed in rounds. In each round, one
    sample is taken of each run that still needs samples, as ``enough`` decides. If only one run still needs
    samples, an untimed run from ``others`` or ``runs`` is executed between two of its samples. If there is no
    other run, the samples follow each other directly.

    ``begin`` is called with the index of each run before work on this run begins. Raises WrongResultError if
    the answer of any run is wrong.
    """
    prepare_ms, compile_ms = variant.prepared_ms()
    clock = variant.clock()
    flush = machine.flush if method.cold else _nothing
    for _, (place, run) in itertools.product(range(method.warmup), enumerate(runs)):
        begin(place)
        sample(run, clock, flush)
    resets = []
    for place, run in enumerate(runs):
        begin(place)
        resets.append(min(_reset_ms(run, clock, flush) for _ in range(method.fewest)))
    samples = [Samples() for _ in runs]
    between = itertools.cycle([*others, *(runs if len(runs) > 1 else ())])
    latest = runs[-1]
    while waiting := [place for place, taken in enumerate(samples) if not enough(method, taken.search_ms)]:
        for place in waiting:
            run = runs[place]
            begin(place)
            if run is latest and (other := next((one for one in between if one is not run), None)):
                sample(other, clock)
            samples[place].add(sample(run, clock, flush), machine.state(), method)
            latest = run
    timings = []
    for place, (run, taken, reset_ms) in enumerate(zip(runs, samples, resets, strict=True)):
        begin(place)
        energy = measure_energy(run, clock, machine, min(taken.search_ms)) if method.energy else None
        warnings = advise(taken, machine)
        if method.energy and energy is None:
            warnings.append("energy: unknown, the device has no counter that changes")
        prepared = prepare_ms, compile_ms, variant.preprocess_ms
        timings.append(Timing(taken, reset_ms, *prepared, energy, warnings))
    return timings


def _nothing() -> None:
    """Do nothing. This function replaces ``flush`` if the caches should stay warm."""


def sample(run: Run, clock: Clock, flush: Callable[[], None] = _nothing) -> Sample:
    """Time one run and return its sample.

    The answer of the previous run is overwritten first, and the new answer is checked afterwards. Raises
    WrongResultError if the answer is wrong.
    """
    run.poison()
    flush()
    clock.wait()
    host = HostClock()
    host.start()
    clock.start()
    run.reset()
    run.solve()
    search_ms = clock.stop()
    wall_ms = host.stop()
    run.check()
    return Sample(search_ms, wall_ms)


def _reset_ms(run: Run, clock: Clock, flush: Callable[[], None]) -> float:
    flush()
    clock.wait()
    clock.start()
    run.reset()
    return clock.stop()


@dataclass(frozen=True)
class Energy:
    """The energy of one run in J, and the mean power in W during repeated runs. Both values are for the whole
    board, not only for the GPU."""

    joules: float
    watts: float


def measure_energy(
    run: Run, clock: Clock, machine: Machine, run_ms: float, now: Callable[[], float] = time.monotonic
) -> Energy | None:
    """Repeat a run for at least ENERGY_S seconds, and return the energy and the power of one run.

    ``run_ms`` is the approximate time of one run. The measurement begins and ends when the energy counter
    changes. Returns None if there is no counter, or if the measurement has not ended after ENERGY_LIMIT_S
    seconds. Raises WrongResultError if the answer of the last run is wrong.
    """
    used, begun, runs = machine.energy_joules(), now(), 0
    first: tuple[float, float] | None = None
    while used is not None and now() - begun < ENERGY_LIMIT_S:
        between = max(1, round(READ_EVERY_MS / max(run_ms, 1e-3)))
        for _ in range(between):
            run.reset()
            run.solve()
            clock.wait()
        runs += between
        before, used, moment = used, machine.energy_joules(), now()
        if used is None or used == before:
            continue
        if first is None:
            first, runs = (used, moment), 0
        elif moment - first[1] >= ENERGY_S:
            run.check()
            joules = used - first[0]
            return Energy(joules / runs, joules / (moment - first[1]))
    return None


def timing_columns(timing: Timing) -> dict[str, str]:
    """Return those columns of a result row that contain the measured times, the energy and the warnings, as a
    dictionary from column names to texts."""
    energy = timing.energy
    return {
        **sample_columns(timing.search_ms, timing.wall_ms),
        "reset_ms": _ms(timing.reset_ms),
        "prepare_ms": _ms(timing.prepare_ms),
        "compile_ms": _ms(timing.compile_ms),
        "preprocess_ms": _ms(timing.preprocess_ms),
        "samples_discarded": str(timing.samples.discarded),
        "energy_j": f"{energy.joules:.6g}" if energy else "",
        "power_w": f"{energy.watts:.1f}" if energy else "",
        "warnings": "; ".join(timing.warnings),
    }


def sample_columns(search_ms: Sequence[float], wall_ms: Sequence[float]) -> dict[str, str]:
    """Return the columns of a result row that are computed from samples, as a dictionary from names to texts.
    Times are in ms, in the order taken.
    """
    return {
        "search_ms": _ms(min(search_ms)),
        "search_ms_median": _ms(statistics.median(search_ms)),
        "search_ms_max": _ms(max(search_ms)),
        "search_ms_samples": ";".join(map(_ms, search_ms)),
        "wall_ms": _ms(min(wall_ms)),
        "wall_ms_samples": ";".join(map(_ms, wall_ms)),
    }


def _ms(value: float) -> str:
    return f"{value:.6f}"
