"""Devices that run the kernels of ``cuda_src``: a GPU, or an emulation on this machine's CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsbench.errors import DeviceError, UsageError

if TYPE_CHECKING:
    from bfsbench.backends.base import Device

BACKENDS = ("auto", "cuda", "cpu")


def open_device(backend: str, schedule_seed: int = 0) -> Device:
    """Open a device: ``cuda``, ``cpu``, or ``auto`` for CUDA where there is a GPU and the CPU otherwise.

    ``schedule_seed`` chooses the order in which the CPU runs threads and blocks.
    Raises UsageError when ``cuda`` is asked for and not available.
    """
    if backend == "cpu":
        from bfsbench.backends.cpu import CpuDevice

        return CpuDevice(seed=schedule_seed)
    if backend not in BACKENDS:
        raise UsageError(f"unknown backend '{backend}': choose from {', '.join(BACKENDS)}")
    try:
        from bfsbench.backends.cuda import CudaDevice

        return CudaDevice()
    except (ImportError, DeviceError) as error:
        if backend == "auto":
            return open_device("cpu", schedule_seed)
        raise UsageError(f"no CUDA device can be used ({error}): see 'bfsbench doctor'") from error
