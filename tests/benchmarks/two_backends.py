"""The two backends of a GPU in one process, their repeats taking turns.

    python tests/benchmarks/two_backends.py GRAPH... [--variant NAMES]

Prints the best time of each search by PyCUDA and by cuda-core, the ratios of minima and of medians, and
beside them the ratio of the halves of PyCUDA's own repeats: what noise alone makes. Every repeat is verified.
Both are installed, and there is a toolkit.
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
from bfsbench.bench.plan import Axes, plan
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import Clock, DeviceGraph, KernelProgram, KernelSetup
from bfsbench.programs.families.base import Problem, Run
from bfsbench.variants import find, find_family

REPEATS = 25
RANKS = (1, 50, 9)
"""Sources are the vertices at these parts of the order by degree: the first, at a fiftieth, at a ninth."""
HEADERS = ("graph", "search", "source", "cuda ms", "cuda-core ms", "minima", "medians", "cuda's halves")
Times = tuple[list[float], list[float]]


def share_a_context() -> None:
    """Have PyCUDA use the device's primary context, as cuda-core does: then both are current at once."""
    import pycuda.driver

    def primary(device: Any, flags: int = 0) -> Any:
        context = device.retain_primary_context()
        context.push()
        return context

    pycuda.driver.Device.make_context = primary


def sources_of(graph: Graph) -> list[int]:
    order = np.argsort(np.diff(graph.row_offsets))[::-1]
    return [int(order[0 if part == 1 else len(order) // part]) for part in RANKS]


def prepared(on: DeviceGraph, name: str, variant: str, problem: Problem, source: int) -> tuple[Run, Clock]:
    kind = find(variant)
    assert issubclass(kind, KernelProgram)
    (point,) = plan(Axes([kind], [None], [None]), {name: [source]}, {}, GPU_BACKENDS[0])
    assert point.block is not None
    program = kind(KernelSetup(on, point.grid, point.block, dict(point.knobs)))
    program.prepare()
    run, clock = problem.run(program), program.clock()
    for _ in range(2):
        sample(run, clock)
    return run, clock


def in_turns(sides: list[tuple[Run, Clock]]) -> Times:
    times: Times = ([], [])
    for turn in range(REPEATS):
        for side in (0, 1) if turn % 2 else (1, 0):
            times[side].append(sample(*sides[side]).search_ms)
    return times


def line(times: Times) -> tuple[float, ...]:
    first, second = times
    halves = min(first[::2]) / min(first[1::2])
    return min(first), min(second), min(second) / min(first), median(second) / median(first), halves


@click.command()
@click.argument("graphs", nargs=-1, required=True)
@click.option("--variant", default="push,frontier_queue,frontier_scan,merrill,adaptive", show_default=True)
def main(graphs: tuple[str, ...], variant: str) -> None:
    share_a_context()
    opened: dict[str, Device] = {name: open_device(name) for name in reversed(GPU_BACKENDS)}
    rows: list[tuple[Any, ...]] = []
    for name in graphs:
        graph = load(name)
        on = [DeviceGraph(opened[backend], graph) for backend in GPU_BACKENDS]
        for search in variant.split(","):
            for source in sources_of(graph):
                problem = find_family("bfs").problem(graph, source)
                sides = [prepared(one, name, search, problem, source) for one in on]
                rows.append((name, search, source, *line(in_turns(sides))))
    print(tabulate(rows, HEADERS, floatfmt=".4f"))
    minima, medians = ([row[place] for row in rows] for place in (5, 6))
    means = f"{geometric_mean(minima):.4f} of minima, {geometric_mean(medians):.4f} of medians"
    print(f"\n{len(rows)} points: {means}")
    sys.stdout.flush()
    os._exit(0)  # PyCUDA would look for a context of its own


if __name__ == "__main__":
    main()
