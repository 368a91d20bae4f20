"""Grades students' solutions of exercises.

A grade is "passed", or the kinds of faults in the kernel, or the costs that are too high. It does not name
the lines at fault, which the student has to find.

The emulator counts the cost of a kernel exactly, whatever the machine. A cost is computed from the memory
accesses of one search from one source. The emulator runs threads and blocks in the order of their indices.
"""

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bfsbench.backends.cpu import CpuDevice
from bfsbench.bench.child import in_child
from bfsbench.bench.plan import Axes
from bfsbench.emulator import Access, Buffer, Line
from bfsbench.graphs.load import load, resolve
from bfsbench.programs import DeviceGraph, KernelSetup
from bfsbench.programs.families.bfs.searches import KernelVariant
from bfsbench.reports.table import Cell, Table
from bfsbench.support.errors import KernelError, plural
from bfsbench.tools.check import Report, check, launch_of
from bfsbench.tools.lab import HERE, Exercise, exercises
from bfsbench.variants import find

SECTOR = 32
"""The least number of bytes that a GPU reads at once."""
WARP = 32
MUCH = 0.2
"""The share of a cost above which ``measure`` names a source line."""

_WORD = 4

CostByLine = Counter[Line | None]
"""Maps source lines to their shares of a cost. The cost is the sum. None stands for unknown lines."""
Cost = Callable[[Iterable[Access], Collection[int], int], CostByLine]
"""A function that computes a cost from memory accesses, the addresses of the graph's arrays, and the address
of the level array."""


def reads(accesses: Iterable[Access], graph: Collection[int], levels: int) -> CostByLine:
    """Returns the number of reads of the graph's arrays."""
    return Counter(one.line for one in _of_graph(accesses, graph))


def longest(accesses: Iterable[Access], graph: Collection[int], levels: int) -> CostByLine:
    """Returns the largest number of reads of the graph's arrays that one thread makes in one launch."""
    by_thread: dict[tuple[int, int, int], CostByLine] = defaultdict(Counter)
    for one in _of_graph(accesses, graph):
        by_thread[one.launch, one.block, one.thread][one.line] += 1
    return max(by_thread.values(), key=Counter.total, default=Counter())


def atomics(accesses: Iterable[Access], graph: Collection[int], levels: int) -> CostByLine:
    """Returns the number of atomic operations on global memory outside the level array."""
    return Counter(one.line for one in accesses if one.act == "update" and one.buffer not in (None, levels))


