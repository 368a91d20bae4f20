"""Counts the memory accesses of kernels in the emulator, and predicts from the counts how long the kernels
would take on a GPU. No GPU is needed.

:mod:`bfsbench.emulator` counts while it runs a search. This module sums the counts by level, kernel and
source line. It makes tables of the cost of each level and of each source line, source listings, and a
predicted time. docs/emulator.md defines the counters and their limits.

The listings of several searches are shown in a terminal, side by side if the terminal is wide enough, else
below each other. An HTML page shows the listings side by side in a browser, for all levels or for one level.

The time is a prediction, not a measurement. It is the time that the host needs to launch kernels and to read
their results, plus the time that the kernels need. For each level, the kernels' time is the largest of

- latency: The time that the longest warp waits, one step after the other. A load of a sector that the warp
  has not loaded recently takes as long as a dependent load from L2. So does an atomic operation. Other loads,
  accesses to shared memory and barriers take as long as a dependent load from L1. A level of resident blocks
  ends with a barrier between them.
- throughput: The time that memory needs for all sectors. Sectors that warps have not loaded recently move at
  one of two rates in the memory that the kernel touches: sectors of coalesced accesses at the rate of copies,
  all others at the rate of random reads. Sectors that a warp has loaded recently move at the rate of reads in
  L1. Atomic operations have the rate of random atomic operations.
- contention: The time of the atomic operations on the busiest word, one after the other, in one part of the
  L2 cache.
- banks: The time of all passes through shared memory, which bank conflicts make more numerous. The passes are
  divided evenly among the multiprocessors that have a block.

The constants of the first three are ceilings (``bfsbench probe``). None is fitted to searches. The time of a
pass is an assumption (``PASSES``). docs/emulator.md lists what the model leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Count, Hardware, PhaseCount
from bfsbench.emulator.program_run import ProgramReport
from bfsbench.emulator.watch import STEPS
from bfsbench.graphs.graph import Graph
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup, Variant
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.searches import KernelVariant
from bfsbench.reports.table import Cell, Table
from bfsbench.rows.ceilings import Ceilings
from bfsbench.rows.counters import COUNTERS, KEY, LARGEST, SUMS, Counted, Counters, ProgramCounters
from bfsbench.rows.point import Point
from bfsbench.support.errors import InputError, UsageError, plural
from bfsbench.support.paths import CUDA_SRC
from bfsbench.tools.check import most_launches
from bfsbench.variants import find, find_family

MULTIPROCESSORS = 132
"""Number of multiprocessors of the GPU that the project's rows were measured on."""
_MOST_THREADS = 70_000
"""Maximum number of threads that the emulator runs at a time. Each thread takes some KiB of memory."""


def count(point: Point, graph: Graph, seed: int = 0, variant: type[Variant] | None = None) -> Counters:
    """Runs one point (configuration) on the emulator. Returns the counters of the run.

    ``variant`` is the class of the point's variant. By default, the class is looked up by the variant's name.
    ``seed`` chooses the order of threads. Equal seeds give equal counts. Raises UsageError for a program
    without kernels. Raises DeviceError or WrongResultError if the search fails.
    """
    variant = variant or find(point.variant)
    if not issubclass(variant, KernelProgram) or point.block is None:
        raise UsageError(f"variant {variant.name} has no kernels to explain")
    device_options = {"hardware": hardware(point.block), "most_launches": most_launches(graph)}
    with _CountingDevice(seed, counted=True, **device_options) as device:
        setup = KernelSetup(DeviceGraph(device, graph), point.grid, point.block, dict(point.knobs))
        program = variant(setup)
        if isinstance(program, KernelVariant):
            program.mark = lambda level, _kernel: device.take(level)
            # Kernels with layers run several levels in one launch, and record where each level begins.
            if program.layers:
                records = device.empty(program.num_vertices + 2, LevelRecord)
                device.note_phases_in(records)
                program.records = records
        program.prepare()
        device.counts()  # this call drops the counts of the preparation
        run = find_family(variant.family).problem(graph, point.source).run(program)
        run.reset()
        device.waits = 0
        run.solve()
        waits = device.waits
        device.synchronize()
        # Take the counts of the search's last launches before kernels of the check add to them.
        device.take(device.level)
        run.check()
    lines, sources = _by_line(device.lines_of_levels)
    return Counters(lines, _launches(device.phases_of_levels), waits, sources, point, graph.checksum)


