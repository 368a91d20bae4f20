"""Runs the Graph500 benchmark from the list of edges to the report, in this process.

Graph500 calls its two timed steps kernels. Kernel 1 turns the list of edges into a graph that can be
searched. Kernel 2 runs searches that find parents. Each tree is checked. The report has Graph500's statistics
of times and rates.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

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
from bfsbench.programs import POISON, KnobValue, Variant
from bfsbench.programs.families.bfs.parents import (
    DeviceParents,
    Tree,
    TreeCheck,
    check_parents,
    parents_on_host,
)
from bfsbench.programs.families.bfs.searches import UNREACHED, HostVariant, KernelVariant, SearchVariant
from bfsbench.rows.point import Point
from bfsbench.rows.provenance import base_row, failed_row, host_columns, record_run
from bfsbench.rows.results import ResultWriter
from bfsbench.support.errors import DeviceError, UsageError, WrongResultError
from bfsbench.variants import find

_RECIPE = Recipe(self_loops="drop", duplicates="drop")
"""Loops and repeated edges are dropped from the graph, because they lead to no further vertex. The list of
edges keeps them, and the reported numbers of edges include them."""

_ARRAYS = {
    "CSR": ("row_offsets", "column_indices"),
    "CSC": ("column_offsets", "row_indices"),
    "COO": ("edge_sources", "column_indices"),
}
"""Names of the arrays of each layout on the device."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Constructed:
    """A graph, and the list of edges that it was built from. The list is on the device if the graph is
    searched there, else on the host."""

    graph: Graph
    edges: EdgeList | tuple[Buffer, Buffer]
    """The list of edges on the host, or its tails and heads on the device. The device arrays are int32 with
    one element per edge."""
    generation_s: float
    construction_s: float


def construct(scale: int, seed: int, device: Device | None) -> Constructed:
    """Draws the list of edges and builds a graph from it.

    The graph's arrays are not on the device yet. Raises NotEnoughMemoryError if the host's memory is too
    small, and DeviceOutOfMemoryError if the device's memory is too small.
    """
    parameters = {"scale": scale, "edge_factor": EDGE_FACTOR, "seed": seed}
    edges, generation_s = timed(lambda: generate("kronecker", **parameters))
    name = canonical_spec("kronecker", parameters) + ":self_loops=drop:duplicates=drop"
    held = [edges]
    kept = edges if device is None else (device.upload(edges.sources), device.upload(edges.targets))
    del edges  # if the device has the list, building the graph frees the host's copy
    graph, construction_s = timed(lambda: build_graph(held.pop(), name, _RECIPE))
    return Constructed(graph, kept, generation_s, construction_s)


def bring(search: KernelVariant) -> float:
    """Copies to the device those arrays of the graph that a search needs. Returns the time in s."""

    def upload() -> None:
        for layout in (*search.layout, *(("COO",) if search.leaves_tree else ())):
            for name in _ARRAYS.get(layout, ()):
                getattr(search.graph, name)
        search.device.synchronize()

    return timed(upload)[1]


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """Calls ``make``. Returns its result and the time of the call in s."""
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started


class DeviceTrees:
    """A prepared search by kernels. It returns a breadth-first tree. If the search finds only levels, a
    further kernel finds the parents, and its time is included. Raises UsageError for a search that finds no
    parents.
    """

    def __init__(self, search: KernelVariant, tails: Buffer, heads: Buffer) -> None:
        if search.level_places is not None:
            raise UsageError(f"variant {search.name} renumbers vertices, and finds no parents")
        self._search = search
        vertices = search.host_graph.num_vertices
        self._check = TreeCheck(search.device, vertices, tails, heads, tails.size, both_ways=True)
        self._derived = None if search.leaves_tree else DeviceParents(search.graph, search.level_array)
        self._parents = self._derived.parents if self._derived else search.level_array
        self._clock = search.clock()

    def search(self, source: int) -> float:
        """Searches from ``source``, finds the parents, and waits until the device has done both. Returns the
        total time in ms."""
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
        """Checks the last tree by the five rules of Graph500's specification. Returns its size and depth.

        Raises WrongResultError if the tree is wrong. Raises DeviceError if the device fails.
        """
        self._search.finish()
        return self._check.check(self._parents, source)


class HostTrees:
    """A prepared search by a native program, or by a program of other authors. It returns a breadth-first
    tree. If the search finds only levels, this class finds the parents, and adds the time of this step to the
    search time. :class:`DeviceTrees` documents the methods."""

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
        # A tree that has one end of an edge also has the other end.
        edges = int(np.count_nonzero(reached[self._edges.sources]))
        return Tree(edges, int(np.count_nonzero(reached)), int(self._levels.max()))


@dataclass(frozen=True)
class Graph500Outcome:
    """The reported results of a benchmark. Times are in s.

    ``seconds``, ``edges`` and ``validation_s`` have one element per source. ``edges`` counts the listed edges
    with both ends in the tree, including loops and repeated edges.
    """

    scale: int
    generation_s: float
    construction_s: float
    seconds: Sequence[float]
    edges: Sequence[int]
    validation_s: Sequence[float]

    @property
    def teps(self) -> list[float]:
        """The traversed edges per second of each search."""
        return [edges / seconds for edges, seconds in zip(self.edges, self.seconds, strict=True)]

    def lines(self) -> Iterator[str]:
        """Yields the report in Graph500's format: one name and value per line."""
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
    """Returns the minimum, the quartiles and the maximum of the values, as a dictionary. The keys are
    Graph500's names, such as ``firstquartile``."""
    found = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="averaged_inverted_cdf")
    names = ("min", "firstquartile", "median", "thirdquartile", "max")
    return dict(zip(names, found.tolist(), strict=True))


