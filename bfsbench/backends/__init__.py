"""Opens devices that run the kernels in the folder ``cuda_src``. A device is a GPU, or an emulated GPU on
this machine's CPU."""

from __future__ import annotations

import ctypes
import logging
import os
from typing import TYPE_CHECKING

from bfsbench.support.errors import DeviceError, ToolchainError, UnsupportedDeviceError, UsageError
from bfsbench.support.toolchain import DRIVER_LIBRARY

if TYPE_CHECKING:
    from bfsbench.backends.base import Device
    from bfsbench.backends.cuda import Driver

_LOG = logging.getLogger(__name__)

GPU_BACKENDS = ("cuda", "cuda-core")
"""The backends that run kernels on a GPU. ``cuda`` uses PyCUDA and nvcc, and ``cuda-core`` uses NVIDIA's
package cuda-core and NVRTC."""
BACKENDS = ("auto", *GPU_BACKENDS, "cpu")


def open_device(backend: str, schedule_seed: int = 0) -> Device:
    """Open a device and return it. ``backend`` is one of GPU_BACKENDS, ``cpu``, or ``auto``. With ``auto``,
    the first GPU backend that works is used, or ``cpu`` if none works.

    ``schedule_seed`` determines the order in which the backend ``cpu`` runs threads and blocks. Raises
    UsageError if the backend is unknown or not available, or if the GPU is too old for the kernels.
    """
    if backend not in BACKENDS:
        raise UsageError(f"unknown backend '{backend}': choose from {', '.join(BACKENDS)}")
    if backend != "cpu" and (gpu := open_gpu(backend)):
        return gpu
    from bfsbench.backends.cpu import CpuDevice

    return CpuDevice(seed=schedule_seed)


def open_gpu(backend: str = "auto", instead: str = "kernels run in the emulator") -> Device | None:
    """Open a GPU and return it. ``backend`` is ``auto`` or one of GPU_BACKENDS.

    If ``backend`` is ``auto`` and no GPU can be used, returns None. If the machine nevertheless seems to have
    a GPU, a warning is logged, which says what happens ``instead``. Raises the errors of ``open_device``.
    """
    reasons: list[str] = []
    for name in GPU_BACKENDS if backend == "auto" else (backend,):
        try:
            from bfsbench.backends.cuda import CudaDevice

            return CudaDevice(_driver(name))
        except UnsupportedDeviceError as error:
            if backend != "auto":
                raise
            _LOG.warning("bfsbench: %s: %s", error, instead)
            return None
        except (ImportError, DeviceError, ToolchainError) as error:
            if backend != "auto":
                raise UsageError(f"no CUDA device can be used ({error}): see 'bfsbench doctor'") from error
            reasons.append(f"{name}: {error}")
    if reasons and (sign := _sign_of_gpu()):
        told = "bfsbench: %s, but no GPU can be used (%s), so %s: see 'bfsbench doctor'"
        _LOG.warning(told, sign, "; ".join(reasons), instead)
    return None


def _sign_of_gpu() -> str:
    """Returns a sentence that names a sign of a GPU: this machine seems to have a GPU, or a batch system has
    given one to this process. Returns an empty string if there is no sign, or if CUDA_VISIBLE_DEVICES hides
    all GPUs."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1", "NoDevFiles"):
        return ""
    for name, none in (("CUDA_VISIBLE_DEVICES", ""), ("SLURM_JOB_GPUS", ""), ("SLURM_GPUS_ON_NODE", "0")):
        if os.environ.get(name, none) not in ("", none):
            return f"{name}={os.environ[name]} names a GPU"
    try:
        ctypes.CDLL(DRIVER_LIBRARY)
    except OSError:
        return ""
    return f"{DRIVER_LIBRARY} is here"


def _driver(backend: str) -> Driver:
    if backend == "cuda":
        from bfsbench.backends.pycuda_driver import PycudaDriver

        return PycudaDriver()
    from bfsbench.backends.cuda_core_driver import CoreDriver

    return CoreDriver()
