"""Tests that watched kernels report faults with their lines, and that correct kernels have no findings."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from bfsbench.emulator import Emulator, Finding
from bfsbench.support.errors import KernelError
from tests.emulator.conftest import KERNELS, fails, kernel_of, zeros

WATCHED = KERNELS / "watched.cu"
IDIOMS = KERNELS / "idioms.cu"


@pytest.fixture
def device() -> Iterator[Emulator]:
    """A device that watches."""
    with Emulator(watched=True) as opened:
        yield opened


def test_an_emulator_that_is_watched_counts_no_costs(device: Emulator) -> None:
    with pytest.raises(ValueError, match="counted"):
        device.counts()


def line_of(mark: str, file: Path = WATCHED) -> int:
    (number,) = (i for i, line in enumerate(file.read_text().splitlines(), 1) if line.endswith(f"// {mark}"))
    return number


def findings_of(device: Emulator) -> list[Finding]:
    device.synchronize()
    return device.findings()


def found_lines(findings: list[Finding]) -> set[tuple[str, frozenset[int]]]:
    return {(f.fault, frozenset(line.number for line in f.lines if line)) for f in findings}


def run(name: str, defines: Mapping[str, str], seed: int, blocks: int = 2, block: int = 64) -> list[Finding]:
    with Emulator(seed, watched=True) as device:
        buffers = [zeros(device, 64) for _ in range(3)]
        kernel = kernel_of(device, f"watched:{name}", defines)
        kernel.bind(*buffers[: len(kernel.parameter_sizes())], block=block)(blocks)
        return findings_of(device)


SHAPES = {"hand_over": (3, 32), "neighbour_in_block": (1, 64), "neighbour_in_warp": (1, 32), "count": (2, 64)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_found_in_what_is_right(name: str, seed: int) -> None:
    assert run(name, {}, seed, *SHAPES[name]) == []


@pytest.mark.parametrize(
    ("name", "fault", "marks"),
    [
        ("hand_over", {"FENCE": ""}, ("handed over", "taken")),
        ("hand_over", {"FENCE": "__threadfence_block()"}, ("handed over", "taken")),
        ("neighbour_in_block", {"MEET": ""}, ("own cell", "next cell")),
        ("neighbour_in_block", {"MEET": "__syncwarp()"}, ("own cell", "next cell")),
        ("neighbour_in_warp", {"MEET_WARP": ""}, ("own lane", "next lane")),
        ("neighbour_in_warp", {"MEET_WARP": "__syncwarp(1u<<threadIdx.x)"}, ("own lane", "next lane")),
        ("count", {"ADD(word)": "++word"}, ("counted",)),
        ("count", {"ADD(word)": "atomicAdd_block(&word,1)"}, ("counted",)),
        ("device_variable", {"ADD(word)": "++word"}, ("in a variable",)),
    ],
)
def test_races_are_found_with_both_lines(name: str, fault: dict[str, str], marks: tuple[str, ...]) -> None:
    found = set().union(
        *(found_lines(run(name, fault, seed, *SHAPES.get(name, (2, 64)))) for seed in range(5))
    )
    assert ("race", frozenset(map(line_of, marks))) in found


def test_a_wrong_mask_is_one_finding_and_hides_no_missing_barrier() -> None:
    wrong = {"MEET_WARP": "__syncwarp(~(1u<<threadIdx.x))"}
    found = run("neighbour_in_warp", wrong, 1, *SHAPES["neighbour_in_warp"])
    mask, other = (one for one in found if one.fault == "wrong mask")
    assert mask.count == other.count == 3 * 32
    lines = WATCHED.read_text().splitlines()
    for one in (mask, other):
        assert one.actor.line and lines[one.actor.line.number - 1].strip() == "MEET_WARP;"
    assert str(mask).startswith(
        "wrong mask in kernel 'neighbour_in_warp' on a mask that lacks its own lane: "
    )
    assert ("race", frozenset(map(line_of, ("own lane", "next lane")))) in found_lines(found)


def test_a_flag_that_is_looked_at_like_any_word_is_raced_for() -> None:
    found = [found_lines(run("hand_over", {"LOOK(flag)": "(flag)"}, seed, 3, 32)) for seed in range(1, 5)]
    assert any(fault == "race" for faults in found for fault, _ in faults)


@pytest.mark.parametrize("place", [-1, 10, 11, 100_000_000])
def test_reads_outside_a_buffer(place: int) -> None:
    with Emulator(watched=True) as device:
        x, out = zeros(device, 10), device.signal()
        kernel_of(device, "watched:read_at").bind(x, place, out, block=32)(1)
        fails(device, r"thread \(7,0,0\): reads 4 bytes")
        (finding,) = device.findings()
    assert (finding.fault, finding.actor.thread) == ("out of bounds", 7)
    assert [line.number for line in finding.lines if line] == [line_of("read there")]
    if abs(place) < 100:
        assert finding.where == f"element {place} of a buffer of 10 elements of 4 bytes"


def test_use_after_free(device: Emulator) -> None:
    """The kernel uses the freed buffer through a pointer that is stored on the device."""
    x, out = zeros(device, 1000), device.signal()
    address = device.upload(np.array([x.pointer.value], np.uint64))
    launch = kernel_of(device, "watched:read_through").bind(address, out, block=32)
    launch(1)
    device.synchronize()
    del x
    launch(1)
    fails(device, "reads memory that has been freed")
    expected = {("use after free", frozenset({line_of("read through it")}))}
    assert found_lines(device.findings()) == expected


def test_uninitialised_reads(device: Emulator) -> None:
    x, out = device.empty(10, np.int32), device.signal()
    kernel = kernel_of(device, "watched:read_at")
    x.fill(1, 0, 5)
    kernel.bind(x, 4, out, block=32)(1)
    assert findings_of(device) == []
    kernel.bind(x, 5, out, block=32)(1)
    expected = {("uninitialised read", frozenset({line_of("read there")}))}
    assert found_lines(findings_of(device)) == expected


@pytest.mark.parametrize(
    ("name", "place", "mark"), [("shared_at", 8, "shared there"), ("dynamic_at", 32, "dynamic there")]
)
def test_the_end_of_a_variable_in_shared_memory(device: Emulator, name: str, place: int, mark: str) -> None:
    """An access after the end of the variable is found even if another variable lies there."""
    out = device.signal()
    shared = 4 * 32 if name == "dynamic_at" else 0
    kernel = kernel_of(device, f"watched:{name}")
    kernel.bind(place - 1, out, block=32, shared=shared)(1)
    assert findings_of(device) == []
    kernel.bind(place, out, block=32, shared=shared)(1)
    fails(device, r"outside the variables in shared memory|outside of an array")
    assert found_lines(device.findings()) == {("out of bounds", frozenset({line_of(mark)}))}


def test_a_comment_declares_one_kind_of_finding(device: Emulator) -> None:
    """Other kinds of findings on the line are still reported."""
    data, never_written = zeros(device, 1), device.empty(1, np.int32)
    kernel_of(device, "watched:declared").bind(data, never_written, block=32)(1)
    found = findings_of(device)
    assert found_lines(found) == {
        (fault, frozenset({line_of("both")})) for fault in ("race", "uninitialised read")
    }
    assert {finding.fault for finding in found if finding.benign} == {"race"}
    (comment,) = {line for finding in found for line in finding.declarations}
    assert comment.number == line_of("both") - 1
    assert line_of("both") in {line.number for line in device.lines_run()}


@pytest.mark.parametrize(("kernel", "mark"), [("polls", "polled"), ("polls_once", "polled once")])
def test_a_launch_without_end_says_who_polls_what(device: Emulator, kernel: str, mark: str) -> None:
    flag, out = zeros(device, 2), device.empty(64, np.int32)
    kernel_of(device, f"watched:{kernel}").bind(flag, out, block=64)(1)
    fails(device, "the launch has no end")
    (finding,) = device.findings()
    assert (finding.fault, finding.actor.thread) == ("endless", 5)
    assert finding.where == "element 0 of a buffer of 2 elements of 4 bytes"
    assert [line.number for line in finding.lines if line] == [line_of(mark)]


def test_a_long_launch_has_an_end(device: Emulator) -> None:
    out = zeros(device, 3)
    kernel_of(device, "watched:takes_long").bind(10_000_000, out, block=1)(1)
    assert findings_of(device) == []


def test_a_launch_without_end_names_the_shared_memory_of_other_blocks(device: Emulator) -> None:
    kernel_of(device, "watched:polls_shared").bind(block=32)(2)
    fails(device, "the launch has no end")
    assert {finding.where for finding in device.findings()} == {
        "element 0 of the shared variable 'flag' (1 element of 4 bytes)"
    }


def run_idiom(name: str, wrong: bool, seed: int) -> tuple[list[Finding], str]:
    """Returns the findings, and the error message if the launch failed. Otherwise the message is empty, and
    findings that a comment declares benign are left out."""
    with Emulator(seed, watched=True) as device:
        a, b = zeros(device, 128), zeros(device, 256)
        kernel_of(device, f"idioms:{name}").bind(a, b, wrong, block=64)(2 if "block" in name else 1)
        try:
            device.synchronize()
        except KernelError as error:
            return device.findings(), str(error)
        return [finding for finding in device.findings() if not finding.benign], ""


IDIOMATIC = {
    "last_block": ("race", ("stored", "read by the last")),
    "volatile_words": ("race", ("by volatile words",)),
    "store_and_read": ("race", ("benign race between stores: any may remain", "read with stores")),
    "misaligned": ("misaligned access", ("four at once",)),
    "misaligned_intrinsic": ("misaligned access", ("two",)),
    "row_end": ("out of bounds", ("past the row",)),
    "ended_lanes": ("bad shuffle", ("from an ended lane",)),
    "own_array": ("out of bounds", ("past the thread's own",)),
    "read_only": ("stale read", None),
    "copied": ("race", ("copied by one", "read with the copy")),
    "copied_past": ("out of bounds", ("past the end",)),
}


@pytest.mark.parametrize("name", IDIOMATIC)
def test_idioms_with_and_without_a_fault(name: str) -> None:
    assert [run_idiom(name, False, seed) for seed in (1, 2)] == [([], "")] * 2
    fault, marks = IDIOMATIC[name]
    found = set().union(*(found_lines(run_idiom(name, True, seed)[0]) for seed in (1, 2)))
    if marks is None:
        assert {fault for fault, _ in found} == {fault}
    else:
        assert (fault, frozenset(line_of(mark, IDIOMS) for mark in marks)) in found


@pytest.mark.parametrize("wrong", [False, True])
def test_atomics_of_the_standard_library_have_orders_and_scopes(wrong: bool) -> None:
    with Emulator(1, watched=True) as device:
        a, b = zeros(device, 128), zeros(device, 256)
        kernel_of(device, "idioms:standard_atomics").bind(a, b, wrong, block=32)(3)
        lines = frozenset(line_of(mark, IDIOMS) for mark in ("handed over", "taken"))
        assert found_lines(findings_of(device)) == ({("race", lines)} if wrong else set())
        assert b.download()[1:3].tolist() == [b.download()[0]] * 2


def test_sums_over_tiles() -> None:
    with Emulator(1) as device:
        a, b = zeros(device, 128), zeros(device, 256)
        kernel_of(device, "idioms:of_tiles").bind(a, b, 0, block=64)(1)
        assert b.download()[:64].tolist() == [1200000 + 100 * (lane % 16) + 15 for lane in range(64)]


def test_traces_say_who_wrote_what() -> None:
    with Emulator(watched=True) as device:
        x, out = device.upload(np.arange(10, dtype=np.int32)), device.signal()
        out.fill(-1)
        launch = kernel_of(device, "watched:read_at").bind(x, 5, out, block=32)
        with device.traced() as accesses:
            launch(1)
            launch(1)
        launch(1)
    reads, writes = ([a for a in accesses if a.act == act] for act in ("read", "write"))
    assert [(a.launch, a.kernel, a.block, a.thread) for a in writes] == [(i, "read_at", 0, 7) for i in (0, 1)]
    assert [(a.buffer, a.index, a.before, a.after) for a in writes] == [
        (out.pointer.value, 0, before, 5) for before in (2**32 - 1, 5)
    ]
    assert [(a.buffer, a.index, a.before) for a in reads] == [(x.pointer.value, 5, 5)] * 2
    assert all(a.line and a.line.number == line_of("read there") for a in accesses)


FAMILY = KERNELS / "family.cu"
MEET = {"MEET": "__syncthreads()"}


def found(name: str, defines: dict[str, str], *arguments: int, blocks: int = 1) -> list[Finding]:
    with Emulator(watched=True) as device:
        data = zeros(device, 4)
        kernel_of(device, f"family:{name}", {**MEET, **defines}).bind(data, *arguments, block=64)(blocks)
        return findings_of(device)


@pytest.mark.parametrize(
    ("name", "defines", "blocks"),
    [
        ("parent", {}, 1),
        ("parent", {"STREAM": "cudaStreamTailLaunch", "AFTER(word)": "if(threadIdx.x==5)word=1"}, 1),
        ("siblings", {"STREAM": "nullptr"}, 1),
        ("blocks", {}, 1),
    ],
)
def test_children_in_order(name: str, defines: dict[str, str], blocks: int) -> None:
    assert found(name, defines, blocks=blocks) == []


@pytest.mark.parametrize(
    ("name", "defines", "blocks"),
    [
        ("parent", {"MEET": ""}, 1),
        ("parent", {"AFTER(word)": "if(threadIdx.x==0)word=1"}, 1),
        ("siblings", {}, 1),
        ("blocks", {"STREAM": "nullptr"}, 2),
    ],
)
def test_children_race_with_what_runs_beside_them(name: str, defines: dict[str, str], blocks: int) -> None:
    races = found(name, defines, blocks=blocks)
    assert {race.fault for race in races} == {"race"}
    text = FAMILY.read_text().splitlines()
    lines = {text[line.number - 1] for race in races for line in race.lines if line}
    assert any(line.endswith("// child") for line in lines)


def test_a_launch_that_is_refused_and_not_asked_for_is_lost() -> None:
    assert found("refused", {}, 1) == []
    (lost,) = found("refused", {}, 0)
    assert lost.fault == "lost launch"
    assert lost.where == "a child kernel, refused with error 9"
    assert lost.actor.line is not None
    assert lost.actor.line.text().endswith("// refused")
