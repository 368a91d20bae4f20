"""Clocks that time programs: the host's, and the device's events."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bfsbench.backends.base import Device


class Clock(Protocol):
    """Times what happens between ``start`` and ``stop`` in ms."""

    def wait(self) -> None:
        """Wait for earlier work, so that it is not timed."""

    def start(self) -> None: ...

    def stop(self) -> float: ...


class HostClock:
    """The host's monotonic clock."""

    def wait(self) -> None:
        """Does nothing: work of the host is synchronous."""

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> float:
        return (time.perf_counter() - self._started) * 1e3


class DeviceClock:
    """A pair of device events around the work issued between them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._first, self._last = device.event(), device.event()

    def wait(self) -> None:
        self._device.synchronize()

    def start(self) -> None:
        self._first.record()

    def stop(self) -> float:
        self._last.record()
        return self._last.milliseconds_since(self._first)
