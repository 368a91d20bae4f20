"""Kernel 1: from a list of edges to a graph that can be searched, timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from bfsbench.backends.base import Buffer, Device
from bfsbench.graph500 import EDGE_FACTOR
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import canonical_spec, generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.graphs.recipe import Recipe
from bfsbench.programs import DeviceGraph

_RECIPE = Recipe(self_loops="drop", duplicates="drop")
"""Loops and repeated edges lead nowhere new. The list, by which edges are counted, keeps them."""

_ARRAYS = {
    "CSR": ("row_offsets", "column_indices"),
    "CSC": ("column_offsets", "row_indices"),
    "COO": ("edge_sources", "column_indices"),
}
"""Attributes of a graph on a device, by layout."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Constructed:
    """A graph and the list that it was made of: on the host or, where it is searched on a device, there."""

    graph: Graph
    edges: EdgeList | tuple[Buffer, Buffer]
    """The list, or its tails and heads, int32 of ``listed`` elements each."""
    listed: int
    generation_s: float
    construction_s: float


def construct(scale: int, seed: int, device: Device | None) -> Constructed:
    """Draw the list, and make a graph of it. Its arrays are not on the device yet.

    Raises NotEnoughMemoryError, DeviceOutOfMemoryError.
    """
    parameters = {"scale": scale, "edge_factor": EDGE_FACTOR, "seed": seed}
    edges, generation_s = timed(lambda: generate("kronecker", **parameters))
    name = canonical_spec("kronecker", parameters) + ":self_loops=drop:duplicates=drop"
    listed, held = len(edges.sources), [edges]
    kept = edges if device is None else (device.upload(edges.sources), device.upload(edges.targets))
    del edges
    if device is not None:  # then the host's list is not needed twice
        graph, construction_s = timed(lambda: build_graph(held.pop(), name, _RECIPE))
    else:
        graph, construction_s = timed(lambda: build_graph(held[0], name, _RECIPE))
    return Constructed(graph, kept, listed, generation_s, construction_s)


def bring(graph: DeviceGraph, layouts: Iterable[str]) -> float:
    """Have the arrays of these layouts on the device; the time in s."""

    def upload() -> None:
        for name in dict.fromkeys(array for layout in layouts for array in _ARRAYS.get(layout, ())):
            getattr(graph, name)
        graph.device.synchronize()

    return timed(upload)[1]


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """What ``make`` returns, and how long it took in s."""
    started = time.perf_counter()
    made = make()
    return made, time.perf_counter() - started
