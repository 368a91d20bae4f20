"""Whether `adaptive` finds the right levels on many random graphs, and thousands of times on two graphs.

    python -m tests.benchmarks.adaptive_endurance [--backend NAME] [--graphs N] [--repeats N] [--jobs N]

First come random graphs of all generators, some with their edges taken for arcs or with 64-bit offsets. They
are searched from several vertices, with knobs, grids and blocks drawn at random. Other processes draw the
graphs, with the levels of the sequential search, and compile all builds beforehand. Then a road network and a
Kronecker graph are searched again and again. All levels are compared with those of the sequential search.
Prints each failure. The exit code is 1 if there is one.
"""

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import GENERATORS, generate
from bfsbench.graphs.generators.declaration import Parameters
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph
from bfsbench.programs.families.bfs.search import Levels, Search, reference_levels
from bfsbench.support.errors import WrongResultError
from bfsbench.variants.prepared_rows import LONGEST_ROW
from tests.benchmarks.shared import prepared
from tests.shapes import with_wide_offsets

Random = np.random.Generator
SETTINGS_PER_GRAPH = 2
SOURCES_PER_GRAPH = 3
MOST_FAILURES = 10
"""Number of failures after which the script stops."""
DRAWN_AT_A_TIME = 4
"""Graphs for each process that draws them."""
CLUSTER_SIZES = (0, 1, 2, 4, 8, 16)
MANY_VERTICES = (0, 1 << 30)
"""Values of a knob with which all graphs have many vertices, or none has."""


