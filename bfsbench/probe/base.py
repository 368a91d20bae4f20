"""What a probe is, and how it is timed: checked once, then the best of several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bfsbench.backends.base import Device, Kernel
from bfsbench.errors import BfsbenchError
from bfsbench.paths import CUDA_SRC
from bfsbench.programs import DeviceClock

REPEATS = 7
CHAINS = 32
"""Chains of operations that a thread of ``add_minima`` keeps in flight."""

_MS_PER_RATE = {"GB/s": 1e6, "G/s": 1e6}
"""Units of rates, and how much work a millisecond of one unit is."""
_PER_MS = {"ns": 1e6, "us": 1e3}
"""Units of times, and how many a millisecond has."""


class ProbeError(BfsbenchError):
    """A probe's kernels gave a wrong result."""


@dataclass(frozen=True)
class Trial:
    """One setting of a probe, ready to be timed."""

    setting: str
    """The setting as text: ``16 MiB``, ``132 x 1024 threads``."""
    work: float
    """The amount of work of one run: bytes, accesses, barriers."""
    run: Callable[[], None]
    """Issues the work; it may also wait for it."""
    verify: Callable[[], None]
    """Raises ProbeError unless the results of all runs so far are right."""
    working_set: int | None = None
    """The working set in bytes, where the speed depends on it."""


@dataclass(frozen=True)
class Probe:
    """One of the device's ceilings."""

    name: str
    meaning: str
    """The meaning of one unit of work."""
    unit: str
    """The unit: a rate (``GB/s``, ``G/s``) or the time of one operation (``ns``, ``us``)."""
    trial: Callable[[Device, int], Trial]
    """Prepares a trial on a device in one of the settings."""
    settings: tuple[int, ...]
    small: tuple[int, ...]
    """Settings for an emulated device, which only tests the kernels."""

    @property
    def is_rate(self) -> bool:
        return self.unit in _MS_PER_RATE

    def in_unit(self, work: float, milliseconds: float) -> float:
        """The figure of an amount of work done in a time."""
        if self.is_rate:
            return work / milliseconds / _MS_PER_RATE[self.unit]
        return milliseconds * _PER_MS[self.unit] / work


@dataclass(frozen=True)
class Figure:
    """The result of one trial: ``value`` is the best of the ``samples``, all in the probe's unit."""

    probe: Probe
    setting: str
    working_set: int | None
    value: float
    samples: tuple[float, ...]


def run_probe(probe: Probe, device: Device) -> Iterator[Figure]:
    """The figures of a probe, one per setting. Raises ProbeError, DeviceError."""
    clock = DeviceClock(device)
    for setting in probe.small if device.backend == "cpu" else probe.settings:
        trial = probe.trial(device, setting)
        trial.run()
        trial.verify()
        samples = []
        for _ in range(REPEATS):
            clock.start()
            trial.run()
            samples.append(probe.in_unit(trial.work, clock.stop()))
        trial.verify()
        best = max(samples) if probe.is_rate else min(samples)
        yield Figure(probe, trial.setting, trial.working_set, best, tuple(samples))


def kernel(device: Device, name: str) -> Kernel:
    """A kernel of ``cuda_src/probe.cu``."""
    return device.module(CUDA_SRC / "probe.cu", {"WIDE_OFFSETS": 0, "CHAINS": CHAINS}).kernel(name)


def expect(what: str, found: int, expected: int) -> None:
    """Raises ProbeError unless both numbers are equal."""
    if found != expected:
        raise ProbeError(f"{what}: {found} instead of {expected}; figures of this device cannot be trusted")


def bytes_in_words(size: int) -> str:
    """A power of two: ``16 MiB``."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} bytes"
