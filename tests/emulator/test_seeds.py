"""Seeded schedules: they expose races, and can be repeated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bfsbench.emulator import Emulator
from tests.emulator.conftest import KERNELS

SEEDS = range(1, 51)


def missing_barrier(device: Emulator) -> bool:
    out = device.empty(4 * 256, np.int32)
    device.module(KERNELS / "races.cu", {}).kernel("missing_barrier").bind(out, block=256)(4)
    return bool((out.download().reshape(4, 256)[:, 1:] == np.arange(255)).all())


def assumed_block_order(device: Emulator) -> bool:
    cells = device.upload(np.zeros(65, np.int32))
    device.module(KERNELS / "races.cu", {}).kernel("assumed_block_order").bind(cells, block=32)(64)
    return int(cells.download()[64]) == 64


def check_then_act(device: Emulator) -> bool:
    words = device.signal(2)
    words.fill(0)
    winners = device.upload(np.zeros(1, np.int32))
    device.module(KERNELS / "races.cu", {}).kernel("check_then_act").bind(words, winners, block=64)(1)
    return int(winners.download()[0]) == 1


RACES = [missing_barrier, assumed_block_order, check_then_act]


@pytest.mark.parametrize("race", RACES)
def test_plain_order_hides_races(race: Callable[[Emulator], bool]) -> None:
    device = Emulator(workers=1)
    assert race(device)
    device.close()


@pytest.mark.parametrize("race", RACES)
def test_most_seeds_expose_races(race: Callable[[Emulator], bool]) -> None:
    exposed = 0
    for seed in SEEDS:
        device = Emulator(seed=seed)
        exposed += not race(device)
        device.close()
    assert exposed > len(SEEDS) // 2


def order_of_claims(device: Emulator) -> list[int]:
    owner, order = device.upload(np.full(500, -1, np.int32)), device.empty(500, np.int32)
    count = device.signal()
    count.fill(0)
    kernel = device.module(KERNELS / "atomics.cu", {}).kernel("claim")
    kernel.bind(owner, order, count, 500, block=64)(8)
    cells = [int(cell) for cell in order.download()]
    device.close()
    return cells


def test_equal_seeds_give_equal_runs() -> None:
    assert order_of_claims(Emulator(seed=5)) == order_of_claims(Emulator(seed=5))
    assert order_of_claims(Emulator(seed=5)) != order_of_claims(Emulator(seed=6))


def test_one_core_and_seed_zero_is_repeatable() -> None:
    assert order_of_claims(Emulator(workers=1)) == order_of_claims(Emulator(workers=1))
