"""The machine that samples are taken on: its state, and flushing its caches."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Buffer, Device
from bfsbench.bench.sampling import State
from bfsbench.entries.running import programs_on_gpus

FLUSHED = 4
"""Bytes written to flush the L2 cache / its size."""
FLUSHED_BYTES = 256 << 20
"""Bytes written to flush a cache of unknown size, as on the host."""
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


class Machine:
    """Implements :class:`bfsbench.bench.sampling.Monitor` for a device, or for the host where it is None."""

    def __init__(self, device: Device | None) -> None:
        self._device = device
        self._flushes = 0

    def state(self) -> State:
        """The device's state by its telemetry."""
        if self._device is None:
            return State()
        told = self._device.telemetry()
        throttle = "" if told["throttle"] == "none" else told["throttle"]
        return State(int(told["sm_clock_mhz"]) if told["sm_clock_mhz"] else None, throttle)

    def energy_joules(self) -> float | None:
        """The device's counter; the host has none."""
        return None if self._device is None else self._device.energy_joules()

    def other_processes(self) -> int:
        """On the device, without entries that wait for their turn."""
        return 0 if self._device is None else max(0, self._device.other_processes() - programs_on_gpus())

    def governor(self) -> str:
        """The governor of the first core."""
        try:
            return _GOVERNOR.read_text().strip()
        except OSError:
            return ""

    def flush(self) -> None:
        """Write a buffer of several times the cache, each time with another value."""
        self._flushes += 1
        self._buffer.fill(self._flushes % 128)

    @cached_property
    def _buffer(self) -> Buffer | npt.NDArray[np.uint8]:
        if self._device is None:
            return np.empty(FLUSHED_BYTES, np.uint8)
        return self._device.empty(FLUSHED * self._device.limits.l2_cache or FLUSHED_BYTES, np.uint8)
