"""Compares the two backends of a GPU in one process, where their repeats take turns.

    python -m tests.benchmarks.two_backends GRAPH... [--variant NAMES]

Prints the best time of each search by PyCUDA and by cuda-core, and the ratios of minima and of medians.
Beside them is the ratio of two halves of PyCUDA's own repeats, which shows the noise. Every repeat is
verified. The script needs PyCUDA, cuda-core and a CUDA toolkit.
"""

import os
import sys
from statistics import geometric_mean, median
from typing import Any

import click
import numpy as np
from tabulate import tabulate

from bfsbench.backends import GPU_BACKENDS, open_device
from bfsbench.backends.base import Device
from bfsbench.bench.measure import sample
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import Clock, DeviceGraph
from bfsbench.programs.families.base import Run
from bfsbench.variants import find_family
from tests.benchmarks.shared import prepared

REPEATS = 25
RANKS = (1, 50, 9)
"""Sources are the vertex of highest degree, and those after a fiftieth and a ninth of the order by degree."""
HEADERS = ("graph", "search", "source", "cuda ms", "cuda-core ms", "minima", "medians", "cuda's halves")


def sources_of(graph: Graph) -> list[int]:
    order = np.argsort(np.diff(graph.row_offsets))[::-1]
    return [int(order[0 if part == 1 else len(order) // part]) for part in RANKS]


def in_turns(runs: list[tuple[Run, Clock]]) -> tuple[float, ...]:
    """Returns the best time of each backend, the ratios of minima and of medians, and the ratio of the minima
    of the halves of the first backend's times."""
    for run, clock in 2 * runs:  # which compiles, and does not count
        sample(run, clock)
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(REPEATS):
        for side in (0, 1) if turn % 2 else (1, 0):
            times[side].append(sample(*runs[side]).search_ms)
    first, second = times
    halves = min(first[::2]) / min(first[1::2])
    return min(first), min(second), min(second) / min(first), median(second) / median(first), halves


@click.command()
@click.argument("graphs", nargs=-1, required=True)
@click.option("--variant", default="push,frontier_queue,frontier_scan,merrill,adaptive", show_default=True)
def main(graphs: tuple[str, ...], variant: str) -> None:
    opened: dict[str, Device] = {name: open_device(name) for name in reversed(GPU_BACKENDS)}
    rows: list[tuple[Any, ...]] = []
    for name in graphs:
        graph = load(name)
        on = [DeviceGraph(opened[backend], graph) for backend in GPU_BACKENDS]
        for search in variant.split(","):
            for source in sources_of(graph):
                problem = find_family("bfs").problem(graph, source)
                programs = [prepared(search, one) for one in on]
                runs = [(problem.run(program), program.clock()) for program in programs]
                rows.append((name, search, source, *in_turns(runs)))
    print(tabulate(rows, HEADERS, floatfmt=".4f"))
    minima, medians = ([row[place] for row in rows] for place in (5, 6))
    means = f"{geometric_mean(minima):.4f} of minima, {geometric_mean(medians):.4f} of medians"
    print(f"\n{len(rows)} points: {means}")
    sys.stdout.flush()
    os._exit(0)  # PyCUDA would look for a context of its own


if __name__ == "__main__":
    main()
