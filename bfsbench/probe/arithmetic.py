"""How fast the device adds and takes minima: the ceiling of all-pairs shortest paths."""

from __future__ import annotations

import numpy as np

from bfsbench.backends import GPU_BACKENDS
from bfsbench.backends.base import Device
from bfsbench.probe.base import CHAINS, Probe, Trial, expect, kernel

_ROUNDS = 2000
_ROUNDS_EMULATED = 10
_BOUND = 2**30


def _trial(device: Device, block: int, name: str) -> Trial:
    """As many blocks of ``block`` threads as the device holds at once."""
    program = kernel(device, name)
    blocks = program.resident_blocks(block)
    rounds = _ROUNDS if device.backend in GPU_BACKENDS else _ROUNDS_EMULATED
    sums = device.empty(blocks * block, np.uint32)
    sums.fill(0)
    launch = program.bind(rounds, _BOUND, sums, block=block)
    expected = CHAINS * rounds + sum(range(CHAINS))

    def verify() -> None:
        wrong = int(np.count_nonzero(sums.download() != expected))
        expect("threads whose additions went wrong", wrong, 0)

    work = float(blocks) * block * CHAINS * rounds
    return Trial(f"{blocks} x {block} threads", work, lambda: launch(blocks), verify)


def _add_minima(device: Device, block: int) -> Trial:
    return _trial(device, block, "add_minima")


def _add_minima_intrinsic(device: Device, block: int) -> Trial:
    return _trial(device, block, "add_minima_intrinsic")


PROBES = (
    Probe(
        "add_min",
        "min(a + b, c) in registers, as compiled",
        "G/s",
        _add_minima,
        (256, 1024),
        (64,),
    ),
    Probe(
        "add_min_intrinsic",
        "the same by __viaddmin_s32 (DPX), which all-pairs shortest paths use",
        "G/s",
        _add_minima_intrinsic,
        (256, 1024),
        (64,),
    ),
)