def of_program(name: str, macros: str, report: ProgramReport) -> ProgramCounters:
    """Returns the counters of a program from the report of its run. Each launch counts as a level."""
    lines, sources = _by_line((of.launch, of) for of in report.counts)
    numbered = [(of.launch, of.launch, of) for of in report.launches]
    copied = report.copies, report.copied_bytes
    return ProgramCounters(lines, _launches(numbered), report.waits, sources, name, macros, *copied)


def hardware(block: int) -> Hardware:
    """Returns the emulated GPU for blocks of ``block`` threads.

    It has MULTIPROCESSORS multiprocessors, or fewer if the resident blocks would otherwise have too many
    threads.
    """
    threads = block if block <= 512 else 2048
    return Hardware(multiprocessors=min(MULTIPROCESSORS, _MOST_THREADS // threads))


class _CountingDevice(CpuDevice):
    """An emulated device that assigns counts to the levels of a search, and counts how often the host
    waits."""

    def __init__(self, seed: int, **options: Any) -> None:
        super().__init__(seed, **options)
        self.waits = 0
        self.level = -1
        self._taken_launches = 0
        self.lines_of_levels: list[tuple[int, Count]] = []
        self.phases_of_levels: list[tuple[int, int, PhaseCount]] = []

    def synchronize(self) -> None:
        self.waits += 1
        super().synchronize()

    def take(self, level: int) -> None:
        """Assigns the counts since the previous call of this method to the level ``level``. If a kernel
        recorded another level for some counts, these counts are assigned to that level.
        """
        self.level = level
        counts, launches = self.counts()
        self.lines_of_levels += [(level if of.phase is None else of.phase, of) for of in counts]
        for of in launches:
            number = self._taken_launches + of.launch
            self.phases_of_levels.append((level if of.phase is None else of.phase, number, of))
        self._taken_launches += len({of.launch for of in launches})


def _by_line(counts: Iterable[tuple[int, Count]]) -> tuple[pd.DataFrame, dict[str, Path]]:
    sources: dict[str, Path] = {}
    rows = []
    for level, of in counts:
        path = Path(of.line.file) if of.line else Path("unknown")
        file = str(path.relative_to(CUDA_SRC)) if path.is_relative_to(CUDA_SRC) else path.name
        sources[file] = path
        key = (level, of.kernel, file, of.line.number if of.line else 0, of.kind, of.memory)
        rows.append((*key, *(getattr(of, name) for name in COUNTERS)))
    frame = pd.DataFrame(rows, columns=[*KEY, *COUNTERS])
    how: dict[str, str | Callable[..., object]] = {
        **dict.fromkeys(SUMS, "sum"),
        **dict.fromkeys(LARGEST, "max"),
    }
    return frame.groupby(list(KEY), as_index=False).agg(how), sources


def _launches(launches: Iterable[tuple[int, int, PhaseCount]]) -> pd.DataFrame:
    columns = ["level", "launch", "kernel", "blocks", "threads", "shared", *STEPS]
    rows = [
        (level, launch, of.kernel, of.blocks, of.threads, of.shared, *(getattr(of, name) for name in STEPS))
        for level, launch, of in launches
    ]
    return pd.DataFrame(rows, columns=columns)


L2_PARTS = 96
"""Number of parts of an H200's L2 cache, as its driver says. Each part does an equal share of random atomic
operations."""
_IN_L1, _IN_L2 = 16 << 10, 8 << 20
"""Sizes in bytes of working sets that fit the L1 cache and the L2 cache."""
_READS_IN_L1 = 128 << 10
PASSES = 1.98
"""Assumed number of passes through the shared memory of one multiprocessor, in 10^9 per second: one per cycle
at an H200's largest clock. The CUDA programming guide gives each bank one word per cycle. No probe measures
this rate."""
SECTOR = 32
_LEVEL = ["level", "kernel"]


@dataclass(frozen=True)
class Prediction:
    """The predicted time of a search and the parts of this time, in ms."""

    search_ms: float
    launches_ms: float
    """The time that the host needs to launch kernels and to wait for their results."""
    latency_ms: float
    throughput_ms: float
    contention_ms: float
    banks_ms: float
    """The kernels' time by four models: latency of memory (``latency_ms``), throughput of memory
    (``throughput_ms``), contention of atomic operations, and passes through shared memory (``banks_ms``).
    Each is summed over all levels. The predicted time of a level contains only the largest of the four."""

    @property
    def bound(self) -> str:
        """The name of the largest part of the predicted time: launches, latency, throughput, contention or
        banks."""
        names = ("launches", "latency", "throughput", "contention", "banks")
        return max(names, key=lambda name: float(getattr(self, f"{name}_ms")))


def predict(counted: Counted, ceilings: Ceilings) -> Prediction:
    """Predicts the time of a search from its counters.

    ``ceilings`` are the measured limits of the device for which the time is predicted. Raises InputError if a
    needed ceiling was not measured.
    """
    num_launches = counted.launches["launch"].nunique()
    launch_us = ceilings.at("launch")
    launches_us = num_launches * launch_us + counted.waits * (ceilings.at("launch_and_read") - launch_us)
    levels = kernels_us(counted, ceilings)
    search_us = launches_us + float(levels.max(axis=1).sum())
    return Prediction(search_us / 1e3, launches_us / 1e3, *(levels.sum() / 1e3).tolist())


def kernels_us(counted: Counted, ceilings: Ceilings) -> pd.DataFrame:
    """Returns the kernels' time in microseconds by level and kernel, according to four models: latency,
    throughput, contention and banks. The largest of the four is the predicted time."""
    rate = ceilings.at("random_atomics") / L2_PARTS
    parts = {
        "latency": _latency_us(counted.launches, ceilings),
        "throughput": _throughput_us(counted.lines, ceilings),
        "contention": counted.lines.groupby(_LEVEL)["hottest"].max() / rate / 1e3,
        "banks": _banks_us(counted),
    }
    return pd.concat(parts, axis=1).fillna(0.0)


def _latency_us(launches: pd.DataFrame, ceilings: Ceilings) -> pd.Series[float]:
    """Returns, for each level and kernel, how many microseconds the kernel waits for memory and barriers. The
    waiting time of a launch is that of its longest warp: the warp that makes the most accesses and barriers
    in sequence."""
    far, near = (ceilings.at("dependent_loads", size) / 1e3 for size in (_IN_L2, _IN_L1))
    steps = launches["near"] + launches["shared_steps"] + launches["barriers"]
    us = far * (launches["far"] + launches["atomics"]) + near * steps
    levels_of_launch = launches.groupby("launch")["level"].transform("nunique")
    resident = (levels_of_launch > 1) & (launches["blocks"] > 1)
    us = us + ceilings.at("barrier") * resident
    return us.groupby([launches[name] for name in _LEVEL]).sum()


def _throughput_us(lines: pd.DataFrame, ceilings: Ceilings) -> pd.Series[float]:
    """Returns, for each level and kernel, how many microseconds memory needs to transfer all sectors that the
    kernel accesses."""
    on_global = lines[lines["memory"] == "global"]
    most = on_global.groupby(_LEVEL)["distinct_sectors"].sum().max()
    touched = int(most) * SECTOR if len(on_global) else 0
    atomic = on_global["kind"] == "atomic"
    streamed = on_global["streamed_sectors"].where(~atomic, 0)
    scattered = on_global["far_sectors"].where(~atomic, 0) - streamed
    far = streamed / (ceilings.at("copy", touched) / SECTOR)
    far = far + scattered / ceilings.at("random_reads", touched)
    near = (on_global["sectors"] - on_global["far_sectors"]).where(~atomic, 0)
    near = near / ceilings.at("random_bit_tests", _READS_IN_L1)
    atomics = on_global["sectors"].where(atomic, 0) / ceilings.at("random_atomics", touched)
    return ((far + near + atomics) / 1e3).groupby([on_global[name] for name in _LEVEL]).sum()


def _banks_us(counted: Counted) -> pd.Series[float]:
    """Returns the time of all passes through shared memory, in microseconds, by level and kernel. The passes
    are divided among the multiprocessors that have a block. If several launches of a kernel belong to one
    level, the launch with the most blocks counts."""
    passes = counted.lines.groupby(_LEVEL)["passes"].sum()
    blocks = counted.launches.groupby(_LEVEL)["blocks"].max()
    return passes / (blocks.clip(upper=MULTIPROCESSORS) * PASSES) / 1e3


CONTEXT = 3
"""Number of lines shown before and after lines that have counters. Longer stretches without counters are left
out."""
WARM, HOT = 0.05, 0.2
"""Shares of a search's cost above which a line is coloured yellow, and red."""


class LineCost(NamedTuple):
    """The cost of one source line, summed over all executions."""

    executions: int
    lanes: int
    """The number of lanes that take part, summed over the executions."""
    sectors: int
    conflicts: int
    collisions: int
    share: float
    """The line's share of the search's cost. The cost is the number of sectors of global memory, passes
    through shared memory, and barriers."""


@dataclass(frozen=True)
class Listing:
    """The lines of one source file that have counters, and the lines around them."""

    file: str
    costs: dict[int, LineCost]
    """Maps the number of each line that has counters to the line's cost."""
    lines: list[tuple[int, str]]
    """The numbers and the texts of the lines to show. Stretches without counters are left out."""


def listings(counted: Counted, level: int | None = None) -> list[Listing]:
    """Returns one listing for each file that a search executed, with the costliest file first. The listings
    show the costs of the level ``level``, or of all levels by default. Raises InputError if a source file
    cannot be read."""
    costs = costs_by_file(counted, level)
    return [Listing(file, of, _shown_lines(counted.sources[file], of)) for file, of in costs.items()]


def costs_by_file(counted: Counted, level: int | None = None) -> dict[str, dict[int, LineCost]]:
    """Returns the cost of each line that has counters, for the level ``level``, or for all levels by default.
    The result maps each file to a dictionary from line numbers to costs. The costliest file comes first."""
    lines = counted.lines
    if level is not None:
        lines = lines[lines["level"] == level]
    summed = [*LineCost._fields[:-1], "passes", "bytes"]
    frame = lines.groupby(["file", "line"], as_index=False)[summed].sum()
    weights = frame["sectors"] + frame["passes"] + frame["executions"] * (frame["bytes"] == 0)
    frame["share"] = weights / max(1, weights.sum())
    costs: dict[str, dict[int, LineCost]] = {}
    for file, number, *cost in frame[["file", "line", *LineCost._fields]].itertuples(index=False, name=None):
        costs.setdefault(file, {})[number] = LineCost(*cost)
    shares = {file: sum(cost.share for cost in of.values()) for file, of in costs.items()}
    return {file: costs[file] for file in sorted(costs, key=lambda file: (-shares[file], file))}


def _shown_lines(path: Path, numbers: Iterable[int]) -> list[tuple[int, str]]:
    """Returns the numbers and the texts of the given lines of a file, and of the lines around them.

    The texts are empty if the file does not exist. Raises InputError if the file cannot be read.
    """
    text: list[str] = []
    if path.exists():
        try:
            text = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
    around = {n for at in numbers for n in range(at - CONTEXT, at + CONTEXT + 1) if 1 <= n <= len(text)}
    around |= {above for n in around if n - 1 not in around for above in _signature(text, n)}
    shown = sorted(around.union(numbers))
    return [(n, text[n - 1].expandtabs(4) if 0 < n <= len(text) else "") for n in shown]


def _signature(text: Sequence[str], number: int) -> range:
    """Returns the numbers of the lines above the line ``number`` that belong to a function's signature (its
    name and parameters). Returns an empty range if the line just above ``number`` does not belong to a
    signature."""
    for above in range(number - 1, 0, -1):
        line = text[above - 1]
        if any(mark in line for mark in ";}"):
            break
        if "__global__" in line or "__device__" in line:
            return range(above, number)
        if "{" in line:
            break
    return range(0)


LEVEL_COLUMNS = (
    *("grid", "block"),
    *("executions", "lanes", "requests", "sectors", "sectors_a_request", "distinct_kib"),
    *("conflicts", "atomics", "collisions", "barriers", "longest_warp"),
)
MOST_LEVELS = 40
"""Maximum number of rows of a table that is shown as text. Files have all levels."""


def by_level(counted: Counted) -> pd.DataFrame:
    """Returns a row for each level and kernel, with the columns ``level``, ``kernel`` and LEVEL_COLUMNS.

    ``grid`` is the largest number of blocks of a launch, and ``block`` the largest number of threads per
    block. ``lanes`` is the mean number of lanes that take part in an execution. ``requests`` and ``sectors``
    count accesses to global memory, including atomic operations. ``longest_warp`` is the largest number of
    steps that a warp makes in a launch, summed over the launches of the level.
    """
    frame = _sums(counted)
    frame["lanes"] = frame["lanes"] / frame["executions"]
    frame["sectors_a_request"] = (frame["sectors"] / frame["requests"]).fillna(0.0)
    whole = [name for name in LEVEL_COLUMNS if name not in ("lanes", "sectors_a_request", "distinct_kib")]
    frame[whole] = frame[whole].astype("int64")
    return frame[list(LEVEL_COLUMNS)].reset_index()


def _sums(counted: Counted) -> pd.DataFrame:
    """Returns the sums of the counters of each level and kernel, and the size of the largest launch."""
    lines = counted.lines
    on_global = lines["memory"] == "global"
    parts = lines.assign(
        requests=lines["executions"].where(on_global, 0),
        distinct_kib=lines["distinct_sectors"].where(on_global, 0) / 32,
        atomics=lines["lanes"].where(lines["kind"] == "atomic", 0),
        barriers=lines["executions"].where(lines["kind"] == "barrier", 0),
    )
    summed = ["executions", "lanes", "sectors", "conflicts", "collisions"]
    frame = parts.groupby(_LEVEL)[[*summed, "requests", "distinct_kib", "atomics", "barriers"]].sum()
    launches = counted.launches.groupby(_LEVEL)
    frame["grid"], frame["block"] = launches["blocks"].max(), launches["threads"].max()
    frame["longest_warp"] = launches["steps"].sum()
    return frame.fillna(0)


def predicted_levels(counted: Counted, ceilings: Ceilings) -> pd.DataFrame:
    """Returns the rows of ``by_level``, with the kernels' predicted times in the additional column
    ``predicted_us``."""
    frame = by_level(counted)
    predicted = kernels_us(counted, ceilings).max(axis=1)
    frame["predicted_us"] = predicted.reindex(pd.MultiIndex.from_frame(frame[_LEVEL])).fillna(0).to_numpy()
    return frame


def level_table(counted: Counted, ceilings: Ceilings, level: int | None = None) -> Table:
    """Returns a table of the counters of each level and kernel, with the predicted times. If ``level`` is
    given, the table has only this level. Each launch of a program is a level.

    If there are many levels, the table in text form shows only the levels with the most executions.
    """
    frame = predicted_levels(counted, ceilings)
    if level is not None:
        frame = frame[frame["level"] == level]
    notes = []
    shown = frame
    if len(frame) > MOST_LEVELS:
        shown = frame.nlargest(MOST_LEVELS, "executions").sort_index()
        notes.append(
            f"The {MOST_LEVELS} of {plural(len(frame), counted.level_name)} with the most executions. "
            "--format json has all."
        )
    names = {"level": counted.level_name}
    drawing = Table.of("", "", shown.rename(columns=names))
    return Table.of("levels", counted.title, frame.rename(columns=names), notes, (drawing,))


def line_table(counted: Counted, level: int | None) -> Table:
    """Returns a table of all counters, with a row for each level, kernel, source line and kind of access. If
    ``level`` is given, the table has only this level."""
    lines = counted.lines if level is None else counted.lines[counted.lines["level"] == level]
    return Table.of("lines", counted.title, lines.rename(columns={"level": counted.level_name}))


TRUST = (
    "How far to trust it: of 220 searches on an H200 half of the predictions are wrong by more than a factor "
    "of 1.38, and their geometric mean is 0.83 of the measured times. The rank correlation is 0.64 to 0.92 "
    "within a graph, and 0.96 over all graphs, which mostly orders graphs by their size. Predictions "
    "that are bound by launches are low: their geometric mean is 0.73 of the measured times."
)
OF_SEARCHES = "These figures come from searches of graphs. No programs were measured."
"""What ``TRUST`` lacks for predictions of programs."""


def prediction_table(counted: Sequence[Counted], ceilings: Ceilings) -> Table:
    """Returns a table of predicted times in ms, with a row for each search."""
    found = [(of.title, predict(of, ceilings)) for of in counted]
    rows = [{counted[0].name: title, **asdict(made), "bound": made.bound} for title, made in found]
    frame = pd.DataFrame(rows).rename(columns={"search_ms": "predicted_ms"})
    title = f"Prediction, not a measurement: times on one {ceilings.gpu}"
    notes = (
        "From these counters and the GPU's ceilings: what the host takes to launch, and level by level the "
        "largest of latency, throughput, contention and banks. The time of banks is an assumption: each of "
        f"an H200's {MULTIPROCESSORS} multiprocessors makes one pass through shared memory per cycle. A bank "
        "conflict adds a pass.",
        TRUST if counted[0].has_levels else f"{TRUST} {OF_SEARCHES}",
    )
    return Table.of("prediction", title, frame, notes)


def side_by_side(counted: Sequence[Counted]) -> Table:
    """Returns a table of the total counters of several searches, with one column per search."""
    searches = [_totals(of) for of in counted]
    rows: list[tuple[Cell, ...]] = [
        (name, *(int(of[name]) if of[name].is_integer() else of[name] for of in searches))
        for name in searches[0]
    ]
    columns = ("counter", *(of.title for of in counted))
    return Table("totals", "Side by side", columns, rows, named=True)


def tables(
    counted: Sequence[Counted], ceilings: Ceilings, level: int | None, *, with_lines: bool
) -> list[Table]:
    """Returns the tables of predictions and levels, and the tables of lines if ``with_lines`` is true. For
    several searches, a table of totals comes first, and the names of the other tables are numbered."""
    predicted = prediction_table(counted, ceilings)
    of_each = [
        [level_table(of, ceilings, level), *([line_table(of, level)] if with_lines else [])] for of in counted
    ]
    if len(counted) == 1:
        return [predicted, *of_each[0]]
    numbered = [
        replace(table, name=f"{table.name}_{place}")
        for place, some in enumerate(of_each, 1)
        for table in some
    ]
    return [side_by_side(counted), predicted, *numbered]


def _totals(counted: Counted) -> dict[str, float]:
    """Returns the counters of a search, summed over all levels and kernels."""
    total = _sums(counted).sum()
    levels = {"levels": float(counted.lines["level"].nunique())} if counted.has_levels else {}
    return levels | {
        "launches": float(counted.launches["launch"].nunique()),
        "executions by a warp": total["executions"],
        "lanes per execution": total["lanes"] / max(1, total["executions"]),
        "requests to global memory": total["requests"],
        "sectors": total["sectors"],
        "sectors per request": total["sectors"] / max(1, total["requests"]),
        "bank conflicts": total["conflicts"],
        "atomics": total["atomics"],
        "lanes that collided on a word": total["collisions"],
        "barriers": total["barriers"],
        "steps of the longest warps": float(counted.launches["steps"].sum()),
    }


_COLUMNS: tuple[tuple[str, int, Callable[[LineCost], str]], ...] = (
    ("cost", 4, lambda of: f"{of.share:.0%}"),
    ("warps", 7, lambda of: _short(of.executions)),
    ("lanes", 5, lambda of: f"{of.lanes / max(1, of.executions):.1f}"),
    ("sectors", 7, lambda of: _short(of.sectors)),
    ("/exec", 5, lambda of: f"{of.sectors / max(1, of.executions):.1f}" if of.sectors else ""),
    ("confl", 6, lambda of: _short(of.conflicts) if of.conflicts else ""),
    ("meet", 6, lambda of: _short(of.collisions) if of.collisions else ""),
)
"""The heading, the width and the text of each number in front of a source line."""
LEGEND = """\
cost: a line's share of all sectors, passes through shared memory and barriers
warps: executions by warps; lanes: lanes per execution
sectors: sectors of 32 bytes of global memory
/exec: sectors per execution, also if the line accesses shared memory
confl: bank conflicts; meet: lanes of atomics that collide with other lanes of their warp on a word"""
_LEAST_SOURCE = 40
_NUMBERS_WIDTH = sum(width for _, width, _ in _COLUMNS) + len(_COLUMNS) + 6
"""Number of characters of a listing's line in front of the source text."""


def listing_lines(counted: Counted, level: int | None, width: int) -> Iterator[str]:
    """Yields the lines of a search's listing, at most ``width`` columns wide, with terminal colours. A longer
    source line continues on further lines."""
    heads = " ".join(f"{head:>{size}}" for head, size, _ in _COLUMNS)
    for listing in listings(counted, level):
        yield ""
        yield f"{heads}  {listing.file}"
        last = listing.lines[0][0] - 1
        for number, text in listing.lines:
            if number != last + 1:
                yield " " * (_NUMBERS_WIDTH - 6) + "  ..."
            last = number
            cost = listing.costs.get(number)
            numbers = " ".join(f"{text_of(cost) if cost else '':>{size}}" for _, size, text_of in _COLUMNS)
            share = cost.share if cost else 0.0
            colour = "red" if share >= HOT else "yellow" if share >= WARM else None
            before, room = f"{numbers} {number:>5} ", max(1, width - _NUMBERS_WIDTH)
            for start in range(0, max(1, len(text)), room):
                line = f"{before:>{_NUMBERS_WIDTH}}{text[start : start + room]}".rstrip()
                yield click.style(line, fg=colour) if cost else click.style(line, dim=True)
                before = ""


def beside(counted: Sequence[Counted], level: int | None, width: int) -> Iterator[str]:
    """Yields the lines that show the listings of several searches. The listings stand side by side if each
    gets a readable width. Otherwise they follow each other."""
    if len(counted) == 1:
        yield from listing_lines(counted[0], level, width)
        return
    each = (width - 3 * (len(counted) - 1)) // len(counted)
    if each < _NUMBERS_WIDTH + _LEAST_SOURCE:
        for of in counted:
            yield ""
            yield click.style(of.title, bold=True)
            yield from listing_lines(of, level, width)
        return
    columns = [[click.style(of.title, bold=True), *listing_lines(of, level, each)] for of in counted]
    for row in zip_longest(*columns, fillvalue=""):
        yield " | ".join(cell + " " * (each - len(click.unstyle(cell))) for cell in row).rstrip()


def _short(number: int) -> str:
    """Returns a number as text of at most six characters."""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= 100 * factor:
            return f"{number / factor:.0f}{unit}"
        if number >= 10 * factor:
            return f"{number / factor:.1f}{unit}"
    return str(number)
