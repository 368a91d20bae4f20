"""Measuring one prepared run: checked once, then timed.

``search_ms`` spans everything from the first operation of the run to the last, its initialisation included,
with the graph on the device and the answer left there, by the device's own events (the host's clock for host
programs). ``wall_ms`` is the host's clock around the same.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from bfsbench.families.base import Run
from bfsbench.programs import HostClock, Variant


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

    The answer of the last run, which stays in ``variant``, is checked as well. Raises WrongResultError.
    """
    started = time.perf_counter()
    variant.prepare()
    prepare_ms = (time.perf_counter() - started) * 1e3
    run.reset()
    run.solve()
    run.check()

    clock = variant.clock()
    resets = []
    for _ in range(repeats):
        clock.start()
        run.reset()
        resets.append(clock.stop())

    search, wall = [], []
    host = HostClock()
    for _ in range(repeats):
        host.start()
        clock.start()
        run.reset()
        run.solve()
        search.append(clock.stop())
        wall.append(host.stop())
    run.check()

    return Timing(search, wall, min(resets), prepare_ms, variant.preprocess_ms)


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
