"""Measures level profiles: the cost of each level of a breadth-first search, in a separate run.

Host code marks the end of each launch (``KernelVariant.mark``). If a launch runs several levels, the kernel
records when each level begins (``profile.cuh``). So a profile has one row per level, except for searches that
run several levels together (``times_levels``). If a variant has counters, it searches once more with kernels
that count events. These kernels are too slow to be timed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Event
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.search import check_levels
from bfsbench.programs.families.bfs.searches import KernelVariant


@dataclass(frozen=True)
class LevelCost:
    """The kernel that ran one level of a search, and the time of the level."""

    level: int
    kernel: str
    time_us: float


class LevelSizes:
    """The numbers of vertices and edges at each level of a search, computed from the levels of the
    vertices."""

    def __init__(self, graph: Graph, levels: npt.NDArray[np.int32]) -> None:
        self._graph = graph
        self._levels = levels
        self.depth = int(levels.max())

    @cached_property
    def frontier_sizes(self) -> npt.NDArray[np.int64]:
        """Returns the number of vertices at each level, int64[depth + 1]."""
        return np.bincount(self._levels[self._levels >= 0], minlength=self.depth + 1)

    @cached_property
    def _frontier_edges(self) -> npt.NDArray[np.int64]:
        return self._sums(np.diff(self._graph.row_offsets).astype(np.int64))

    @cached_property
    def _pull_edges(self) -> npt.NDArray[np.int64]:
        """Returns how many adjacency entries a pull reads at each level, int64[depth + 1]. Each unreached
        vertex reads its in-neighbours until it finds a parent."""
        offsets, levels = self._graph.column_offsets, self._levels
        first = np.diff(offsets).astype(np.int64)
        degrees = first.copy()
        owner = np.repeat(np.arange(len(degrees), dtype=np.int32), degrees)
        own = levels[owner]
        hits = np.flatnonzero((own > 0) & (levels[self._graph.row_indices] == own - 1))
        met = owner[hits]
        begins = np.flatnonzero(np.diff(met, prepend=-1))  # the position of the first parent of each vertex
        first[met[begins]] = hits[begins] - offsets[met[begins]] + 1
        whole, partly = self._sums(degrees), self._sums(first)
        later = np.cumsum(whole[::-1])[::-1] - whole  # the number of edges of all vertices beyond each level
        missed = int(degrees[levels < 0].sum())
        return missed + np.append((partly + later)[1:], 0)

    def _sums(self, of_vertices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the sum of ``of_vertices`` over the vertices at each level, int64[depth + 1].
        ``of_vertices`` contains one number per vertex."""
        reached = self._levels >= 0
        at, weights = self._levels[reached], of_vertices[reached]
        return np.bincount(at, weights=weights, minlength=self.depth + 1).astype(np.int64)

    def edges_inspected(self, reads: str, level: int) -> int | None:
        """Returns the number of edges that a kernel reads at a level. Returns None if the number is unknown.

        ``reads`` says which edges the kernel reads: ``frontier``, ``pull`` (edges of unreached vertices),
        ``all`` or ``unknown``.
        """
        if level > self.depth:
            return 0 if reads == "frontier" else None
        if reads == "unknown":
            return None
        if reads == "all":
            return self._graph.num_edges
        return int((self._frontier_edges if reads == "frontier" else self._pull_edges)[level])


def profile(variant: KernelVariant, source: int, reference: npt.NDArray[np.int32]) -> list[LevelCost]:
    """Prepare a search and run it twice from ``source``: once to warm up, and once to time its levels.
    Returns the cost of each level. Raises WrongLevelsError if the levels differ from ``reference``."""
    device = variant.device
    variant.records = device.empty(variant.num_vertices + 2, LevelRecord)
    variant.prepare()
    variant.reset(source)
    variant.traverse(source)
    variant.records.fill(0)
    launches: list[tuple[int, str, Event]] = []

    def mark(level: int, kernel: str) -> None:
        event = device.event()
        event.record()
        launches.append((level, kernel, event))

    variant.reset(source)
    start = device.event()
    start.record()
    variant.mark = mark
    variant.traverse(source)
    check_levels(variant.levels(), reference)
    records = variant.records.download()
    return _costs(launches, start, records, variant.layers)


