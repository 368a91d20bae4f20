"""What the tests of single variants share: a prepared search, its levels, the kernels it launches."""

from __future__ import annotations

from typing import TypeVar

from bfsbench.backends.base import Device
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.variants.base import DeviceGraph, KernelVariant
from tests.shapes import SHAPES

Search = TypeVar("Search", bound=KernelVariant)


def prepared(
    variant: type[Search],
    device: Device,
    graph: Graph,
    grid: int | None = None,
    block: int = 64,
    **knobs: int | str,
) -> Search:
    """A search over ``graph``, ready for ``levels_of``."""
    search = variant(device, DeviceGraph(device, graph), graph, grid, block, variant.knob_values(knobs))
    search.prepare()
    return search


def levels_of(search: KernelVariant, source: int) -> list[int]:
    """The levels that one search finds."""
    search.reset(source)
    search.traverse(source)
    return search.levels().tolist()


def shape(name: str) -> Graph:
    """One of the small graphs that all searches are tested on."""
    return build_graph(SHAPES[name], name)


def kernels_of(search: KernelVariant, source: int) -> list[str]:
    """What was launched; the levels are checked on the way."""
    kernels: list[str] = []
    search.mark = lambda level, kernel: kernels.append(kernel)
    assert levels_of(search, source) == reference_levels(search.host_graph, source).tolist()
    return kernels
