"""Measuring one prepared variant: every run is checked, the timed ones outside the clock.

``search_ms`` spans everything from the first operation of the run to the last, its initialisation included,
with the graph on the device and the answer left there, by the device's own events (the host's clock for host
programs). ``wall_ms`` is the host's clock around the same.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bfsbench.bench.options import Method
from bfsbench.bench.sampling import Monitor, Sample, Samples, advise, enough
from bfsbench.programs import Clock, HostClock, Variant
from bfsbench.programs.families.base import Run

ENERGY_S = 1.0
"""Runs follow each other for at least this long when their energy is measured."""
ENERGY_LIMIT_S = 10.0
"""Seconds after which a counter that does not change is given up."""
READ_EVERY_MS = 20.0
"""Between readings of the energy counter, which moves every 20 to 100 ms and takes time to read."""


@dataclass(frozen=True)
class Timing:
    """Times of the runs of a variant, in ms; samples in the order taken."""

    samples: Samples
    reset_ms: float
    prepare_ms: float
    compile_ms: float
    preprocess_ms: float
    energy: Energy | None
    warnings: list[str]
    """Warnings about the samples, with advice."""

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
    monitor: Monitor,
    others: Sequence[Run] = (),
    begin: Callable[[int], None] = lambda place: None,
) -> list[Timing]:
    """Prepare, run all ``runs`` untimed, then time initialisations, and whole runs until these suffice.

    ``runs`` solve different problems and alternate: no run is repeated before all others have been. If a run
    would follow itself, one of ``others`` runs untimed in between. ``begin`` is called with the place of each
    run before it is worked on. Raises WrongResultError when the answer of any run is wrong.
    """
    prepare_ms, compile_ms = variant.prepared_ms()
    clock = variant.clock()
    flush = monitor.flush if method.cold else _nothing
    for _, (place, run) in itertools.product(range(method.warmup), enumerate(runs)):
        begin(place)
        sample(run, clock, flush)
    resets = []
    for place, run in enumerate(runs):
        begin(place)
        resets.append(min(_reset_ms(run, clock, flush) for _ in range(method.fewest)))
    samples = _alternate(runs, clock, method, monitor, others, begin)
    timings = []
    for place, (run, taken, reset_ms) in enumerate(zip(runs, samples, resets, strict=True)):
        begin(place)
        energy = measure_energy(run, clock, monitor, min(taken.search_ms)) if method.energy else None
        warnings = advise(taken, monitor)
        if method.energy and energy is None:
            warnings.append("energy: unknown, this device has no counter")
        prepared = prepare_ms, compile_ms, variant.preprocess_ms
        timings.append(Timing(taken, reset_ms, *prepared, energy, warnings))
    return timings


def _alternate(
    runs: Sequence[Run],
    clock: Clock,
    method: Method,
    monitor: Monitor,
    others: Sequence[Run],
    begin: Callable[[int], None],
) -> list[Samples]:
    """The samples of each of ``runs``; see ``time_runs``."""
    samples = [Samples() for _ in runs]
    flush = monitor.flush if method.cold else _nothing
    between = itertools.cycle([*others, *(runs if len(runs) > 1 else ())])
    latest = runs[-1]
    while waiting := [place for place, taken in enumerate(samples) if not enough(method, taken.search_ms)]:
        for place in waiting:
            run = runs[place]
            begin(place)
            if run is latest and (other := next((one for one in between if one is not run), None)):
                sample(other, clock)
            samples[place].add(sample(run, clock, flush), monitor.state(), method)
            latest = run
    return samples


def _nothing() -> None:
    """Does nothing: the caches stay warm."""


def sample(run: Run, clock: Clock, flush: Callable[[], None] = _nothing) -> Sample:
    """Time one run. The previous answer is overwritten first, and the new one is checked at the end.

    Raises WrongResultError.
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
    """Energy of one run in J and mean power in W of back-to-back runs; of the whole board."""

    joules: float
    watts: float


def measure_energy(
    run: Run, clock: Clock, monitor: Monitor, run_ms: float, now: Callable[[], float] = time.monotonic
) -> Energy | None:
    """The energy of runs of about ``run_ms`` one after another, for at least ENERGY_S, between two changes of
    the counter. None without a counter, or if it does not change. The last run is checked: raises
    WrongResultError.
    """
    used, begun, runs = monitor.energy_joules(), now(), 0
    first: tuple[float, float] | None = None
    while used is not None and now() - begun < ENERGY_LIMIT_S:
        between = max(1, round(READ_EVERY_MS / max(run_ms, 1e-3)))
        for _ in range(between):
            run.reset()
            run.solve()
            clock.wait()
        runs += between
        before, used, moment = used, monitor.energy_joules(), now()
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
    """The result columns that a timing fills, whatever was timed."""
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
    """The result columns that samples fill, in the order taken."""
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
