"""Tests that emulated kernels give the results that CUDA specifies."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.emulator import Emulator
from tests.emulator.conftest import kernel_of, run_kernel, zeros

Array = npt.NDArray[Any]

RNG = np.random.default_rng(7)
FULL = 0xFFFFFFFF


def words(*values: int) -> Array:
    return np.array(values, np.uint32)


def expected_bits(x: int, y: int, s: int) -> list[int]:
    both = y << 32 | x
    low = min(s, 32)

    def reverse(value: int, width: int) -> int:
        return int(f"{value:0{width}b}"[::-1], 2)

    def lowest(value: int) -> int:
        return (value & -value).bit_length()

    def byte(k: int) -> int:
        return both >> 8 * k & 0xFF

    counts = [x.bit_count(), both.bit_count(), 32 - x.bit_length(), 64 - both.bit_length()]
    reversals = [lowest(x), lowest(both), reverse(x, 32), reverse(both, 64) >> 32]
    shifts = [(both << (s & 31)) >> 32, both >> (s & 31), (both << low) >> 32, both >> low, min(x, y) + 2]
    permuted = byte(1) | byte(3) << 8 | byte(5) << 16 | byte(7) << 24
    return [*counts, *reversals, *(value & FULL for value in shifts), permuted]


def test_bit_intrinsics(device: Emulator) -> None:
    inputs = [0, 1, 2**31, FULL, 0x12345678, *map(int, RNG.integers(0, 2**32, 40))]
    n = len(inputs)
    out = device.empty(14 * n, np.uint32)
    run_kernel(device, "arithmetic:bits", device.upload(words(*inputs)), out, n, block=32, blocks=2)
    expected = [expected_bits(inputs[i], inputs[(i + 1) % n], inputs[(i + 2) % n] & 63) for i in range(n)]
    assert out.download().reshape(n, 14).tolist() == expected


def test_integer_intrinsics(device: Emulator) -> None:
    values = [0, 1, -1, 7, -8, 2**23, -(2**24) - 3, 2**31 - 1, -(2**31), 123456789]
    n = len(values)
    out = device.empty(10 * n, np.int32)
    run_kernel(device, "arithmetic:integers", device.upload(np.array(values, np.int32)), out, n, block=32)
    found = out.download().view(np.uint32).reshape(n, 10).tolist()
    for x, y, row in zip(values, values[1:] + values[:1], found, strict=True):
        u, v = x % 2**32, y % 2**32
        low_x, low_y = ((value + 2**23) % 2**24 - 2**23 for value in (x, y))
        expected = [low_x * low_y, (u % 2**24) * (v % 2**24), abs(x - y) + 7, abs(u - v) + 7]
        expected += [(x + y) >> 1, (x + y + 1) >> 1, (u + v) >> 1, (u + v + 1) >> 1, x * y, u * v]
        assert row == [value % 2**32 for value in expected]


def test_fast_functions_of_float(device: Emulator) -> None:
    out = device.empty(4, np.int32)
    run_kernel(device, "arithmetic:floats", device.upload(np.array([0, 1], np.float32)), out, block=1)
    assert out.download().tolist() == [1, 10, 3, 0]


def test_vector_types_and_globals(device: Emulator) -> None:
    n = 100
    a = RNG.integers(0, 1000, (n, 4)).astype(np.int32)
    b = RNG.integers(0, 1000, (n, 2)).astype(np.int64)
    da, db, calls = device.upload(a), device.upload(b), device.signal()
    run_kernel(device, "arithmetic:vectors", da, db, n, block=64, blocks=2)
    table = np.array([10, 20, 30, 40])[np.arange(n) % 4]
    expected = np.stack([a[:, 0] + a[:, 1], 2 * a[:, 2], table, a[:, 3] + a[:, 0]], axis=1)
    # __ldcg(&a[i].w) reads before the store of the same element
    assert (da.download().reshape(n, 4) == expected).all()
    assert (db.download().reshape(n, 2) == np.stack([b[:, 1], np.full(n, 16 << 32)], axis=1)).all()
    run_kernel(device, "arithmetic:read_calls", calls, block=1)
    assert calls.read() == 6


def test_every_device_has_its_own_globals() -> None:
    for _ in range(2):
        with Emulator() as device:
            calls = device.signal()
            run_kernel(
                device, "arithmetic:vectors", zeros(device, 4), zeros(device, 2, np.int64), 1, block=32
            )
            run_kernel(device, "arithmetic:read_calls", calls, block=1)
            assert calls.read() == 6


def test_scalar_arguments(device: Emulator) -> None:
    out = device.empty(5, np.float64)
    arguments = (np.int64(2**40), np.uint32(2**32 - 1), np.float32(0.25), np.float64(-0.5))
    run_kernel(device, "arithmetic:parameters", *arguments, -7, out, block=1)
    assert out.download().tolist() == [2.0**40, 2.0**32 - 1, 0.25, -0.5, -7.0]


def test_tuples_are_structs(device: Emulator) -> None:
    values, out = np.arange(40, dtype=np.int32), device.empty(40, np.int32)
    kernel = kernel_of(device, "arithmetic:members")
    members = (device.upload(values), 40, np.int64(3 << 32), None, out)
    kernel.bind(members, block=32, scalars=1)(1, 7)
    assert out.download().tolist() == (3 * values + 7).tolist()


@pytest.mark.parametrize(("width", "delta"), [(32, 0), (32, 5), (32, 31), (16, 3), (8, 7), (4, 1), (2, 1)])
def test_shuffles(device: Emulator, width: int, delta: int) -> None:
    x = RNG.integers(-(2**50), 2**50, 32)
    out = device.empty(5 * 32, np.int64)
    run_kernel(device, "warp:shuffles", device.upload(x), out, width, delta, block=32)
    lane = np.arange(32)
    first, offset = lane // width * width, lane % width
    indexed = first + delta % width
    up = np.where(offset >= delta, lane - delta, lane)
    down = np.where(offset + delta < width, lane + delta, lane)
    crossed = np.where((lane ^ delta) < first + width, lane ^ delta, lane)
    got = out.download().reshape(5, 32)
    assert (got[:4] == np.stack([x[indexed], x[up], x[down], x[crossed]])).all()
    assert (got[4] == x[indexed].astype(np.float32).astype(np.int64)).all()


def test_votes_and_reductions(device: Emulator) -> None:
    x = RNG.integers(0, 8, 32).astype(np.int32)
    out = device.empty(12 * 32, np.uint32)
    run_kernel(device, "warp:votes", device.upload(x), out, block=32)

    def mask(chosen: Array) -> int:
        return sum(1 << int(lane) for lane in np.flatnonzero(chosen))

    shifted = x.astype(np.int64) - 50
    votes = [mask(x & 1), int((x == 3).any()), 1, None, 1, x.sum()]
    extremes = [int(shifted.min()) % 2**32, int(shifted.max()) % 2**32]
    bits = [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    everywhere = [*votes, *extremes, *bits, 1]
    got = out.download().reshape(12, 32)
    for row, expected in zip(got, everywhere, strict=True):
        assert expected is None or (row == expected).all()
    assert got[3].tolist() == [mask(x == value) for value in x]


def test_tiles_run_independently(device: Emulator) -> None:
    rounds = np.array([0, 1, 7, 2, 5, 3, 9, 4, 6, 8, 1, 0, 2, 3, 4, 5], np.int32)
    out = device.empty(3 * 64, np.int32)
    run_kernel(device, "warp:tiles", device.upload(rounds), out, block=64)
    sums, ballots, rest = out.download().reshape(3, 16, 4)
    assert (sums == np.array([[sum(r + r % 4 for r in range(n))] * 4 for n in rounds])).all()
    assert (ballots == 0b1101).all()
    below = np.arange(64).reshape(16, 4)
    down = np.minimum(below + 1, below[:, 3:])
    assert (rest == down + (np.arange(16) == 1)[:, None] + 4).all()


def test_parts_of_a_warp_in_different_collectives(device: Emulator) -> None:
    out = device.upload(np.full(32, -1, np.int32))
    run_kernel(device, "warp:halves", out, block=32)
    lane = np.arange(32)
    ballot = np.uint32(0xAAAA0000).astype(np.int32)
    expected = np.where(lane < 16, (lane ^ 1) + 2, ballot) + 24 * 1000
    assert (out.download() == np.where(lane < 24, expected, -1)).all()


def test_warp_scan(device: Emulator) -> None:
    x = RNG.integers(0, 100, 96 * 5).astype(np.int32)
    out = device.empty(x.size, np.int32)
    run_kernel(device, "warp:scan", device.upload(x), out, x.size, block=96, blocks=5)
    per_warp = x.reshape(-1, 32)
    assert (out.download().reshape(-1, 32) == np.cumsum(per_warp, axis=1) - per_warp).all()


def test_coalesced_append(device: Emulator) -> None:
    count, out = zeros(device, 1), device.upload(np.full(100, -1, np.int32))
    run_kernel(device, "warp:aggregate", count, out, 200, block=64, blocks=4)
    assert count.download()[0] == 67
    assert sorted(out.download()[:67].tolist()) == list(range(0, 200, 3))


def test_atomics(device: Emulator) -> None:
    i = zeros(device, 8)
    u = device.upload(words(FULL, 0, 0, 0, 0, FULL, 0))
    q, f = zeros(device, 3, np.uint64), zeros(device, 1, np.float32)
    threads = 40 * 64
    run_kernel(device, "atomics:all_atomics", i, u, q, f, block=64, blocks=40)
    last = threads - 1
    assert i.download().tolist() == [threads, -2 * threads, 100 - last, last - 100, 7, 1, threads, threads]
    down = [0, *range(9, -1, -1)][1 + (threads - 1) % 10]
    assert u.download().tolist() == [0, FULL, 0, threads % 10, down, 4000000000 - last, 4000000000 + last]
    assert q.download().tolist() == [threads << 33, last << 32, 5 << 40]
    assert f.download()[0] == threads / 2


def test_claims_are_exclusive(device: Emulator) -> None:
    n = 1500
    owner, list_, count = device.upload(np.full(n, -1, np.int32)), device.empty(n, np.int32), zeros(device, 1)
    run_kernel(device, "atomics:claim", owner, list_, count, n, block=128, blocks=16)
    assert count.download()[0] == n
    assert sorted(list_.download().tolist()) == list(range(n))


def test_shared_memory_and_barriers(device: Emulator) -> None:
    x = RNG.integers(0, 100, 256 * 6 + 10).astype(np.int32)
    out = device.empty(x.size, np.int32)
    run_kernel(device, "block:scan", device.upload(x), out, x.size, block=256, blocks=7)
    padded = np.pad(x, (0, 7 * 256 - x.size)).reshape(7, 256)
    assert (out.download() == np.cumsum(padded, axis=1).ravel()[: x.size] + 1000000).all()

    n = 96
    a = RNG.integers(0, 1000, (3, n)).astype(np.int32)
    buffer = device.upload(a)
    run_kernel(device, "block:reverse", buffer, n, block=n, shared=6 * n, blocks=3)
    reversed_ = (a + np.arange(n))[:, ::-1]
    assert (buffer.download().reshape(3, n) == np.roll(reversed_, -1, axis=1)).all()


def test_barriers_that_vote(device: Emulator) -> None:
    out = device.empty(100, np.int32)
    run_kernel(device, "block:counts", out, block=128)
    assert (out.download() == 50 + 1000 + 4000).all()


def test_indices(device: Emulator) -> None:
    out = device.empty(3 * 70, np.int32)
    run_kernel(device, "block:indices", out, block=70, blocks=3)
    expected = np.arange(3)[:, None] * 10000 + np.arange(70)
    assert (out.download().reshape(3, 70) == expected).all()


def test_shared_memory_starts_as_garbage(device: Emulator) -> None:
    out = device.empty(50, np.uint32)
    run_kernel(device, "block:garbage", out, block=32, blocks=50)
    assert (out.download() == 0xCDCDCDCD).all()
