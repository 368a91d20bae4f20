"""What watching and counting cost on the emulator, in processor time relative to plain emulation.

    python -m tests.benchmarks.emulator_costs watch|count [VARIANT...] [--graph GRAPH]... [--repeats N]

Searches run on one core and take turns. ``watch`` compares plain emulation in the fastest order with watching
in that order, and with watching in a seed's order as 'check' does. ``count`` compares plain emulation as
'run' does it with plain emulation on the hardware of 'explain', where grids of resident blocks are larger,
and with counting on that hardware. Threads that run one after the other see the stores of earlier threads. So
some searches need fewer launches in the fastest order than in a seed's order.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import click
import numpy as np

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator.device import Launch
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.support.errors import BfsbenchError
from bfsbench.tools.explain import hardware
from bfsbench.variants import all_variants, find, find_family

VARIANTS = [
    name
    for name, variant in all_variants().items()
    if variant.family == "bfs" and issubclass(variant, KernelProgram)
]
GRAPHS = ("p2p-Gnutella31", "lattice(rows=60,columns=60):symmetrised", "kronecker(scale=13,edge_factor=16)")
BLOCKS = {"watch": 128, "count": 256}
"""Threads per block, unless the variant has its own number."""


class Cost(NamedTuple):
    """The cost of one search."""

    seconds: float
    """Processor time."""
    launches: int
    """Launches by the host."""

    def over(self, other: Cost) -> float:
        """Returns the ratio of the costs of two searches."""
        return self.seconds / other.seconds

    def over_a_launch(self, other: Cost) -> float:
        """Returns the ratio of the costs of one launch."""
        return self.over(other) * other.launches / self.launches


def ways(what: str, block: int) -> dict[str, dict[str, Any]]:
    """Returns how searches are emulated: plain emulation, and what is compared with it."""
    if what == "watch":
        return {"plain": {}, "watched": {"watched": True}, "in a seed's order": {"watched": True, "seed": 1}}
    of_explain = {"hardware": hardware(block)}
    return {
        "plain": {},
        "on the hardware of 'explain'": of_explain,
        "counted": of_explain | {"counted": True},
    }


@contextmanager
def counted_launches() -> Iterator[list[Launch]]:
    """Returns a list to which each launch is added meanwhile."""
    made: list[Launch] = []
    call = Launch.__call__

    def noted(self: Launch, blocks: int, *scalars: int) -> None:
        made.append(self)
        call(self, blocks, *scalars)

    with patch.object(Launch, "__call__", noted):
        yield made


def searches(variant: type[KernelProgram], graph: Graph, block: int, **emulated: Any) -> Iterator[Cost]:
    """Yields the cost of one search after the other, from the vertex of most arcs."""
    knobs = variant.knob_values({})
    with CpuDevice(workers=1, **emulated) as device:
        program = variant(KernelSetup(DeviceGraph(device, graph), None, block, knobs))
        program.prepare()
        source = int(np.diff(graph.row_offsets).argmax())
        run = find_family(variant.family).problem(graph, source).run(program)
        while True:
            run.reset()
            device.synchronize()
            with counted_launches() as launches:
                begin = time.process_time()
                run.solve()
                device.synchronize()
                took = time.process_time() - begin
            run.check()
            if "counted" in emulated:
                device.counts()
            yield Cost(took, max(1, len(launches)))


def costs(what: str, variant: type[KernelProgram], graph: Graph, repeats: int) -> dict[str, Cost]:
    """Returns the least cost of a search in each way. The first searches, which compile, do not count."""
    block = variant.own_block(variant.knob_values({})) or BLOCKS[what]
    started = {
        name: searches(variant, graph, block, **emulated) for name, emulated in ways(what, block).items()
    }
    turns = [[next(search) for search in started.values()] for _ in range(1 + repeats)][1:]
    return dict(zip(started, map(min, zip(*turns, strict=True)), strict=True))


@click.command(help=__doc__)
@click.argument("what", type=click.Choice([*BLOCKS]))
@click.argument("variants", nargs=-1)
@click.option("--graph", "graphs", multiple=True, default=GRAPHS)
@click.option("--repeats", default=5, show_default=True)
def main(what: str, variants: tuple[str, ...], graphs: tuple[str, ...], repeats: int) -> None:
    for graph in map(load, graphs):
        found: list[dict[str, Cost]] = []
        for name in variants or VARIANTS:
            variant = find(name)
            assert issubclass(variant, KernelProgram)
            try:
                found.append(costs(what, variant, graph, repeats))
            except BfsbenchError as error:
                print(f"{name}: {error}", flush=True)
                continue
            plain, *others = found[-1].values()
            shown = "; ".join(
                f"{one.over(plain):.1f} ({one.over_a_launch(plain):.1f} a launch)" for one in others
            )
            print(f"{name:24} {graph.name:42} plain {plain.seconds:.4f} s; {shown}", flush=True)
        for way in [*found[0]][1:] if found else ():
            ratios = [took[way].over(took["plain"]) for took in found]
            whole = sum(took[way].seconds for took in found) / sum(took["plain"].seconds for took in found)
            median = statistics.median(ratios)
            print(f"{graph.name}, {way}: median {median:.1f}, worst {max(ratios):.1f}, all {whole:.1f}")


if __name__ == "__main__":
    main()
