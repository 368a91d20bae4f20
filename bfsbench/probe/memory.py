"""How fast memory is copied, and read, tested and changed at random addresses. The settings are log2 of the
number of elements, 4 bytes each, or bits. Arrays hold their own indices, and a pass reads every element once,
so the expected sum follows from the size.
"""

from __future__ import annotations

import numpy as np

from bfsbench.backends.base import Buffer, Device, Kernel
from bfsbench.probe.base import Probe, Trial, bytes_in_words, expect, kernel

BLOCK = 256
_ELEMENT = 4
_PER_VECTOR = 4
"""Elements that a thread copies at once."""
_LEAST_WORK = 28
"""log2 of the accesses in a run: large, so that the launch is negligible; emulated settings do one pass."""


def _full(function: Kernel) -> int:
    """The number of blocks that fills the device."""
    return function.resident_blocks(BLOCK)


def _numbered(device: Device, bits: int) -> Buffer:
    """uint32[2^bits]: 0, 1, 2, ..."""
    numbers, number = device.empty(1 << bits, np.uint32), kernel(device, "number")
    number.bind(numbers, bits, block=BLOCK)(_full(number))
    return numbers


def _passes(device: Device, bits: int, least: int = _LEAST_WORK) -> int:
    return 1 if device.backend == "cpu" else 1 << max(0, least - bits)


def _copy(device: Device, bits: int) -> Trial:
    source, target, copy = _numbered(device, bits), device.empty(1 << bits, np.uint32), kernel(device, "copy")
    passes = _passes(device, bits)
    vectors = (1 << bits) // _PER_VECTOR
    launch = copy.bind(source, target, vectors.bit_length() - 1, vectors * passes, block=BLOCK)
    blocks = _full(copy)

    def verify() -> None:
        wrong = target.download() != np.arange(1 << bits, dtype=np.uint32)
        expect("elements copied wrong", int(np.count_nonzero(wrong)), 0)

    moved = 2 * passes * _ELEMENT << bits
    size = 2 * _ELEMENT << bits
    return Trial(bytes_in_words(size), moved, lambda: launch(blocks), verify, size)


def _reading(device: Device, name: str, numbers: Buffer, bits: int, sum_of_pass: int) -> Trial:
    """A kernel that sums 2^bits elements of an array, each read once per pass."""
    function, passes = kernel(device, name), _passes(device, bits)
    blocks = _full(function)
    sums = device.empty(blocks * BLOCK, np.uint64)
    launch = function.bind(numbers, bits, passes << bits, sums, block=BLOCK)

    def verify() -> None:
        expect(f"sum of {name}", int(sums.download().sum(dtype=np.uint64)), passes * sum_of_pass)

    size = numbers.size * _ELEMENT
    return Trial(bytes_in_words(size), passes << bits, lambda: launch(blocks), verify, size)


def _random_reads(device: Device, bits: int) -> Trial:
    count = 1 << bits
    return _reading(device, "random_reads", _numbered(device, bits), bits, count * (count - 1) // 2)


def _random_bit_tests(device: Device, bits: int) -> Trial:
    index_bits = bits - 5  # of words of 32 bits
    ones = index_bits << (index_bits - 1)  # in all numbers below 2^index_bits
    return _reading(device, "random_bit_tests", _numbered(device, index_bits), bits, ones)


def _random_atomics(device: Device, bits: int) -> Trial:
    function, passes = kernel(device, "random_atomics"), _passes(device, bits, _LEAST_WORK - 2)
    words, blocks = device.empty(1 << bits, np.uint32), _full(function)
    words.fill(0)
    failures = device.empty(blocks * BLOCK, np.uint64)
    launch = function.bind(words, bits, passes, failures, block=BLOCK, scalars=1)
    runs = 0

    def run() -> None:
        nonlocal runs
        launch(blocks, runs * passes)
        runs += 1

    def verify() -> None:
        expect("atomic operations that failed", int(failures.download().sum(dtype=np.uint64)), 0)

    return Trial(bytes_in_words(_ELEMENT << bits), passes << bits, run, verify, _ELEMENT << bits)


PROBES = (
    Probe("copy", "bytes read and written, arrays side by side", "GB/s", _copy, (21, 26), (10,)),
    Probe(
        "random_reads", "4-byte reads in random places", "G/s", _random_reads, (20, 22, 24, 26, 28), (10, 13)
    ),
    Probe(
        "random_bit_tests",
        "tests of single bits in random places of a bitmap",
        "G/s",
        _random_bit_tests,
        (20, 22, 24, 26, 28),
        (10, 13),
    ),
    Probe("random_atomics", "4-byte atomicCAS in random places", "G/s", _random_atomics, (22, 28), (10,)),
)
