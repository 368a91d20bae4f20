"""Breadth-first trees: derived on every backend, accepted when right, rejected by each rule."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import bfsbench
from bfsbench.backends import open_device
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.base import Paths
from bfsbench.programs.families.bfs import parents as trees
from bfsbench.programs.families.bfs.parents import (
    NO_PARENT,
    WrongParentsError,
    check_parents,
    parents_on_device,
    parents_on_host,
    path,
)
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import Point
from bfsbench.support.errors import NoPathError, UsageError
from bfsbench.variants import all_variants
from bfsbench.variants.base import DeviceGraph
from tests.bench.trees import Array, below_the_source, depth_first_tree, descendants, fit_parents, searches
from tests.devices import BACKENDS
from tests.parameters import some
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets


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
def test_every_tree_of_shortest_paths_is_accepted(search: tuple[Graph, int, Array, Array]) -> None:
    check_parents(*search)


@given(search=searches(), data=st.data())
def test_nothing_else_is_accepted(search: tuple[Graph, int, Array, Array], data: st.DataObject) -> None:
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
    try:
        check_parents(graph, source, found, tree)
        accepted = True
    except WrongParentsError:
        accepted = False
    assert accepted == right


@given(search=searches(), data=st.data())
def test_rule_1_what_is_no_tree(search: tuple[Graph, int, Array, Array], data: st.DataObject) -> None:
    graph, source, levels, parents = search
    v = below_the_source(levels, data)
    outside = np.flatnonzero(parents == NO_PARENT).tolist()
    nobody = [-2, graph.num_vertices]
    parents[v] = data.draw(st.sampled_from([*descendants(parents, v), *outside, *nobody]))
    refused(1, graph, source, levels, parents)


@given(search=searches(), data=st.data())
def test_rule_1_a_source_below_another(search: tuple[Graph, int, Array, Array], data: st.DataObject) -> None:
    graph, source, levels, parents = search
    parents[source] = data.draw(st.integers(-1, graph.num_vertices - 1).filter(lambda v: v != source))
    refused(1, graph, source, levels, parents)


@given(search=searches(), data=st.data())
def test_rule_2_levels_that_skip(search: tuple[Graph, int, Array, Array], data: st.DataObject) -> None:
    graph, source, levels, parents = search
    v = data.draw(st.sampled_from(np.flatnonzero(levels >= 0).tolist()))
    levels[v] = data.draw(st.integers(-1, 20).filter(lambda level: level != levels[v]))
    refused(2, graph, source, levels, parents)


@given(search=searches())
def test_rule_3_a_tree_that_is_too_deep(search: tuple[Graph, int, Array, Array]) -> None:
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
def test_rule_4_a_branch_cut_off(search: tuple[Graph, int, Array, Array], data: st.DataObject) -> None:
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
def test_rule_5_parents_that_are_no_neighbours(
    search: tuple[Graph, int, Array, Array], data: st.DataObject
) -> None:
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


def test_arcs_are_checked_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "ARCS_AT_A_TIME", 3)
    graph = build_graph(edge_list(11, [(v, v + 1) for v in range(10)]), "path")
    levels = np.arange(11, dtype=np.int32)
    parents = np.maximum(levels - 1, 0)
    check_parents(graph, 0, levels, parents)
    levels[10] = parents[10] = -1
    refused(4, graph, 0, levels, parents)


@given(search=searches(), data=st.data())
def test_a_path_is_as_long_as_the_level_says(
    search: tuple[Graph, int, Array, Array], data: st.DataObject
) -> None:
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
