"""The benchmark from the list of edges to the report, in this process.

Kernel 1 makes a graph that can be searched of a list of edges, timed. Kernel 2 is searches that leave
parents, timed, and the check of each tree. The report has Graph500's statistics of times and rates.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from bfsbench.backends.base import Buffer, Device
from bfsbench.bench.measure import sample_columns
from bfsbench.bench.plan import Axes, choose_sources, launches
from bfsbench.bench.session import Session
from bfsbench.experiments.graph500 import EDGE_FACTOR, NAME, NUM_SOURCES
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec, generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs import POISON, DeviceGraph, KnobValue, Variant
from bfsbench.programs.families.bfs.parents import (
    DeviceParents,
    Tree,
    TreeCheck,
    check_parents,
    parents_on_host,
)
from bfsbench.programs.families.bfs.searches import UNREACHED, HostVariant, KernelVariant, SearchVariant
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import host_columns
from bfsbench.rows.results import ResultWriter
from bfsbench.rows.row import base_row, failed_row
from bfsbench.rows.runs import record_run
from bfsbench.support.errors import DeviceError, UsageError, WrongResultError
from bfsbench.variants import find

_RECIPE = Recipe(self_loops="drop", duplicates="drop")
"""Loops and repeated edges lead nowhere new. The list, by which edges are counted, keeps them."""

_ARRAYS = {
    "CSR": ("row_offsets", "column_indices"),
    "CSC": ("column_offsets", "row_indices"),
    "COO": ("edge_sources", "column_indices"),
}
"""Attributes of a graph on a device, by layout."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Constructed:
    """A graph and the list that it was made of: on the host or, where it is searched on a device, there."""

    graph: Graph
    edges: EdgeList | tuple[Buffer, Buffer]
    """The list, or its tails and heads, int32 of ``listed`` elements each."""
    listed: int
    generation_s: float
    construction_s: float


def construct(scale: int, seed: int, device: Device | None) -> Constructed:
    """Draw the list, and make a graph of it. Its arrays are not on the device yet.

    Raises NotEnoughMemoryError, DeviceOutOfMemoryError.
    """
    parameters = {"scale": scale, "edge_factor": EDGE_FACTOR, "seed": seed}
    edges, generation_s = timed(lambda: generate("kronecker", **parameters))
    name = canonical_spec("kronecker", parameters) + ":self_loops=drop:duplicates=drop"
    listed, held = len(edges.sources), [edges]
    kept = edges if device is None else (device.upload(edges.sources), device.upload(edges.targets))
    del edges
    if device is not None:  # then the host's list is not needed twice
        graph, construction_s = timed(lambda: build_graph(held.pop(), name, _RECIPE))
    else:
        graph, construction_s = timed(lambda: build_graph(held[0], name, _RECIPE))
    return Constructed(graph, kept, listed, generation_s, construction_s)


def bring(graph: DeviceGraph, layouts: Iterable[str]) -> float:
    """Have the arrays of these layouts on the device; the time in s."""

    def upload() -> None:
        for name in dict.fromkeys(array for layout in layouts for array in _ARRAYS.get(layout, ())):
            getattr(graph, name)
        graph.device.synchronize()

    return timed(upload)[1]


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """What ``make`` returns, and how long it took in s."""
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started


class TreeSearch(Protocol):
    """A prepared search whose answer is a tree."""

    def search(self, source: int) -> float:
        """Search, find parents, and wait; the time of both in ms."""

    def check(self, source: int) -> Tree:
        """The last tree, checked by the five rules. Raises WrongResultError, DeviceError."""


class DeviceTrees:
    """A search by kernels. Where it leaves levels, a kernel adds the parents within the time."""

    def __init__(self, search: KernelVariant, check: TreeCheck) -> None:
        if search.level_places is not None:
            raise UsageError(f"variant {search.name} renumbers vertices, and finds no parents")
        self._search = search
        self._check = check
        self._derived = None if search.leaves_tree else DeviceParents(search.graph, search.level_array)
        self._parents = self._derived.parents if self._derived else search.level_array
        self._clock = search.clock()

    def search(self, source: int) -> float:
        self._search.poison()
        self._parents.fill(POISON)
        self._clock.wait()
        self._clock.start()
        self._search.reset(source)
        self._search.traverse(source)
        if self._derived:
            self._derived.derive()
        return self._clock.stop()

    def check(self, source: int) -> Tree:
        self._search.finish()
        return self._check.check(self._parents, source)


class HostTrees:
    """A native search, or one of another program. Where it leaves levels, finding parents is timed, too."""

    def __init__(self, search: HostVariant, edges: EdgeList) -> None:
        self._search = search
        self._edges = edges

    def search(self, source: int) -> float:
        search, graph = self._search, self._search.graph
        search.poison()
        clock = search.clock()
        clock.start()
        search.reset(source)
        search.traverse(source)
        milliseconds = clock.stop()
        self._levels = search.levels()
        if search.leaves_tree:
            self._parents = search.parents()
            return milliseconds
        *_, tree = parents_on_host(graph, np.ascontiguousarray(self._levels, np.int32))
        self._parents = tree.links
        return milliseconds + tree.milliseconds

    def check(self, source: int) -> Tree:
        check_parents(self._search.graph, source, self._levels, self._parents)
        reached = self._levels != UNREACHED
        edges = int(np.count_nonzero(reached[self._edges.sources]))  # then the other end is reached, too
        return Tree(edges, int(np.count_nonzero(reached)), int(self._levels.max()))


