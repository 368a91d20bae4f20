"""Tests that errors of kernels name kernel, block and thread, and that the device can be used afterwards."""

import numpy as np
import pytest

from bfsbench.emulator import Emulator
from bfsbench.support.errors import DeviceError, KernelError, LaunchError, ToolchainError
from tests.emulator.conftest import KERNELS, fails, kernel_of, run_kernel, zeros

BROKEN = [
    (
        "divergent_barrier",
        r"divergent barrier: it waits at line \d+ of errors.cu, others of its block at line \d+",
    ),
    (
        "barrier_against_warp",
        r"deadlock: 16 threads wait at a block barrier \(line 15 of errors.cu\) for 16 others, "
        "first for thread 16, 16 threads wait at a warp collective, "
        "in warp 0 lanes 0xffff0000 at line 17 of errors.cu "
        "with mask 0xffffffff for 0x0000ffff, "
        "0 have exited",
    ),
    ("outside_mask", "lane 0 is not in its own mask 0x0000fffe|lane .* is not in its own mask"),
    ("outside_source", "reads lane 9, which is not in the mask 0x0000000f"),
    ("mismatch", "lanes of mask 0xffffffff call different functions"),
    (
        "different_masks",
        "deadlock: 32 threads wait at a warp collective, in warp 0 lanes "
        ".*0x00000002 at line 39 of errors.cu with mask 0x00000007",
    ),
]


def assert_usable(device: Emulator) -> None:
    """Assert that another kernel still runs, and that the failed kernel holds no stacks."""
    assert device.stacks_in_use() == 0
    out = device.empty(100, np.int32)
    run_kernel(device, "block:counts", out, block=128)
    assert (out.download() == 5050).all()


@pytest.mark.parametrize(("name", "message"), BROKEN)
def test_misused_barriers_and_collectives(device: Emulator, name: str, message: str) -> None:
    launch = kernel_of(device, f"errors:{name}").bind(device.empty(64, np.int32), block=32)
    for _ in range(3):
        launch(20)
        place = rf"kernel '{name}', block \(\d+,0,0\), thread \(\d+,0,0\): "
        fails(device, place + f".*({message})")
        assert_usable(device)


def test_trap(device: Emulator) -> None:
    launch = kernel_of(device, "errors:trap").bind(block=64, scalars=1)
    launch(4, 1)
    fails(device, r"^kernel 'trap', block \(2,0,0\), thread \(5,0,0\): __trap was called$")
    launch(4, 0)
    device.synchronize()
    assert_usable(device)


def test_assert_and_printf(device: Emulator, capfd: pytest.CaptureFixture[str]) -> None:
    checked = kernel_of(device, "asserts:checked").bind(block=32, scalars=1)
    checked(1, 32)
    device.synchronize()
    checked(1, 31)
    fails(device, r"thread \(31,0,0\): assertion 'threadIdx\.x < .*' failed, .*asserts\.cu:5")
    run_kernel(device, "asserts:speak", 42, block=32, blocks=2)
    device.synchronize()
    assert sorted(capfd.readouterr().out.split("\n"))[1:] == ["block 0 of 2 says 42", "block 1 of 2 says 42"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wild", r"'wild', block \(0,0,0\), thread \(3,0,0\): illegal memory access"),
        ("divide", "integer division by zero"),
    ],
)
def test_faults_of_the_processor(device: Emulator, name: str, message: str) -> None:
    out = device.empty(64, np.int32)
    run_kernel(device, f"errors:{name}", out, 0, block=32)
    with pytest.raises(KernelError, match=message):
        out.download()
    assert_usable(device)


@pytest.mark.parametrize("place", [-256, -1, 10, 11, 265])
@pytest.mark.parametrize("value", [0, -1, 7])
def test_writes_outside_a_buffer(device: Emulator, place: int, value: int) -> None:
    """A write just outside a buffer changes no other buffer. Its error names the kernel and is raised
    once."""
    out, other = zeros(device, 10), zeros(device, 10)
    run_kernel(device, "errors:write_at", out, np.int64(place), value, block=32, blocks=2)
    where = rf"^kernel 'write_at' wrote element {place} of a buffer of 10 elements \(40 bytes\)$"
    fails(device, where)
    assert not out.download().any() and not other.download().any()
    run_kernel(device, "errors:write_at", out, np.int64(9), 3, block=32, blocks=2)
    assert out.download().tolist() == [0] * 9 + [3]
    assert_usable(device)


@pytest.mark.parametrize("place", range(40, 48))
def test_every_byte_behind_a_buffer_is_guarded(device: Emulator, place: int) -> None:
    out = device.empty(40, np.int8)
    run_kernel(device, "errors:clear_byte", out, place, block=1)
    fails(device, rf"^kernel 'clear_byte' wrote element {place} of a buffer of 40 elements")


def test_writes_outside_the_words_of_a_signal(device: Emulator) -> None:
    signal = device.signal(3)
    signal.fill(0)
    run_kernel(device, "errors:write_at", signal, np.int64(3), 1, block=32)
    with pytest.raises(KernelError, match="wrote element 3 of a buffer of 3 elements"):
        signal.read()


