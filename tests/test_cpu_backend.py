"""The emulator as one of the backends."""

from __future__ import annotations

import platform

from bfsbench.backends import open_device
from bfsbench.backends.base import Device


def test_it_is_a_device_and_says_that_it_is_emulated() -> None:
    device: Device = open_device("cpu")
    assert device.backend == "cpu"
    gpu = device.describe()["gpu"]
    assert gpu.startswith("emulated on ")
    assert len(gpu) > len("emulated on ") or not platform.machine()
    assert set(device.describe()) == {"gpu", "gpu_bus_id", "compute_capability", "driver", "cuda"}
    assert device.telemetry() == {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}
    assert device.limits.shared_memory_per_block < device.limits.shared_memory_per_block_optin
    device.close()


def test_a_seeded_schedule_is_part_of_its_name() -> None:
    device = open_device("cpu", schedule_seed=3)
    assert device.describe()["gpu"].endswith(", schedule 3")
    device.close()
