"""What the tests of single variants share: a prepared search, and the levels it finds."""

from __future__ import annotations

from typing import TypeVar

from bfsbench.backends.base import Device
from bfsbench.graphs.graph import Graph
from bfsbench.variants.base import DeviceGraph, KernelVariant

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
