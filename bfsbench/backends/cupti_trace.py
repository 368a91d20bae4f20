"""Traces kernels with CUPTI, NVIDIA's library for profilers. It needs the optional package cupti-python.

CUPTI slows the launches of its process, even after a trace has ended. So a process that has traced must not
time searches.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bfsbench.backends.base import KernelTimes
from bfsbench.support.errors import DeviceError, ToolchainError
from bfsbench.support.toolchain import pip_install

_BUFFER_BYTES = 8 << 20
"""Size of a buffer in which CUPTI collects records."""
_FORCED = 1
"""The constant CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: a flush also delivers buffers that are not full."""


def load_cupti() -> Any:
    """Returns the module of cupti-python. Raises ToolchainError if it cannot be imported."""
    try:
        return importlib.import_module("cupti.cupti")
    except ImportError as error:
        fix = pip_install("cupti-python")
        raise ToolchainError(f"CUPTI cannot be used ({error}): run '{fix}'") from error


@contextmanager
def tracing(synchronize: Callable[[], None]) -> Iterator[Callable[[], KernelTimes]]:
    """Record all kernels that run in the ``with`` block. Yields a function that waits for the device, and
    returns the times of the kernels that have run since its last call.

    ``synchronize`` waits for the device. Raises ToolchainError if cupti-python is missing, and DeviceError if
    CUPTI fails.
    """
    cupti = load_cupti()
    kernels: list[tuple[int, int]] = []
    kind = cupti.ActivityKind.CONCURRENT_KERNEL

    def keep(records: list[Any]) -> None:
        kernels.extend((record.start, record.end) for record in records)

    def take() -> KernelTimes:
        synchronize()
        _call(cupti.activity_flush_all, _FORCED)
        times = KernelTimes(covered_ns(kernels) / 1e6, len(kernels))
        kernels.clear()
        return times

    _call(cupti.activity_register_callbacks, lambda: (_BUFFER_BYTES, 0), keep)
    _call(cupti.activity_enable, kind)
    try:
        yield take
    finally:
        _call(cupti.activity_disable, kind)


def covered_ns(spans: list[tuple[int, int]]) -> int:
    """Returns the length in ns of the union of the spans. A span is a pair of a start and an end in ns."""
    total, reached = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _call(function: Callable[..., object], *arguments: object) -> None:
    try:
        function(*arguments)
    except Exception as error:  # the classes of cupti-python's exceptions differ between its versions
        raise DeviceError(f"CUPTI failed: {error}") from error
