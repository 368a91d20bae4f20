"""What it costs to watch: processor time of one search on one core, and of one of its launches.

Emulated in the fastest order, the same watched, and watched in a seed's order as 'check' does it. These take
turns.

    python tests/benchmarks/watch_cost.py [VARIANT...] [--graph GRAPH]...
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator.kernel import Launch
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.support.errors import BfsbenchError
from bfsbench.variants import all_variants, find, find_family

VARIANTS = [
    name
    for name, variant in all_variants().items()
    if variant.family == "bfs" and issubclass(variant, KernelProgram)
]
GRAPHS = ("lattice(rows=60,columns=60):symmetrised", "kronecker(scale=13,edge_factor=16)")


WAYS = ((0, False), (0, True), (1, True))
"""Seed, and whether it is watched."""
ROUNDS = 7


class Searches:
    """A variant's searches from the vertex of most arcs, in one of the ways; all kernels are compiled."""

    def __init__(self, variant: type[KernelProgram], graph: Graph, seed: int, watched: bool) -> None:
        family = find_family(variant.family)
        self.device = CpuDevice(seed, 1, watched=watched)
        knobs = variant.knob_values({})
        program = variant(
            KernelSetup(DeviceGraph(self.device, graph), None, variant.own_block(knobs) or 128, knobs)
        )
        program.prepare()
        self.run = family.problem(graph, int(np.diff(graph.row_offsets).argmax())).run(program)
        self.run.reset()
        self.run.solve()
        self.run.check()

    def time(self) -> tuple[float, float]:
        """Seconds of this thread, which runs all blocks, for a search and for each of the host's launches."""
        self.run.reset()
        with counted_launches() as launches:
            begin = time.thread_time()
            self.run.solve()
            took = time.thread_time() - begin
        return took, took / max(1, len(launches))


@contextmanager
def counted_launches() -> Iterator[list[Launch]]:
    """A list that is filled with the launches made meanwhile."""
    made: list[Launch] = []
    call = Launch.__call__

    def noted(self: Launch, blocks: int, *scalars: int) -> None:
        made.append(self)
        call(self, blocks, *scalars)

    with patch.object(Launch, "__call__", noted):
        yield made


def costs(variant: type[KernelProgram], graph: Graph) -> list[tuple[float, float]]:
    """For each of the ways, the least seconds of a search and of a launch."""
    all_searches = [Searches(variant, graph, *way) for way in WAYS]
    times = [[searches.time() for searches in all_searches] for _ in range(ROUNDS)]
    for searches in all_searches:
        searches.device.close()
    return [tuple(min(column) for column in zip(*way, strict=True)) for way in zip(*times, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("variants", nargs="*", default=VARIANTS)
    parser.add_argument("--graph", action="append")
    given = parser.parse_args()
    ratios, totals = [], np.zeros(len(WAYS))
    for name in given.variants:
        for graph_name in given.graph or GRAPHS:
            graph, variant = load(graph_name), find(name)
            assert issubclass(variant, KernelProgram)
            try:
                found = np.array(costs(variant, graph))
            except BfsbenchError as error:
                print(f"{name:22} {graph_name:38} {error}")
                continue
            watched, checked = found[1:] / found[0]
            ratios.append(checked)
            totals += found[:, 0]
            print(
                f"{name:22} {graph_name:38} plain {found[0, 0]:.4f} s, watched {watched[0]:.1f} times that,"
                f" in a seed's order {checked[0]:.1f} times, {checked[1]:.1f} a launch",
                flush=True,
            )
    of_search, of_launch = (sorted(column) for column in zip(*ratios, strict=True))
    print(
        f"median {statistics.median(of_search):.1f} times, worst {of_search[-1]:.1f},"
        f" all together {totals[2] / totals[0]:.1f};"
        f" a launch: median {statistics.median(of_launch):.1f}, worst {of_launch[-1]:.1f}"
    )


if __name__ == "__main__":
    main()
