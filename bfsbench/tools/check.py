"""Variants in the watching emulator: faults of their kernels, found on small graphs without a GPU.

Every combination of graph, knobs and seed is one run. The seed decides the order of threads, the launch, and
the source. Unless knobs are given, every second run takes some that lead through other parts of the kernels:
``Variant.check_knobs``. A run ends when it fails; what was found before counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.bench.child import in_child
from bfsbench.bench.plan import Axes, blocks_of, knob_settings
from bfsbench.emulator import DECLARATIONS, Finding, Line
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
    "dense(nodes=48,density=0.5):symmetrised",
)
"""Random arcs, some twice; long and narrow; with hubs and isolated vertices; dense."""

LARGER_GRAPH = "kronecker(scale=11,edge_factor=8)"
"""With levels of more vertices than a block has threads, and rows of more arcs than a small queue takes. It
is searched only where no knobs are given."""

SMALLER_GRAPHS = ("uniform(n=40,m=160,directed=1)", "dense(nodes=33,density=0.4)")
"""For families without a source, whose kernels do V^3 operations and more."""

LAUNCHES = ((4, 64), (None, 32), (1, 128), (3, 96))
"""Grids and blocks; the seed of a run chooses one. Rounds of 4 and of 16 seeds begin with the next, so that
under enough seeds each meets every setting of knobs, which change with the seed as well."""

LAUNCHES_BESIDES, LAUNCHES_A_VERTEX = 1000, 16
"""A search has no end if it makes more launches. A level has at least one vertex, and takes some launches."""

ENDING = frozenset({"out of bounds", "use after free", "misaligned access", "endless"})
"""Faults that end a run, whose error says no more than the finding."""

FOUND = ("variant", "fault", "kernel", "where", "line", "other_line", "benign", "runs", "of_runs")
"""Columns of :func:`table`."""


@dataclass
class Report:
    """The findings in one variant."""

    variant: str
    runs: int = 0
    findings: dict[tuple[str, frozenset[Line | None]], Found] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """How many runs ended with each message."""
    unmet: set[Line] = field(default_factory=set)
    """Comments that declare something benign, beside lines that have run, which nothing was found to need."""

    @property
    def undeclared(self) -> list[Found]:
        """Findings that no comment declares benign."""
        return [found for found in self.findings.values() if not found.first.benign]

    @property
    def benign(self) -> list[Found]:
        """Findings that a comment declares benign."""
        return [found for found in self.findings.values() if found.first.benign]

    @property
    def clean(self) -> bool:
        """Whether nothing has to be fixed."""
        return not self.undeclared and not self.failures


@dataclass(frozen=True)
class Found:
    """A finding, and the number of runs that made it."""

    first: Finding
    runs: int
    knobs: str = ""
    """As options, those that the first of these runs has taken from ``Variant.check_knobs``."""

    def shown(self, runs: int) -> Iterator[str]:
        """The finding, and in how many of all ``runs`` it was made, for a terminal."""
        knobs = f", with {self.knobs}" if self.knobs else ""
        return self.first.shown(f"{self.runs} of {runs} runs{knobs}")


def check(
    variant: type[Variant], axes: Axes, graphs: Sequence[GraphName], seeds: int, begin: Callable[[], None]
) -> Report:
    """Run a variant under every seed on every graph that its family takes; ``begin`` is called for each run.

    Grids and blocks are those of ``axes``, or of LAUNCHES where it has none. The runs are in a process of
    their own; if a kernel ends it, this is the only failure of the report.
    Raises UsageError for a variant without kernels, an unknown graph, knobs out of range.
    """
    if not issubclass(variant, KernelProgram):
        raise UsageError(f"variant {variant.name} has no kernels to check")
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
    for number, name in enumerate(graphs):
        graph = load_parsed(name)
        try:
            family.require(graph)
        except UsageError:
            continue
        for knobs in knob_settings(variant, axes.knobs, {}):
            for seed in range(1, seeds + 1):
                begin()
                report.runs += 1
                others = {} if axes.knobs else _in_turn(variant, number, seed)
                try:
                    _run(variant, axes, graph, dict(knobs), others, seed, report)
                except (UsageError, LaunchError):  # other knobs, which the graph does not suit
                    _run(variant, axes, graph, dict(knobs), {}, seed, report)
    if not report.runs:
        named = ", ".join(name.locator for name in graphs)
        raise UsageError(f"variant {variant.name} takes none of the graphs {named}")
    report.unmet -= {line for found in report.findings.values() for line in found.first.declarations}
    return report


def table(reports: Iterable[Report]) -> pd.DataFrame:
    """What was found, a row each: see :func:`bfsbench.api.check`."""
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
    return pd.DataFrame(rows, columns=list(FOUND))


def usual_graphs(variant: type[Variant], axes: Axes) -> list[GraphName]:
    """The graphs of a check unless others are asked for, a larger one only where knobs are the default."""
    graphs = GRAPHS if axes.knobs else (*GRAPHS, LARGER_GRAPH)
    return [*map(resolve, graphs if find_family(variant.family).from_sources else SMALLER_GRAPHS)]


def runs_of(variant: type[Variant], axes: Axes, graphs: Sequence[GraphName], seeds: int) -> int:
    """How many runs ``check`` makes, unless the variant's family refuses some of the graphs."""
    return len(graphs) * len(knob_settings(variant, axes.knobs, {})) * seeds


def _in_turn(variant: type[Variant], graph: int, seed: int) -> Mapping[str, KnobValue]:
    """What every second run of a graph takes from ``check_knobs``: all settings, one after the other."""
    settings = variant.check_knobs
    if not settings or (graph + seed) % 2:
        return {}
    return settings[(graph + (seed - 1) // 2) % len(settings)]


def _launch(
    variant: type[Variant], axes: Axes, knobs: Mapping[str, KnobValue], seed: int
) -> tuple[int | None, int]:
    if own := variant.own_block(knobs):
        return None, own
    blocks = blocks_of(variant, axes)
    launches = [(grid, block) for grid in axes.grids for block in blocks] or LAUNCHES
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
    """``others`` are knobs besides those given.

    Raises UsageError or LaunchError if the graph does not suit them.
    """
    family = find_family(variant.family)
    source = _source(graph, seed) if family.from_sources else None
    knobs = {**given, **others}
    launch = _launch(variant, axes, knobs, seed)
    options = " ".join(f"{knob.option} {others[knob.name]}" for knob in variant.knobs if knob.name in others)
    message, is_fault = "", False
    most_launches = LAUNCHES_BESIDES + LAUNCHES_A_VERTEX * graph.num_vertices
    with CpuDevice(seed, watched=True, most_launches=most_launches) as device:
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
        findings = list(_distinct(device.findings()))
        if message and not (is_fault and any(finding.fault in ENDING for finding in findings)):
            report.failures[message] = report.failures.get(message, 0) + 1
        for finding in findings:
            key = (finding.fault, frozenset(finding.lines))
            found = report.findings.get(key)
            found = found or Found(finding, 0, options)
            report.findings[key] = replace(found, runs=found.runs + 1)


def _source(graph: Graph, seed: int) -> int:
    """A vertex that an arc leaves, if there is one."""
    starts = np.flatnonzero(np.diff(graph.row_offsets))
    return int(starts[seed * 7919 % starts.size]) if starts.size else seed * 7919 % graph.num_vertices


def _distinct(findings: Sequence[Finding]) -> Iterator[Finding]:
    """One finding for each pair of lines: the schedule decides which of the two comes first."""
    seen = {(finding.fault, frozenset(finding.lines)): finding for finding in findings}
    yield from seen.values()
