"""Whether `adaptive` finds the right levels on many random graphs, and the same ones thousands of times.

    python tests/benchmarks/adaptive_endurance.py [--backend NAME] [--graphs N] [--repeats N]

First, random graphs of all generators, each as it is drawn or with its edges taken for arcs, with 32-bit or
64-bit offsets, searched from several vertices with knobs, grids and blocks drawn at random. Then a road
network and a Kronecker graph, searched again and again. All levels are compared with those of the
sequential search.
The exit code is 1 if any search went wrong, and every failure is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.point import KnobValue
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import GENERATORS, Parameters, generate
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup

Random = np.random.Generator
SETTINGS_PER_GRAPH = 2
SOURCES_PER_SETTING = 3
MOST_FAILURES = 10
"""Most failures before the script stops."""


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
    """A graph of this generator with at most about ``vertices`` vertices."""
    parameters = dict(DRAW[name](random, int(most ** random.random())))
    if any(parameter.name == "seed" for parameter in GENERATORS[name].parameters):
        parameters["seed"] = int(random.integers(2**31))
    edges = generate(name, **parameters)
    if random.random() < 0.3:
        edges = replace(edges, orientation="directed")
    graph = build_graph(edges, f"{name} {parameters} {edges.orientation}")
    if random.random() < 0.7:
        return graph
    wide = {"row_offsets": graph.row_offsets, "column_offsets": graph.column_offsets}
    return replace(graph, **{name: offsets.astype(np.int64) for name, offsets in wide.items()})


def draw_knobs(random: Random) -> dict[str, KnobValue]:
    """Values for all knobs; the defaults one time in four."""
    if random.random() < 0.25:
        return Adaptive.knob_values({})
    drawn = {
        "CLUSTER_SIZE": random.choice([0, 1, 2, 4, 8, 16]),
        "SMALL_PARTS": random.choice([0, 1, 16, 256, 2048, 8192, 16384, 32768]),
        "TINY_PARTS": random.choice([0, 16, 256, 512]),
        "PUSHED_EDGE": random.choice([0, 1, 4, 8, 32, 1024]),
        "MAY_PULL": random.choice([0, 1, 1, 1]),
        "LIKELY_FIRST": random.choice([0, 0, 1]),
    }
    return Adaptive.knob_values({name: int(value) for name, value in drawn.items()})


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


def search_random_graphs(device: Device, random: Random, count: int, most: int, failures: Failures) -> None:
    """Search ``count`` graphs, each generator in its turn."""
    started, searches, vertices, arcs = time.perf_counter(), 0, 0, 0
    of_kind: Counter[str] = Counter()
    names = list(GENERATORS)
    for i in range(count):
        graph = draw_graph(random, names[i % len(names)], most)
        on_device = DeviceGraph(device, graph)
        vertices, arcs = max(vertices, graph.num_vertices), max(arcs, graph.num_edges)
        of_kind.update([graph.direction, f"{8 * graph.row_offsets.itemsize}-bit offsets"])
        for _ in range(SETTINGS_PER_GRAPH):
            knobs, block = draw_knobs(random), 32 * int(random.choice([1, 2, 7, 8, 16, 32]))
            grid = None if random.random() < 0.5 else int(random.integers(1, 200))
            search = Adaptive(KernelSetup(on_device, grid, block, knobs))
            search.prepare()
            for source in random.integers(graph.num_vertices, size=SOURCES_PER_SETTING).tolist():
                search.reset(source)
                search.traverse(source)
                wrong = np.count_nonzero(search.levels() != reference_levels(graph, source))
                searches += 1
                if wrong:
                    setting = f"{knobs}, {search.num_blocks} blocks of {block}"
                    failures.note(f"{wrong} levels of {graph.name} from {source} with {setting}")
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(of_kind.items()))
    print(f"{count} random graphs of {min(count, len(names))} generators ({kinds}),")
    print(f"    up to {vertices:,} vertices and {arcs:,} arcs: {searches} searches in", end=" ")
    print(f"{time.perf_counter() - started:.1f} s", flush=True)


def search_again_and_again(
    device: Device, graph: Graph, random: Random, count: int, failures: Failures
) -> None:
    """Search one graph ``count`` times, from a few sources in turn."""
    started = time.perf_counter()
    sources = random.choice(np.flatnonzero(np.diff(graph.row_offsets)), 4).tolist()
    expected = [reference_levels(graph, source) for source in sources]
    search = Adaptive(KernelSetup(DeviceGraph(device, graph), None, 1024, Adaptive.knob_values({})))
    search.prepare()
    for i in range(count):
        source, levels = sources[i % len(sources)], expected[i % len(sources)]
        search.reset(source)
        search.traverse(source)
        wrong = np.count_nonzero(search.levels() != levels)
        if wrong:
            failures.note(f"{wrong} levels of {graph.name} from {source} in search {i + 1}")
    depths = [int(levels.max()) for levels in expected]
    size = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs, {max(depths)} levels at most"
    print(f"{graph.name} of {size}: {count} searches in {time.perf_counter() - started:.1f} s", flush=True)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", default="auto", help="cuda, cpu or auto")
    parser.add_argument("--graphs", type=int, default=1000, help="random graphs")
    parser.add_argument("--size", type=int, default=2**16, help="most vertices of a random graph, about")
    parser.add_argument("--repeats", type=int, default=10_000, help="searches of each of two graphs")
    parser.add_argument("--road", default="USA-road-d.NY", help="a road network, by its name")
    parser.add_argument("--scale", type=int, default=16, help="of the Kronecker graph")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers")
    given = parser.parse_args()
    random, failures = np.random.default_rng(given.seed), Failures()
    device = open_device(given.backend)
    print(device.describe()["gpu"], flush=True)
    search_random_graphs(device, random, given.graphs, given.size, failures)
    for name in (given.road, f"kronecker(scale={given.scale})"):
        search_again_and_again(device, load(name), random, given.repeats, failures)
    print("all levels are those of the sequential search" if not failures.count else "some levels are wrong")
    device.close()
    return int(failures.count > 0)


if __name__ == "__main__":
    sys.exit(main())
