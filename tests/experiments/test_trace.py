"""Traces and mazes: what is told agrees with searches that were run."""

from __future__ import annotations

import numpy as np
import pytest

from bfsbench.errors import UsageError
from bfsbench.experiments.maze import routed
from bfsbench.experiments.trace import KERNELS, commits, edge, pull, push, push_frontier, trace
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.load import load


@pytest.mark.parametrize("source", range(9))
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_s_trace_ends_with_the_levels_of_a_search(name: str, source: int) -> None:
    graph = load("pmpp")
    steps, levels = trace(graph, source, KERNELS[name])
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
        kernel: {thread.index: set(thread.writes) for thread in trace(graph, 0, kernel)[0][1].working}
        for kernel in (push, pull, edge, push_frontier)
    }
    assert writes[push] == {1: {3, 4}, 2: {5, 6, 7}}
    assert writes[pull] == {3: {3}, 4: {4}, 5: {5}, 6: {6}, 7: {7}, 8: set()}
    assert writes[edge] == {2: {3}, 3: {4}, 4: {5}, 5: {6}, 6: {7}}
    assert writes[push_frontier] == {0: {3, 4}, 1: {5, 6, 7}}


def test_private_frontiers_fill_the_global_one_side_by_side() -> None:
    steps, _ = trace(load("pmpp"), 2, push_frontier)
    for step in steps:
        found = commits(step, 2)
        queued = [v for commit in found for v in commit.private]
        assert tuple(queued) == step.frontier
        assert [commit.start for commit in found] == [
            sum(len(other.private) for other in found[:i]) for i in range(len(found))
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
