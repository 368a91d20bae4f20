"""Implements the device interface on this machine's CPU, by :mod:`bfsbench.emulator`. This device is for
developing and testing kernels without a GPU. Its times do not predict the times of a GPU."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from bfsbench.backends.base import KernelTimes, Limits
from bfsbench.emulator import WARP_SIZE, Emulator, Hardware
from bfsbench.support.errors import DeviceError
from bfsbench.support.gpu_memory import DeviceArray
from bfsbench.support.machine import cpu_model
from bfsbench.support.paths import KERNEL_HEADERS


class CpuDevice(Emulator):
    """An emulated GPU that implements :class:`bfsbench.backends.base.Device`.

    The arguments of the constructor are the arguments of :class:`bfsbench.emulator.Emulator`, except
    ``include``.
    """

    backend = "cpu"

    def __init__(
        self, seed: int = 0, workers: int | None = None, hardware: Hardware | None = None, **options: Any
    ) -> None:
        super().__init__(seed, workers, hardware, KERNEL_HEADERS, **options)
        self.limits = _limits(self.hardware)

    def describe(self) -> dict[str, str]:
        """Returns values for the result columns that describe the device. ``gpu`` names the emulator. If the
        seed of its thread schedule is not 0, ``gpu`` names this seed too."""
        schedule = f", schedule {self.seed}" if self.seed else ""
        gpu = f"emulated on {cpu_model()}{schedule}"
        return {"gpu": gpu, "gpu_bus_id": "", "compute_capability": "", "driver": "", "cuda": ""}

    def borrow(self, array: DeviceArray) -> None:
        """Returns None: the emulator runs on the CPU, and cannot read the memory of a real GPU."""

    def telemetry(self) -> dict[str, str]:
        """Returns empty values, because an emulated GPU has no clocks."""
        return {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}

    def energy_joules(self) -> float | None:
        return None

    def capture(self, launch_all: Callable[[], None]) -> Callable[[], None]:
        """Returns ``launch_all`` itself, because the emulator has no CUDA graphs."""
        return launch_all

    def tracing(self) -> AbstractContextManager[Callable[[], KernelTimes]]:
        raise DeviceError("CUPTI traces kernels on a GPU only, not on the emulator")

    def reset_persisting_l2(self) -> None:
        """Do nothing, because the emulator has no caches."""

    def other_processes(self) -> int:
        return 0


def _limits(hardware: Hardware) -> Limits:
    return Limits(
        warp_size=WARP_SIZE,
        max_threads_per_block=hardware.max_threads_per_block,
        max_grid=hardware.max_grid,
        num_multiprocessors=hardware.multiprocessors,
        max_threads_per_multiprocessor=hardware.threads_per_multiprocessor,
        shared_memory_per_block=min(48 << 10, hardware.shared_per_block),
        shared_memory_per_block_optin=hardware.shared_per_block,
        shared_memory_per_multiprocessor=hardware.shared_per_multiprocessor,
        memory=hardware.memory,
        max_blocks_per_multiprocessor=hardware.blocks_per_multiprocessor,
        reserved_shared_memory=1 << 10,  # as on all GPUs since compute capability 8.0
        blocks_per_cluster=hardware.blocks_per_cluster,
    )
