"""Measures the ceilings of a device: its highest rates and shortest times, with which searches are compared.

A probe times one operation in several settings, with kernels of ``cuda_src/probe.cu``. The probe
``host_reads`` instead times how fast the host reads memory, with ``native/host_probe.cpp``. The results of a
probe are checked before and after its timed runs, and the best run counts. New probes are declared in
``PROBES``.

The setting of a memory probe is the binary logarithm of an array's length. The unit of the length is a bit if
the probe tests bits, and otherwise an element of 4 bytes. Each element of an array that a probe sums holds
its own index, and a pass reads every element once. So the expected sum follows from the length.
"""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bfsbench.backends import GPU_BACKENDS
from bfsbench.backends.base import Buffer, Device, Kernel
from bfsbench.programs import DeviceClock
from bfsbench.rows.provenance import host_columns, now
from bfsbench.support.errors import BfsbenchError
from bfsbench.support.machine import usable_cores
from bfsbench.support.paths import CUDA_SRC
from bfsbench.support.toolchain import library

REPEATS = 7
CHAINS = 32
"""Number of independent chains of operations that each thread of the kernel ``add_minima`` runs at the same
time."""

_PER_MS = {"ns": 1e6, "us": 1e3}
"""Maps each unit of time to its number of units in a millisecond."""


class ProbeError(BfsbenchError):
    """Raised if a probe's kernels give a wrong result."""


@dataclass(frozen=True)
class Trial:
    """One setting of a probe, ready to be timed: its device memory is prepared."""

    setting: str
    """The setting as text, such as ``16 MiB`` or ``132 x 1024 threads``."""
    work: float
    """The amount of work of one run, in bytes, accesses, barriers or other operations."""
    run: Callable[[], None]
    """Issues the work to the device. It may also wait until the work ends."""
    verify: Callable[[], None]
    """Raises ProbeError unless the results of all runs so far are right."""
    working_set: int | None = None
    """The size in bytes of the memory that a run accesses, if the speed depends on it."""


@dataclass(frozen=True)
class Probe:
    """A probe, which measures one ceiling (the highest rate or the shortest time) of a device."""

    name: str
    meaning: str
    """The meaning of one unit of the probe's work, in words."""
    unit: str
    """The unit of the result: a rate (``GB/s``, ``G/s``), or the time of one operation (``ns``, ``us``)."""
    trial: Callable[[Device, int], Trial]
    """A function that prepares a trial on a device, given one of the settings."""
    settings: tuple[int, ...]
    small: tuple[int, ...]
    """Settings for an emulated device, on which a probe serves only as a test of its kernels."""

    @property
    def is_rate(self) -> bool:
        return self.unit not in _PER_MS

    def in_unit(self, work: float, milliseconds: float) -> float:
        """Returns the result of a trial in the probe's unit: a rate, or the time per operation. ``work`` is
        the amount of the trial's work, and ``milliseconds`` is its time."""
        if self.is_rate:
            return work / milliseconds / 1e6  # the result counts 10^9 operations per second
        return milliseconds * _PER_MS[self.unit] / work


@dataclass(frozen=True)
class Figure:
    """The result of one trial of a probe. ``value`` is the best of the ``samples``, in the probe's unit."""

    probe: Probe
    setting: str
    working_set: int | None
    value: float
    samples: tuple[float, ...]

    def row(self, device: Device) -> dict[str, str]:
        """Returns the result as a row for a file of ceilings (measured limits of devices). The row also
        describes the device and the host, and has the time of the measurement."""
        return {
            "probe": self.probe.name,
            "setting": self.setting,
            "working_set": "" if self.working_set is None else str(self.working_set),
            "value": f"{self.value:.6g}",
            "unit": self.probe.unit,
            "samples": ";".join(f"{sample:.6g}" for sample in self.samples),
            "backend": device.backend,
            **device.describe(),
            **device.telemetry(),
            **host_columns(),
            "taken_at": now(),
        }


def run_probe(probe: Probe, device: Device) -> Iterator[Figure]:
    """Runs a probe on a device. Yields one result per setting.

    Raises ProbeError if results are wrong. Raises DeviceError if the device fails.
    """
    clock = DeviceClock(device)
    for setting in probe.small if device.backend == "cpu" else probe.settings:
        trial = probe.trial(device, setting)
        trial.run()
        trial.verify()
        samples = []
        for _ in range(REPEATS):
            clock.start()
            trial.run()
            samples.append(probe.in_unit(trial.work, clock.stop()))
        trial.verify()
        best = max(samples) if probe.is_rate else min(samples)
        yield Figure(probe, trial.setting, trial.working_set, best, tuple(samples))


