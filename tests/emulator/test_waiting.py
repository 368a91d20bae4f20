"""Tests of blocks that wait for each other, child kernels, clusters, and seeds that expose races."""

from collections.abc import Callable

import numpy as np
import pytest

from bfsbench.emulator import Emulator
from bfsbench.support.errors import LaunchError, ToolchainError
from tests.emulator.conftest import KERNELS, kernel_of, run_kernel, zeros


@pytest.mark.parametrize("blocks", [1, 2, 7, 32])
def test_hand_written_barrier_between_blocks(device: Emulator, blocks: int) -> None:
    rounds = 5
    barrier, sums = zeros(device, 2, np.uint32), zeros(device, rounds + 1)
    run_kernel(device, "spins:volatile_barrier", barrier, sums, rounds, block=64, blocks=blocks)
    assert sums.download().tolist() == [64 * blocks] * rounds + [0]


@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_grid_sync(device: Emulator, blocks: int) -> None:
    rounds = 4
    sums = zeros(device, rounds + 1)
    run_kernel(device, "spins:grid_sync", sums, rounds, block=96, blocks=blocks)
    assert sums.download().tolist() == [96 * blocks] * rounds + [0]


@pytest.mark.parametrize("name", ["relay_atomic", "relay_load"])
def test_blocks_wait_for_later_blocks(device: Emulator, name: str) -> None:
    blocks = 24
    order = device.upload(np.full(blocks, -1, np.int32))
    run_kernel(device, f"polling:{name}", zeros(device, 1), order, block=64, blocks=blocks)
    assert order.download().tolist() == list(range(blocks))[::-1]


def test_spin_lock_between_all_threads(device: Emulator) -> None:
    words, pointer = zeros(device, 2), zeros(device, 2)
    run_kernel(device, "polling:spin_lock", words, pointer, block=64, blocks=8)
    assert (words.download()[0], pointer.download()[0]) == (0, 512)


@pytest.mark.parametrize("name", ["lane_lock", "counting_lock"])
def test_lanes_of_a_warp_wait_for_each_other(device: Emulator, name: str) -> None:
    lock, counts = zeros(device, 1), zeros(device, 20 + 64)
    run_kernel(device, f"polling:{name}", lock, counts, block=64, blocks=2)
    assert counts.download()[:20].tolist() == [128] * 20


def test_children_run_after_their_parent(device: Emulator) -> None:
    n = 100
    out = zeros(device, 16 * n)
    launch = kernel_of(device, "children:parent").bind(out, n, block=8)
    launch(4)
    assert (out.download() == 1).all()
    launch(4)
    assert (out.download() == 2).all()


def test_order_of_descendants(device: Emulator) -> None:
    log, position = zeros(device, 16), zeros(device, 1)
    run_kernel(device, "children:family", log, position, block=1)
    assert log.download()[: position.download()[0]].tolist() == [1, 2, 202, 102, 3, 203, 103, 900]


def test_chain_of_tail_launches(device: Emulator) -> None:
    steps = zeros(device, 1)
    run_kernel(device, "children:countdown", steps, 5000, block=1)
    assert steps.download()[0] == 5000


def test_pending_children_are_limited(device: Emulator) -> None:
    out = zeros(device, 4)
    launch = kernel_of(device, "children:many").bind(out, block=64)
    launch(48)
    assert out.download().tolist() == [2048, 48 * 64 - 2048, 69, 0]
    launch(1)
    assert out.download()[0] == 2048 + 64


def test_child_beyond_the_limits_is_refused(device: Emulator) -> None:
    out = zeros(device, 2)
    run_kernel(device, "children:too_large", out, block=1)
    assert out.download().tolist() == [0, 1]


def test_child_kernels_must_be_asked_for(device: Emulator) -> None:
    with pytest.raises(ToolchainError, match=r"children\.cu launches kernels .*child_kernels=True"):
        device.module(KERNELS / "children.cu", {})


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_clusters_reach_each_others_shared_memory(device: Emulator, size: int) -> None:
    clusters = 5
    out = device.empty(clusters * size, np.int32)
    kernel = kernel_of(device, "clusters:exchange", {"SIZE": size})
    kernel.bind(out, block=64, shared=16)(clusters * size)
    rank = np.arange(size)
    writers = 10 * rank.sum()
    expected = [[100 + (r + 1) % size + 1000 * (writers + size * c) for r in rank] for c in range(clusters)]
    assert out.download().reshape(clusters, size).tolist() == expected


def test_split_cluster_barrier(device: Emulator) -> None:
    out = device.empty(12, np.int32)
    run_kernel(device, "clusters:split_barrier", out, block=32, blocks=12)
    expected = [sum(b // 4 * 4 + (b + r) % 4 + r for r in range(5)) for b in range(12)]
    assert out.download().tolist() == expected


def test_grid_must_be_a_multiple_of_the_cluster(device: Emulator) -> None:
    out = device.empty(16, np.int32)
    launch = kernel_of(device, "clusters:exchange").bind(out, block=64, shared=16)
    with pytest.raises(LaunchError, match="grid of 6 blocks is not a multiple of the cluster of 4"):
        launch(6)
    with pytest.raises(LaunchError, match="32 blocks a cluster, the limit is 16"):
        kernel_of(device, "clusters:exchange", {"SIZE": 32}).bind(out, block=64, shared=16)


SEEDS = range(1, 51)


def missing_barrier(device: Emulator) -> bool:
    out = device.empty(4 * 256, np.int32)
    run_kernel(device, "races:missing_barrier", out, block=256, blocks=4)
    return bool((out.download().reshape(4, 256)[:, 1:] == np.arange(255)).all())


def assumed_block_order(device: Emulator) -> bool:
    cells = zeros(device, 65)
    run_kernel(device, "races:assumed_block_order", cells, block=32, blocks=64)
    return int(cells.download()[64]) == 64


def check_then_act(device: Emulator) -> bool:
    winners = zeros(device, 1)
    run_kernel(device, "races:check_then_act", zeros(device, 2), winners, block=64)
    return int(winners.download()[0]) == 1


RACES = [missing_barrier, assumed_block_order, check_then_act]


@pytest.mark.parametrize("race", RACES)
def test_plain_order_hides_races(race: Callable[[Emulator], bool]) -> None:
    with Emulator(workers=1) as device:
        assert race(device)


@pytest.mark.parametrize("race", RACES)
def test_most_seeds_expose_races(race: Callable[[Emulator], bool]) -> None:
    exposed = 0
    for seed in SEEDS:
        with Emulator(seed=seed) as device:
            exposed += not race(device)
    assert exposed > len(SEEDS) // 2


def order_of_claims(seed: int, workers: int | None = None) -> list[int]:
    with Emulator(seed, workers) as device:
        owner, order = device.upload(np.full(500, -1, np.int32)), device.empty(500, np.int32)
        run_kernel(device, "atomics:claim", owner, order, zeros(device, 1), 500, block=64, blocks=8)
        return [int(cell) for cell in order.download()]


def test_equal_seeds_give_equal_runs() -> None:
    assert order_of_claims(5) == order_of_claims(5)
    assert order_of_claims(5) != order_of_claims(6)


def test_one_core_and_seed_zero_is_repeatable() -> None:
    assert order_of_claims(0, workers=1) == order_of_claims(0, workers=1)
