"""What it costs to count: processor time of one search on one core, over that of plain emulation.

Plain emulation is that of 'run' on one core. Counting has the hardware of 'explain', on which grids of
resident blocks are larger, so plain emulation is measured on that, too. Threads that run one after the other
see what those before them have stored, so some searches need fewer launches than in lockstep.

    python tests/benchmarks/count_cost.py [VARIANT...] [--graph GRAPH]... [--repeats N] [--counters FOLDER]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Hardware
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.rows.point import Point
from bfsbench.support.errors import LaunchError
from bfsbench.tools.explain.counters import count, hardware
from bfsbench.variants import find, find_family
from tests.benchmarks.watch_cost import VARIANTS, counted_launches

GRAPHS = ("p2p-Gnutella31", "lattice(rows=60,columns=60):symmetrised", "kronecker(scale=13,edge_factor=16)")
BLOCK = 256


class Cost(NamedTuple):
    """Of one search."""

    seconds: float
    """Of processor time."""
    launches: int
    """Of the host."""

    def over(self, other: Cost) -> float:
        """The ratio of two searches."""
        return self.seconds / other.seconds

    def over_a_launch(self, other: Cost) -> float:
        """The ratio of one launch."""
        return self.over(other) * other.launches / self.launches


def source_of(graph: Graph) -> int:
    """The vertex of most arcs."""
    return int(np.diff(graph.row_offsets).argmax())


def searches(
    variant: type[KernelProgram], graph: Graph, hardware: Hardware | None, counted: bool = False
) -> Iterator[Cost]:
    """Costs of searches, one after the other, all kernels compiled."""
    family = find_family(variant.family)
    knobs = variant.knob_values({})
    with CpuDevice(0, 1, hardware, counted=counted) as device:
        program = variant(KernelSetup(DeviceGraph(device, graph), None, block_of(variant), knobs))
        program.prepare()
        run = family.problem(graph, source_of(graph)).run(program)
        while True:
            run.reset()
            device.synchronize()
            with counted_launches() as launches:
                begin = time.process_time()
                run.solve()
                device.synchronize()
                took = time.process_time() - begin
            run.check()
            if counted:
                device.counts()
            yield Cost(took, len(launches))


def block_of(variant: type[KernelProgram]) -> int:
    return variant.own_block(variant.knob_values({})) or BLOCK


def costs(variant: type[KernelProgram], graph: Graph, repeats: int) -> tuple[Cost, Cost, Cost]:
    """Of plain emulation as 'run' does it, on the hardware of 'explain', and of counting: each the least of
    some searches that take turns."""
    of_explain = hardware(block_of(variant))
    plain, same = searches(variant, graph, None), searches(variant, graph, of_explain)
    counted = searches(variant, graph, of_explain, counted=True)
    took = [(min(next(plain), next(plain)), next(same), next(counted)) for _ in range(repeats)]
    return min(one[0] for one in took), min(one[1] for one in took), min(one[2] for one in took)


def write_counters(variant: type[KernelProgram], graph_name: str, graph: Graph, folder: Path) -> None:
    """All counters of a search, to be compared with those of another state of the emulator."""
    knobs = tuple(variant.knob_values({}).items())
    point = Point(graph_name, source_of(graph), variant.name, "cpu", None, block_of(variant), knobs)
    counters = count(point, graph)
    name = f"{variant.name}-{graph_name.partition('(')[0].partition(':')[0]}"
    for part, frame in (("lines", counters.lines), ("launches", counters.launches)):
        frame.to_csv(folder / f"{name}.{part}.csv", index=False, lineterminator="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("variants", nargs="*", default=VARIANTS)
    parser.add_argument("--graph", action="append")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--counters", type=Path, metavar="FOLDER", help="Write counters, measure nothing.")
    given = parser.parse_args()
    ratios = []
    for graph_name in given.graph or GRAPHS:
        graph = load(graph_name)
        for name in given.variants:
            variant = find(name)
            assert issubclass(variant, KernelProgram)
            try:
                if given.counters:
                    write_counters(variant, graph_name, graph, given.counters)
                    continue
                plain, same, counted = costs(variant, graph, given.repeats)
            except LaunchError as error:
                print(f"{name}: {error}", flush=True)
                continue
            ratios.append(counted.over(same))
            print(
                f"{name:24} {graph_name:42} plain {plain.seconds:.4f} s,"
                f" on the hardware of 'explain' {same.seconds:.4f} s, {same.launches} launches,"
                f" counted {counted.seconds:.4f} s, {counted.launches} launches:"
                f" {counted.over(plain):.1f} times, {counted.over(same):.1f} times,"
                f" {counted.over_a_launch(same):.1f} times a launch",
                flush=True,
            )
    if ratios:
        print(f"median {statistics.median(ratios):.1f} times, worst {max(ratios):.1f}")


if __name__ == "__main__":
    main()
