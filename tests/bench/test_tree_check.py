"""Trees checked on the device: what the host accepts and nothing else, and each rule broken."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.parents import (
    NO_PARENT,
    Tree,
    TreeCheck,
    WrongParentsError,
    check_parents,
    levels_of_tree,
)
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.variants.base import DeviceGraph
from tests.bench.trees import Array, depth_first_tree, searches
from tests.shapes import SHAPES, SOURCES, edge_list


def checked(device: Device, graph: Graph, source: int, parents: list[int] | Array) -> list[int]:
    """The levels of a tree that is accepted."""
    check = TreeCheck.of(DeviceGraph(device, graph))
    tree = np.asarray(parents, np.int32)
    check.check(device.upload(tree), source)
    levels: list[int] = check.levels.download().tolist()
    return levels


def accepted_on_host(graph: Graph, source: int, parents: Array) -> bool:
    try:
        check_parents(graph, source, levels_of_tree(parents), parents)
    except WrongParentsError:
        return False
    return True


@given(search=searches(), data=st.data())
def test_host_and_device_accept_the_same(
    device: Device, search: tuple[Graph, int, Array, Array], data: st.DataObject
) -> None:
    graph, source, levels, parents = search
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(parents) - 1))
        parents[place] = data.draw(st.integers(-2, graph.num_vertices))
    if accepted_on_host(graph, source, parents):
        assert checked(device, graph, source, parents) == levels.tolist()
    else:
        with pytest.raises(WrongParentsError):
            checked(device, graph, source, parents)


PATH = [(v, v + 1) for v in range(5)]
SQUARE = [(0, 1), (0, 2), (1, 3), (2, 4), (4, 3)]
PLANTED = {
    "a vertex of nowhere": (PATH, [0, 0, 6, 2, 3, 4], "rule 1: following parents from vertex 2 "),
    "below none": (PATH, [0, 0, -2, 2, 3, 4], "rule 1: following parents from vertex 2 "),
    "two in a circle": (PATH, [0, 0, 1, 4, 3, 4], "rule 1: following parents from vertex 3 "),
    "three in a circle": (PATH, [0, 0, 1, 5, 3, 4], "rule 1: following parents from vertex 3 "),
    "a second root": (PATH, [0, 0, 1, 3, 3, 4], "rule 1: following parents from vertex 3 "),
    "a source below another": (PATH, [1, 1, 1, 2, 3, 4], "rule 1: following parents from vertex 0 "),
    "a way round": (SQUARE, [0, 0, 0, 4, 2], "rule 3: an edge from vertex 1 leads down"),
    "a branch cut off": (PATH, [0, 0, 1, 2, -1, -1], "rule 4: an edge from vertex 3 leads out of"),
    "a parent of another branch": (SQUARE, [0, 0, 0, 1, 1], "rule 5: no edge leads to vertex 4 from"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_rule_is_held(device: Device, name: str) -> None:
    edges, parents, message = PLANTED[name]
    graph = build_graph(edge_list(len(parents), edges, "each_once"), name)
    with pytest.raises(WrongParentsError, match=f"the parents break {message}"):
        checked(device, graph, 0, parents)


def test_a_depth_first_tree_is_too_deep(device: Device) -> None:
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    source = SOURCES["kronecker"][-1]
    parents, depths = depth_first_tree(graph, source)
    assert depths.max() > reference_levels(graph, source).max()
    with pytest.raises(WrongParentsError, match="rule 3"):
        checked(device, graph, source, parents)


def test_edges_listed_once_are_followed_both_ways_and_counted_as_listed(device: Device) -> None:
    """Loops and repeated edges count, too, if they are in the tree; those of other components do not."""
    pairs = [(1, 0), (1, 2), (2, 1), (2, 2), (4, 3), (4, 4)]
    edges: EdgeList = edge_list(5, pairs, "each_once")
    lists = device.upload(edges.sources), device.upload(edges.targets)
    check = TreeCheck(device, 5, *lists, len(pairs), both_ways=True)
    assert check.check(device.upload(np.array([0, 0, 1, -1, -1], np.int32)), 0) == Tree(4, 3, 2)
    assert check.levels.download().tolist() == [0, 1, 2, -1, -1]
    assert check.check(device.upload(np.array([-1, -1, -1, 3, 3], np.int32)), 3) == Tree(2, 2, 1)
    with pytest.raises(WrongParentsError, match="rule 4: an edge from vertex 1"):
        check.check(device.upload(np.array([0, 0, NO_PARENT, -1, -1], np.int32)), 0)