def tree_search(variant: Variant, built: Constructed) -> TreeSearch:
    """The search of a prepared variant. Raises UsageError for one that finds no parents."""
    if isinstance(variant, KernelVariant) and not isinstance(built.edges, EdgeList):
        check = TreeCheck(
            variant.device, built.graph.num_vertices, *built.edges, built.listed, both_ways=True
        )
        return DeviceTrees(variant, check)
    if isinstance(variant, HostVariant) and isinstance(built.edges, EdgeList):
        return HostTrees(variant, built.edges)
    raise UsageError(f"variant {variant.name} is no breadth-first search")


_ORDER = ("min", "firstquartile", "median", "thirdquartile", "max")


@dataclass(frozen=True)
class Graph500Outcome:
    """What is reported of a benchmark; times in s.

    ``seconds``, ``edges`` (of the list, within the tree: loops and repeated edges count) and ``validation_s``
    have an element for each source.
    """

    scale: int
    generation_s: float
    construction_s: float
    seconds: Sequence[float]
    edges: Sequence[int]
    validation_s: Sequence[float]

    @property
    def teps(self) -> list[float]:
        """Traversed edges per second, of each search."""
        return [edges / seconds for edges, seconds in zip(self.edges, self.seconds, strict=True)]

    def lines(self) -> Iterator[str]:
        """The report in Graph500's form: a name and a value in each line."""
        yield f"SCALE: {self.scale}"
        yield f"edgefactor: {EDGE_FACTOR}"
        yield f"NBFS: {len(self.seconds)}"
        yield f"graph_generation: {self.generation_s:.6g}"
        yield f"construction_time: {self.construction_s:.6g}"
        for name, values in {"time": self.seconds, "nedge": self.edges}.items():
            yield from (f"bfs {part}_{name}: {value:.6g}" for part, value in spread(values).items())
            yield f"bfs mean_{name}: {statistics.mean(values):.6g}"
            yield f"bfs stddev_{name}: {statistics.stdev(values):.6g}"
        yield from (f"bfs {part}_TEPS: {value:.6g}" for part, value in spread(self.teps).items())
        mean, deviation = harmonic(self.teps)
        yield f"bfs harmonic_mean_TEPS: {mean:.6g}"
        yield f"bfs harmonic_stddev_TEPS: {deviation:.6g}"
        yield from (f"bfs {part}_validate: {value:.6g}" for part, value in spread(self.validation_s).items())


def spread(values: Sequence[float]) -> dict[str, float]:
    """Minimum, quartiles and maximum, by Graph500's names."""
    found = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="averaged_inverted_cdf")
    return dict(zip(_ORDER, found.tolist(), strict=True))


def harmonic(rates: Sequence[float]) -> tuple[float, float]:
    """The harmonic mean, and its standard error as the specification has it (Norris, 1940).

    Raises ValueError for fewer than two rates.
    """
    if len(rates) < 2:
        raise ValueError("a standard error needs two rates")
    mean = statistics.harmonic_mean(rates)
    squares = sum((1 / rate - 1 / mean) ** 2 for rate in rates)
    return mean, math.sqrt(squares) / (len(rates) - 1) * mean**2


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
    def of(
        scale: int, variant: str, knobs: Mapping[str, KnobValue], backend: str, schedule_seed: int
    ) -> Asked:
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

    def run(self, writer: ResultWriter, advance: Callable[[], None]) -> Graph500Outcome:
        """Search from each source once; rows are written as they are made, a failed one, too.

        One search that is not timed comes first, as in Graph500's own program. Raises WrongResultError,
        DeviceError.
        """
        sources = choose_sources(self.built.graph, NUM_SOURCES, self._asked.seed)
        found = _Measured()
        for number, source in enumerate([sources[0], *sources]):
            graph, knobs = self.built.graph.full_name, tuple(self._asked.knobs.items())
            name = self._asked.variant.name
            point = Point(graph, source, name, self._backend, self._grid, self._block, knobs)
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
        return Graph500Outcome(self._asked.scale, *times, found.seconds, found.edges, found.validation_s)

    def _measure(self, source: int) -> tuple[float, Tree, float]:
        milliseconds = self._trees.search(source)
        tree, validation_s = timed(lambda: self._trees.check(source))
        return milliseconds, tree, validation_s

    def _require_unwritten(self) -> None:
        """Raises WrongResultError when a kernel has written into the graph."""
        if isinstance(self._search, KernelVariant) and (written := self._search.graph.written()):
            raise WrongResultError(f"a kernel wrote into the graph: {', '.join(written)}")

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


def run(asked: Asked, path: Path, advance: Callable[[], None]) -> Graph500Outcome:
    """Do the benchmark, and write rows to ``path`` as they are made; ``advance`` is called after each search.

    Raises UsageError, also where there is such a file, WrongResultError, DeviceError.
    """
    with closing(ResultWriter(path, resume=False)) as writer:
        session = Session(None if asked.variant.host else asked.backend, asked.schedule_seed)
        try:
            benchmark = Benchmark(asked, session)
            device = session.device.describe() if session.device else {}
            record_run(path, [{**host_columns(), **device}])
            return benchmark.run(writer, advance)
        finally:
            session.close()


def _bring(search: Variant) -> float:
    """Have on the device what a search of kernels reads of the graph; the time in s."""
    if not isinstance(search, KernelVariant):
        return 0.0
    return bring(search.graph, (*search.layout, *(("COO",) if search.leaves_tree else ())))
