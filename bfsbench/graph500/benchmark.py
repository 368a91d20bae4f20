"""The benchmark from the list of edges to the report, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bfsbench.bench.measure import sample_columns
from bfsbench.bench.plan import Axes, launches
from bfsbench.bench.point import Point
from bfsbench.bench.results import ResultWriter
from bfsbench.bench.row import base_row, failed_row
from bfsbench.bench.session import Session
from bfsbench.bench.sources import choose_sources
from bfsbench.errors import DeviceError, UsageError, WrongResultError
from bfsbench.families.bfs.searches import KernelVariant, SearchVariant
from bfsbench.families.bfs.tree_check import Tree
from bfsbench.graph500 import NAME, NUM_SOURCES
from bfsbench.graph500.construction import bring, construct, timed
from bfsbench.graph500.searches import TreeSearch, tree_search
from bfsbench.graph500.statistics import Outcome
from bfsbench.programs import KnobValue, Variant
from bfsbench.variants import find

TREE = "TREE"
"""Knob of searches that can leave levels or parents; here it is parents unless asked otherwise."""


@dataclass(frozen=True)
class Asked:
    """What is to be measured."""

    scale: int
    variant: type[Variant]
    knobs: Mapping[str, KnobValue]
    """Values of all knobs."""
    backend: str
    schedule_seed: int = 0
    seed: int = 1
    """Of the graph and of the sources."""

    @staticmethod
    def of(scale: int, variant: str, knobs: Mapping[str, str], backend: str, schedule_seed: int) -> Asked:
        """Raises UsageError for an unknown variant or knob, one that cannot run here, and one of another
        family."""
        declared = find(variant)
        if not issubclass(declared, SearchVariant):
            raise UsageError(f"variant {declared.name} is no breadth-first search")
        if reason := declared.missing():
            raise UsageError(reason)
        trees = {TREE: "1"} if TREE in {knob.name for knob in declared.knobs} else {}
        return Asked(scale, declared, declared.knob_values({**trees, **knobs}), backend, schedule_seed)


@dataclass
class _Measured:
    """What the searches so far have given, an element each."""

    seconds: list[float] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    validation_s: list[float] = field(default_factory=list)


class Benchmark:
    """A graph that has been constructed, and a search that is ready."""

    def __init__(self, asked: Asked, session: Session) -> None:
        """Raises UsageError, NotEnoughMemoryError, DeviceError."""
        self._asked = asked
        by_kernels = issubclass(asked.variant, KernelVariant)
        self.built = construct(asked.scale, asked.seed, session.device if by_kernels else None)
        """The graph, and the list that it was made of."""
        session.use(self.built.graph)
        axes = Axes([asked.variant], [None], [None])
        ((self._grid, self._block),) = launches(asked.variant, asked.knobs, axes)
        self._search = session.build(asked.variant.name, self._grid, self._block, asked.knobs)
        uploaded_s = _bring(self._search)
        self._search.prepare()
        self.construction_s = self.built.construction_s + uploaded_s + self._search.preprocess_ms / 1e3
        self._device = session.device.describe() if session.device else {}
        self._backend = "host" if asked.variant.host or not session.device else session.device.backend
        self._trees: TreeSearch = tree_search(self._search, self.built)

    def run(self, writer: ResultWriter, advance: Callable[[], None]) -> Outcome:
        """Search from each source once; rows are written as they are made, a failed one, too.

        One search that is not timed comes first, as in Graph500's own program. Raises WrongResultError,
        DeviceError.
        """
        sources = choose_sources(self.built.graph, NUM_SOURCES, self._asked.seed)
        found = _Measured()
        for number, source in enumerate([sources[0], *sources]):
            point = self._point(source)
            try:
                milliseconds, tree, validation_s = self._measure(source)
            except (WrongResultError, DeviceError) as error:
                status = getattr(error, "status", "wrong")
                writer.append(failed_row(point, self.built.graph, self._device, status, str(error)))
                raise
            if number == 0:
                continue
            writer.append(self._row(point, milliseconds, tree))
            found.seconds.append(milliseconds / 1e3)
            found.edges.append(tree.edges)
            found.validation_s.append(validation_s)
            advance()
        self._require_unwritten()
        times = self.built.generation_s, self.construction_s
        return Outcome(self._asked.scale, *times, found.seconds, found.edges, found.validation_s)

    def _measure(self, source: int) -> tuple[float, Tree, float]:
        milliseconds = self._trees.search(source)
        tree, validation_s = timed(lambda: self._trees.check(source))
        return milliseconds, tree, validation_s

    def _require_unwritten(self) -> None:
        """Raises WrongResultError when a kernel has written into the graph."""
        if isinstance(self._search, KernelVariant) and (written := self._search.graph.written()):
            raise WrongResultError(f"a kernel wrote into the graph: {', '.join(written)}")

    def _point(self, source: int) -> Point:
        graph, knobs = self.built.graph.full_name, tuple(self._asked.knobs.items())
        name = self._asked.variant.name
        return Point(graph, source, name, self._backend, self._grid, self._block, knobs)

    def _row(self, point: Point, milliseconds: float, tree: Tree) -> dict[str, str]:
        """``prepare_ms`` is the construction, ``mteps_graph500`` counts edges as they are listed."""
        times = {k: v for k, v in sample_columns([milliseconds], [0]).items() if not k.startswith("wall")}
        return {
            **base_row(point, self.built.graph, self._device),
            **{"status": "ok", "method": NAME, **times},
            "prepare_ms": f"{1e3 * self.construction_s:.6f}",
            "preprocess_ms": f"{self._search.preprocess_ms:.6f}",
            **{"depth": str(tree.depth), "reached": str(tree.vertices)},
            "mteps_graph500": f"{tree.edges / milliseconds / 1e3:.3f}",
            **self._search.measured(),
        }


def run(asked: Asked, path: Path, advance: Callable[[], None]) -> Outcome:
    """Do the benchmark, and write rows to ``path`` as they are made; ``advance`` is called after each search.

    Raises UsageError, also where there is such a file, WrongResultError, DeviceError.
    """
    with closing(ResultWriter(path, resume=False)) as writer:
        session = Session(None if asked.variant.host else asked.backend, asked.schedule_seed)
        try:
            return Benchmark(asked, session).run(writer, advance)
        finally:
            session.close()


def _bring(search: Variant) -> float:
    """Have on the device what a search of kernels reads of the graph; the time in s."""
    if not isinstance(search, KernelVariant):
        return 0.0
    return bring(search.graph, (*search.layout, *(("COO",) if search.leaves_tree else ())))
