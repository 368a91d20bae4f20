"""Grades of hand-ins: passed, or the kind of fault. Finding the place of the fault is the exercise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bfsbench.backends.cpu import CpuDevice
from bfsbench.bench.plan import Axes
from bfsbench.checks import Report, check
from bfsbench.emulator import Buffer
from bfsbench.families.bfs.searches import KernelVariant
from bfsbench.graphs.load import load
from bfsbench.lab import Exercise, exercises
from bfsbench.lab.costs import COSTS
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.report.table import Cell, Table
from bfsbench.variants import find

SEEDS = 3
"""Schedules that a kernel is run with on each graph."""
BLOCK = 64
"""Threads of a block when costs are counted."""
LIMIT_S = 120
"""Seconds for one hand-in of a class."""
_FAILURES = ("divergent barrier", "deadlock", "not in its own mask")
"""Kinds of failures that end a launch, as the emulator's messages name them."""


@dataclass(frozen=True)
class Grade:
    """What came of one hand-in."""

    exercise: Exercise
    problems: tuple[str, ...]
    """Kinds of faults, or a cost that is too high; empty when it has passed."""


def grade(exercise: Exercise, kernel: Path, begin: Callable[[], None] = lambda: None) -> Grade:
    """Grade a kernel; ``begin`` is called for each of its runs.

    Raises ToolchainError, with the compiler's first error, for a kernel that does not compile.
    """
    variant = _variant(exercise, kernel)
    report = check(variant, Axes([variant], [], [], {}), exercise.graphs, SEEDS, begin)
    problems = tuple(sorted(set(_faults(report, exercise.declared))))
    if not problems and exercise.cost:
        cost, what = COSTS[exercise.cost]
        counted = _counted(exercise, variant, cost)
        if counted > exercise.most:
            problems = (f"{counted:,} {what}, where at most {exercise.most:,} are needed",)
    return Grade(exercise, problems)


def runs_of(exercise: Exercise) -> int:
    """How many runs ``grade`` makes besides counting costs."""
    return len(exercise.graphs) * SEEDS


def table(folder: Path) -> Table:
    """A line per student, who each have a folder with hand-ins below ``folder``, and a column per exercise.

    Every hand-in is graded in a process of its own, so that none can change the grade of another.
    """
    names = list(exercises())
    with CpuDevice():
        pass  # what all hand-ins share is compiled now, outside their limits
    rows: list[tuple[Cell, ...]] = []
    for student in sorted(path for path in folder.iterdir() if path.is_dir()):
        grades = [_word(next(student.rglob(f"{name}.cu"), None)) for name in names]
        rows.append((student.name, grades.count("passed"), *grades))
    return Table("class", f"Hand-ins in {folder}", ("student", "passed", *names), rows)


def _word(kernel: Path | None) -> str:
    if kernel is None:
        return ""
    command = [sys.executable, "-m", "bfsbench", "check", str(kernel)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "no end"
    return {0: "passed", 1: "not yet"}.get(done.returncode, "no grade")


def _variant(exercise: Exercise, kernel: Path) -> type[KernelVariant]:
    """The exercise's host loop with the kernel of a hand-in."""
    host = find(exercise.host)
    assert issubclass(host, KernelVariant)
    members = {
        "__module__": host.__module__,
        "name": exercise.name,
        "level_kernel": exercise.name,
        "aliases": (),
        "source_files": classmethod(lambda cls: [kernel]),
    }
    return type("HandIn", (host,), members)


def _faults(report: Report, declared: bool) -> Iterator[str]:
    """Kinds of faults. A benign race passes only in exercises whose solutions have some."""
    for found in report.undeclared if declared else report.findings.values():
        yield found.first.fault
    for message in report.failures:
        if message.startswith("wrong answer"):
            yield "wrong levels"
        else:
            known = [fault for fault in _FAILURES if fault in message]
            yield from known or ["the kernel stops"] * (not report.findings)


def _counted(exercise: Exercise, variant: type[KernelVariant], cost: Callable[..., int]) -> int:
    """The cost of one search of the last graph from vertex 0."""
    graph = load(exercise.graphs[-1])
    with CpuDevice(0, watched=True) as device:
        on_device = DeviceGraph(device, graph)
        search = variant(KernelSetup(on_device, None, BLOCK, {}))
        search.prepare()
        search.reset(0)
        with device.traced() as accesses:
            search.traverse(0)
            search.finish()
        arrays = {_address(array) for array in {**on_device.csr, **on_device.csc}.values()}
        return cost(accesses, arrays, _address(search.level_array))


def _address(buffer: object) -> int:
    assert isinstance(buffer, Buffer) and buffer.pointer.value
    return buffer.pointer.value
