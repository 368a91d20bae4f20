"""The multi-core search against the sequential one: shapes, numbers of threads, directions."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bfsbench.errors import LaunchError
from bfsbench.families.bfs import reference_levels
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import Graph
from bfsbench.variants.cpu_parallel import CpuParallel
from tests.shapes import SHAPES, SOURCES, with_wide_offsets

Knobs = dict[str, float]
STEPS = ("push alone", "push together", "pull")

DIRECTIONS: dict[str, Knobs] = {
    "as_by_default": {},
    "alone": {"SEQUENTIAL_LIMIT": 2**31 - 1},
    "push": {"SEQUENTIAL_LIMIT": 0, "ALPHA": 0},
    "pull": {"SEQUENTIAL_LIMIT": 0, "ALPHA": 1e12, "BETA": 1e12},
    "pull_whenever_the_level_does_not_shrink": {"SEQUENTIAL_LIMIT": 0, "ALPHA": 1e12, "BETA": 0},
    "both": {"SEQUENTIAL_LIMIT": 8},
    "push_by_all": {"SEQUENTIAL_LIMIT": 0, "FEW_LIMIT": 0, "ALPHA": 0},
    "push_by_four_or_all": {"SEQUENTIAL_LIMIT": 0, "FEW_LIMIT": 30, "ALPHA": 0},
}


def prepared(graph: Graph, **knobs: float) -> CpuParallel:
    search = CpuParallel(graph, CpuParallel.knob_values(knobs))
    search.prepare()
    return search


def levels_of(search: CpuParallel, source: int) -> list[int]:
    search.reset(source)
    search.traverse(source)
    return list(search.levels())


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_levels_equal_the_reference_on_all_shapes(threads: int, direction: str) -> None:
    for name, edges in SHAPES.items():
        graph = build_graph(edges, name)
        search = prepared(graph, THREADS=threads, **DIRECTIONS[direction])
        for source in SOURCES[name]:
            expected = list(reference_levels(graph, source))
            assert levels_of(search, source) == expected, (name, source)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_levels_of_large_levels(direction: str) -> None:
    """Levels of many blocks of work, pushed and pulled by several threads at a time."""
    graph = build_graph(generate("kronecker", scale=15, edge_factor=8), "kronecker")
    search = prepared(graph, THREADS=4, **DIRECTIONS[direction])
    for source in (0, 1, 77):
        assert (np.array(levels_of(search, source)) == reference_levels(graph, source)).all()


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_wide_offsets_give_the_same_levels(direction: str) -> None:
    narrow = build_graph(SHAPES["kronecker"], "kronecker")
    wide = with_wide_offsets(narrow)
    search = prepared(wide, THREADS=3, **DIRECTIONS[direction])
    for source in SOURCES["kronecker"]:
        assert levels_of(search, source) == list(reference_levels(narrow, source))


def expected_steps(graph: Graph, source: int, knobs: Mapping[str, Any]) -> list[str]:
    """The criteria of the knobs applied to the levels of the sequential search."""
    levels, degrees = reference_levels(graph, source), np.diff(graph.row_offsets)
    steps: list[str] = []
    for level in range(int(levels.max()) + 1):
        frontier, unreached = levels == level, (levels < 0) | (levels > level)
        arcs, size, before = degrees[frontier].sum(), frontier.sum(), (levels == level - 1).sum()
        goes_on = "pull" in steps[-1:] and (size >= before or size * knobs["BETA"] >= graph.num_vertices)
        small = arcs <= knobs["SEQUENTIAL_LIMIT"]
        if goes_on or (not small and arcs * knobs["ALPHA"] > degrees[unreached].sum()):
            steps.append("pull")
        else:
            steps.append("push alone" if small or knobs["THREADS"] == 1 else "push together")
    return steps


def steps_of(search: CpuParallel, source: int) -> list[str]:
    assert search.steps is not None
    search.steps.fill(-1)
    levels_of(search, source)
    return [STEPS[step] for step in search.steps if step >= 0]


def noting(graph: Graph, **knobs: float) -> CpuParallel:
    """A search that records its steps."""
    search = CpuParallel(graph, CpuParallel.knob_values(knobs))
    search.steps = np.empty(graph.num_vertices, np.int8)
    search.prepare()
    return search


@pytest.mark.parametrize("limit", [0, 8, 500])
@pytest.mark.parametrize(("alpha", "beta"), [(14, 24), (1, 24), (14, 1), (3, 7), (0, 24), (1e12, 1e12)])
def test_levels_are_expanded_as_the_criteria_ask(alpha: float, beta: float, limit: int) -> None:
    for name in ("kronecker", "hub", "random_1025", "random_dense", "lattice", "star_in"):
        graph = build_graph(SHAPES[name], name)
        for threads in (1, 3):
            search = noting(graph, ALPHA=alpha, BETA=beta, SEQUENTIAL_LIMIT=limit, THREADS=threads)
            for source in SOURCES[name]:
                assert steps_of(search, source) == expected_steps(graph, source, search.knob), (name, source)


def test_a_search_may_expand_its_levels_in_all_ways() -> None:
    graph = build_graph(SHAPES["random_1025"], "random_1025")
    assert set(steps_of(noting(graph, THREADS=3, SEQUENTIAL_LIMIT=8), 0)) == set(STEPS)


def test_threads_are_those_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    graph = build_graph(SHAPES["pmpp"], "pmpp")
    for cores in ({min(allowed)}, allowed):
        before = native_threads()
        os.sched_setaffinity(0, cores)
        try:
            search = prepared(graph)
        finally:
            os.sched_setaffinity(0, allowed)
        assert native_threads() == before + started(len(cores))
        del search
        gc.collect()


def native_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def started(members: int) -> int:
    """Threads beside the caller's: a large team comes with a team of four for small levels."""
    return members - 1 + (3 if members > 4 else 0)


def test_threads_end_with_the_search() -> None:
    search = prepared(build_graph(SHAPES["kronecker"], "kronecker"), THREADS=7)
    assert levels_of(search, 0)[0] == 0
    during = native_threads()
    del search
    gc.collect()
    assert native_threads() == during - started(7)


def test_sleeping_threads_wake_up_again() -> None:
    """Searches so far apart that the threads have gone to sleep in between."""
    graph = build_graph(SHAPES["kronecker"], "kronecker")
    search = prepared(graph, THREADS=2, **DIRECTIONS["push"])
    expected = list(reference_levels(graph, 0))
    for _ in range(20):
        time.sleep(0.005)
        assert levels_of(search, 0) == expected


def test_threads_that_cannot_be_started_are_reported() -> None:
    graph = build_graph(SHAPES["pmpp"], "pmpp")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**33, limits[1]))  # room for some of their stacks
    try:
        with pytest.raises(LaunchError, match="lower THREADS"):
            searches = [prepared(graph, THREADS=1024) for _ in range(4)]
            assert not searches
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
