"""Whether `adaptive` finds the right levels on many random graphs, and the same ones thousands of times.

    python tests/benchmarks/adaptive_endurance.py [--backend NAME] [--graphs N] [--repeats N] [--jobs N]

First, random graphs of all generators, each as it is drawn or with its edges taken for arcs, with 32-bit or
64-bit offsets, searched from several vertices with knobs, grids and blocks drawn at random. Other processes
draw them, with the levels of the sequential search, and compile all builds beforehand. Then a road network
and a Kronecker graph, searched again and again. All levels are compared with those of the sequential
search. The exit code is 1 if any search went wrong, and every failure is printed.
"""

import argparse
import itertools
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import GENERATORS, Parameters, generate
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import Levels, Search, reference_levels
from bfsbench.rows.point import KnobValue
from bfsbench.support.errors import WrongResultError
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup
from bfsbench.variants.prepared_rows import LONGEST_ROW

Random = np.random.Generator
SETTINGS_PER_GRAPH = 2
SOURCES_PER_SETTING = 3
MOST_FAILURES = 10
"""Most failures before the script stops."""
DRAWN_AHEAD = 4
"""Graphs for each process that draws them."""
CLUSTER_SIZES = (0, 1, 2, 4, 8, 16)
MANY_VERTICES = (0, 1 << 30)
"""So that all graphs have as many, or none."""


