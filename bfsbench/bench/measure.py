"""Measuring one prepared search: checked once, then timed.

``search_ms`` spans everything from the first operation of the search to the last, per-search initialisation
included, with the graph on the device and the levels left there, by the device's own events (the host's clock
for host programs). ``wall_ms`` is the host's clock around the same.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Device
from bfsbench.errors import BfsbenchError
from bfsbench.graphs.graph import Graph
from bfsbench.variants.base import Variant

Levels = npt.NDArray[np.int32]


class WrongLevelsError(BfsbenchError):
    """A search returned levels that differ from the reference."""


@dataclass(frozen=True)
class Timing:
    """Samples in ms, in the order taken; the other three are single figures, also in ms."""

    search_ms: list[float]
    wall_ms: list[float]
    reset_ms: float
    prepare_ms: float
    preprocess_ms: float


class Clock(Protocol):
    """Times what happens between ``start`` and ``stop`` in ms."""

    def start(self) -> None: ...

    def stop(self) -> float: ...


class HostClock:
    """The host's monotonic clock."""

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._started) * 1e3


class DeviceClock:
    """A pair of device events around the work issued between them."""

    def __init__(self, device: Device) -> None:
        self._first, self._last = device.event(), device.event()

    def start(self) -> None:
        self._first.record()

    def stop(self) -> float:
        self._last.record()
        return self._last.milliseconds_since(self._first)


def check_levels(levels: Levels, reference: Levels) -> None:
    """Raises WrongLevelsError, naming the first vertex that differs and how many do."""
    wrong = np.flatnonzero(levels != reference)
    if len(wrong):
        v = wrong[0]
        first = f"vertex {v} has {levels[v]} instead of {reference[v]}"
        raise WrongLevelsError(f"{len(wrong)} of {len(levels)} levels differ; {first}")


def edges_traversed(graph: Graph, levels: Levels) -> int:
    """Sum of the out-degrees of the reached vertices."""
    return int(np.diff(graph.row_offsets)[levels >= 0].sum(dtype=np.int64))


def measure(variant: Variant, clock: Clock, source: int, reference: Levels, repeats: int) -> Timing:
    """Prepare, run once untimed and check, then time ``repeats`` initialisations and as many searches.

    The levels of the last search, which stay in ``variant``, are checked as well. Raises WrongLevelsError.
    """
    started = time.perf_counter()
    variant.prepare()
    prepare_ms = (time.perf_counter() - started) * 1e3
    variant.reset(source)
    variant.traverse(source)
    check_levels(variant.levels(), reference)

    resets = []
    for _ in range(repeats):
        clock.start()
        variant.reset(source)
        resets.append(clock.stop())

    search, wall = [], []
    host = HostClock()
    for _ in range(repeats):
        host.start()
        clock.start()
        variant.reset(source)
        variant.traverse(source)
        search.append(clock.stop())
        wall.append(host.stop())
    check_levels(variant.levels(), reference)

    return Timing(search, wall, min(resets), prepare_ms, variant.preprocess_ms)


def timing_columns(timing: Timing, traversed: int, symmetrised: bool) -> dict[str, str]:
    """The result columns that follow from a timing."""
    best = min(timing.search_ms)
    mteps = traversed / best / 1e3 if best > 0 else 0.0
    return {
        "search_ms": _ms(best),
        "search_ms_median": _ms(statistics.median(timing.search_ms)),
        "search_ms_max": _ms(max(timing.search_ms)),
        "search_ms_samples": ";".join(map(_ms, timing.search_ms)),
        "wall_ms": _ms(min(timing.wall_ms)),
        "wall_ms_samples": ";".join(map(_ms, timing.wall_ms)),
        "reset_ms": _ms(timing.reset_ms),
        "prepare_ms": _ms(timing.prepare_ms),
        "preprocess_ms": _ms(timing.preprocess_ms),
        "edges_traversed": str(traversed),
        "mteps": f"{mteps:.3f}",
        "mteps_graph500": f"{mteps / 2:.3f}" if symmetrised else "",
    }


def _ms(value: float) -> str:
    return f"{value:.6f}"
