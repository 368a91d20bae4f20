"""Warnings about samples, each with what to do: ``KIND: TEXT``, in the row of the point and in reports."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bfsbench.bench.sampling import Monitor, Samples

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