def box(random: Random, size: int) -> Parameters:
    """Returns the rows and columns of a rectangle of about ``size`` cells."""
    rows = int(size ** random.uniform(0.1, 0.9))
    return {"rows": rows, "columns": max(1, size // rows)}


DRAW: Mapping[str, Callable[[Random, int], Parameters]] = {
    "kronecker": lambda r, n: {"scale": n.bit_length() - 1, "edge_factor": int(r.integers(33))},
    "rmat": lambda r, n: {"n": n, "m": n * int(r.integers(17)), "directed": int(r.integers(2))},
    "uniform": lambda r, n: {"n": n, "m": n * int(r.integers(17)), "directed": int(r.integers(2))},
    "small_world": lambda r, n: {"n": max(20, n), "k": int(r.integers(1, 9)), "p": float(r.random() ** 4)},
    "forest_fire": lambda r, n: {"n": n, "s": int(r.integers(1, 1 + n))},
    "lattice": lambda r, n: {**box(r, n), "keep": float(r.uniform(0.5, 1))},
    "roads": lambda r, n: {**box(r, max(4, n // 7)), "keep": float(r.uniform(0.5, 1))},
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


@dataclass(frozen=True)
class Case:
    """A graph, how it is searched, and the levels to be found."""

    graph: Graph
    settings: list[tuple[dict[str, int], int | None, int]]
    """Knobs, grids and blocks."""
    expected: dict[int, Levels]
    """The levels of the sequential search by sources, int32[V]."""


def draw_graph(random: Random, name: str, most: int) -> Graph:
    """Returns a graph of this generator with at most about ``most`` vertices."""
    parameters = dict(DRAW[name](random, int(most ** random.random())))
    if any(parameter.name == "seed" for parameter in GENERATORS[name].parameters):
        parameters["seed"] = int(random.integers(2**31))
    edges = generate(name, **parameters)
    if random.random() < 0.3:
        edges = replace(edges, orientation="directed")
    graph = build_graph(edges, f"{name} {parameters} {edges.orientation}")
    return graph if random.random() < 0.7 else with_wide_offsets(graph)


def draw_knobs(random: Random, graph: Graph) -> dict[str, int]:
    """Returns values for all knobs, or none one time in four, which leaves the defaults."""
    if random.random() < 0.25:
        return {}
    longest = int(np.diff(graph.row_offsets).max(initial=0))
    short_rows = longest <= LONGEST_ROW and graph.row_offsets.itemsize == 4
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
    return {name: int(value) for name, value in drawn.items()}


def draw_case(seed: int, number: int, most: int) -> Case:
    """Returns the case of this number. The generators take turns."""
    random, names = np.random.default_rng([seed, number]), list(DRAW)
    graph = draw_graph(random, names[number % len(names)], most)
    settings = [
        (
            draw_knobs(random, graph),
            None if random.random() < 0.5 else int(random.integers(1, 200)),
            32 * int(random.choice([1, 2, 7, 8, 16, 32])),
        )
        for _ in range(SETTINGS_PER_GRAPH)
    ]
    sources = random.integers(graph.num_vertices, size=SOURCES_PER_GRAPH).tolist()
    return Case(graph, settings, {source: reference_levels(graph, source) for source in sources})


def cases(pool: Executor, given: argparse.Namespace) -> Iterator[Case]:
    """Yields the cases that were asked for, which other processes draw."""
    size = DRAWN_AT_A_TIME * given.jobs
    for first in range(0, given.graphs, size):
        drawn = range(given.graphs)[first : first + size]
        yield from pool.map(draw_case, itertools.repeat(given.seed), drawn, itertools.repeat(given.size))


def compile_build(backend: str, wide: bool, knobs: dict[str, int]) -> None:
    """Compile one build of the search, in a process of its own."""
    with closing(open_device(backend)) as device:
        graph = build_graph(generate("pmpp"), "pmpp")
        on_device = DeviceGraph(device, with_wide_offsets(graph) if wide else graph)
        prepared("adaptive", on_device, block=64, **knobs)


def compile_all(pool: Executor, backend: str) -> None:
    """Compile the builds that the random searches need, several at a time."""
    started, (many, few) = time.perf_counter(), MANY_VERTICES
    ways = [
        ({"LIKELY_FIRST": 0, "SHORT_ROWS": 1, "MANY_VERTICES": few}, False)
    ]  # records have narrow offsets
    for likely, vertices in ((0, few), (1, few), (0, many)):
        knobs = {"LIKELY_FIRST": likely, "SHORT_ROWS": 0, "MANY_VERTICES": vertices}
        ways += [(knobs, False), (knobs, True)]
    builds = [
        pool.submit(compile_build, backend, wide, knobs | {"CLUSTER_SIZE": size})
        for size, (knobs, wide) in itertools.product(CLUSTER_SIZES[1:], ways)
    ]
    for build in builds:
        build.result()
    print(f"{len(builds)} builds in {time.perf_counter() - started:.1f} s", flush=True)


def search_case(device: Device, case: Case) -> Iterator[str]:
    """Search a graph with its settings. Yields a line for each search that went wrong."""
    on_device = DeviceGraph(device, case.graph)
    for knobs, grid, block in case.settings:
        search = prepared("adaptive", on_device, grid, block, **knobs)
        for source, expected in case.expected.items():
            search.reset(source)
            search.traverse(source)
            if wrong := np.count_nonzero(search.levels() != expected):
                how = f"{knobs}, {search.num_blocks} blocks of {block}"
                yield f"{wrong} levels of {case.graph.name} from {source} with {how}"


def search_random_graphs(device: Device, drawn: Iterator[Case], seconds: float) -> Iterator[str]:
    """Search the graphs that are drawn, as many as the time allows. Yields the failures."""
    started, largest = time.perf_counter(), (0, 0)
    counts: Counter[str] = Counter()
    for case in drawn:
        yield from search_case(device, case)
        graph = case.graph
        largest = max(largest, (graph.num_edges, graph.num_vertices))
        counts.update(["graphs", graph.direction, f"with {8 * graph.row_offsets.itemsize}-bit offsets"])
        counts["searches"] += len(case.settings) * len(case.expected)
        if time.perf_counter() - started > seconds:
            break
    found = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    print(f"random graphs of up to {largest[0]:,} arcs and {largest[1]:,} vertices: {found}", end=" ")
    print(f"in {time.perf_counter() - started:.1f} s", flush=True)


def search_again_and_again(device: Device, graph: Graph, random: Random, count: int) -> Iterator[str]:
    """Search one graph ``count`` times, from four sources in turn. Yields the failures, which the device
    finds when it compares the levels."""
    started = time.perf_counter()
    sources = random.choice(np.flatnonzero(np.diff(graph.row_offsets)), 4).tolist()
    search = prepared("adaptive", DeviceGraph(device, graph))
    problems = [Search(graph, source) for source in sources]
    runs = [problem.run(search) for problem in problems]
    for i, run in zip(range(count), itertools.cycle(runs)):
        run.poison()
        run.reset()
        run.solve()
        try:
            run.check()
        except WrongResultError as error:
            yield f"{graph.name}, search {i + 1}: {error}"
    depth = max(int(problem.levels.max()) for problem in problems)
    size = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs, {depth} levels at most"
    print(f"{graph.name} of {size}: {count} searches in {time.perf_counter() - started:.1f} s", flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--backend", default="auto", help="cuda, cpu or auto")
    parser.add_argument("--graphs", type=int, default=1000, help="random graphs")
    parser.add_argument("--size", type=int, default=2**16, help="most vertices of a random graph, about")
    parser.add_argument("--repeats", type=int, default=10_000, help="searches of each of two graphs")
    parser.add_argument("--road", default="USA-road-d.NY", help="a road network, by its name")
    parser.add_argument("--scale", type=int, default=16, help="of the Kronecker graph")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers")
    parser.add_argument("--jobs", type=int, default=8, help="processes that draw graphs and compile")
    parser.add_argument("--seconds", type=float, default=1e9, help="most for the random graphs")
    return parser.parse_args()


def main() -> None:
    given = asked()
    random, failures = np.random.default_rng(given.seed), 0
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        if given.graphs:
            compile_all(pool, given.backend)
        with closing(open_device(given.backend)) as device:
            print(device.describe()["gpu"], flush=True)
            names = (given.road, f"kronecker(scale={given.scale})") if given.repeats else ()
            found = itertools.chain(
                search_random_graphs(device, cases(pool, given), given.seconds),
                *(search_again_and_again(device, load(name), random, given.repeats) for name in names),
            )
            for failure in itertools.islice(found, MOST_FAILURES):
                print(f"WRONG: {failure}", flush=True)
                failures += 1
    print("some levels are wrong" if failures else "all levels are those of the sequential search")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
