"""PMPP's kernels followed thread by thread on a small graph.

What every thread of one level does follows from the kernel's definition and the levels at its start: all
threads are taken to look before any of them writes, and of those that claim the same vertex the first one to
win. Another schedule gives other winners, never other levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bfsbench.families.bfs import Levels
from bfsbench.graphs.graph import Graph
from bfsbench.variants.base import UNREACHED


@dataclass(frozen=True)
class Thread:
    """One thread of one launch that has something to do."""

    index: int
    item: str
    """Its vertex, edge or entry of the frontier."""
    writes: tuple[int, ...]
    """Vertices that it gives a level; none where it looks in vain."""


@dataclass(frozen=True)
class Step:
    """One launch: a level's frontier is expanded."""

    level: int
    threads: int
    """How many are launched, in whole or partial blocks."""
    working: tuple[Thread, ...]
    frontier: tuple[int, ...] = ()
    """The next frontier in the order in which it is queued, for kernels that have one."""


def push(graph: Graph, levels: Levels, level: int, frontier: tuple[int, ...]) -> Step:
    """A thread a vertex; those of the frontier write to their unreached neighbours (Fig. 15.6)."""
    threads = tuple(
        Thread(int(v), f"vertex {v}", tuple(_unreached(graph, levels, int(v))))
        for v in np.flatnonzero(levels == level)
    )
    return Step(level, graph.num_vertices, threads)


def pull(graph: Graph, levels: Levels, level: int, frontier: tuple[int, ...]) -> Step:
    """A thread a vertex; the unreached write to themselves if an in-neighbour is at the level (Fig. 15.8)."""
    threads = []
    for v in map(int, np.flatnonzero(levels == UNREACHED)):
        parents = graph.row_indices[graph.column_offsets[v] : graph.column_offsets[v + 1]]
        found = bool((levels[parents] == level).any())
        threads.append(Thread(v, f"vertex {v}", (v,) if found else ()))
    return Step(level, graph.num_vertices, tuple(threads))


def edge(graph: Graph, levels: Levels, level: int, frontier: tuple[int, ...]) -> Step:
    """A thread an edge; those whose tail is at the level write to an unreached head (Fig. 15.10)."""
    threads = []
    for e in map(int, np.flatnonzero(levels[graph.edge_sources] == level)):
        tail, head = int(graph.edge_sources[e]), int(graph.column_indices[e])
        threads.append(Thread(e, f"edge {tail}→{head}", (head,) if levels[head] == UNREACHED else ()))
    return Step(level, graph.num_edges, tuple(threads))


def push_frontier(graph: Graph, levels: Levels, level: int, frontier: tuple[int, ...]) -> Step:
    """A thread an entry of the frontier, which claims unreached neighbours and queues them (Fig. 15.12)."""
    claimed: dict[int, None] = {}
    threads = []
    for i, v in enumerate(frontier):
        won = tuple(n for n in dict.fromkeys(_unreached(graph, levels, v)) if n not in claimed)
        claimed.update(dict.fromkeys(won))
        threads.append(Thread(i, f"entry {i}: vertex {v}", won))
    return Step(level, len(frontier), tuple(threads), tuple(claimed))


def _unreached(graph: Graph, levels: Levels, v: int) -> Iterator[int]:
    for neighbour in graph.column_indices[graph.row_offsets[v] : graph.row_offsets[v + 1]]:
        if levels[neighbour] == UNREACHED:
            yield int(neighbour)


Kernel = Callable[[Graph, Levels, int, tuple[int, ...]], Step]

KERNELS: dict[str, Kernel] = {
    "frontier_numbers": push,
    "pull": pull,
    "edge_frontier_numbers": edge,
    "push_frontier": push_frontier,
}
"""By the variants' names."""


def trace(graph: Graph, source: int, kernel: Kernel) -> tuple[list[Step], Levels]:
    """All launches of a search, the last of which finds nothing where there is no frontier to see that by,
    and the levels."""
    levels = np.full(graph.num_vertices, UNREACHED, np.int32)
    levels[source] = 0
    frontier: tuple[int, ...] = (source,)
    steps: list[Step] = []
    while True:
        step = kernel(graph, levels, len(steps), frontier)
        written = [v for thread in step.working for v in thread.writes]
        levels[written] = step.level + 1
        steps.append(step)
        frontier = step.frontier
        if not written or (kernel is push_frontier and not frontier):
            return steps, levels


@dataclass(frozen=True)
class Commit:
    """How one block of the privatised kernel moves its frontier to the global one (Fig. 15.15)."""

    block: int
    private: tuple[int, ...]
    """Vertices queued in its shared memory."""
    start: int
    """Where in the global frontier they go, by one atomic addition."""


def commits(step: Step, block_size: int) -> list[Commit]:
    """The blocks of a privatised launch, in the order of their indices."""
    found, start = [], 0
    for block in range(-(-step.threads // block_size)):
        mine = [t for t in step.working if t.index // block_size == block]
        private = tuple(v for thread in mine for v in thread.writes)
        found.append(Commit(block, private, start))
        start += len(private)
    return found
