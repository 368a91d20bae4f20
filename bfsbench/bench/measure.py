"""Measuring one prepared variant: every run is checked, the timed ones outside the clock.

``search_ms`` spans everything from the first operation of the run to the last, its initialisation included,
with the graph on the device and the answer left there, by the device's own events (the host's clock for host
programs). ``wall_ms`` is the host's clock around the same.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from bfsbench.families.base import Run
from bfsbench.programs import Clock, HostClock, Variant


@dataclass(frozen=True)
class Timing:
    """Samples in ms, in the order taken; the other three are single figures, also in ms."""

    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    prepare_ms: float
    preprocess_ms: float


def measure(variant: Variant, run: Run, repeats: int) -> Timing:
    """Prepare, run once untimed and check, then time ``repeats`` initialisations and as many whole runs.

    Raises WrongResultError when an answer is wrong, that of any run.
    """
    started = time.perf_counter()
    variant.prepare()
    prepare_ms = (time.perf_counter() - started) * 1e3
    clock = variant.clock()
    sample(run, clock)
    resets = [_reset_ms(run, clock) for _ in range(repeats)]
    samples = [sample(run, clock) for _ in range(repeats)]
    search, wall = ([getattr(one, name) for one in samples] for name in ("search_ms", "wall_ms"))
    return Timing(search, wall, min(resets), prepare_ms, variant.preprocess_ms)


@dataclass(frozen=True)
class Sample:
    """What one run took in ms, by the variant's clock and by the host's."""

    search_ms: float
    wall_ms: float


def sample(run: Run, clock: Clock) -> Sample:
    """Time one run. The answer of the one before is overwritten first, and this one's is checked in the end.

    Raises WrongResultError.
    """
    run.poison()
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


def _reset_ms(run: Run, clock: Clock) -> float:
    clock.start()
    run.reset()
    return clock.stop()


def timing_columns(timing: Timing) -> dict[str, str]:
    """The result columns that a timing fills, whatever was timed."""
    return {
        "search_ms": _ms(min(timing.search_ms)),
        "search_ms_median": _ms(statistics.median(timing.search_ms)),
        "search_ms_max": _ms(max(timing.search_ms)),
        "search_ms_samples": ";".join(map(_ms, timing.search_ms)),
        "wall_ms": _ms(min(timing.wall_ms)),
        "wall_ms_samples": ";".join(map(_ms, timing.wall_ms)),
        "reset_ms": _ms(timing.reset_ms),
        "prepare_ms": _ms(timing.prepare_ms),
        "preprocess_ms": _ms(timing.preprocess_ms),
    }


def _ms(value: float) -> str:
    return f"{value:.6f}"