def sectors(accesses: Iterable[Access], graph: Collection[int], levels: int) -> CostByLine:
    """Returns the number of memory sectors of the graph's arrays that warps read.

    A warp may execute a source line several times. The k-th load of a warp at a line consists of the k-th
    reads of all lanes at this line. A load fetches each sector once.
    """
    turns: Counter[tuple[object, ...]] = Counter()
    fetched = set()
    for one in _of_graph(accesses, graph):
        thread = (one.launch, one.block, one.thread, one.line)
        load = (one.launch, one.block, one.thread // WARP, turns[thread])
        fetched.add((one.line, load, one.buffer, one.index * _WORD // SECTOR))
        turns[thread] += 1
    return Counter(line for line, *_ in fetched)


COSTS: dict[str, tuple[Cost, str]] = {
    "reads": (reads, "reads of the graph"),
    "longest": (longest, "reads of the graph by one thread in a launch"),
    "atomics": (atomics, "atomic operations on counters in global memory"),
    "sectors": (sectors, "sectors of 32 bytes of the graph"),
}
"""Maps the name of each cost to the function that counts it, and to the name of the cost in words."""


def _of_graph(accesses: Iterable[Access], graph: Collection[int]) -> Iterable[Access]:
    return (one for one in accesses if one.act == "read" and one.buffer in graph)


SEEDS = 3
"""Number of schedules with which a kernel is run on each graph."""
BLOCK = 64
"""Threads per block when costs are counted."""
MOST_OF_A_THREAD = 0.5
"""Limit for the reads of the graph by one thread in a launch, as a share of the graph's arcs. Right solutions
stay below a third on every exercise's graph. A thread that does a whole level alone needs more."""
STOPS = "the kernel stops"
LIMIT_S = 120
"""Time limit in seconds for grading one kernel of a class."""


@dataclass(frozen=True)
class Grade:
    """The result of grading one kernel."""

    exercise: Exercise
    problems: tuple[str, ...]
    """Kinds of faults, or costs that are too high. The tuple is empty if the kernel has passed."""


def grade(exercise: Exercise, kernel: Path, begin: Callable[[], None] = lambda: None) -> Grade:
    """Grades a student's kernel. Returns the result.

    ``begin`` is called for each run of the kernel. Raises ToolchainError, with the compiler's first error, if
    the kernel does not compile.
    """
    variant = variant_of(exercise, kernel)
    report = _checked(exercise, variant, begin)
    problems = tuple(_faults(report, exercise))
    if not problems:
        try:
            problems = in_child(lambda _step: tuple(_too_much(exercise, variant)))
        except KernelError:
            problems = (STOPS,)
    return Grade(exercise, problems)


def improvement(exercise: Exercise, kernel: Path) -> str:
    """Returns a line that compares a kernel that passed the exercise with the exercise's original kernel.

    If the exercise limits a cost, the line compares the costs of both kernels. Otherwise, it compares their
    faults.
    """
    handed_out = HERE / "kernels" / exercise.file
    if exercise.cost:
        before, after = (_cost(exercise, path).total() for path in (handed_out, kernel))
        return f"{after:,} {COSTS[exercise.cost][1]}, {before:,} as handed out"
    report = _checked(exercise, variant_of(exercise, handed_out), lambda: None)
    faults = ", ".join(f"{fault} in {runs}" for fault, runs in _faults(report, exercise).items())
    return f"0 of {report.runs} runs have a fault; as handed out: {faults}"


def measure(exercise: Exercise, kernel: Path, limit_s: float) -> str:
    """Returns a line with three facts: the cost that the exercise limits, the limit, and the source lines
    that cause most of the cost.

    Raises KernelError if the kernel fails, and TimeoutError if it has not ended after ``limit_s`` seconds.
    """
    cost = _cost(exercise, kernel, limit_s)
    lines = sorted(line.number for line, part in cost.items() if line and part >= MUCH * cost.total())
    text = f"{cost.total():,} {COSTS[exercise.cost][1]}, limit {exercise.most:,}"
    if lines:
        *others, last = map(str, lines)
        at = f"lines {', '.join(others)} and {last}" if others else f"line {last}"
        text += f"; most at {at} of {kernel.name}"
    return f"{text}. The exercise limits this number, not the predicted time."


def _cost(exercise: Exercise, kernel: Path, limit_s: float | None = None) -> CostByLine:
    """Returns the cost that the exercise limits, counted in a search of the exercise's last graph from vertex
    0."""
    variant = variant_of(exercise, kernel)
    return in_child(lambda _step: _costs(exercise, variant)[exercise.cost], limit_s=limit_s)


def _checked(exercise: Exercise, variant: type[KernelVariant], begin: Callable[[], None]) -> Report:
    return check(variant, Axes([variant], [], [], {}), [*map(resolve, exercise.graphs)], SEEDS, begin)


def _too_much(exercise: Exercise, variant: type[KernelVariant]) -> Iterator[str]:
    """Yields a message for each cost that is too high in a search of the exercise's last graph from vertex 0.
    The work of a single thread is limited in every exercise. Otherwise a serial kernel, which cannot race,
    would pass."""
    limits = {"longest": int(load(exercise.graphs[-1]).num_edges * MOST_OF_A_THREAD)}
    if exercise.cost:
        limits[exercise.cost] = exercise.most
    counted = _costs(exercise, variant)
    for name, most in limits.items():
        if (cost := counted[name].total()) > most:
            yield f"{cost:,} {COSTS[name][1]}, where at most {most:,} are needed"


def _costs(exercise: Exercise, variant: type[KernelVariant]) -> dict[str, CostByLine]:
    """Searches the last graph of the exercise from vertex 0. Returns a dictionary that maps the names of all
    costs to the costs of this search."""
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
        levels = _address(search.level_array)
        return {name: cost(accesses, arrays, levels) for name, (cost, _) in COSTS.items()}


def launches() -> str:
    """Returns a line that says with which grids and blocks kernels are graded."""
    texts = []
    for grid, block in map(launch_of, range(1, SEEDS + 1)):
        most = f", at most {plural(grid, 'block')}" if grid else ""
        texts.append(f"blocks of {block} threads{most}")
    return (
        f"Launches: {'; '.join(texts)}. Costs: blocks of {BLOCK} threads. There are as many blocks as one "
        "thread per vertex, or per entry of the frontier, needs."
    )


def runs_of(exercise: Exercise) -> int:
    """Returns the number of runs that ``grade`` makes, besides the run that counts costs."""
    return len(exercise.graphs) * SEEDS


def table(folder: Path) -> Table:
    """Returns a table of a class: one line per student and one column per exercise.

    Each student has a folder with kernels below ``folder``. Every kernel is graded in a process of its own,
    so that no kernel can change the grade of another kernel.
    """
    names = list(exercises())
    with CpuDevice():
        pass  # this compiles the shared parts now, outside the time limits
    rows: list[tuple[Cell, ...]] = []
    for student in sorted(path for path in folder.iterdir() if path.is_dir()):
        grades = [in_a_word(next(student.rglob(f"{name}.cu"), None)) for name in names]
        rows.append((student.name, grades.count("passed"), *grades))
    return Table("class", f"Hand-ins in {folder}", ("student", "passed", *names), rows)


def in_a_word(kernel: Path | None) -> str:
    """Grades a kernel in a process of its own. Returns "passed", "not yet", "no end" or "no grade". Returns
    an empty string if ``kernel`` is None."""
    if kernel is None:
        return ""
    command = [sys.executable, "-m", "bfsbench", "check", str(kernel)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "no end"
    return {0: "passed", 1: "not yet"}.get(done.returncode, "no grade")


def variant_of(exercise: Exercise, kernel: Path) -> type[KernelVariant]:
    """Returns a variant class that runs a student's kernel with the host loop of the exercise."""
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


def _faults(report: Report, exercise: Exercise) -> dict[str, int]:
    """Returns a dictionary, sorted by key, that maps each kind of fault in a report to the number of runs in
    which the fault occurred. If a report has several faults of one kind, the number is that of the most
    frequent fault.

    A benign race that a comment declares is left out if the exercise allows it.
    """
    counts: Counter[str] = Counter()
    for found in report.undeclared if exercise.declared else report.findings.values():
        counts[found.first.fault] = max(counts[found.first.fault], found.runs)
    for message, runs in report.failures.items():
        if message.startswith("wrong answer"):
            counts["wrong levels"] += runs
        elif not report.findings:
            counts[STOPS] += runs
    return dict(sorted(counts.items()))


def _address(buffer: object) -> int:
    assert isinstance(buffer, Buffer) and buffer.pointer.value
    return buffer.pointer.value
