"""Test how breadth-first trees are derived, and how each rule checks them on the host and on the device."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, strategies as st

import bfsbench
from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.base import Paths
from bfsbench.programs.families.bfs import parents as trees
from bfsbench.programs.families.bfs.parents import (
    NO_PARENT,
    Tree,
    TreeCheck,
    WrongParentsError,
    check_parents,
    levels_of_tree,
    parents_on_device,
    parents_on_host,
    path,
)
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import Point
from bfsbench.support.errors import NoPathError, UsageError
from bfsbench.variants import all_variants
from bfsbench.variants.base import DeviceGraph
from tests.devices import BACKENDS
from tests.parameters import some
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets

Array = npt.NDArray[np.int32]
Search = tuple[Graph, int, Array, Array]
"""A graph, a source, its levels, and a tree of shortest paths."""


@st.composite
def searches(draw: st.DrawFn) -> Search:
    """Draw a small directed or undirected graph, a source, its levels, and a tree of shortest paths."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    branches = [(draw(st.integers(0, v - 1)), v) for v in range(1, draw(st.integers(1, n)))]
    edges = branches + draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    orientation = draw(st.sampled_from(["directed", "each_once"]))
    graph = build_graph(edge_list(n, edges, orientation), "drawn")
    source = draw(st.just(0) | vertex)
    levels = reference_levels(graph, source)
    parents = np.full(n, NO_PARENT, np.int32)
    parents[source] = source
    for v in np.flatnonzero(levels > 0):
        parents[v] = draw(st.sampled_from(fit_parents(graph, levels, int(v))))
    return graph, source, levels, parents


def fit_parents(graph: Graph, levels: Array, v: int) -> list[int]:
    """Return every vertex that may be the parent of ``v``."""
    arcs = zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True)
    return [tail for tail, head in arcs if head == v and levels[tail] == levels[v] - 1]


def depth_first_tree(graph: Graph, source: int) -> tuple[Array, Array]:
    """Return the parents and depths of a depth-first tree."""
    parents, depths = (np.full(graph.num_vertices, -1, np.int32) for _ in range(2))
    parents[source], depths[source] = source, 0

    def visit(u: int) -> None:
        for v in graph.column_indices[graph.row_offsets[u] : graph.row_offsets[u + 1]].tolist():
            if parents[v] == NO_PARENT:
                parents[v], depths[v] = u, depths[u] + 1
                visit(v)

    visit(source)
    return parents, depths


def descendants(parents: Array, root: int) -> list[int]:
    """Return the vertices of the subtree below ``root``, including ``root``."""
    found, tree = [], parents.tolist()
    for v, parent in enumerate(tree):
        at = v
        while parent != NO_PARENT and at != root and tree[at] != at:
            at = tree[at]
        if parent != NO_PARENT and at == root:
            found.append(v)
    return found


def below_the_source(levels: Array, data: st.DataObject) -> int:
    """Draw a vertex of the tree that is not its root."""
    candidates = np.flatnonzero(levels > 0).tolist()
    assume(candidates)
    vertex: int = data.draw(st.sampled_from(candidates))
    return vertex


def refused(rule: int, graph: Graph, source: int, levels: Array, parents: Array) -> None:
    with pytest.raises(WrongParentsError, match=f"break rule {rule}: "):
        check_parents(graph, source, levels, parents)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_host_and_device_derive_the_same_tree(backend: str, name: str) -> None:
    narrow = build_graph(SHAPES[name], name)
    device = open_device(backend)
    for source in SOURCES[name]:
        levels = reference_levels(narrow, source)
        for graph in (narrow, with_wide_offsets(narrow)):
            _, host = parents_on_host(graph, levels)
            _, kernel = parents_on_device(DeviceGraph(device, graph), levels)
            assert np.array_equal(host.links, kernel.links)
            assert host.milliseconds > 0 and kernel.milliseconds > 0
            check_parents(graph, source, levels, host.links)
    device.close()


@pytest.mark.parametrize(
    "variant", [v.name for v in all_variants().values() if v.family == "bfs" and not v.missing()]
)
@pytest.mark.parametrize("name", some(["kronecker", "random_257", "several_components"], "random_257"))
def test_every_variant_gives_the_tree_of_its_levels(variant: str, name: str) -> None:
    graph = build_graph(SHAPES[name], name)
    source = SOURCES[name][-1]
    result = bfsbench.search(graph, variant, source, backend="cpu", block=64, parents=True)
    assert result.parents is not None and result.parents_ms is not None
    expected, _ = parents_on_host(graph, reference_levels(graph, source))
    assert np.array_equal(result.parents, expected.links)


