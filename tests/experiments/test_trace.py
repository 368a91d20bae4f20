"""Traces and mazes agree with the searches."""

import numpy as np
import pytest

from bfsbench.experiments.trace import ITEMS, commits, routed, trace
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import UsageError


@pytest.mark.parametrize("source", range(9))
@pytest.mark.parametrize("name", ITEMS)
def test_every_kernel_s_trace_ends_with_the_levels_of_a_search(name: str, source: int) -> None:
    graph = load("pmpp")
    steps, levels = trace(graph, source, name)
    assert np.array_equal(levels, reference_levels(graph, source))
    assert [step.level for step in steps] == list(range(len(steps)))
    assert len(steps) >= levels.max() + (name != "pull")
    for step in steps:
        assert all(levels[v] == step.level + 1 for thread in step.working for v in thread.writes)
        assert all(thread.index < step.threads for thread in step.working)


def test_the_figures_of_the_book_from_level_1_to_2() -> None:
    """PMPP Figs. 15.7, 15.9, 15.11 and 15.13, root 0."""
    graph = load("pmpp")
    writes = {
        variant: {thread.index: set(thread.writes) for thread in trace(graph, 0, variant)[0][1].working}
        for variant in ITEMS
    }
    assert writes["frontier_numbers"] == {1: {3, 4}, 2: {5, 6, 7}}
    assert writes["pull"] == {3: {3}, 4: {4}, 5: {5}, 6: {6}, 7: {7}, 8: set()}
    assert writes["edge_frontier_numbers"] == {2: {3}, 3: {4}, 4: {5}, 5: {6}, 6: {7}}
    assert writes["push_frontier"] == {0: {3, 4}, 1: {5, 6, 7}}


def test_threads_are_launched_for_all_work_and_named_by_it() -> None:
    graph = load("pmpp")
    launched = {variant: [step.threads for step in trace(graph, 0, variant)[0]] for variant in ITEMS}
    assert set(launched["frontier_numbers"]) == set(launched["pull"]) == {graph.num_vertices}
    assert set(launched["edge_frontier_numbers"]) == {graph.num_edges}
    assert launched["push_frontier"][:3] == [1, 2, 5]
    items = {variant: trace(graph, 0, variant)[0][1].working[0].item for variant in ITEMS}
    assert items["frontier_numbers"] == "vertex 1"
    assert items["edge_frontier_numbers"] == "edge 1→3"
    assert items["push_frontier"] == "entry 0: vertex 1"


@pytest.mark.parametrize("source", [0, 2])
def test_private_frontiers_fill_the_global_one_side_by_side(source: int) -> None:
    graph = load("pmpp")
    levels = reference_levels(graph, source)
    for level, blocks in enumerate(commits(graph, source, 2)):
        queued = [v for commit in blocks for v in commit.private]
        assert sorted(queued) == np.flatnonzero(levels == level + 1).tolist()
        assert [commit.start for commit in blocks] == [
            sum(len(other.private) for other in blocks[:i]) for i in range(len(blocks))
        ]


@pytest.mark.parametrize("seed", range(6))
def test_a_route_is_a_shortest_way_through_open_cells(seed: int) -> None:
    graph = load(f"maze(rows=9,columns=14,blocked=0.3,seed={seed})")
    route = routed(graph)
    level = int(reference_levels(graph, 0)[-1])
    assert len(route.path) == level + 1
    for (row, column), (next_row, next_column) in zip(route.path, route.path[1:], strict=False):
        assert abs(row - next_row) + abs(column - next_column) == 1
        assert route.open[next_row, next_column]
    lines = route.text.splitlines()
    assert [len(line) for line in lines] == [14] * 9
    assert sum(line.count("●") for line in lines) == max(0, level - 1)


def test_only_mazes_are_routed() -> None:
    with pytest.raises(UsageError, match="is no maze"):
        routed(load("lattice(rows=3,columns=3)"))
