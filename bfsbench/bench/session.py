"""Executing points: everything one process keeps between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.measure import DeviceClock, HostClock, Timing, measure, timing_columns
from bfsbench.bench.next_hops import NextHops, check_next_hops
from bfsbench.bench.parents import Tree, check_parents, parents_on_device, parents_on_host
from bfsbench.bench.point import KnobValue, Point
from bfsbench.bench.profile import LevelCounts, count, profile, profile_rows
from bfsbench.bench.row import base_row, failed_row
from bfsbench.errors import DeviceError, KernelError, UsageError, WrongResultError
from bfsbench.families import FAMILIES
from bfsbench.families.apsp import AllPairs
from bfsbench.families.base import Problem
from bfsbench.families.bfs import Search
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.graphs.matrix import weight_matrix
from bfsbench.variants import find
from bfsbench.variants.all_pairs import AllPairsVariant
from bfsbench.variants.base import (
    DeviceGraph,
    HostProgram,
    KernelProgram,
    KernelVariant,
    SearchVariant,
    Variant,
)

PROBLEMS_KEPT = 16


class Session:
    """One device, the graph in use, and what was computed about it.

    ``backend`` as for ``open_device``; None runs host programs only.
    """

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self.device: Device | None = open_device(backend, schedule_seed) if backend else None
        self._graph: Graph | None = None
        self._on_device: DeviceGraph | None = None
        self._problems: OrderedDict[tuple[str, int | None], Problem] = OrderedDict()

    def use(self, graph: Graph) -> None:
        """Make ``graph`` the one in use; the one before leaves the device."""
        if graph is not self._graph:
            self._graph = graph
            self._on_device = DeviceGraph(self.device, graph) if self.device else None
            self._problems.clear()

    def build(
        self, name: str, grid: int | None, block: int | None, knobs: Mapping[str, KnobValue]
    ) -> Variant:
        """An unprepared variant for the graph in use. Raises UsageError when it lacks something."""
        variant = find(name)
        if self._graph is None:
            raise UsageError("no graph is in use")
        if issubclass(variant, HostProgram):
            return variant(self._graph, knobs)
        if self.device is None or self._on_device is None or block is None:
            raise UsageError(f"variant {variant.name} needs a device and a block size")
        if not issubclass(variant, KernelProgram):
            raise UsageError(f"variant {variant.name} is neither a host program nor one of kernels")
        return variant(self.device, self._on_device, self._graph, grid, block, knobs)

    def problem(self, family: str, source: int | None) -> Problem:
        """The question of a family about the graph in use, with its answer; the latest are kept."""
        if self._graph is None:
            raise UsageError("no graph is in use")
        key = family, source
        if key not in self._problems:
            self._problems[key] = FAMILIES[family].problem(self._graph, source)
            if len(self._problems) > PROBLEMS_KEPT:
                self._problems.popitem(last=False)
        return self._problems[key]

    def time(self, variant: Variant, problem: Problem, repeats: int) -> Timing:
        """Check and time a variant that ``build`` made. Raises WrongResultError, DeviceError."""
        clock = HostClock() if self.device is None or variant.host else DeviceClock(self.device)
        return measure(variant, problem.run(variant), clock, repeats)

    def parents(self, variant: SearchVariant, source: int) -> Tree:
        """The breadth-first tree of the search that ``variant`` did last, from ``source``; checked.

        Raises WrongParentsError, DeviceError.
        """
        if self._graph is None:
            raise UsageError("no graph is in use")
        levels = np.ascontiguousarray(variant.levels(), np.int32)
        if self.device is None or self._on_device is None or variant.host:
            tree = parents_on_host(self._graph, levels)
        else:
            tree = parents_on_device(self.device, self._on_device, levels)
        check_parents(self._graph, source, levels, tree.parents)
        return tree

    def next_hops(self, variant: Variant, problem: Problem) -> NextHops:
        """Next hops by an unprepared variant of all-pairs shortest paths, which keeps track of them; checked.

        Raises WrongDistancesError, DeviceError.
        """
        if not isinstance(variant, AllPairsVariant) or not isinstance(problem, AllPairs):
            raise UsageError(f"variant {variant.name} finds no all-pairs shortest paths")
        variant.tracks = True
        timing = self.time(variant, problem, repeats=1)
        hops = variant.next_hops()
        check_next_hops(weight_matrix(problem.graph), variant.distances(), hops)
        return NextHops(hops, timing.search_ms[0])

    def close(self) -> None:
        """Give the device back."""
        self._graph = self._on_device = None
        if self.device:
            self.device.close()
            self.device = None

    def measure(self, point: Point, repeats: int, parents: bool = False) -> dict[str, str]:
        """The row of a point, which says what went wrong when it did; with ``parents`` of its tree as well.

        Raises KernelError when the device cannot be trusted afterwards.
        """
        graph = self._graph_of(point)
        device = self.device.describe() if self.device else {}
        try:
            outcome = self._outcome(point, repeats, parents)
        except WrongResultError as error:
            return failed_row(point, graph, device, "wrong", str(error))
        except KernelError:
            raise
        except DeviceError as error:
            return failed_row(point, graph, device, error.status, str(error))
        clocks = self.device.telemetry() if self.device and point.backend != "host" else {}
        return base_row(point, graph, device) | outcome | clocks

    def profile(self, point: Point, row: Mapping[str, str]) -> list[dict[str, str]]:
        """The rows of a point's level profile; ``row`` is its result row. Only searches by kernels have one.

        Raises WrongLevelsError, DeviceError.
        """
        graph = self._graph_of(point)
        problem = self._problem_of(point)
        if not isinstance(problem, Search):
            return []
        counted = self._count(point, problem)
        search = self._build(point)
        if self.device is None or not isinstance(search, KernelVariant):
            return []
        costs = profile(search, self.device, graph, problem.source, problem.levels)
        return profile_rows(costs, LevelCounts(graph, problem.levels), counted, search.edge_reads, row)

    def _count(self, point: Point, problem: Search) -> list[dict[str, int]]:
        """What a search of the point counts in each level, by other kernels than those that are timed."""
        search = self._build(point)
        if self.device is None or not isinstance(search, KernelVariant):
            return []
        return count(search, self.device, problem.source, problem.levels)

    def _build(self, point: Point) -> Variant:
        return self.build(point.variant, point.grid, point.block, dict(point.knobs))

    def _problem_of(self, point: Point) -> Problem:
        return self.problem(find(point.variant).family, point.source)

    def _graph_of(self, point: Point) -> Graph:
        if self._graph is None or self._graph.full_name != point.graph:
            graph = load(point.graph)
            self.use(graph)
            return graph
        return self._graph

    def _outcome(self, point: Point, repeats: int, parents: bool) -> dict[str, str]:
        variant, problem = self._build(point), self._problem_of(point)
        timing = self.time(variant, problem, repeats)
        parents_ms = f"{self._paths_ms(point, variant, problem):.6f}" if parents else ""
        own = problem.columns(min(timing.search_ms))
        return {"status": "ok", **timing_columns(timing), **own, "parents_ms": parents_ms}

    def _paths_ms(self, point: Point, variant: Variant, problem: Problem) -> float:
        """What finding the paths takes after ``variant`` has found their lengths: parents, or next hops."""
        if isinstance(variant, SearchVariant) and isinstance(problem, Search):
            return self.parents(variant, problem.source).milliseconds
        return self.next_hops(self._build(point), problem).milliseconds
