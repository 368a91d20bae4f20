"""What the tests of single searches share: prepared searches, what they find and launch, and small graphs."""

from collections import Counter
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph, Orientation
from bfsbench.programs.families.bfs.profile import profile
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant, SearchVariant
from tests.shapes import SHAPES, edge_list

Search = TypeVar("Search", bound=KernelVariant)


def built(
    variant: type[Search],
    device: Device,
    graph: Graph | DeviceGraph,
    grid: int | None = None,
    block: int = 64,
    **knobs: float | str,
) -> Search:
    """Returns a search of ``graph`` that is not prepared. It keeps what it makes of a DeviceGraph there."""
    on_device = graph if isinstance(graph, DeviceGraph) else DeviceGraph(device, graph)
    return variant(KernelSetup(on_device, grid, block, variant.knob_values(knobs)))


def prepared(
    variant: type[Search],
    device: Device,
    graph: Graph | DeviceGraph,
    grid: int | None = None,
    block: int = 64,
    **knobs: float | str,
) -> Search:
    """Returns a search of ``graph`` that ``levels_of`` can run."""
    search = built(variant, device, graph, grid, block, **knobs)
    search.prepare()
    return search


def counting(
    variant: type[Search],
    device: Device,
    graph: Graph,
    grid: int | None = None,
    block: int = 64,
    **knobs: float | str,
) -> Search:
    """Returns a prepared search that counts."""
    search = built(variant, device, graph, grid, block, **knobs)
    search.counter_buffer = device.upload(np.zeros(graph.num_vertices * len(variant.counters), np.uint64))
    search.prepare()
    return search


def counts_of(search: KernelVariant, source: int) -> Counter[str]:
    """Check the levels of a search that counts. Returns the sums of its counters over all levels."""
    search.counter_buffer.fill(0)
    check_levels(search, source)
    total: Counter[str] = Counter()
    for level in search.level_counters():
        total.update(level)
    return total


def levels_of(search: SearchVariant, source: int) -> list[int]:
    """Returns the levels that one search finds."""
    search.reset(source)
    search.traverse(source)
    return search.levels().tolist()


def check_levels(search: SearchVariant, *sources: int) -> None:
    """Assert that searches from these vertices find the levels of the sequential search."""
    graph = search.host_graph if isinstance(search, KernelVariant) else search.graph
    for source in sources:
        assert levels_of(search, source) == reference_levels(graph, source).tolist(), source


def launches_of(search: KernelVariant, source: int = 0) -> list[tuple[int, str]]:
    """Check the levels of a search. Returns the first level and the kernel of each of its launches."""
    launches: list[tuple[int, str]] = []
    search.mark = lambda level, kernel: launches.append((level, kernel))
    check_levels(search, source)
    return launches


def returned_by(search: KernelVariant, method: str) -> list[Any]:
    """Returns a list to which each result of a method is added."""
    call, results = getattr(search, method), []

    def noting(*arguments: Any) -> Any:
        results.append(call(*arguments))
        return results[-1]

    setattr(search, method, noting)
    return results


def layers_of(search: KernelVariant, source: int = 0) -> str:
    """Check the levels of a search that is not prepared. Returns the kernels or layers that ran its levels,
    separated by blanks."""
    levels = reference_levels(search.host_graph, source)
    costs = profile(search, source, levels)
    depth = int(levels.max())
    assert [cost.level for cost in costs] == list(range(len(costs)))
    assert len(costs) - depth in (1, 2), "at most one level finds that its frontier is empty"
    return " ".join(cost.kernel for cost in costs[: depth + 1])


@st.composite
def graphs(draw: st.DrawFn, vertices: int, arcs: int, hubs: int = 0) -> Graph:
    """Draws a graph with at most ``vertices`` vertices and ``arcs`` arcs, among them loops and repeated arcs.
    It is directed or symmetric. At most ``hubs`` vertices have up to 200 arcs more."""
    count = draw(st.integers(1, vertices))
    vertex = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=arcs))
    for hub, degree in draw(st.lists(st.tuples(vertex, st.integers(0, 200)), max_size=hubs)):
        edges += [(hub, v % count) for v in range(degree)]
    return build_graph(edge_list(count, edges, draw(st.sampled_from(["directed", "each_once"]))), "random")


def shape(name: str) -> Graph:
    """Returns one of the small graphs that all searches are tested on."""
    return build_graph(SHAPES[name], name)


def graph_of(num_vertices: int, edges: list[tuple[int, int]], orientation: Orientation = "directed") -> Graph:
    """Returns a graph with the given arcs or edges."""
    return build_graph(edge_list(num_vertices, edges, orientation), "made for a test")


def layered(sizes: list[int], orientation: Orientation = "each_once") -> Graph:
    """Returns a graph with levels of the given sizes from vertex 0. All vertices of a level are joined to all
    vertices of the next level."""
    ends = np.cumsum(sizes)
    levels = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    joined = [(u, v) for level, after in pairwise(levels) for u in level for v in after]
    return graph_of(int(ends[-1]), joined, orientation)


def chain(sizes: list[int]) -> Graph:
    """Returns a graph with levels of the given sizes from vertex 0. The vertices of a level share the
    vertices of the next level evenly as their children, so that it is a tree where levels do not shrink."""
    ends = np.cumsum([0, *sizes]).tolist()
    edges = [
        (ends[k] + i * size // following, ends[k + 1] + i)
        for k, (size, following) in enumerate(pairwise(sizes))
        for i in range(following)
    ]
    return graph_of(ends[-1], edges)


def fan(children: int, degree: int) -> Graph:
    """Returns a tree: vertex 0 has ``children`` children, and each child has ``degree`` leaves."""
    parents = np.repeat(np.arange(children + 1, dtype=np.int32), [children] + [degree] * children)
    heads = np.arange(1, 1 + len(parents), dtype=np.int32)
    return build_graph(EdgeList(parents, heads, len(parents) + 1, "directed"), "fan")
