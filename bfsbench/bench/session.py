"""Executing points in one process, and the state it keeps between them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.backends.base import Device
from bfsbench.bench.machine_state import Machine
from bfsbench.bench.measure import Timing, time_runs, timing_columns
from bfsbench.bench.point import Point
from bfsbench.bench.profile import profile_rows
from bfsbench.bench.row import base_row, failed_row
from bfsbench.bench.runner import Method
from bfsbench.bench.sampling import Sampling
from bfsbench.errors import DeviceError, KernelError, LaunchError, UsageError, WrongResultError
from bfsbench.families.base import Paths, Problem
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import (
    DeviceGraph,
    HostProgram,
    KernelProgram,
    KernelSetup,
    KnobValue,
    Variant,
)
from bfsbench.variants import find, find_family

PROBLEMS_KEPT = 16


class Session:
    """One device, the graph in use, and what was derived from it.

    ``backend`` as for ``open_device``; None runs host programs only.
    """

    def __init__(self, backend: str | None, schedule_seed: int = 0) -> None:
        self.device: Device | None = open_device(backend, schedule_seed) if backend else None
        self._graph: Graph | None = None
        self._on_device: DeviceGraph | None = None
        self._problems: OrderedDict[tuple[str, int | None], Problem] = OrderedDict()
        self._host, self._machine = Machine(None), Machine(self.device)

    def use(self, graph: Graph) -> None:
        """Make ``graph`` the one in use; the previous one is freed on the device."""
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
            if not variant.host and (self.device is None or self.device.backend not in GPU_BACKENDS):
                raise LaunchError(
                    f"variant {variant.name} runs on a GPU of its own accord, not on the emulator"
                )
            return variant(self._graph, knobs)
        if self.device is None or self._on_device is None or block is None:
            raise UsageError(f"variant {variant.name} needs a device and a block size")
        if not issubclass(variant, KernelProgram):
            raise UsageError(f"variant {variant.name} is neither a host program nor one of kernels")
        return variant(KernelSetup(self._on_device, grid, block, knobs))

    def problem(self, family: str, source: int | None) -> Problem:
        """The problem of a family on the graph in use, with its reference; the latest ones are kept."""
        if self._graph is None:
            raise UsageError("no graph is in use")
        key = family, source
        if key not in self._problems:
            self._problems[key] = find_family(family).problem(self._graph, source)
            if len(self._problems) > PROBLEMS_KEPT:
                self._problems.popitem(last=False)
        return self._problems[key]

    def time(self, variant: Variant, problem: Problem, sampling: Sampling) -> Timing:
        """Check and time a variant that ``build`` made. Raises WrongResultError, DeviceError."""
        machine = self._host if variant.host else self._machine
        timing = time_runs(variant, problem.run(variant), sampling, machine)
        self._require_unwritten(variant)
        return timing

    def paths(self, variant: Variant, problem: Problem) -> Paths:
        """The paths of a variant that ``time`` has timed; see ``Problem.paths``."""
        found = problem.paths(variant)
        self._require_unwritten(variant)
        return found

    def _require_unwritten(self, variant: Variant) -> None:
        """Raises WrongResultError when a kernel has written into an array of the graph on the device."""
        written = [] if variant.host or self._on_device is None else self._on_device.written()
        if written:
            self._renew_graph()
            raise WrongResultError(f"a kernel wrote into the graph: {', '.join(written)}")

    def _renew_graph(self) -> None:
        """Discard the graph on the device, so that the next variant gets a fresh copy."""
        if self.device and self._graph:
            self._on_device = DeviceGraph(self.device, self._graph)

    def close(self) -> None:
        """Close the device."""
        self._graph = self._on_device = None
        self._machine = self._host
        if self.device:
            self.device.close()
            self.device = None

    def measure(self, point: Point, method: Method) -> dict[str, str]:
        """The row of a point; a failure is a row that says why.

        Raises KernelError when the device cannot be trusted afterwards.
        """
        graph = self._graph_of(point)
        device = self.device.describe() if self.device else {}
        try:
            outcome = self._outcome(point, method)
        except WrongResultError as error:
            return failed_row(point, graph, device, "wrong", str(error))
        except KernelError:
            raise
        except DeviceError as error:
            if self._on_device and self._on_device.written():
                self._renew_graph()
            return failed_row(point, graph, device, error.status, str(error))
        clocks = self.device.telemetry() if self.device and point.backend != "host" else {}
        return base_row(point, graph, device) | outcome | clocks

    def profile(self, point: Point, row: Mapping[str, str]) -> list[dict[str, str]]:
        """The rows of a point's profile; ``row`` is its result row. None where its family has no profile.

        Raises WrongResultError, DeviceError.
        """
        self._graph_of(point)
        variant = self._build(point)
        steps = self._problem_of(point).profile(variant)
        self._require_unwritten(variant)
        return profile_rows(steps, row)

    def _build(self, point: Point) -> Variant:
        return self.build(point.variant, point.grid, point.block, dict(point.knobs))

    def _problem_of(self, point: Point) -> Problem:
        return self.problem(find(point.variant).family, point.source)

    def _graph_of(self, point: Point) -> Graph:
        if self._graph is None or self._graph.locator != point.graph:
            graph = load(point.graph, check=False)  # planning has checked it
            self.use(graph)
            return graph
        return self._graph

    def _outcome(self, point: Point, method: Method) -> dict[str, str]:
        variant, problem = self._build(point), self._problem_of(point)
        timing = self.time(variant, problem, method.sampling)
        columns = timing_columns(timing) | problem.columns(min(timing.search_ms))
        columns["parents_ms"] = f"{self.paths(variant, problem).milliseconds:.6f}" if method.parents else ""
        if point.backend == "cpu":
            columns["warnings"] = ""  # times of emulated kernels need no warnings
        return {"status": "ok", "method": method.words, **columns, **variant.measured()}
