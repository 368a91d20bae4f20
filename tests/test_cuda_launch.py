"""Tests of the GPU backends with made-up drivers: launches, memory, errors, and the choice of a backend."""

import ctypes
import gc
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.backends.base import Struct
from bfsbench.bench import measure
from bfsbench.bench.measure import Machine
from bfsbench.support.errors import (
    DeviceError,
    DeviceOutOfMemoryError,
    KernelError,
    LaunchError,
    ToolchainError,
    UsageError,
)
from bfsbench.support.toolchain import DRIVER_LIBRARY
from tests import made_up_drivers
from tests.made_up_drivers import DEVICE, FUNCTION, MEMORY, Kept, Launched

KERNEL = 'extern "C" __global__ void scale(float *values, int count, double by, int first, int level) {}'


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture(params=GPU_BACKENDS)
def device(
    request: pytest.FixtureRequest, kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Any]:
    """A device of each GPU backend. It has a made-up driver and an empty cache."""
    device = made_up_drivers.opened(request.param, kept, monkeypatch, tmp_path)
    yield device
    device.close()


@pytest.mark.parametrize("backend", [*GPU_BACKENDS, "auto"])
def test_a_gpu_that_is_too_old_is_replaced_only_if_the_backend_is_auto(
    backend: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    identity = SimpleNamespace(name="Tesla P100", compute_capability=(6, 0))
    driver = SimpleNamespace(identity=identity, backend="cuda", close=lambda: None)
    monkeypatch.setattr("bfsbench.backends._driver", lambda name: driver)
    why = "Tesla P100 has compute capability 6.0, but kernels need 7.5 or later"
    if backend == "auto":
        with closing(open_device(backend)) as device:
            assert device.backend == "cpu"
        assert caplog.messages == [f"bfsbench: {why}: kernels run in the emulator"]
    else:
        with pytest.raises(UsageError, match=why):
            open_device(backend)


@pytest.fixture
def kernel(device: Any, tmp_path: Path) -> Any:
    source = tmp_path / "scale.cu"
    source.write_text(KERNEL)
    return device.module(source, {"X": 1}).kernel("scale")


def bound(device: Any, kernel: Any, **settings: Any) -> Any:
    """Returns a launch whose last parameter is not bound."""
    values = device.upload(np.ones(4, np.float32))
    given: dict[str, Any] = {"values": values, "count": 4, "by": np.float64(0.5), "first": 3}
    return kernel.bind(**{"block": 64, "scalars": ("level",), **given, **settings})


def test_arguments_are_packed_once_in_the_order_and_alignment_of_the_parameters(
    device: Any, kernel: Any, kept: Kept
) -> None:
    values = device.upload(np.ones(4, np.float32))
    launch = bound(device, kernel, values=values)
    for blocks, level in ((7, 11), (8, 12)):
        launch(blocks, level)
        parameters = struct.pack("Pi4xdii", values.pointer, 4, 0.5, 3, level)
        assert kept.launches.pop() == Launched(blocks, 64, 0, parameters)


def test_a_launch_keeps_what_it_points_to(device: Any, kernel: Any, kept: Kept) -> None:
    launch = bound(device, kernel)
    gc.collect()
    assert not kept.freed
    del launch
    gc.collect()
    assert len(kept.freed) == 1


def test_a_refused_launch_is_no_fault_of_the_kernel(device: Any, kernel: Any, kept: Kept) -> None:
    launch = bound(device, kernel)
    for said, expected in (("invalid argument", LaunchError), ("an illegal memory access", KernelError)):
        kept.says = said
        with pytest.raises(expected, match=said):
            launch(1, 0)


def test_a_configuration_that_cannot_be_launched_is_refused_when_it_is_bound(
    device: Any, kernel: Any, kept: Kept
) -> None:
    with pytest.raises(LaunchError, match="1024 threads a block, but its 32 registers a thread allow 512"):
        bound(device, kernel, block=1024)
    most = DEVICE[97]
    with pytest.raises(LaunchError, match=f"bytes of shared memory a block, but the device has {most}"):
        bound(device, kernel, shared=most)
    assert kept.attributes == {14: 1}  # clusters of more than 8 blocks
    bound(device, kernel, shared=most - FUNCTION[1])
    assert kept.attributes[8] == most - FUNCTION[1]


def test_resident_blocks_are_bounded_by_threads_registers_and_shared_memory(kernel: Any) -> None:
    assert kernel.resident_blocks(512) == 4 * DEVICE[16]
    assert kernel.resident_blocks(32) == 32 * DEVICE[16]
    assert kernel.resident_blocks(32, shared=100 << 10) == 2 * DEVICE[16]


def test_buffers_are_filled_and_copied(device: Any) -> None:
    words = device.upload(np.arange(6, dtype=np.int32))
    words.fill(-1, 2, 3)
    assert words.download().tolist() == [0, 1, -1, -1, -1, 5]
    marks = device.empty(4, np.uint8)
    marks.fill(3)
    assert marks.download().tolist() == [3, 3, 3, 3]
    wide = device.upload(np.arange(1, 4, dtype=np.int64))
    wide.fill(0, 1)
    assert wide.download().tolist() == [1, 0, 0]


class State(Struct):
    _fields_: ClassVar = [("level", ctypes.c_int), ("sizes", ctypes.c_int * 2)]


def test_signals_are_read_and_filled_by_word_and_by_member(device: Any) -> None:
    signal = device.signal(3)
    signal.fill(5)
    signal.fill(6, 1)
    assert [signal.read(word) for word in range(3)] == [5, 6, 5]
    state = device.signal(State)
    state.fill(0)
    state.fill_member(9, "sizes", 1)
    found = state.read_struct()
    assert (found.level, list(found.sizes)) == (0, [0, 9])
    assert state.member("sizes").pointer == state.pointer + 4


def test_too_large_an_array_is_one_line(device: Any) -> None:
    with pytest.raises(DeviceOutOfMemoryError, match=r"out.of.memory"):
        device.empty(MEMORY + 1, np.uint8)


def test_memory_is_freed_with_its_buffer_and_not_after_the_device_is_closed(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the device is closed, the address may belong to another buffer."""
    made_up_drivers.install("cuda-core", kept, monkeypatch)
    device = open_device("cuda-core")
    first, second = device.empty(4, np.int32), device.empty(4, np.int32)
    places = [each.pointer for each in (first, second)]  # type: ignore[attr-defined]
    del first
    assert kept.freed == places[:1]
    device.close()
    assert kept.freed == places
    del second
    assert kept.freed == places


def test_a_broken_context_of_pycuda_is_not_used_again(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up_drivers.install("cuda", kept, monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.find_nvcc", lambda: Path("nvcc"))
    driver = sys.modules["pycuda.driver"]
    retain = driver.Device.return_value.retain_primary_context
    for _ in range(2):
        open_device("cuda").close()
    assert retain.call_count == 1
    driver.Stream.return_value.synchronize.side_effect = driver.Error("an illegal memory access")
    open_device("cuda").close()
    assert retain.return_value.detach.call_count == 1
    driver.Stream.return_value.synchronize.side_effect = None
    open_device("cuda").close()
    assert retain.call_count == 2


def test_times_lie_between_events(device: Any) -> None:
    first, second = device.event(), device.event()
    first.record()
    second.record()
    assert second.milliseconds_since(first) == 1.5


def test_rows_say_which_backend_and_which_compiler(device: Any) -> None:
    assert device.backend in GPU_BACKENDS
    expected = {"gpu": "Made-up GPU", "gpu_bus_id": "0000:01:00.0", "compute_capability": "9.0"}
    assert device.describe() == expected | {"driver": "13.0", "cuda": "13.0"}


def test_auto_takes_the_first_backend_that_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_nvcc() -> Path:
        raise ToolchainError("no nvcc found")

    for backend in GPU_BACKENDS:
        made_up_drivers.install(backend, Kept(), monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.find_nvcc", lambda: tmp_path / "nvcc")
    assert open_device("auto").backend == "cuda"
    made_up_drivers.forget("bfsbench.backends.pycuda_driver", monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.find_nvcc", no_nvcc)
    assert open_device("auto").backend == "cuda-core"
    with pytest.raises(UsageError, match=r"no CUDA device can be used \(no nvcc found\): see"):
        open_device("cuda")
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    made_up_drivers.forget("bfsbench.backends.cuda_core_driver", monkeypatch)
    assert open_device("auto").backend == "cpu"


def test_a_machine_without_a_driver_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_flags: int) -> None:
        raise RuntimeError("no library\nfound")

    made_up_drivers.install("cuda-core", Kept(), monkeypatch)
    monkeypatch.setattr(sys.modules["cuda.bindings"].driver, "cuInit", fail)
    with pytest.raises(UsageError, match=r"no CUDA device can be used \(libcuda.so.1 cannot be loaded\)"):
        open_device("cuda-core")


def test_code_that_the_driver_is_too_old_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up_drivers.install("cuda-core", Kept(), monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.nvrtc_version", lambda: "14.0")
    with pytest.raises(UsageError, match=r"NVRTC 14.0 makes code for newer drivers .* CUDA 13.0"):
        open_device("cuda-core")


def test_captured_launches_run_when_their_graph_is_launched(device: Any, kernel: Any, kept: Kept) -> None:
    launch = bound(device, kernel)
    ran: list[tuple[int, ...]] = []
    kept.run = lambda launched: ran.append((launched.blocks, launched.parameters[-4]))

    def launch_all() -> None:
        for level in range(3):
            launch(5, level)

    graph = device.capture(launch_all)
    assert (ran, kept.launches) == ([], [])
    for _ in range(2):
        graph()
    assert (ran, kept.launches) == ([(5, 0), (5, 1), (5, 2)] * 2, [])
    launch(6, 7)
    assert ran[6:] == [(6, 7)], "no capture is in progress"


def test_a_graph_keeps_the_buffers_of_its_launches_and_frees_them(
    device: Any, kernel: Any, kept: Kept
) -> None:
    graph = device.capture(partial(bound(device, kernel), 1, 0))
    gc.collect()
    assert not kept.freed
    del graph
    gc.collect()
    assert len(kept.freed) == 1
    assert kept.calls == ["destroy graph"]


def test_a_closed_device_has_freed_its_graphs(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up_drivers.install("cuda-core", kept, monkeypatch)
    device = open_device("cuda-core")
    graph = device.capture(lambda: None)
    device.close()
    assert kept.calls == ["destroy graph"]
    del graph
    assert kept.calls == ["destroy graph"]


def test_a_refused_launch_ends_the_capture(device: Any, kernel: Any, kept: Kept) -> None:
    launch = bound(device, kernel)
    kept.says = "invalid argument"
    with pytest.raises(LaunchError, match="invalid argument"):
        device.capture(lambda: launch(1, 0))
    assert kept.captured is None


def test_graphs_that_the_driver_cannot_make_are_an_error(
    device: Any, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = ctypes.CDLL(DRIVER_LIBRARY)
    monkeypatch.setattr(driver, "cuGraphInstantiateWithFlags", lambda *_given: 801)
    with pytest.raises(KernelError, match="cuGraphInstantiateWithFlags failed with CUDA error 801"):
        device.capture(lambda: None)
    monkeypatch.delattr(driver, "cuGraphInstantiateWithFlags")
    with pytest.raises(DeviceError, match=r"CUDA graphs need a driver for CUDA 11\.4 or newer"):
        device.capture(lambda: None)


def test_a_flush_resets_lines_that_persist_in_the_cache(
    device: Any, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "FLUSHED", 0)
    monkeypatch.setattr(measure, "FLUSHED_BYTES", 1024)
    Machine(device).flush()
    assert kept.calls == ["reset persisting L2"]
