"""What it costs to watch: processor time of one search on one core.

Emulated in the fastest order, the same watched, and watched in a seed's order as 'check' does it.

    python tests/benchmarks/watch_cost.py [VARIANT...] [--graph GRAPH]...
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.variants import all_variants, find, find_family

VARIANTS = [
    name
    for name, variant in all_variants().items()
    if variant.family == "bfs" and issubclass(variant, KernelProgram)
]
GRAPHS = ("lattice(rows=60,columns=60):symmetrised", "kronecker(scale=13,edge_factor=16)")


def seconds(variant: type[KernelProgram], graph: Graph, seed: int, watched: bool) -> float:
    """Processor time of a search from the vertex of most arcs, all kernels compiled; the least of three."""
    family = find_family(variant.family)
    with CpuDevice(seed, 1, watched=watched) as device:
        knobs = variant.knob_values({})
        program = variant(
            KernelSetup(DeviceGraph(device, graph), None, variant.own_block(knobs) or 128, knobs)
        )
        program.prepare()
        run = family.problem(graph, int(np.diff(graph.row_offsets).argmax())).run(program)
        took = []
        for _ in range(3):
            run.reset()
            begin = time.process_time()
            run.solve()
            took.append(time.process_time() - begin)
        run.check()
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("variants", nargs="*", default=VARIANTS)
    parser.add_argument("--graph", action="append")
    given = parser.parse_args()
    ratios, plain_s, checked_s = [], 0.0, 0.0
    for name in given.variants:
        for graph_name in given.graph or GRAPHS:
            graph, variant = load(graph_name), find(name)
            assert issubclass(variant, KernelProgram)
            plain, watched, checked = (
                seconds(variant, graph, *how) for how in ((0, False), (0, True), (1, True))
            )
            ratios.append(checked / plain)
            plain_s, checked_s = plain_s + plain, checked_s + checked
            print(
                f"{name:18} {graph_name:42} plain {plain:.3f} s, watched {watched / plain:.1f} times that,"
                f" in a seed's order {checked / plain:.1f} times"
            )
    print(
        f"median {statistics.median(ratios):.1f} times, worst {max(ratios):.1f},"
        f" all together {checked_s / plain_s:.1f}"
    )


if __name__ == "__main__":
    main()
