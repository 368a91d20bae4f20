"""Latencies of operations that others depend on: a load, a barrier, a launch."""

from __future__ import annotations

import numpy as np

from bfsbench.backends import GPU_BACKENDS
from bfsbench.backends.base import Device
from bfsbench.probe.base import Probe, Trial, bytes_in_words, expect, kernel

_STEPS = 1 << 16
_ROUNDS = 1000
_ROUNDS_EMULATED = 20
_WARP = 32


def _dependent_loads(device: Device, bits: int) -> Trial:
    """Loads along a random cycle in uint32[2^bits]; each load gives the next address."""
    order = np.random.default_rng(0).permutation(1 << bits).astype(np.uint32)
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    start = int(np.flatnonzero(order == 0)[0])
    steps = _STEPS if device.backend in GPU_BACKENDS else 100
    goal = int(order[(start + steps) % len(order)])
    cycle, last = device.upload(following), device.empty(1, np.uint32)
    walk = kernel(device, "dependent_loads").bind(cycle, steps, last, block=1)

    def verify() -> None:
        expect("element after a walk", int(last.download()[0]), goal)

    size = following.nbytes
    return Trial(bytes_in_words(size), steps, lambda: walk(1), verify, size)


def _barrier(device: Device, block: int) -> Trial:
    """A block of ``block`` threads on every multiprocessor."""
    blocks = device.limits.num_multiprocessors
    rounds = _ROUNDS if device.backend in GPU_BACKENDS else _ROUNDS_EMULATED
    state, missed = device.empty(2, np.uint32), device.empty(blocks * block, np.uint32)
    state.fill(0)
    launch = kernel(device, "barriers").bind(state, rounds, missed, block=block)

    def verify() -> None:
        expect("barriers that not all blocks reached", int(missed.download().sum(dtype=np.int64)), 0)

    return Trial(f"{blocks} x {block} threads", rounds, lambda: launch(blocks), verify)


def _launches(device: Device, count: int, read_back: bool) -> Trial:
    """Launches of a nearly empty kernel, one after the other."""
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


def _launch(device: Device, count: int) -> Trial:
    return _launches(device, count, read_back=False)


def _launch_and_read(device: Device, count: int) -> Trial:
    return _launches(device, count, read_back=True)


PROBES = (
    Probe(
        "dependent_loads",
        "loads of which each gives the next one's address: in L1, in L2",
        "ns",
        _dependent_loads,
        (12, 21),
        (8,),
    ),
    Probe("barrier", "barriers over a block a multiprocessor", "us", _barrier, (256, 1024), (64,)),
    Probe("launch", "launches, asynchronous, one after the other", "us", _launch, (_ROUNDS,), (20,)),
    Probe(
        "launch_and_read",
        "launches, each followed by reading 4 bytes back through pinned memory",
        "us",
        _launch_and_read,
        (_ROUNDS,),
        (20,),
    ),
)
