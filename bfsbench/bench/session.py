"""Executing points: everything one process keeps between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.measure import (
    DeviceClock,
    HostClock,
    Timing,
    WrongLevelsError,
    edges_traversed,
    measure,
    timing_columns,
)
from bfsbench.bench.parents import Tree, WrongParentsError, check_parents, parents_on_device, parents_on_host
from bfsbench.bench.point import KnobValue, Point
from bfsbench.bench.profile import LevelCounts, count, profile, profile_rows
from bfsbench.bench.row import base_row, failed_row
from bfsbench.errors import DeviceError, KernelError, UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.variants import find
from bfsbench.variants.base import DeviceGraph, HostVariant, KernelVariant, Variant
from bfsbench.variants.cpu_queue import CpuQueue

REFERENCES_KEPT = 16


def reference_levels(graph: Graph, source: int) -> npt.NDArray[np.int32]:
    """The levels of the sequential search, int32[V]: what every other result must equal."""
    search = CpuQueue(graph, {})
    search.prepare()
    search.reset(source)
    search.traverse(source)
    return search.levels()


class Session:
    """One device, the graph in use, and what was computed about it.

    ``backend`` as for ``open_device``; None runs host programs only.
    """

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self.device: Device | None = open_device(backend, schedule_seed) if backend else None
        self._graph: Graph | None = None
        self._on_device: DeviceGraph | None = None
        self._references: OrderedDict[int, npt.NDArray[np.int32]] = OrderedDict()

    def use(self, graph: Graph) -> None:
        """Make ``graph`` the one that searches run on; the one before leaves the device."""
        if graph is not self._graph:
            self._graph = graph
            self._on_device = DeviceGraph(self.device, graph) if self.device else None
            self._references.clear()

    def build(
        self, name: str, grid: int | None, block: int | None, knobs: Mapping[str, KnobValue]
    ) -> Variant:
        """An unprepared search over the graph in use. Raises UsageError when it lacks something."""
        variant = find(name)
        if self._graph is None:
            raise UsageError("no graph is in use")
        if issubclass(variant, HostVariant):
            return variant(self._graph, knobs)
        if self.device is None or self._on_device is None or block is None:
            raise UsageError(f"variant {variant.name} needs a device and a block size")
        if not issubclass(variant, KernelVariant):
            raise UsageError(f"variant {variant.name} is neither a host program nor one of kernels")
        return variant(self.device, self._on_device, self._graph, grid, block, knobs)

    def reference(self, source: int) -> npt.NDArray[np.int32]:
        """Levels of the sequential search over the graph in use; the latest are kept."""
        if self._graph is None:
            raise UsageError("no graph is in use")
        if source not in self._references:
            self._references[source] = reference_levels(self._graph, source)
            if len(self._references) > REFERENCES_KEPT:
                self._references.popitem(last=False)
        return self._references[source]

    def time(self, variant: Variant, source: int, repeats: int) -> Timing:
        """Check and time a search that ``build`` made. Raises WrongLevelsError, DeviceError."""
        clock = HostClock() if self.device is None or variant.host else DeviceClock(self.device)
        return measure(variant, clock, source, self.reference(source), repeats)

    def parents(self, variant: Variant, source: int) -> Tree:
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
            outcome = self._outcome(point, graph, repeats, parents)
        except (WrongLevelsError, WrongParentsError) as error:
            return failed_row(point, graph, device, "wrong", str(error))
        except KernelError:
            raise
        except DeviceError as error:
            return failed_row(point, graph, device, error.status, str(error))
        clocks = self.device.telemetry() if self.device and point.backend != "host" else {}
        return base_row(point, graph, device) | outcome | clocks

    def profile(self, point: Point, row: Mapping[str, str]) -> list[dict[str, str]]:
        """The rows of a point's level profile; ``row`` is its result row. Host programs have no profile.

        Raises WrongLevelsError, DeviceError.
        """
        graph = self._graph_of(point)
        reference = self.reference(point.source)
        counted = self._count(point, reference)
        search = self._build(point)
        if self.device is None or not isinstance(search, KernelVariant):
            return []
        costs = profile(search, self.device, graph, point.source, reference)
        return profile_rows(costs, LevelCounts(graph, reference), counted, search.edge_reads, row)

    def _count(self, point: Point, reference: npt.NDArray[np.int32]) -> list[dict[str, int]]:
        """What a search of the point counts in each level, by other kernels than those that are timed."""
        search = self._build(point)
        if self.device is None or not isinstance(search, KernelVariant):
            return []
        return count(search, self.device, point.source, reference)

    def _build(self, point: Point) -> Variant:
        return self.build(point.variant, point.grid, point.block, dict(point.knobs))

    def _graph_of(self, point: Point) -> Graph:
        if self._graph is None or self._graph.full_name != point.graph:
            graph = load(point.graph)
            self.use(graph)
            return graph
        return self._graph

    def _outcome(self, point: Point, graph: Graph, repeats: int, parents: bool) -> dict[str, str]:
        variant = self._build(point)
        timing = self.time(variant, point.source, repeats)
        reference = self.reference(point.source)
        traversed = edges_traversed(graph, reference)
        tree = self.parents(variant, point.source) if parents else None
        return {
            "status": "ok",
            "depth": str(int(reference.max())),
            "reached": str(int(np.count_nonzero(reference >= 0))),
            **timing_columns(timing, traversed, graph.direction == "symmetrised"),
            "parents_ms": f"{tree.milliseconds:.6f}" if tree else "",
        }
