"""What the tests of single variants share: a prepared search, its levels, the kernels it launches."""

from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph, Orientation
from bfsbench.programs.families.bfs.layouts import LevelRecord
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant
from tests.shapes import SHAPES, edge_list

Search = TypeVar("Search", bound=KernelVariant)


def prepared(
    variant: type[Search],
    device: Device,
    graph: Graph | DeviceGraph,
    grid: int | None = None,
    block: int = 64,
    **knobs: int | str,
) -> Search:
    """A search over ``graph``, ready for ``levels_of``. What it makes of a DeviceGraph is kept with that."""
    on_device = graph if isinstance(graph, DeviceGraph) else DeviceGraph(device, graph)
    search = variant(KernelSetup(on_device, grid, block, variant.knob_values(knobs)))
    search.prepare()
    return search


def levels_of(search: KernelVariant, source: int) -> list[int]:
    """The levels that one search finds."""
    search.reset(source)
    search.traverse(source)
    return search.levels().tolist()


def check_levels(search: KernelVariant, *sources: int) -> None:
    """Assert that searches from these vertices find the levels of the sequential search."""
    for source in sources:
        assert levels_of(search, source) == reference_levels(search.host_graph, source).tolist(), source


@st.composite
def graphs(draw: st.DrawFn, vertices: int, arcs: int, hubs: int = 0) -> Graph:
    """A graph of up to so many vertices and arcs, with loops and repeated arcs, directed or both ways; up to
    ``hubs`` vertices have rows of up to 200 arcs more."""
    count = draw(st.integers(1, vertices))
    vertex = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=arcs))
    for hub, degree in draw(st.lists(st.tuples(vertex, st.integers(0, 200)), max_size=hubs)):
        edges += [(hub, v % count) for v in range(degree)]
    return build_graph(edge_list(count, edges, draw(st.sampled_from(["directed", "each_once"]))), "random")


def no_records(levels: int) -> npt.NDArray[np.void]:
    """A buffer for level records, filled with values that no kernel writes."""
    records = np.zeros(levels, LevelRecord)
    records["frontier_size"] = records["layer"] = -1
    return records


def shape(name: str) -> Graph:
    """One of the small graphs that all searches are tested on."""
    return build_graph(SHAPES[name], name)


def kernels_of(search: KernelVariant, source: int) -> list[str]:
    """The kernels launched; the levels are checked as well."""
    kernels: list[str] = []
    search.mark = lambda level, kernel: kernels.append(kernel)
    assert levels_of(search, source) == reference_levels(search.host_graph, source).tolist()
    return kernels


def layered(
    sizes: list[int], edges: list[tuple[int, int]] | None = None, orientation: Orientation = "each_once"
) -> Graph:
    """A graph whose levels from vertex 0 have these sizes: all of one level are joined to all of the next."""
    ends = np.cumsum(sizes)
    levels = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    joined = [(u, v) for level, after in pairwise(levels) for u in level for v in after]
    return build_graph(edge_list(int(ends[-1]), joined + (edges or []), orientation), "layered")


def fan(children: int, degree: int) -> Graph:
    """Vertex 0 has these children, each with leaves of its own; all arcs lead away from it."""
    parents = np.repeat(np.arange(children + 1, dtype=np.int32), [children] + [degree] * children)
    heads = np.arange(1, 1 + len(parents), dtype=np.int32)
    return build_graph(EdgeList(parents, heads, len(parents) + 1, "directed"), "fan")
