"""Run configurations in one process. Between configurations the process keeps its device open, and keeps the
graph and the reference answers.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.backends.base import Device, KernelTimes
from bfsbench.bench.measure import Begin, Machine, Timing, sample, time_runs, timing_columns
from bfsbench.bench.options import ALTERNATING, INTERPOSED, REPEATED, Method
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import (
    DeviceGraph,
    ForeignProgram,
    HostProgram,
    KernelProgram,
    KernelSetup,
    KnobValue,
    Variant,
)
from bfsbench.programs.families.base import Paths, Problem
from bfsbench.rows.columns import profile_rows
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import base_row, failed_row
from bfsbench.support import storage
from bfsbench.support.errors import DeviceError, KernelError, LaunchError, UsageError, WrongResultError
from bfsbench.support.paths import cache_dir
from bfsbench.variants import find, find_family

PROBLEMS_KEPT = 16
OTHERS = 2
"""The number of other sources from which untimed searches run between timed searches."""


class Session:
    """One open device, the graph in use, and the data derived from this graph.

    ``backend`` is an open device, or is passed to ``open_device``. If it is None, the session runs host
    programs only.
    """

    def __init__(self, backend: str | Device | None, schedule_seed: int = 0) -> None:
        self.device = open_device(backend, schedule_seed) if isinstance(backend, str) else backend
        self._graph: Graph | None = None
        self._copy: Graph | None = None
        """A private copy of the graph in memory for entries (programs of other authors), which may overwrite
        it. It is made when an entry first needs the graph."""
        self._on_device: DeviceGraph | None = None
        self._problems: OrderedDict[tuple[str, int | None], Problem] = OrderedDict()
        self._other_sources: dict[str, list[int]] = {}
        self._host, self._machine = Machine(None), Machine(self.device)
        self.settling: Callable[[bool], None] = lambda begins: None
        """A function that is called before and after a program's clock is compared with the host's clock."""

    def use(self, graph: Graph) -> None:
        """Make ``graph`` the graph in use. The copy of the previous graph on the device is freed."""
        if graph is not self._graph:
            self._graph, self._copy = graph, None
            self._on_device = DeviceGraph(self.device, graph) if self.device else None
            self._problems.clear()
            self._other_sources.clear()

    def build(
        self, name: str, grid: int | None, block: int | None, knobs: Mapping[str, KnobValue]
    ) -> Variant:
        """Create an object of a variant for the graph in use, and return it. The caller must still prepare
        it.

        Raises UsageError if no graph is in use, or if the variant needs a device or a block size that is
        missing. Also raises UsageError if the variant is an entry and the cache cannot be written. Raises
        LaunchError if the variant is a program that needs a GPU, but the device is the emulator.
        """
        variant = find(name)
        if self._graph is None:
            raise UsageError("no graph is in use")
        if issubclass(variant, HostProgram):
            if not variant.host and (self.device is None or self.device.backend not in GPU_BACKENDS):
                raise LaunchError(f"variant {variant.name} needs a GPU: it cannot run on the emulator")
            if not issubclass(variant, ForeignProgram):
                return variant(self._graph, knobs)
            if self._copy is None:
                storage.require_writable(cache_dir() / "entries" / "runs")
                self._copy = self._graph.in_memory()
            return variant(self._copy, knobs)
        if self.device is None or self._on_device is None or block is None:
            raise UsageError(f"variant {variant.name} needs a device and a block size")
        if not issubclass(variant, KernelProgram):
            raise UsageError(f"variant {variant.name} is neither a host program nor a program with kernels")
        return variant(KernelSetup(self._on_device, grid, block, knobs))

    def problem(self, family: str, source: int | None) -> Problem:
        """Return a problem on the graph in use, with its reference answer. ``family`` is its family of
        problems, such as breadth-first search. The PROBLEMS_KEPT newest problems are cached.
        """
        if self._graph is None:
            raise UsageError("no graph is in use")
        key = family, source
        if key not in self._problems:
            self._problems[key] = find_family(family).problem(self._copy or self._graph, source)
            if len(self._problems) > PROBLEMS_KEPT:
                self._problems.popitem(last=False)
        return self._problems[key]

    def time(self, variant: Variant, problem: Problem, method: Method) -> Timing:
        """Check and time a variant that ``build`` returned. Returns the Timing. Raises WrongResultError if an
        answer is wrong, and DeviceError if the device fails."""
        ((timing,), _rule) = self._timings(variant, [problem], method, lambda place: None)
        return timing

    def _timings(
        self, variant: Variant, problems: Sequence[Problem], method: Method, begin: Begin
    ) -> tuple[list[Timing], str]:
        """Return a Timing per problem. Also return a word for the column ``method``, which names the order of
        searches from different sources."""
        if isinstance(variant, HostProgram):
            self.settling(True)
            variant.settle_clock()
            self.settling(False)
        machine = self._host if variant.host else self._machine
        others = self._others(variant, problems)
        runs, between = ([one.run(variant) for one in some] for some in (problems, others))
        timings = time_runs(variant, runs, method, machine, between, begin)
        self._require_unwritten(variant)
        return timings, ALTERNATING if len(problems) > 1 else INTERPOSED if others else REPEATED

    def _others(self, variant: Variant, problems: Sequence[Problem]) -> list[Problem]:
        """Return up to OTHERS additional problems, which differ from the timed problem only in their sources.
        They are searched, untimed, between the timed searches. Their sources are chosen once per graph and
        family.

        The list is empty if several problems are timed, because their timed runs alternate. It is also empty
        for an emulated kernel, because the times of emulated kernels are not compared with other times.
        """
        family, problem = variant.family, problems[0]
        emulated = not variant.host and self.device is not None and self.device.backend == "cpu"
        if emulated or len(problems) > 1:
            return []
        if family not in self._other_sources:
            self._other_sources[family] = problem.other_sources(OTHERS + 1)
        found = [self.problem(family, source) for source in self._other_sources[family]]
        return [one for one in found if one is not problem][:OTHERS]

    def paths(self, variant: Variant, problem: Problem) -> Paths:
        """Return the parents or next hops that a variant finds. Call this after ``time`` has timed the
        variant.

        Raises WrongResultError if the parents or next hops are wrong.
        """
        found = problem.paths(variant)
        self._require_unwritten(variant)
        return found

    def _require_unwritten(self, variant: Variant) -> None:
        """Raise WrongResultError if a variant has written into its graph.

        A kernel may write into the arrays on the device. A program of other authors (an entry) may write into
        its copy of the graph, or into the cached arrays from which the graph was loaded.
        """
        if isinstance(variant, ForeignProgram):
            variant.require_unwritten()
            assert self._graph is not None and self._copy is not None
            kept, found = self._copy.searched, self._graph.searched
            changed = [name for name in kept if not np.array_equal(kept[name], found[name])]
            if changed:
                raise WrongResultError(f"it wrote into the graph in the cache: {', '.join(changed)}")
        written = [] if variant.host or self._on_device is None else self._on_device.written()
        if written:
            self._renew_graph()
            raise WrongResultError(f"a kernel wrote into the graph: {', '.join(written)}")

    def _renew_graph(self) -> None:
        if self.device and self._graph:
            self._on_device = DeviceGraph(self.device, self._graph)

    def close(self) -> None:
        self._graph = self._copy = self._on_device = None
        self._machine = self._host
        if self.device:
            self.device.close()
            self.device = None

    def measure(
        self, points: Sequence[Point], method: Method, begin: Begin = lambda place: None
    ) -> list[dict[str, str]]:
        """Measure points (configurations) that differ only in their sources, and return their result rows. In
        each round, one sample of each point is taken.

        If a point fails, only the row of this point is returned, with the reason. ``begin`` is called with
        the index of each point before work on this point begins. Raises KernelError if a kernel fails,
        because the device may then be unusable.
        """
        graph = self._graph_of(points[0])
        device = self.device.describe() if self.device else {}
        latest = 0

        def note(place: int) -> None:
            nonlocal latest
            latest = place
            begin(place)

        try:
            outcomes = self._outcomes(points, method, note)
        except WrongResultError as error:
            return [failed_row(points[latest], graph, device, "wrong", str(error))]
        except KernelError:
            raise
        except DeviceError as error:
            if self._on_device and self._on_device.written():
                self._renew_graph()
            return [failed_row(points[latest], graph, device, error.status, str(error))]
        clocks = self.device.telemetry() if self.device and points[0].backend != "host" else {}
        rows = zip(points, outcomes, strict=True)
        return [base_row(point, graph, device) | outcome | clocks for point, outcome in rows]

    def profile(self, point: Point, row: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the rows of the level profile of a measured point. The list is empty if the point's family
        of problems, or its variant, has no profile.

        ``row`` is the point's result row. Raises WrongResultError if an answer is wrong, and DeviceError if
        the device fails.
        """
        self._graph_of(point)
        variant = self._build(point)
        steps = self._problem_of(point).profile(variant)
        if steps:  # without steps the variant has not run
            self._require_unwritten(variant)
        return profile_rows(steps, row)

    def trace(self, point: Point) -> KernelTimes:
        """Return the times of the kernels of one run of a measured point.

        Later launches of this process may be slower. Raises WrongResultError if an answer is wrong,
        DeviceError if the device fails, and ToolchainError if the tracer's package is missing.
        """
        self._graph_of(point)
        variant = self._build(point)
        if self.device is None:
            raise UsageError("kernels are traced on a GPU")
        run = self._problem_of(point).run(variant)
        with self.device.tracing() as take:
            variant.prepare()
            for _ in range(2):  # the first run also loads the kernels
                run.poison()
                take()
                run.reset()
                run.solve()
                times = take()
                run.check()
        self._require_unwritten(variant)
        return times

    def _build(self, point: Point) -> Variant:
        return self.build(point.variant, point.grid, point.block, dict(point.knobs))

    def _problem_of(self, point: Point) -> Problem:
        return self.problem(find(point.variant).family, point.source)

    def _graph_of(self, point: Point) -> Graph:
        if self._graph is None or self._graph.locator != point.graph:
            graph = load(point.graph)  # load() verifies the file, which a program may have changed
            self.use(graph)
            return graph
        return self._graph

    def _outcomes(self, points: Sequence[Point], method: Method, begin: Begin) -> list[dict[str, str]]:
        variant, problems = self._build(points[0]), []
        for place, point in enumerate(points):
            begin(place)
            problems.append(self._problem_of(point))
        begin(0)
        timings, rule = self._timings(variant, problems, method, begin)
        said = method.said("" if points[0].source is None else rule)
        outcomes = []
        for place, (problem, timing) in enumerate(zip(problems, timings, strict=True)):
            begin(place)
            columns = timing_columns(timing) | problem.columns(min(timing.search_ms))
            columns["parents_ms"] = ""
            if method.parents:
                if len(points) > 1:  # searches from different sources alternate
                    sample(problem.run(variant), variant.clock())
                columns["parents_ms"] = f"{self.paths(variant, problem).milliseconds:.6f}"
            if points[0].backend == "cpu":
                columns["warnings"] = ""  # times of emulated kernels need no warnings
            outcomes.append({"status": "ok", "method": said, **columns, **variant.measured()})
        return outcomes
