"""Counts the cost of one search: runs it on the emulator, and sums the counts by level, kernel and source
line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Count, Hardware, PhaseCount
from bfsbench.emulator.watch import STEPS
from bfsbench.graphs.graph import Graph
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.searches import KernelVariant
from bfsbench.rows.counters import COUNTERS, KEY, LARGEST, SUMS, Counters, ProgramCounters
from bfsbench.rows.point import Point
from bfsbench.support.errors import UsageError
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants import find, find_family

MULTIPROCESSORS = 132
"""Number of multiprocessors of the GPU that the project's rows were measured on."""
_MOST_THREADS = 70_000
"""Most threads that the emulator runs at a time. Each thread takes some KiB of memory."""


def count(point: Point, graph: Graph, seed: int = 0) -> Counters:
    """Runs one point on the emulator. Returns its counters.

    ``seed`` chooses the order of threads. Equal seeds give equal counts. Raises UsageError for a program
    without kernels. Raises DeviceError or WrongResultError if the search fails.
    """
    variant = find(point.variant)
    if not issubclass(variant, KernelProgram) or point.block is None:
        raise UsageError(f"variant {variant.name} has no kernels to explain")
    with _CountingDevice(seed, hardware=hardware(point.block), counted=True) as device:
        setup = KernelSetup(DeviceGraph(device, graph), point.grid, point.block, dict(point.knobs))
        program = variant(setup)
        if isinstance(program, KernelVariant):
            program.mark = lambda level, _kernel: device.take(level)
            if program.layers:  # their kernels run several levels in a launch, and record them
                records = device.empty(program.num_vertices + 2, LevelRecord)
                device.note_phases_in(records)
                program.records = records
        program.prepare()
        device.counts()  # drop the counts of the preparation
        run = find_family(variant.family).problem(graph, point.source).run(program)
        run.reset()
        device.waits = 0
        run.solve()
        waits = device.waits
        device.synchronize()
        device.take(device.level)  # the search's last launches, before the check launches kernels
        run.check()
    lines, sources = _by_line(device.lines_of_levels)
    return Counters(lines, _launches(device.phases_of_levels), waits, sources, point, graph.checksum)


def of_program(title: str, counts: Iterable[Count], launches: Sequence[PhaseCount]) -> ProgramCounters:
    """Returns the counters of a program from its counts and launches. Each launch counts as a level.

    The host is assumed to wait after each launch.
    """
    lines, sources = _by_line((of.launch, of) for of in counts)
    numbered = [(of.launch, of.launch, of) for of in launches]
    return ProgramCounters(lines, _launches(numbered), len(numbered), sources, title)


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
        """Assigns the counts since the last call to ``level``, except counts for which a kernel recorded
        another level."""
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
