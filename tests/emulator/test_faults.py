"""Tests that checks find faults planted in the project's kernels, and nothing in the original kernels."""

import ast
from pathlib import Path

import pytest

from bfsbench.bench.plan import Axes
from bfsbench.graphs.load import resolve
from bfsbench.programs import KernelProgram, KernelSetup
from bfsbench.support.errors import KernelError
from bfsbench.support.paths import CUDA_SRC
from bfsbench.tools import check as checks
from bfsbench.variants import all_variants, find
from tests.emulator.planted import FAULTS, Fault, copy_of_kernels
from tests.parameters import some

KERNEL_VARIANTS = [
    variant
    for variant in all_variants().values()
    if issubclass(variant, KernelProgram) and variant.name != "one_by_one_kernels"
]
"""All variants with kernels, except one that uses the kernels of another variant."""

KINDS = {fault.kind for fault in FAULTS}

QUICK = (
    "append with a plain counter",
    "release of the block's scope",
    "one vertex too many",
    "private frontier without its capacity",
    "flush before its place is known",
    "a barrier in one branch",
    "the next frontier's flags",
)
"""Faults of several kinds, in kernels that take a second or two to compile and run."""

COVERING = {"push_private", "frontier_queue", "frontier_scan", "push_multilevel", "luo", "apsp_fw_blocked"}
"""Variants that together use all means of synchronisation. Variants with long runs are left out."""

KNOBS = [
    ("adaptive", {"SMALL_PARTS": "0", "PUSHED_EDGE": "1000"}),
    ("adaptive", {"SMALL_PARTS": "0", "MAY_PULL": "0"}),
    ("adaptive", {"LIKELY_FIRST": "1", "CLUSTER_SIZE": "4"}),
    ("adaptive", {"TREE": "1"}),
    ("adaptive", {"TREE": "1", "SMALL_PARTS": "0", "MAY_PULL": "0"}),
    ("bfs4k", {"K2": "20", "K4": "0"}),
    ("bfs4k", {"HASH": "hash_warp", "K5": "0"}),
    ("linear_work", {"GATHERING": "fine-grained", "SEQUENTIAL_THRESHOLD": "0"}),
    ("luo", {"BLOCK_LIMIT": "-1"}),
    ("merrill", {"ATOMIC_CLAIM": "1"}),
    ("merrill", {"ORGANISATION": "expand-contract"}),
    ("merrill", {"ORGANISATION": "two-phase", "RESIDENT_LIMIT": "-1"}),
]
"""Knobs with which kernels execute code that they do not execute by default."""


def test_the_planted_faults_are_of_all_kinds() -> None:
    """Each kind has three faults or more, and no two faults are equal."""
    assert len(FAULTS) >= 95
    assert len(KINDS) == 12
    assert all(sum(fault.kind == kind for fault in FAULTS) >= 3 for kind in KINDS)
    assert len({(fault.variant, fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_has_a_place_in_the_kernels(fault: Fault) -> None:
    assert fault.old in (CUDA_SRC / fault.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", some([fault.name for fault in FAULTS], *QUICK))
def test_a_planted_fault_is_found(name: str) -> None:
    fault: Fault = next(fault for fault in FAULTS if fault.name == name)
    with copy_of_kernels() as kernels:
        fault.plant(kernels)
        assert not fault.check()[1].clean


def test_every_second_run_takes_knobs_that_lead_elsewhere() -> None:
    """The block's queue is full only with the knobs of every second run."""
    fault = next(fault for fault in FAULTS if fault.name == "a full queue takes one more")
    variant, graphs = find(fault.variant), [*map(resolve, checks.GRAPHS[2:])]
    with copy_of_kernels() as kernels:
        fault.plant(kernels)
        report = checks.check(variant, Axes([variant], [], []), graphs, 2, lambda: None)
        given = Axes([variant], [], [], {"BLOCK_QUEUE_SIZE": ["8192"]})
        assert checks.check(variant, given, graphs, 2, lambda: None).clean
    assert {found.knobs for found in report.undeclared} == {"--block-queue-size 8"}


@pytest.mark.parametrize(("name", "seeds"), [("push_private", 8), ("merrill", 32), ("luo", 112)])
def test_knobs_taken_in_turn_meet_all_launches_on_the_larger_graph(
    name: str, seeds: int, tmp_path: Path
) -> None:
    variant: type[KernelProgram] = find(name)
    noted = tmp_path / "met"  # a file, because kernels run in a process of their own

    class Recorder(variant):
        def __init__(self, setup: KernelSetup) -> None:
            if setup.graph.host_graph.num_vertices == 2048:
                with noted.open("a") as file:
                    file.write(f"{(tuple(sorted(setup.knobs.items())), (setup.grid, setup.block))!r}\n")
            raise KernelError("recorded")

    axes = Axes([Recorder], [], [])
    report = checks.check(Recorder, axes, checks.usual_graphs(Recorder, axes), seeds, lambda: None)
    assert report.failures
    settings = [variant.knob_values(knobs) for knobs in ({}, *variant.check_knobs)]
    met = {ast.literal_eval(line) for line in noted.read_text().splitlines()}
    assert met == {(tuple(sorted(knobs.items())), launch) for knobs in settings for launch in checks.LAUNCHES}


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_knobs_taken_in_turn_are_legal(variant: type[KernelProgram]) -> None:
    for knobs in variant.check_knobs:
        assert variant.knob_values(knobs) != variant.knob_values({})


@pytest.mark.parametrize("name", some([variant.name for variant in KERNEL_VARIANTS], *COVERING))
def test_nothing_is_found_in_our_kernels(name: str) -> None:
    """Findings that a comment declares benign do not count."""
    variant = find(name)
    axes = Axes([variant], [], [])
    report = checks.check(variant, axes, checks.usual_graphs(variant, axes)[1:3], 1, lambda: None)
    assert report.clean, (report.undeclared, report.failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_nothing_is_found_in_our_kernels_under_many_seeds(variant: type[KernelProgram]) -> None:
    axes = Axes([variant], [], [])
    report = checks.check(variant, axes, checks.usual_graphs(variant, axes), 8, lambda: None)
    assert report.clean, (report.undeclared, report.failures)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "knobs"), KNOBS)
def test_nothing_is_found_whatever_the_knobs(name: str, knobs: dict[str, str]) -> None:
    variant = find(name)
    axes = Axes([variant], [], [], {knob: [value] for knob, value in knobs.items()})
    report = checks.check(variant, axes, checks.usual_graphs(variant, axes), 2, lambda: None)
    assert report.clean, (report.undeclared, report.failures)