def harmonic(rates: Sequence[float]) -> tuple[float, float]:
    """Returns the harmonic mean, and its standard error as Graph500's specification defines it (Norris,
    1940).

    Raises ValueError for fewer than two rates.
    """
    if len(rates) < 2:
        raise ValueError("a standard error needs two rates")
    mean = statistics.harmonic_mean(rates)
    squares = sum((1 / rate - 1 / mean) ** 2 for rate in rates)
    return mean, math.sqrt(squares) / (len(rates) - 1) * mean**2


SEED = 1
"""The seed of the graph and of the sources."""
TREE = "TREE"
"""The knob that makes some searches find parents instead of levels. The benchmark sets it to 1 unless the
user gives a value."""


@dataclass(frozen=True)
class Asked:
    """The settings of a benchmark: what to measure."""

    scale: int
    variant: type[Variant]
    knobs: Mapping[str, KnobValue]
    """The values of all knobs."""
    backend: str
    schedule_seed: int

    @staticmethod
    def of(
        scale: int, variant: str, knobs: Mapping[str, KnobValue], backend: str, schedule_seed: int
    ) -> Asked:
        """Returns the checked settings of a benchmark.

        Raises UsageError for an unknown variant or knob, for a variant that cannot run here, and for a
        variant that is not a breadth-first search.
        """
        declared = find(variant)
        if not issubclass(declared, SearchVariant):
            raise UsageError(f"variant {declared.name} is no breadth-first search")
        if reason := declared.missing():
            raise UsageError(reason)
        trees = {TREE: "1"} if TREE in {knob.name for knob in declared.knobs} else {}
        return Asked(scale, declared, declared.knob_values({**trees, **knobs}), backend, schedule_seed)


class Benchmark:
    """A constructed graph, and a search that is ready to run."""

    def __init__(self, asked: Asked, session: Session) -> None:
        """Constructs the graph and prepares the search.

        Raises UsageError for a search that finds no parents. Raises NotEnoughMemoryError if the host has too
        little memory, and DeviceError if the device has too little memory or fails.
        """
        self._asked = asked
        by_kernels = issubclass(asked.variant, KernelVariant)
        self.built = construct(asked.scale, SEED, session.device if by_kernels else None)
        """The graph to search, and the list of edges from which it was built."""
        session.use(self.built.graph)
        axes = Axes([asked.variant], [None], [None])
        ((self._grid, self._block),) = launches(asked.variant, asked.knobs, axes)
        search = session.build(asked.variant.name, self._grid, self._block, asked.knobs)
        self._search = search
        uploaded_s = bring(search) if isinstance(search, KernelVariant) else 0.0
        search.prepare()
        self.construction_s = self.built.construction_s + uploaded_s + search.preprocess_ms / 1e3
        self._device = session.device.describe() if session.device else {}
        self._backend = "host" if asked.variant.host or not session.device else session.device.backend
        edges = self.built.edges
        if isinstance(search, KernelVariant):
            assert not isinstance(edges, EdgeList)
            self._trees: DeviceTrees | HostTrees = DeviceTrees(search, *edges)
        else:
            assert isinstance(search, HostVariant) and isinstance(edges, EdgeList)
            self._trees = HostTrees(search, edges)

    def run(self, writer: ResultWriter, advance: Callable[[], None]) -> Graph500Outcome:
        """Searches from each source once. Returns the results.

        As in Graph500's own program, an additional search comes first. It is checked, but not reported. A row
        is written when a reported search ends, or when any search fails. ``advance`` is called after each
        reported search. Raises WrongResultError or DeviceError if a search fails, and WrongResultError if a
        kernel has written into the graph.
        """
        asked, built, search = self._asked, self.built, self._search
        sources = choose_sources(built.graph, NUM_SOURCES, SEED)
        seconds, edges, validation_s = list[float](), list[int](), list[float]()
        place = (asked.variant.name, self._backend, self._grid, self._block, tuple(asked.knobs.items()))
        for number, source in enumerate([sources[0], *sources]):
            point = Point(built.graph.full_name, source, *place)
            try:
                milliseconds = self._trees.search(source)
                tree, check_s = timed(partial(self._trees.check, source))
            except (WrongResultError, DeviceError) as error:
                status = getattr(error, "status", "wrong")
                writer.append(failed_row(point, built.graph, self._device, status, str(error)))
                raise
            if number == 0:
                continue
            writer.append(self._row(point, milliseconds, tree))
            seconds.append(milliseconds / 1e3)
            edges.append(tree.edges)
            validation_s.append(check_s)
            advance()
        if isinstance(search, KernelVariant) and (written := search.graph.written()):
            raise WrongResultError(f"a kernel wrote into the graph: {', '.join(written)}")
        times = built.generation_s, self.construction_s
        return Graph500Outcome(asked.scale, *times, seconds, edges, validation_s)

    def _row(self, point: Point, milliseconds: float, tree: Tree) -> dict[str, str]:
        """Returns the row of one search.

        ``prepare_ms`` is the construction time. ``mteps_graph500`` is the rate in millions of edges per
        second. The rate counts the listed edges whose two ends are both in the tree.
        """
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
    """Runs the benchmark, and writes rows to ``path`` as they are made. Returns the results.

    ``advance`` is called after each reported search. Raises UsageError if the file exists or if the settings
    are invalid. Raises WrongResultError or DeviceError if a search fails.
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