@given(search=searches())
def test_every_tree_of_shortest_paths_is_accepted(search: Search) -> None:
    check_parents(*search)


@given(search=searches(), data=st.data())
def test_nothing_else_is_accepted(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    found, tree = levels.copy(), parents.copy()
    for array in (found, tree):
        for _ in range(data.draw(st.integers(0, 2))):
            place = data.draw(st.integers(0, len(array) - 1))
            array[place] = data.draw(st.integers(-2, graph.num_vertices))
    right = np.array_equal(found, levels) and all(
        parent in fit_parents(graph, levels, v)
        if levels[v] > 0
        else parent == (v if v == source else NO_PARENT)
        for v, parent in enumerate(tree.tolist())
    )
    assert accepted_on_host(graph, source, found, tree) == right


@given(search=searches(), data=st.data())
def test_rule_1_what_is_no_tree(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    v = below_the_source(levels, data)
    outside = np.flatnonzero(parents == NO_PARENT).tolist()
    nobody = [-2, graph.num_vertices]
    parents[v] = data.draw(st.sampled_from([*descendants(parents, v), *outside, *nobody]))
    refused(1, graph, source, levels, parents)


@given(search=searches(), data=st.data())
def test_rule_1_a_source_below_another(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    parents[source] = data.draw(st.integers(-1, graph.num_vertices - 1).filter(lambda v: v != source))
    refused(1, graph, source, levels, parents)


@given(search=searches(), data=st.data())
def test_rule_2_levels_that_skip(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    v = data.draw(st.sampled_from(np.flatnonzero(levels >= 0).tolist()))
    levels[v] = data.draw(st.integers(-1, 20).filter(lambda level: level != levels[v]))
    refused(2, graph, source, levels, parents)


@given(search=searches())
def test_rule_3_a_tree_that_is_too_deep(search: Search) -> None:
    graph, source, levels, _ = search
    parents, depths = depth_first_tree(graph, source)
    if np.array_equal(depths, levels):
        check_parents(graph, source, depths, parents)
    else:
        refused(3, graph, source, depths, parents)


def test_rule_3_arcs_back_up_span_what_they_like() -> None:
    ring = [(v, (v + 1) % 6) for v in range(6)]
    steps = np.arange(6, dtype=np.int32)
    parents = np.maximum(steps - 1, 0)
    check_parents(build_graph(edge_list(6, ring), "ring"), 0, steps, parents)
    refused(3, build_graph(edge_list(6, ring, "each_once"), "ring"), 0, steps, parents)


@given(search=searches(), data=st.data())
def test_rule_4_a_branch_cut_off(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    branch = descendants(parents, below_the_source(levels, data))
    parents[branch] = NO_PARENT
    refused(4, graph, source, levels, parents)
    levels[branch] = -1
    refused(4, graph, source, levels, parents)


def test_rule_4_a_level_where_no_tree_is() -> None:
    graph = build_graph(edge_list(3, [(0, 1)]), "pair")
    for level in (-2, 0, 2):
        refused(4, graph, 0, np.array([0, 1, level], np.int32), np.array([0, 0, NO_PARENT], np.int32))


@given(search=searches(), data=st.data())
def test_rule_5_parents_that_are_no_neighbours(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    strangers = [
        (v, u)
        for v in np.flatnonzero(levels > 1).tolist()
        for u in np.flatnonzero(levels == levels[v] - 1).tolist()
        if u not in fit_parents(graph, levels, v)
    ]
    assume(strangers)
    v, parents[v] = data.draw(st.sampled_from(strangers))
    refused(5, graph, source, levels, parents)


def test_arcs_are_checked_to_the_last_on_all_cores() -> None:
    last = 5 * 2**13 + 3  # several threads check the arcs of 2^13 vertices at a time
    graph = build_graph(edge_list(last + 1, [(v, v + 1) for v in range(last)]), "path")
    levels = np.arange(last + 1, dtype=np.int32)
    parents = np.maximum(levels - 1, 0)
    check_parents(graph, 0, levels, parents)
    levels[last] = parents[last] = -1
    refused(4, graph, 0, levels, parents)


@given(search=searches(), data=st.data())
def test_a_path_is_as_long_as_the_level_says(search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    target = data.draw(st.integers(0, graph.num_vertices - 1))
    if levels[target] < 0:
        with pytest.raises(NoPathError, match=f"vertex {target} was not reached"):
            path(parents, target)
        return
    found = path(parents, target)
    assert (found[0], found[-1], len(found)) == (source, target, levels[target] + 1)
    arcs = set(zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True))
    assert arcs.issuperset(zip(found[:-1].tolist(), found[1:].tolist(), strict=True))


def test_a_path_needs_parents() -> None:
    result = bfsbench.search(bfsbench.generate("path", n=4), "cpu_queue")
    with pytest.raises(UsageError, match="search with parents=True"):
        path(result.parents, 2)


@pytest.mark.parametrize(
    ("parents", "target", "says"),
    [
        ([0, 0], 2, "target 2 is out of range: there are vertices 0 .. 1"),
        ([0, 0], -1, "target -1 is out of range"),
        ([0, 2, 1], 1, "lead from vertex 1 to no source"),
        ([0, 7], 1, "lead from vertex 1 to no source"),
        ([0, 2, -1], 1, "lead from vertex 1 to no source"),
    ],
)
def test_a_path_is_not_looked_for_in_vain(parents: list[int], target: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        path(np.array(parents, np.int32), target)


def test_a_wrong_tree_is_a_wrong_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def loops(graph: Graph, levels: Array) -> Iterator[Paths]:
        for tree in parents_on_host(graph, levels):
            tree.links[1] = 1
            yield tree

    point = Point("path(n=5):symmetrised", 0, "cpu_queue", "host", None, None)
    session = Session(None)
    right = session.measure([point], Method(1, 60, parents=True))[0]
    assert right["status"] == "ok" and float(right["parents_ms"]) > 0
    monkeypatch.setattr(trees, "parents_on_host", loops)
    row = session.measure([point], Method(1, 60, parents=True))[0]
    assert row["status"] == "wrong" and "parents_ms" not in row
    assert (
        row["reason"]
        == "the parents break rule 1: following parents from vertex 1 does not end at the source 0"
    )
    assert session.measure([point], Method(1, 60))[0]["parents_ms"] == ""
    session.close()


def checked(device: Device, graph: Graph, source: int, parents: list[int] | Array) -> list[int]:
    """Check a tree on the device, and return its levels."""
    check = TreeCheck.of(DeviceGraph(device, graph))
    tree = np.asarray(parents, np.int32)
    check.check(device.upload(tree), source)
    levels: list[int] = check.levels.download().tolist()
    return levels


def accepted_on_host(graph: Graph, source: int, levels: Array, parents: Array) -> bool:
    try:
        check_parents(graph, source, levels, parents)
    except WrongParentsError:
        return False
    return True


@given(search=searches(), data=st.data())
def test_host_and_device_accept_the_same(device: Device, search: Search, data: st.DataObject) -> None:
    graph, source, levels, parents = search
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(parents) - 1))
        parents[place] = data.draw(st.integers(-2, graph.num_vertices))
    if accepted_on_host(graph, source, levels_of_tree(parents), parents):
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
    """Loops and repeated edges count if they join vertices of the tree. Edges of other components do not."""
    pairs = [(1, 0), (1, 2), (2, 1), (2, 2), (4, 3), (4, 4)]
    edges: EdgeList = edge_list(5, pairs, "each_once")
    lists = device.upload(edges.sources), device.upload(edges.targets)
    check = TreeCheck(device, 5, *lists, len(pairs), both_ways=True)
    assert check.check(device.upload(np.array([0, 0, 1, -1, -1], np.int32)), 0) == Tree(4, 3, 2)
    assert check.levels.download().tolist() == [0, 1, 2, -1, -1]
    assert check.check(device.upload(np.array([-1, -1, -1, 3, 3], np.int32)), 3) == Tree(2, 2, 1)
    with pytest.raises(WrongParentsError, match="rule 4: an edge from vertex 1"):
        check.check(device.upload(np.array([0, 0, NO_PARENT, -1, -1], np.int32)), 0)
