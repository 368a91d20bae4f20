"""Finds faults in the kernels of variants without a GPU, in an emulator that watches every memory access.

There is one run for each combination of graph, knobs and seed. The seed decides the order of threads, the
grid and block, and the source. Every second run takes further knob values from ``Variant.check_knobs``, so
that other parts of the kernels are executed too. A run ends when it fails. Faults that it found before still
count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.bench.child import in_child
from bfsbench.bench.plan import Axes, blocks_of, knob_settings
from bfsbench.emulator import DECLARATIONS, ENDING_LAUNCH, Finding, Line
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import GraphName, load_parsed, resolve
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup, KnobValue, Variant
from bfsbench.programs.check import SOURCE
from bfsbench.support.errors import DeviceError, KernelError, LaunchError, UsageError, WrongResultError
from bfsbench.variants import find_family

if TYPE_CHECKING:
    import pandas as pd

GRAPHS = (
    "uniform(n=2100,m=6300,directed=1)",
    "lattice(rows=3,columns=30):symmetrised",
    "kronecker(scale=7,edge_factor=8)",
    "dense(nodes=48,density=50):symmetrised",
)
"""The graphs of a check: random arcs, some of them twice; a long and narrow lattice; hubs and isolated
vertices; and a small strongly connected graph with self loops."""

LARGER_GRAPH = "kronecker(scale=11,edge_factor=8)"
"""A further graph of a check. Some of its levels have more vertices than a block has threads. Some of its
vertices have more arcs than a small queue takes. It is searched only if no knobs are given."""

SMALLER_GRAPHS = ("uniform(n=40,m=160,directed=1)", "dense(nodes=33,density=40)")
"""The graphs of a check for problems without a source vertex. Their kernels do V^3 operations and more, so
the graphs are small."""

LAUNCHES = ((4, 64), (None, 32), (1, 128), (3, 96))
"""Pairs of grid and block for the runs of a check. The seed of a run chooses the pair, and also the knob
values. To combine each pair with all knob values, given enough seeds, the order of the pairs is shifted after
every 4 and every 16 seeds."""

LAUNCHES_BESIDES, LAUNCHES_A_VERTEX = 1000, 16
"""A search counts as endless if it makes more than ``LAUNCHES_BESIDES`` launches plus ``LAUNCHES_A_VERTEX``
launches per vertex. Each level has at least one vertex, and takes only a few launches."""


def most_launches(graph: Graph) -> int:
    """Returns the number of launches above which a search of ``graph`` counts as endless."""
    return LAUNCHES_BESIDES + LAUNCHES_A_VERTEX * graph.num_vertices


ENDING = ENDING_LAUNCH | {"out of bounds", "use after free", "misaligned access"}
"""Kinds of faults that end a run. The error that ends the run is not reported as a separate failure."""

FOUND = ("variant", "fault", "kernel", "where", "line", "other_line", "benign", "runs", "of_runs")
"""The columns of the data frame that :func:`table` returns."""


@dataclass
class Report:
    """The findings and failures of a check of one variant."""

    variant: str
    runs: int = 0
    findings: dict[tuple[str, frozenset[Line | None]], Found] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    """The number of runs that ended with each message."""
    unmet: set[Line] = field(default_factory=set)
    """Source lines with a comment that declares a benign fault, although no run showed this fault. Only lines
    that have run are listed."""

    @property
    def undeclared(self) -> list[Found]:
        """The findings that no comment declares benign."""
        return [found for found in self.findings.values() if not found.first.benign]

    @property
    def benign(self) -> list[Found]:
        """The findings that a comment declares benign."""
        return [found for found in self.findings.values() if found.first.benign]

    @property
    def clean(self) -> bool:
        """True if there are no failures, and if comments declare all findings benign."""
        return not self.undeclared and not self.failures


@dataclass(frozen=True)
class Found:
    """A fault that a check found, and the number of runs in which it occurred."""

    first: Finding
    runs: int
    knobs: str = ""
    """The knob values that the first run with this fault took from ``Variant.check_knobs``, as options of the
    command."""

    def shown(self, runs: int) -> Iterator[str]:
        """Yields the lines that show the finding in a terminal.

        The lines also say in how many of the ``runs`` runs the finding occurred.
        """
        knobs = f", with {self.knobs}" if self.knobs else ""
        return self.first.shown(f"{self.runs} of {runs} runs{knobs}")


def require_kernels(variant: type[Variant]) -> type[KernelProgram]:
    """Return the variant. Raises UsageError for a variant without kernels."""
    if not issubclass(variant, KernelProgram):
        raise UsageError(f"variant {variant.name} has no kernels to check")
    return variant


def check(
    variant: type[Variant], axes: Axes, graphs: Sequence[GraphName], seeds: int, begin: Callable[[], None]
) -> Report:
    """Runs a variant with the seeds 1 to ``seeds`` on each of the graphs that the variant accepts. Returns
    the findings.

    The grids and blocks come from ``axes``, or from LAUNCHES if ``axes`` has none. ``begin`` is called before
    each run. The runs take place in a child process. If a kernel ends the process, the report contains only
    this failure. Raises UsageError for a variant without kernels, for a graph that cannot be loaded, and for
    knobs out of range. Raises UsageError also if the variant accepts none of the graphs.
    """
    variant = require_kernels(variant)
    ended = Report(variant.name)

    def begun() -> None:
        ended.runs += 1
        begin()

    try:
        return in_child(lambda step: _check(variant, axes, graphs, seeds, step), begun)
    except KernelError as error:
        ended.failures[str(error)] = 1
        return ended


def _check(
    variant: type[KernelProgram],
    axes: Axes,
    graphs: Sequence[GraphName],
    seeds: int,
    begin: Callable[[], None],
) -> Report:
    report = Report(variant.name)
    family = find_family(variant.family)
    settings = [*map(dict, knob_settings(variant, axes.knobs, {}))]
    for number, name in enumerate(graphs):
        graph = load_parsed(name)
        try:
            family.require(graph)
        except UsageError:
            continue
        for knobs, seed in product(settings, range(1, seeds + 1)):
            begin()
            report.runs += 1
            others = {} if axes.knobs else _in_turn(variant, number, seed)
            try:
                _run(variant, axes, graph, knobs, others, seed, report)
            except (UsageError, LaunchError):  # the values from check_knobs may not suit the graph
                _run(variant, axes, graph, knobs, {}, seed, report)
    if not report.runs:
        named = ", ".join(name.locator for name in graphs)
        raise UsageError(f"variant {variant.name} takes none of the graphs {named}")
    report.unmet -= {line for found in report.findings.values() for line in found.first.declarations}
    return report


def table(reports: Iterable[Report]) -> pd.DataFrame:
    """Returns a data frame with one row for each finding and each failure that the reports contain; see
    :func:`bfsbench.api.check`."""
    import pandas as pd

    rows: list[tuple[object, ...]] = []
    for report in reports:
        for found in (*report.undeclared, *report.benign):
            first = found.first
            ends = [str(line) if line else "" for line in (*first.lines, None)[:2]]
            what = (first.fault, first.kernel, first.where, *ends, first.benign)
            rows.append((report.variant, *what, found.runs, report.runs))
        for message, runs in sorted(report.failures.items()):
            rows.append((report.variant, message, "", "", "", "", False, runs, report.runs))
    frame = pd.DataFrame(rows, columns=list(FOUND))
    return frame.astype({"benign": bool, "runs": int, "of_runs": int})  # also if there are no rows


def usual_graphs(variant: type[Variant], axes: Axes) -> list[GraphName]:
    """Returns the graphs on which a variant is checked by default. LARGER_GRAPH is included only if no knobs
    are given."""
    graphs = GRAPHS if axes.knobs else (*GRAPHS, LARGER_GRAPH)
    return [*map(resolve, graphs if find_family(variant.family).from_sources else SMALLER_GRAPHS)]


def runs_of(variant: type[Variant], axes: Axes, graphs: Sequence[GraphName], seeds: int) -> int:
    """Returns the largest number of runs that ``check`` may make. The actual number is smaller if the variant
    does not accept some of the graphs."""
    return len(graphs) * len(knob_settings(variant, axes.knobs, {})) * seeds


def _in_turn(variant: type[Variant], graph: int, seed: int) -> Mapping[str, KnobValue]:
    """Returns the knob values that a run takes from the variant's ``check_knobs``.

    Every second run takes the next setting of the list ``check_knobs``. After the last setting, the list
    starts again. For all other runs the result is empty.
    """
    settings = variant.check_knobs
    takes = bool(settings) and (graph + seed) % 2 == 0
    return settings[(graph + (seed - 1) // 2) % len(settings)] if takes else {}


def _launch(
    variant: type[Variant], axes: Axes, knobs: Mapping[str, KnobValue], seed: int
) -> tuple[int | None, int]:
    if own := variant.own_block(knobs):
        return None, own
    return launch_of(seed, [*product(axes.grids, blocks_of(variant, axes))] or LAUNCHES)


def launch_of(seed: int, launches: Sequence[tuple[int | None, int]] = LAUNCHES) -> tuple[int | None, int]:
    """Returns the pair of grid and block in ``launches`` that a run with this seed uses."""
    rounds = (seed - 1) // len(launches) + (seed - 1) // len(launches) ** 2
    return launches[(seed + rounds) % len(launches)]


def _run(
    variant: type[KernelProgram],
    axes: Axes,
    graph: Graph,
    given: Mapping[str, KnobValue],
    others: Mapping[str, KnobValue],
    seed: int,
    report: Report,
) -> None:
    """Runs a variant once, and adds the findings to the report.

    ``given`` are the user's knob values, and ``others`` are values from ``Variant.check_knobs``. Raises
    UsageError or LaunchError if ``others`` do not suit the graph.
    """
    family = find_family(variant.family)
    source = _source(graph, seed) if family.from_sources else None
    knobs = {**given, **others}
    launch = _launch(variant, axes, knobs, seed)
    options = " ".join(f"{knob.option} {others[knob.name]}" for knob in variant.knobs if knob.name in others)
    message, is_fault = "", False
    with CpuDevice(seed, watched=True, most_launches=most_launches(graph)) as device:
        try:
            program = variant(KernelSetup(DeviceGraph(device, graph), *launch, knobs))
            program.prepare()
            run = family.problem(graph, source).run(program)
            run.reset()
            run.solve()
            run.check()
        except (DeviceError, WrongResultError) as error:
            if others and isinstance(error, LaunchError):
                raise
            message = f"{'wrong answer: ' if isinstance(error, WrongResultError) else ''}{error}"
            message += f" (with {options})" if options else ""
            is_fault = isinstance(error, KernelError)
        own = [line for line in device.lines_run() if Path(line.file).name != SOURCE.name]
        declarations = (line.comment(mark) for line in own for mark in DECLARATIONS.values())
        report.unmet.update(line for line in declarations if line)
        # The order of the two lines of a race depends on the schedule, so the key contains them as a set.
        findings = {(one.fault, frozenset(one.lines)): one for one in device.findings()}
        if message and not (is_fault and any(one.fault in ENDING for one in findings.values())):
            report.failures[message] += 1
        for key, finding in findings.items():
            found = report.findings.get(key) or Found(finding, 0, options)
            report.findings[key] = replace(found, runs=found.runs + 1)


def _source(graph: Graph, seed: int) -> int:
    """Chooses a source vertex by the seed, among the vertices with outgoing arcs. If no vertex has outgoing
    arcs, chooses among all vertices. Returns the vertex."""
    starts = np.flatnonzero(np.diff(graph.row_offsets))
    return int(starts[seed * 7919 % starts.size]) if starts.size else seed * 7919 % graph.num_vertices