def kernel(device: Device, name: str) -> Kernel:
    """Returns a kernel of ``cuda_src/probe.cu``."""
    return device.module(CUDA_SRC / "probe.cu", {"WIDE_OFFSETS": 0, "CHAINS": CHAINS}).kernel(name)


def expect(what: str, found: int, expected: int) -> None:
    """Checks a probe's result. Raises ProbeError, with a message that begins with ``what``, unless ``found``
    equals ``expected``."""
    if found != expected:
        raise ProbeError(f"{what}: {found} instead of {expected}; figures of this device cannot be trusted")


def bytes_in_words(size: int) -> str:
    """Returns a size in bytes as text, such as ``16 MiB``. The size must be a power of two."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} bytes"


def _passes(device: Device, on_gpu: int, emulated: int) -> int:
    """Returns how often a run repeats its work: ``on_gpu`` times, or ``emulated`` times on an emulated
    device."""
    return on_gpu if device.backend in GPU_BACKENDS else emulated


_BOUND = 2**30


def _additions(name: str, device: Device, block: int) -> Trial:
    """Returns a trial that measures the time of additions and of minimum operations (``min``).

    The trial launches as many blocks of ``block`` threads as the device can run at once.
    """
    program = kernel(device, name)
    blocks = program.resident_blocks(block)
    rounds = _passes(device, 2000, 10)
    sums = device.empty(blocks * block, np.uint32)
    sums.fill(0)
    launch = program.bind(rounds, _BOUND, sums, block=block)
    expected = CHAINS * rounds + sum(range(CHAINS))

    def verify() -> None:
        wrong = int(np.count_nonzero(sums.download() != expected))
        expect("threads whose additions went wrong", wrong, 0)

    work = float(blocks) * block * CHAINS * rounds
    return Trial(f"{blocks} x {block} threads", work, lambda: launch(blocks), verify)


_CHAIN_ROUNDS = 1000
_WARP = 32


def _dependent_loads(device: Device, bits: int) -> Trial:
    """Returns a trial that times dependent loads along a random cycle in uint32[2^bits]. Each load gives the
    address of the next load."""
    order = np.random.default_rng(0).permutation(1 << bits).astype(np.uint32)
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    start = int(np.flatnonzero(order == 0)[0])
    steps = _passes(device, 1 << 16, 100)
    goal = int(order[(start + steps) % len(order)])
    cycle, last = device.upload(following), device.empty(1, np.uint32)
    walk = kernel(device, "dependent_loads").bind(cycle, steps, last, block=1)

    def verify() -> None:
        expect("element after a walk", int(last.download()[0]), goal)

    size = following.nbytes
    return Trial(bytes_in_words(size), steps, lambda: walk(1), verify, size)


def _barrier(device: Device, block: int) -> Trial:
    """Returns a trial that times barriers of the whole grid, with one block of ``block`` threads on every
    multiprocessor."""
    blocks = device.limits.num_multiprocessors
    rounds = _passes(device, _CHAIN_ROUNDS, 20)
    state, missed = device.empty(2, np.uint32), device.empty(blocks * block, np.uint32)
    state.fill(0)
    launch = kernel(device, "barriers").bind(state, rounds, missed, block=block)

    def verify() -> None:
        expect("barriers that not all blocks reached", int(missed.download().sum(dtype=np.int64)), 0)

    return Trial(f"{blocks} x {block} threads", rounds, lambda: launch(blocks), verify)


def _launches(read_back: bool, device: Device, count: int) -> Trial:
    """Returns a trial that launches a nearly empty kernel ``count`` times in a row.

    If ``read_back`` is true, the host reads a number from the device after each launch.
    """
    launched = device.signal()
    launched.fill(0)
    launch = kernel(device, "count_launch").bind(launched, block=_WARP)
    issued = 0

    def run() -> None:
        nonlocal issued
        for _ in range(count):
            launch(1)
            issued += 1
            if read_back:
                launched.read()

    def verify() -> None:
        expect("launches that took place", launched.read(), issued)

    return Trial("1 block", count, run, verify)


BLOCK = 256
_ELEMENT = 4
_PER_VECTOR = 4
"""Number of 4-byte elements that a thread copies with one vector access."""
_LEAST_WORK = 28
"""Binary logarithm of the number of accesses in a run. The number is so large that the time of the launch is
negligible."""


def _numbered(device: Device, bits: int) -> Buffer:
    """Returns a device array of uint32[2^bits] that holds 0, 1, 2, and so on."""
    numbers, number = device.empty(1 << bits, np.uint32), kernel(device, "number")
    number.bind(numbers, bits, block=BLOCK)(number.resident_blocks(BLOCK))
    return numbers


def _copy(device: Device, bits: int) -> Trial:
    source, target, copy = _numbered(device, bits), device.empty(1 << bits, np.uint32), kernel(device, "copy")
    passes = _passes(device, 1 << max(0, _LEAST_WORK - bits), 1)
    vectors = (1 << bits) // _PER_VECTOR
    launch = copy.bind(source, target, vectors.bit_length() - 1, vectors * passes, block=BLOCK)
    blocks = copy.resident_blocks(BLOCK)

    def verify() -> None:
        wrong = target.download() != np.arange(1 << bits, dtype=np.uint32)
        expect("elements copied wrong", int(np.count_nonzero(wrong)), 0)

    moved = 2 * passes * _ELEMENT << bits
    size = 2 * _ELEMENT << bits
    return Trial(bytes_in_words(size), moved, lambda: launch(blocks), verify, size)


def _reading(device: Device, name: str, numbers: Buffer, bits: int, sum_of_pass: int) -> Trial:
    """Returns a trial that times a kernel which sums 2^bits elements of an array. Each pass reads every
    element once."""
    function, passes = kernel(device, name), _passes(device, 1 << max(0, _LEAST_WORK - bits), 1)
    blocks = function.resident_blocks(BLOCK)
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
    index_bits = bits - 5  # a word has 32 bits
    ones = index_bits << (index_bits - 1)  # number of 1 bits in 0 .. 2^index_bits - 1
    return _reading(device, "random_bit_tests", _numbered(device, index_bits), bits, ones)


def _random_atomics(device: Device, bits: int) -> Trial:
    function = kernel(device, "random_atomics")
    passes = _passes(device, 1 << max(0, _LEAST_WORK - 2 - bits), 1)
    words, blocks = device.empty(1 << bits, np.uint32), function.resident_blocks(BLOCK)
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


_HOST_BYTES = 1 << 29


def _host_reads(device: Device, cores: int) -> Trial:
    """Returns a trial in which ``cores`` cores of the host read an array once. If ``cores`` is 0, all cores
    read. The array is larger than most caches. The device is not used."""
    threads = cores or usable_cores()
    numbers = np.arange(_HOST_BYTES // 8, dtype=np.uint64)
    total = library("host_probe").sum_numbers
    total.restype = ctypes.c_uint64
    arguments = (
        numbers.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(numbers.size),
        ctypes.c_int32(threads),
    )
    sums: list[int] = []
    expected = numbers.size * (numbers.size - 1) // 2

    def verify() -> None:
        expect("sums of host_reads that are wrong", sum(found != expected for found in sums), 0)

    setting = f"{threads} core{'s' * (threads > 1)}, {bytes_in_words(numbers.nbytes)}"
    return Trial(setting, numbers.nbytes, lambda: sums.append(total(*arguments)), verify, numbers.nbytes)


_SIZES = (20, 22, 24, 26, 28)
_THREADS = (256, 1024)
_ALL = (
    Probe("copy", "bytes read and written when an array is copied", "GB/s", _copy, (21, 26), (10,)),
    Probe("random_reads", "4-byte reads in random places", "G/s", _random_reads, _SIZES, (10, 13)),
    Probe(
        *("random_bit_tests", "tests of single bits in random places of a bitmap", "G/s"),
        *(_random_bit_tests, _SIZES, (10, 13)),
    ),
    Probe("random_atomics", "4-byte atomicCAS in random places", "G/s", _random_atomics, (22, 28), (10,)),
    Probe(
        *("add_min", "min(a + b, c) in registers, as compiled", "G/s"),
        *(partial(_additions, "add_minima"), _THREADS, (64,)),
    ),
    Probe(
        *(
            "add_min_intrinsic",
            "min(a + b, c) by __viaddmin_s32 (DPX), as in all-pairs shortest paths",
            "G/s",
        ),
        *(partial(_additions, "add_minima_intrinsic"), _THREADS, (64,)),
    ),
    Probe(
        *("dependent_loads", "loads that give the address of the next load: in L1, in L2", "ns"),
        *(_dependent_loads, (12, 21), (8,)),
    ),
    Probe("barrier", "barriers over one block per multiprocessor", "us", _barrier, _THREADS, (64,)),
    Probe(
        *("launch", "launches, asynchronous, one after the other", "us"),
        *(partial(_launches, False), (_CHAIN_ROUNDS,), (20,)),
    ),
    Probe(
        *("launch_and_read", "launches, each followed by reading 4 bytes back through pinned memory", "us"),
        *(partial(_launches, True), (_CHAIN_ROUNDS,), (20,)),
    ),
    Probe("host_reads", "bytes that cores of the host read in order", "GB/s", _host_reads, (1, 0), (1, 0)),
)
PROBES: dict[str, Probe] = {probe.name: probe for probe in _ALL}
"""All probes by their names, in the order in which ``bfsbench probe`` runs them."""