def box(random: Random, size: int) -> Parameters:
    """Rows and columns of about ``cells`` cells."""
    rows = int(size ** random.uniform(0.1, 0.9))
    return {"rows": rows, "columns": max(1, size // rows)}


DRAW: Mapping[str, Callable[[Random, int], Parameters]] = {
    "kronecker": lambda r, n: {"scale": n.bit_length() - 1, "edge_factor": int(r.integers(33))},
    "rmat": lambda r, n: {"n": n, "m": n * int(r.integers(17)), "directed": int(r.integers(2))},
    "uniform": lambda r, n: {"n": n, "m": n * int(r.integers(17)), "directed": int(r.integers(2))},
    "small_world": lambda r, n: {"n": max(20, n), "k": int(r.integers(1, 9)), "p": float(r.random() ** 4)},
    "forest_fire": lambda r, n: {"n": n, "s": int(r.integers(1, 1 + n))},
    "lattice": lambda r, n: {**box(r, n), "keep": float(r.uniform(0.5, 1))},
    "maze": lambda r, n: {**box(r, n), "blocked": float(r.uniform(0, 0.4))},
    "geometric": lambda r, n: {"n": n, "degree": float(r.uniform(1, 20))},
    "crawl": lambda r, n: {"n": n, "degree": int(r.integers(1, 17)), "host": int(r.integers(1, 2000))},
    "luo_grid": lambda r, n: {"n": n, "form": str(r.choice(["grid3d", "triangular2d"]))},
    "luo_scale_free": lambda r, n: {"n": max(2000, n)},
    "dense": lambda r, n: {"nodes": min(n, 1000), "density": float(r.uniform(0, 100))},
    "weighted_random": lambda r, n: {"n": min(n, 1000), "density": float(r.uniform(0, 100))},
    "star": lambda r, n: {"n": n, "arcs": str(r.choice(["both", "out", "in"]))},
    "path": lambda r, n: {"n": n, "directed": int(r.integers(2))},
    "cycle": lambda r, n: {"n": max(3, n), "directed": int(r.integers(2))},
    "complete": lambda r, n: {"n": min(n, 1000)},
    "binary_tree": lambda r, n: {"n": n, "directed": int(r.integers(2))},
    "pmpp": lambda r, n: {},
}
"""Parameters for a graph of about ``n`` vertices, for each generator."""


def draw_graph(random: Random, name: str, most: int) -> Graph:
    """A graph of this generator with at most about ``most`` vertices."""
    parameters = dict(DRAW[name](random, int(most ** random.random())))
    if any(parameter.name == "seed" for parameter in GENERATORS[name].parameters):
        parameters["seed"] = int(random.integers(2**31))
    edges = generate(name, **parameters)
    if random.random() < 0.3:
        edges = replace(edges, orientation="directed")
    graph = build_graph(edges, f"{name} {parameters} {edges.orientation}")
    if random.random() < 0.7:
        return graph
    return widened(graph)


def has_short_rows(graph: Graph) -> bool:
    """Whether rows can be made records of, for clusters of any size."""
    longest = int(np.diff(graph.row_offsets).max(initial=0))
    return longest <= LONGEST_ROW and graph.row_offsets.itemsize == 4


def draw_knobs(random: Random, short_rows: bool) -> dict[str, KnobValue]:
    """Values for all knobs; the defaults one time in four."""
    if random.random() < 0.25:
        return Adaptive.knob_values({})
    drawn = {
        "CLUSTER_SIZE": random.choice(CLUSTER_SIZES),
        "SMALL_PARTS": random.choice([0, 1, 16, 256, 2048, 8192, 16384, 32768]),
        "TINY_PARTS": random.choice([0, 16, 256, 512]),
        "PUSHED_EDGE": random.choice([0, 1, 4, 8, 32, 1024]),
        "LISTED_VERTICES": random.choice([0, 0, 100, 1 << 17]),
        "MANY_VERTICES": random.choice(MANY_VERTICES),
        "MAY_PULL": random.choice([0, 1, 1, 1]),
        "LIKELY_FIRST": random.choice([0, 0, 1]),
        "SHORT_ROWS": random.choice([0, 1, 1]),
    }
    drawn["SHORT_ROWS"] *= short_rows and not drawn["LIKELY_FIRST"]
    if drawn["SHORT_ROWS"] or drawn["LIKELY_FIRST"]:  # two of these together are not compiled beforehand
        drawn["MANY_VERTICES"] = max(MANY_VERTICES)
    return Adaptive.knob_values({name: int(value) for name, value in drawn.items()})


@dataclass(frozen=True)
class Setting:
    """How a graph is searched, and from where."""

    knobs: dict[str, KnobValue]
    grid: int | None
    block: int
    expected: dict[int, Levels]
    """The levels of the sequential search by sources, int32[V]."""


@dataclass(frozen=True)
class Case:
    """A graph and the settings it is searched with."""

    graph: Graph
    settings: list[Setting]


def draw_case(seed: int, number: int, most: int) -> Case:
    """The case of this number, each generator in its turn."""
    random, names = np.random.default_rng([seed, number]), list(GENERATORS)
    graph = draw_graph(random, names[number % len(names)], most)
    settings = []
    for _ in range(SETTINGS_PER_GRAPH):
        knobs = draw_knobs(random, has_short_rows(graph))
        block = 32 * int(random.choice([1, 2, 7, 8, 16, 32]))
        grid = None if random.random() < 0.5 else int(random.integers(1, 200))
        sources = random.integers(graph.num_vertices, size=SOURCES_PER_SETTING).tolist()
        expected = {source: reference_levels(graph, source) for source in sources}
        settings.append(Setting(knobs, grid, block, expected))
    return Case(graph, settings)


def cases(pool: Executor, jobs: int, seed: int, numbers: range, most: int) -> Iterator[Case]:
    """The cases of these numbers, drawn by other processes, a few of them ahead."""
    ahead = DRAWN_AHEAD * jobs
    waiting = deque(pool.submit(draw_case, seed, number, most) for number in numbers[:ahead])
    for number in numbers[ahead:]:
        yield waiting.popleft().result()
        waiting.append(pool.submit(draw_case, seed, number, most))
    for drawn in waiting:
        yield drawn.result()


def widened(graph: Graph) -> Graph:
    """The graph with 64-bit offsets."""
    wide = {"row_offsets": graph.row_offsets, "column_offsets": graph.column_offsets}
    return replace(graph, **{name: offsets.astype(np.int64) for name, offsets in wide.items()})


def compile_build(backend: str, size: int, ordered: int, short: int, many: int, wide: bool) -> None:
    """Compile one build of the search, in a process of its own."""
    with closing(open_device(backend)) as device:
        graph = build_graph(generate("pmpp"), "pmpp")
        values = {"CLUSTER_SIZE": size, "LIKELY_FIRST": ordered, "SHORT_ROWS": short, "MANY_VERTICES": many}
        knobs = Adaptive.knob_values(dict(values))
        on_device = DeviceGraph(device, widened(graph) if wide else graph)
        Adaptive(KernelSetup(on_device, None, 64, knobs)).prepare()


def compile_all(pool: Executor, backend: str) -> None:
    """Compile what the random searches need, several builds at a time."""
    started, sizes = time.perf_counter(), CLUSTER_SIZES[1:]
    many, few = MANY_VERTICES
    ways = [(0, 1, few, False)]  # records have narrow offsets
    ways += [(*way, wide) for way in ((0, 0, few), (1, 0, few), (0, 0, many)) for wide in (False, True)]
    builds = [(size, *way) for size, way in itertools.product(sizes, ways)]
    for build in [pool.submit(compile_build, backend, *build) for build in builds]:
        build.result()
    print(f"{len(builds)} builds in {time.perf_counter() - started:.1f} s", flush=True)


class Failures:
    """The failures, printed as they are found."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, what: str) -> None:
        """Raises SystemExit when there are too many."""
        print(f"WRONG: {what}", flush=True)
        self.count += 1
        if self.count == MOST_FAILURES:
            sys.exit(1)


def search_case(device: Device, case: Case, failures: Failures) -> None:
    """Search a graph with its settings from their sources."""
    on_device = DeviceGraph(device, case.graph)
    for setting in case.settings:
        search = Adaptive(KernelSetup(on_device, setting.grid, setting.block, setting.knobs))
        search.prepare()
        for source, expected in setting.expected.items():
            search.reset(source)
            search.traverse(source)
            wrong = np.count_nonzero(search.levels() != expected)
            if wrong:
                how = f"{setting.knobs}, {search.num_blocks} blocks of {setting.block}"
                failures.note(f"{wrong} levels of {case.graph.name} from {source} with {how}")


def search_random_graphs(device: Device, drawn: Iterator[Case], seconds: float, failures: Failures) -> None:
    """Search the graphs drawn, as many as the time allows."""
    started, searches, vertices, arcs = time.perf_counter(), 0, 0, 0
    of_kind: Counter[str] = Counter()
    names: set[str] = set()
    for case in drawn:
        graph = case.graph
        search_case(device, case, failures)
        searches += sum(len(setting.expected) for setting in case.settings)
        vertices, arcs = max(vertices, graph.num_vertices), max(arcs, graph.num_edges)
        of_kind.update(["graphs", graph.direction, f"{8 * graph.row_offsets.itemsize}-bit offsets"])
        names.add(graph.name.split()[0])
        if time.perf_counter() - started > seconds:
            break
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(of_kind.items()) if kind != "graphs")
    print(f"{of_kind['graphs']} random graphs of {len(names)} generators ({kinds}),")
    print(f"    up to {vertices:,} vertices and {arcs:,} arcs: {searches} searches in", end=" ")
    print(f"{time.perf_counter() - started:.1f} s", flush=True)


def search_again_and_again(
    device: Device, graph: Graph, random: Random, count: int, failures: Failures
) -> None:
    """Search one graph ``count`` times, from a few sources in turn; levels are compared on the device."""
    started = time.perf_counter()
    sources = random.choice(np.flatnonzero(np.diff(graph.row_offsets)), 4).tolist()
    search = Adaptive(KernelSetup(DeviceGraph(device, graph), None, 1024, Adaptive.knob_values({})))
    search.prepare()
    problems = [Search(graph, source) for source in sources]
    runs = [problem.run(search) for problem in problems]
    for i, run in zip(range(count), itertools.cycle(runs)):
        run.poison()
        run.reset()
        run.solve()
        try:
            run.check()
        except WrongResultError as error:
            failures.note(f"{graph.name}, search {i + 1}: {error}")
    depth = max(int(problem.levels.max()) for problem in problems)
    size = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs, {depth} levels at most"
    print(f"{graph.name} of {size}: {count} searches in {time.perf_counter() - started:.1f} s", flush=True)


def asked() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", default="auto", help="cuda, cpu or auto")
    parser.add_argument("--graphs", type=int, default=1000, help="random graphs")
    parser.add_argument("--first", type=int, default=0, help="number of the first random graph")
    parser.add_argument("--size", type=int, default=2**16, help="most vertices of a random graph, about")
    parser.add_argument("--repeats", type=int, default=10_000, help="searches of each of two graphs")
    parser.add_argument("--road", default="USA-road-d.NY", help="a road network, by its name")
    parser.add_argument("--scale", type=int, default=16, help="of the Kronecker graph")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers")
    parser.add_argument("--jobs", type=int, default=8, help="processes that draw graphs and compile")
    parser.add_argument("--seconds", type=float, default=1e9, help="most for the random graphs")
    return parser.parse_args()


def main() -> int:
    """The exit code."""
    given, failures = asked(), Failures()
    pool = ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"))
    if given.graphs:
        compile_all(pool, given.backend)
    device = open_device(given.backend)
    print(device.describe()["gpu"], flush=True)
    numbers = range(given.first, given.first + given.graphs)
    drawn = cases(pool, given.jobs, given.seed, numbers, given.size)
    search_random_graphs(device, drawn, given.seconds, failures)
    pool.shutdown(cancel_futures=True)
    random = np.random.default_rng(given.seed)
    for name in (given.road, f"kronecker(scale={given.scale})") if given.repeats else ():
        search_again_and_again(device, load(name), random, given.repeats, failures)
    print("all levels are those of the sequential search" if not failures.count else "some levels are wrong")
    device.close()
    return int(failures.count > 0)


if __name__ == "__main__":
    sys.exit(main())
