"""Tests of the emulated device: buffers, signals, events, limits, and its use as a backend."""

import platform
import time
import timeit
from pathlib import Path

import numpy as np
import pytest

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.emulator import Emulator
from bfsbench.emulator.library import build_runtime
from bfsbench.support.errors import DeviceError, DeviceOutOfMemoryError
from tests.emulator.conftest import KERNELS, fails, kernel_of, run_kernel, zeros


def test_buffers(device: Emulator) -> None:
    buffer = device.empty(10, np.int32)
    assert buffer.pointer.value is not None
    assert buffer.pointer.value % 256 == 0
    assert (buffer.download().view(np.uint8) == 0xCD).all()
    buffer.fill(-1)
    buffer.fill(7, 3)
    buffer.fill(9, 4, 2)
    assert buffer.download().tolist() == [-1, -1, -1, 7, 9, 9, 7, 7, 7, 7]
    copy = buffer.download()
    buffer.fill(0)
    assert copy[0] == -1
    flags = device.upload(np.array([True, False]))
    flags.fill(1)
    assert flags.download().tolist() == [True, True]
    assert device.empty(0, np.int64).size == 1


def test_buffers_refuse_what_does_not_fit(device: Emulator) -> None:
    buffer = device.empty(10, np.int32)
    for start, count in [(0, 11), (11, None), (-1, 2), (5, 6)]:
        with pytest.raises(DeviceError, match="in a buffer of 10"):
            buffer.fill(0, start, count)
    with pytest.raises(DeviceError, match="cannot upload 10 x int64 to a buffer of 10 x int32"):
        buffer.upload(np.zeros(10, np.int64))
    with pytest.raises(DeviceError, match="cannot upload 9 x int32"):
        buffer.upload(np.zeros(9, np.int32))


def test_memory_is_limited_and_returned(device: Emulator) -> None:
    with pytest.raises(DeviceOutOfMemoryError, match="do not fit"):
        device.empty(device.hardware.memory + 1, np.uint8)
    for _ in range(3):
        large = device.empty(1 << 20, np.int32)
        del large
    assert device.allocated == 0


def test_signals(device: Emulator) -> None:
    signal = device.signal(3)
    signal.fill(4)
    signal.fill(-2, 1)
    assert [signal.read(i) for i in range(3)] == [4, -2, 4]
    assert signal.read() == 4


def test_events_measure_host_time(device: Emulator) -> None:
    before, after = device.event(), device.event()
    before.record()
    time.sleep(0.01)
    after.record()
    assert 10 <= after.milliseconds_since(before) < 5000


def test_residency_follows_the_limits(device: Emulator) -> None:
    small, hog = kernel_of(device, "errors:divide"), kernel_of(device, "errors:hog")
    multiprocessors = device.hardware.multiprocessors
    assert small.resident_blocks(1024) == 2 * multiprocessors
    assert small.resident_blocks(32) == 32 * multiprocessors
    assert small.resident_blocks(33) == 32 * multiprocessors
    assert small.resident_blocks(96) == 2048 // 96 * multiprocessors
    assert small.resident_blocks(32, 100 << 10) == 2 * multiprocessors
    assert hog.resident_blocks(32) == (228 << 10) // 48000 * multiprocessors


def test_the_same_module_twice(device: Emulator) -> None:
    first = device.module(KERNELS / "clusters.cu", {"SIZE": 2})
    assert device.module(KERNELS / "clusters.cu", {"SIZE": 2}) is first
    assert device.module(KERNELS / "clusters.cu", {"SIZE": 4}) is not first


def test_launches_are_cheap() -> None:
    with Emulator() as device:
        launch = kernel_of(device, "errors:trap").bind(block=32, scalars=1)
        launch(1, 0)
        assert min(timeit.repeat(lambda: launch(1, 0), number=1, repeat=200)) < 100e-6


def test_caches_that_share_compiled_code_share_the_runtime(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "native").symlink_to(cache / "native")
    built = build_runtime()
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path))
    assert build_runtime().name == built.name


@pytest.mark.exhaustive  # compiles a runtime of its own
@pytest.mark.parametrize("seed", [0, 1])
def test_portable_fibers(seed: int) -> None:
    """The context switch of POSIX gives the expected results, also after failures."""
    device = Emulator(seed, portable_fibers=True)
    errors = device.module(KERNELS / "errors.cu", {})
    out = device.empty(100, np.int32)
    for name, message in [("recurse", "stack overflow"), ("wild", "illegal memory access")]:
        errors.kernel(name).bind(out, 100_000 if name == "recurse" else 0, block=32)(3)
        fails(device, message)
        assert device.stacks_in_use() == 0
    run_kernel(device, "block:counts", out, block=128)
    assert (out.download() == 5050).all()
    sums, barrier = zeros(device, 4), zeros(device, 2, np.uint32)
    run_kernel(device, "spins:volatile_barrier", barrier, sums, 3, block=64, blocks=6)
    assert sums.download().tolist() == [384] * 3 + [0]
    assert device.stacks_in_use() == 0
    device.close()


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