def test_stack_overflow(device: Emulator) -> None:
    out = device.empty(64, np.int32)
    launch = kernel_of(device, "errors:recurse").bind(out, block=32, scalars=1)
    launch(2, 50)
    assert (out.download()[:32] == 50 * 51 // 2).all()
    launch(2, 100_000)
    fails(device, r"'recurse', .*: stack overflow \(\d+ KiB a thread\)")
    assert_usable(device)


def test_grid_barrier_that_cannot_complete(device: Emulator) -> None:
    out = device.empty(5000, np.int32)
    kernel = kernel_of(device, "asserts:grid_sync")
    launch = kernel.bind(out, block=256, scalars=1)
    resident = kernel.resident_blocks(256)
    launch(resident, -1)
    device.synchronize()
    launch(resident + 1, -1)
    fails(device, f"grid barrier .*; 1 blocks could not start: the device holds {resident}")
    launch(8, 3)
    fails(device, r"deadlock: 256 threads wait at a grid barrier \(line 14 of asserts.cu\)")
    assert_usable(device)


def test_shared_memory_of_a_block_that_has_left() -> None:
    device = Emulator(workers=1)
    out = device.empty(8, np.int32)
    run_kernel(device, "clusters:leaves_early", out, block=32, blocks=4)
    fails(device, r"map_shared_rank\(0\): that block has already exited")
    assert_usable(device)
    device.close()


def test_work_after_a_failure_is_dropped_until_it_is_reported(device: Emulator) -> None:
    out = zeros(device, 64)
    run_kernel(device, "errors:trap", 1, block=32, blocks=3)
    run_kernel(device, "errors:bounded", out, block=64)
    with pytest.raises(KernelError, match="__trap"):
        out.download()
    assert out.download().sum() == 0


@pytest.mark.parametrize(
    ("name", "block", "shared", "message"),
    [
        ("wild", 1025, 0, "1025 threads a block, the limit is 1024"),
        ("bounded", 129, 0, r"129 threads a block \(__launch_bounds__\), the limit is 128"),
        ("divide", 32, 232449, "232449 bytes of shared memory a block, the limit is 232448"),
        ("hog", 32, 200000, "248000 bytes of shared memory"),
        ("divide", 0, 0, "0 threads a block"),
    ],
)
def test_launches_beyond_the_limits(
    device: Emulator, name: str, block: int, shared: int, message: str
) -> None:
    out = device.empty(8, np.int32)
    kernel = kernel_of(device, f"errors:{name}")
    arguments = (out,) if len(kernel.parameter_sizes()) == 1 else (out, 1)
    with pytest.raises(LaunchError, match=f"kernel '{name}': {message}"):
        kernel.bind(*arguments, block=block, shared=shared)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), r"'divide' of errors\.cu has 2 parameters, 1 were bound"),
        ((np.int64(3),), "is 'int', but was given the int64 3"),
        (("3",), "is 'int', but was given the str 3"),
        ((2**31,), "is 'int', but was given 2147483648"),
    ],
)
def test_arguments_are_checked(device: Emulator, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        kernel_of(device, "errors:divide").bind(device.empty(8, np.int32), *arguments, block=32)


def test_scalars_are_checked(device: Emulator) -> None:
    launch = kernel_of(device, "errors:divide").bind(device.empty(8, np.int32), block=32, scalars=1)
    with pytest.raises(LaunchError, match="scalar -2147483649 does not fit an int"):
        launch(1, -(2**31) - 1)
    for blocks, scalars in [(0, (1,)), (2**32 + 1, (1,)), (1, ()), (1, (1, 2))]:
        with pytest.raises(LaunchError, match=f"launched with {blocks} blocks and {len(scalars)} scalars"):
            launch(blocks, *scalars)


def test_structs_are_checked(device: Emulator) -> None:
    out = device.empty(8, np.int32)
    kernel = kernel_of(device, "arithmetic:members")
    for arguments, message in [
        (((out, 8, np.int64(1), out),), "parameter 1 takes 40 bytes, not 32"),
        ((out,), "parameter 1 takes 40 bytes, not 8"),
        (((out, 8, "3", None, out),), "parameter 1 was given the str 3"),
        ((out, 8, np.int64(1), None, out), r"'members' of arithmetic\.cu has 2 parameters, 6 were bound"),
    ]:
        with pytest.raises(LaunchError, match=message):
            kernel.bind(*arguments, block=32, scalars=1)


def test_none_is_a_null_pointer(device: Emulator) -> None:
    out = device.signal()
    kernel = kernel_of(device, "errors:optional")
    for maybe, value in [(None, -1), (device.upload(np.array([3], np.int32)), 3)]:
        kernel.bind(out, maybe, block=1)(1)
        assert out.read() == value


def test_compile_errors_name_the_source_line(device: Emulator) -> None:
    with pytest.raises(ToolchainError, match=r"misspelt\.cu:5:\d+: error: .*wrods"):
        device.module(KERNELS / "misspelt.cu", {})


def test_unknown_kernel(device: Emulator) -> None:
    module = device.module(KERNELS / "block.cu", {})
    with pytest.raises(ToolchainError, match=r"block\.cu has no kernel .*void rotate"):
        module.kernel("rotate")


def test_closed_device_refuses_work() -> None:
    device = Emulator()
    out = device.empty(64, np.int32)
    launch = kernel_of(device, "errors:bounded").bind(out, block=64)
    device.close()
    device.close()
    for attempt in (lambda: launch(1), device.synchronize, lambda: device.empty(1, np.int8)):
        with pytest.raises(DeviceError, match="has been closed"):
            attempt()
