"""Tests that counts of memory accesses equal counts by hand, and that the lanes of a warp run in lockstep."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bfsbench.emulator import Buffer, Count, Emulator, Hardware, watch
from bfsbench.graphs.load import load
from bfsbench.programs import KernelProgram
from bfsbench.variants import find
from tests.benchmarks.emulator_costs import costs
from tests.emulator.conftest import KERNELS, fails, kernel_of, zeros

_SOURCE = (KERNELS / "counted.cu").read_text().splitlines()
SUMMED = ("executions", "lanes", "sectors")


def mark_of(count: Count) -> str:
    assert count.line is not None
    return _SOURCE[count.line.number - 1].partition("// ")[2]


@pytest.fixture
def device() -> Iterator[Emulator]:
    """A device that counts."""
    with Emulator(counted=True) as opened:
        yield opened


def launch(device: Emulator, name: str, *arguments: Buffer, block: int = 64, blocks: int = 1) -> list[Count]:
    """Launch a kernel of counted.cu. Returns the counts of the launch."""
    kernel_of(device, f"counted:{name}").bind(*arguments, block=block)(blocks)
    device.synchronize()
    return device.counts()[0]


def run(name: str, sizes: Sequence[int], block: int = 64, blocks: int = 1, seed: int = 0) -> dict[str, Count]:
    """Launch a kernel of counted.cu with buffers of zeros. Returns its counts by the comments at the ends of
    their lines. The counts of several instructions on one line are added up."""
    with Emulator(seed, counted=True) as device:
        counts = launch(device, name, *(zeros(device, size) for size in sizes), block=block, blocks=blocks)
    found: dict[str, Count] = {}
    for count in counts:
        mark = mark_of(count)
        if mark in found:  # a line may be several instructions
            sums = {of: getattr(found[mark], of) + getattr(count, of) for of in SUMMED}
            found[mark] = replace(count, **sums)
        elif mark:
            found[mark] = count
    return found


def numbers(count: Count, *names: str) -> tuple[int, ...]:
    return tuple(getattr(count, name) for name in names)


def test_sectors_of_loads_and_stores() -> None:
    found = run("coalesced", (1024, 128), blocks=2)  # four warps
    names = ("executions", "lanes", "bytes", "sectors")
    assert numbers(found["side by side"], *names) == (4, 128, 512, 16)
    assert numbers(found["one off"], *names) == (4, 128, 512, 20)
    assert numbers(found["a sector each"], *names) == (4, 128, 512, 128)
    assert numbers(found["all the same"], *names) == (4, 128, 512, 4)
    assert numbers(found["four words"], *names) == (4, 128, 2048, 64)
    assert numbers(found["stored"], *names) == (4, 128, 512, 16)
    assert sum(count.distinct_sectors for count in found.values()) == 128 + 16
    kinds = {mark: (count.kind, count.memory) for mark, count in found.items()}
    assert kinds["one off"] == ("load", "global")
    assert kinds["stored"] == ("store", "global")
    assert all(count.conflicts == count.collisions == count.polls == 0 for count in found.values())


def test_sectors_that_several_lines_touch_are_distinct_once() -> None:
    with Emulator(counted=True) as device:
        x, y = zeros(device, 1024), zeros(device, 32)
        for _ in range(2):
            counts = launch(device, "lines", x, y, block=32)
            assert sum(count.distinct_sectors for count in counts) == 4 + 1 + 32 + 4
            loads = {mark_of(of): of for of in counts if of.kind == "load"}
            whole, some = loads["a whole line"], loads["every other sector"]
            assert (whole.far_sectors, whole.streamed_sectors) == (4, 4)
            assert (some.far_sectors, some.streamed_sectors) == (32, 0)


def test_one_load_from_two_buffers() -> None:
    found = run("from_either", (64, 64, 64))["from either"]  # two warps, six rounds
    names = ("executions", "lanes", "sectors", "distinct_sectors")
    assert numbers(found, *names) == (2 * (5 + 2), 2 * 6 * 32, 2 * (5 * 4 + 2 * 4), 16)


def test_lanes_that_part_and_meet_again() -> None:
    found = run("divergent", (64, 64))  # two warps
    names = ("executions", "lanes")
    assert numbers(found["odd"], *names) == (2, 32)
    assert numbers(found["even"], *names) == (2, 32)
    assert numbers(found["up to three times"], *names) == (6, 16 * (0 + 1 + 2 + 3))
    assert numbers(found["twice"], *names) == (4, 128)
    lanes = 2 * sum(i % 3 for i in range(64))
    assert numbers(found["up to two times, twice"], *names) == (8, lanes)
    assert numbers(found["behind the branch"], *names) == (2 * 3, 2 * 32 * 3)
    assert numbers(found["some have returned"], *names) == (2, 40)


def test_few_lanes_that_go_on_for_long(device: Emulator) -> None:
    y = zeros(device, 128)
    counts = {
        (mark_of(of), of.kind): numbers(of, *SUMMED)
        for of in launch(device, "hubs", zeros(device, 1200), y)  # two warps
        if of.memory == "global"
    }
    assert y.download().nonzero()[0].tolist() == [9, 32 + 9]
    assert counts["one lane alone", "load"] == (2 * 200, 2 * (31 + 200), 2 * 200)
    lanes = 30 + 100 + 150
    assert counts["two lanes", "load"] == (2 * 150, 2 * lanes, 2 * 150)
    assert counts["one of them leaves the other", "load"] == (2 * 50, 2 * 50, 2 * 50)
    assert counts["they have met again", "load"] == (2 * 150, 2 * lanes, 2 * 150)
    assert counts["one that waits for each step", "load"] == (2 * 100, 2 * 100, 2 * 100)
    assert counts["one that waits for each step", "atomic"] == (2 * 100, 2 * 100, 2 * 100)
    assert counts["all again", "store"] == (2, 64, 8)


def test_iterations_that_are_left_over_by_four_come_first() -> None:
    found = run("unrolled", (64, 64))  # two warps
    names, lanes = ("executions", "lanes"), sum(i % 7 for i in range(64))
    assert numbers(found["left over, then by fours"], *names) == (2 * (3 + 4), lanes)
    assert numbers(found["one by one"], *names) == (2 * 6, lanes)
    assert numbers(found["iterations stay together"], *names) == (2 * 6, lanes)


def test_lanes_that_leave_a_loop_early_go_on_by_themselves(device: Emulator) -> None:
    x = device.upload(np.array([0, 0, 0, 1, 0, 0, 0, 0], np.int32))
    counts = launch(device, "early", x, zeros(device, 32), block=32)
    stores = {mark_of(of): (of.executions, of.lanes) for of in counts if of.kind == "store"}
    # Lane i begins at x[i % 4] and looks up to i % 8 times. The one is in x[3].
    found = {i: 4 - i % 4 for i in range(32) if i % 8 >= 4 - i % 4}
    assert stores["by the number of looks"] == (len(set(found.values())), len(found))
    assert stores["all again"] == (1, 32)


def test_bank_conflicts_and_barriers() -> None:
    found = run("banks", (64, 64))  # two warps
    conflicts = {mark: (of.executions, of.passes, of.conflicts) for mark, of in found.items()}
    assert conflicts["two in a bank"] == (2, 4, 2)
    assert conflicts["four in a bank"] == (2, 8, 6)
    assert conflicts["all in a bank"] == (2, 64, 62)
    assert conflicts["a word for all"] == (2, 2, 0)
    assert conflicts["eight bytes each"] == (2, 4, 0)  # half a warp at a time
    assert found["all in a bank"].memory == "shared"
    assert numbers(found["all meet"], "executions", "lanes") == (2, 64)
    assert found["a warp meets"].kind == "barrier"
    assert found["a bank each"].executions == 2 * 2  # its load and its store have one line


def test_atomics_that_meet_on_a_word() -> None:
    found = run("atomics", (1, 64), blocks=2)  # four warps
    names = ("executions", "lanes", "collisions", "most_collisions", "hottest")
    assert numbers(found["one word"], *names) == (4, 128, 124, 31, 4)
    assert numbers(found["a word each"], *names) == (4, 128, 0, 0, 2)
    assert numbers(found["eight on a word"], *names) == (4, 128, 112, 7, 2)
    in_shared = found["one word in shared memory"]
    assert (in_shared.memory, in_shared.passes, in_shared.conflicts) == (
        "shared",
        4,
        0,
    )  # the lanes' values are added first


def test_waiting_for_another_block_is_no_work() -> None:
    found = run("waiting", (1, 2), block=1, blocks=2)
    looks = found["looked at"]
    assert looks.executions <= 12  # the first looks count as executions, the others as polls
    assert looks.polls > 0
    assert found["after the wait"].executions == 2


@pytest.mark.parametrize("name", ["lane_lock", "counting_lock"])
def test_lanes_of_a_warp_that_wait_for_a_lock_get_it_in_turn(device: Emulator, name: str) -> None:
    lock, counts = zeros(device, 1), zeros(device, 20 + 64)
    kernel_of(device, f"polling:{name}").bind(lock, counts, block=64)(2)
    assert counts.download()[:20].tolist() == [128] * 20
    assert lock.download()[0] == 0


def test_a_wait_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_POLLS", 10_000)
    with Emulator(counted=True) as device:
        kernel_of(device, "counted:waiting").bind(zeros(device, 2), zeros(device, 2), block=1)(1)
        fails(device, "the launch has no end: all its threads wait")


@pytest.mark.parametrize(
    ("multiprocessors", "expected"), [(8, [0, 0, 1, 1, 1]), (1, [0, 1, 1, 1, 1])], ids=["8 caches", "1 cache"]
)
def test_a_load_may_miss_the_store_of_another_multiprocessor(
    multiprocessors: int, expected: list[int]
) -> None:
    hardware = Hardware(multiprocessors=multiprocessors)
    with Emulator(counted=True, hardware=hardware) as device:
        data, flags, found = (zeros(device, 128) for _ in range(3))
        launch(device, "outdated", data, flags, found, block=1, blocks=2)
        assert found.download()[:5].tolist() == expected
        assert data.download()[[0, 64]].tolist() == [1, 1]


def test_lanes_of_a_warp_read_before_any_writes(device: Emulator) -> None:
    x = device.upload(np.arange(32, dtype=np.int32))
    launch(device, "rotate", x, block=32)
    assert x.download().tolist() == [*range(1, 32), 0]


def test_a_lane_may_be_ahead_of_its_warp_by_a_collective() -> None:
    found = run("ahead", (32, 32), block=32)
    assert numbers(found["behind all others"], "executions", "lanes") == (1, 1)
    assert numbers(found["issued when its lane has gone on"], "executions", "lanes") == (1, 1)
    assert numbers(found["when they have met"], "executions", "lanes") == (2, 64)


def test_lanes_run_on_behind_their_stores(device: Emulator) -> None:
    x, y, seen, last = (device.empty(64, np.int32) for _ in range(4))
    both = [*launch(device, "stores", x, y, seen), *launch(device, "stores_in_order", last)]
    counts = {mark_of(count): count for count in both}
    assert seen.download().tolist() == x.download().tolist() == list(range(5, 69))
    assert y.download().tolist() == [(rank + 6) * (rank % 2 == 0) for rank in range(64)]
    assert last.download()[:3].tolist() == [63, 62, 63]
    assert numbers(counts["once more"], "executions", "lanes") == (2, 64)
    assert numbers(counts["of a thread that has returned"], "executions", "lanes") == (2, 32)
    assert numbers(counts["to two words"], *SUMMED) == (2, 64, 2)


def test_steps_are_made_when_all_threads_have_ended() -> None:
    found = run("ends_ahead", (40, 1), blocks=3)  # six warps
    assert numbers(found["one by one"], "executions", "lanes") == (6 * 40, 6 * 40 * 32)


def test_what_a_warp_has_had_lately() -> None:
    found = run("coalesced", (1024, 128))
    far = {mark: (of.sectors, of.far_sectors) for mark, of in found.items()}
    assert far["side by side"] == (8, 8)
    assert far["one off"] == (10, 2)  # each of the two warps loads one new sector
    assert far["all the same"] == (2, 1)  # the first warp has loaded it before
    with Emulator(counted=True) as device:
        kernel_of(device, "counted:coalesced").bind(zeros(device, 1024), zeros(device, 1024), block=32)(1)
        (of,) = device.counts()[1]
    assert (of.steps, of.far, of.near) == (6, 3, 2)  # five loads and a store


def test_levels_that_a_kernel_notes(device: Emulator) -> None:
    notes, y = device.empty(8, np.int64), device.empty(64, np.int32)
    device.note_phases_in(notes)
    kernel_of(device, "counted:levels").bind(notes, y, block=64)(1)
    counts, phases = device.counts()
    stores = {of.phase: of.executions for of in counts if mark_of(of) == "as often as the level says"}
    assert stores == {3: 2 * 3, 4: 2 * 4, 5: 2 * 5}
    noted = [of for of in phases if of.phase is not None]
    assert [(of.phase, of.steps, of.barriers) for of in noted] == [(3, 4, 1), (4, 5, 1), (5, 6, 1)]
    assert {(of.launch, of.kernel, of.blocks, of.threads) for of in phases} == {(0, "levels", 1, 64)}


@pytest.mark.parametrize("seed", [0, 7])
def test_equal_seeds_give_equal_counts(seed: int) -> None:
    first, second = (run("waiting", (1, 2), block=64, blocks=2, seed=seed) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("seed", [0, 7])
def test_threads_that_share_a_stack_keep_what_they_have_there(seed: int) -> None:
    with Emulator(seed, counted=True) as device:
        x, y = device.upload(np.ones(4, np.int32)), device.empty(96, np.int32)
        launch(device, "deep_stacks", x, y, block=96, blocks=3)
        assert y.download().tolist() == [rank * 399 * 200 + 3 * 400 for rank in range(96)]
        assert device.stacks_in_use() == 0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("recurse", (100_000,), "thread .*: stack overflow"),
        (
            "divergent_barrier",
            (),
            r"divergent barrier: it waits at line \d+ .*, others of its block at line \d+",
        ),
    ],
)
def test_faults_of_threads_that_share_a_stack(
    device: Emulator, name: str, arguments: tuple[int, ...], message: str
) -> None:
    out = device.empty(64, np.int32)
    kernel_of(device, f"errors:{name}").bind(out, *arguments, block=32)(1)
    fails(device, message)
    assert device.stacks_in_use() == 0
    kernel_of(device, "errors:recurse").bind(out, 3, block=32)(2)  # the device can still be used
    device.synchronize()


@pytest.mark.exhaustive  # compiles a runtime of its own
def test_stacks_of_their_own_give_equal_counts() -> None:
    counts = []
    for portable in (False, True):
        with Emulator(counted=True, portable_fibers=portable) as device:
            x, y = (device.upload(np.ones(64, np.int32)) for _ in range(2))
            for name in ("banks", "divergent", "deep_stacks"):
                kernel_of(device, f"counted:{name}").bind(x, y, block=64)(4)
            device.synchronize()
            counts.append(device.counts())
    assert counts[0] == counts[1]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", ["edge_simple", "frontier_numbers", "frontier_queue", "push_private", "simple"]
)
def test_counting_is_not_much_slower_than_emulation(name: str) -> None:
    """On this graph a counted launch takes 3 to 7 times as long as a plain launch. The bound leaves room for
    a busy machine."""
    variant = find(name)
    assert issubclass(variant, KernelProgram)
    found = costs("count", variant, load("lattice(rows=60,columns=60):symmetrised"), repeats=3)
    assert found["counted"].over_a_launch(found["plain"]) < 15


def test_counting_and_watching_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="either watched or counted"):
        Emulator(watched=True, counted=True)