def count_levels(
    variant: KernelVariant, source: int, reference: npt.NDArray[np.int32]
) -> list[dict[str, int]]:
    """Run an unprepared search with kernels that count events, and check the result. Returns the counts of
    each level, by name. The list is empty if the search has no counters. Raises WrongLevelsError if the
    levels differ from ``reference``."""
    if not variant.counters:
        return []
    num_levels = int(reference.max()) + 1
    variant.counter_buffer = variant.device.upload(np.zeros(num_levels * len(variant.counters), np.uint64))
    variant.prepare()
    variant.reset(source)
    variant.traverse(source)
    check_levels(variant.levels(), reference)
    return variant.level_counters()


def _costs(
    launches: list[tuple[int, str, Event]],
    start: Event,
    records: npt.NDArray[np.void],
    layers: tuple[str, ...],
) -> list[LevelCost]:
    """Returns the cost of each level. ``launches`` contains, for each launch, its first level, its kernel and
    the event at its end.

    If a launch ran several levels, ``records`` says when each level began. The cost of a level is the time
    until the next level begins. The last level of a launch gets the rest of the launch's time, including the
    time before the first level.
    """
    costs: list[LevelCost] = []
    earlier = start
    ends = [level for level, _, _ in launches[1:]] + [None]
    for (first, kernel, event), end in zip(launches, ends, strict=True):
        total_us = event.milliseconds_since(earlier) * 1e3
        earlier = event
        noted = _noted_levels(records, first, end)
        if not noted:
            costs.append(LevelCost(first, kernel, total_us))
            continue
        begins = records["nanoseconds"][noted].astype(np.int64) / 1e3
        times = [*np.diff(begins), max(0.0, total_us - (begins[-1] - begins[0]))]
        costs += [
            LevelCost(level, layers[records["layer"][level]], float(us))
            for level, us in zip(noted, times, strict=True)
        ]
    return costs


def _noted_levels(records: npt.NDArray[np.void], first: int, end: int | None) -> list[int]:
    level, noted = first, []
    while level < len(records) and records["nanoseconds"][level] and (end is None or level < end):
        noted.append(level)
        level += 1
    return noted


def profiled(
    search: KernelVariant,
    counters: Sequence[Mapping[str, int]],
    source: int,
    reference: npt.NDArray[np.int32],
) -> list[dict[str, str]]:
    """Run an unprepared search and check the result. Returns its level profile: one row per level, with the
    profile columns of the family.

    ``counters`` contains the event counts of each level, as ``count_levels`` returns them. Raises
    WrongLevelsError if the levels are wrong, and DeviceError if the device fails.
    """
    rows = level_rows(search, profile(search, source, reference), reference)
    for row in rows:
        level = int(row["level"])
        row["counts"] = _counters_text(counters[level]) if level < len(counters) else ""
    return rows


def level_rows(
    search: KernelVariant, costs: Sequence[LevelCost], reference: npt.NDArray[np.int32]
) -> list[dict[str, str]]:
    """Returns the rows of a level profile: one dictionary per level, with the cost of the level and the
    numbers of vertices and edges."""
    sizes = LevelSizes(search.host_graph, reference)
    rows = []
    for cost in costs:
        edges = sizes.edges_inspected(search.edge_reads.get(cost.kernel, "frontier"), cost.level)
        known = cost.level <= sizes.depth
        rows.append(
            {
                "level": str(cost.level),
                "kernel": cost.kernel,
                "frontier_size": str(int(sizes.frontier_sizes[cost.level])) if known else "0",
                "edges_inspected": "" if edges is None else str(edges),
                "time_us": f"{cost.time_us:.3f}",
            }
        )
    return rows


def _counters_text(level: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in level.items() if value)


def parse_counters(text: str) -> dict[str, int]:
    """Parse the column ``counts`` of a level profile. Returns the event counts by name. The result has no
    entry for an event that did not occur in the level."""
    return {name: int(value) for name, value in (word.split("=") for word in text.split())}
