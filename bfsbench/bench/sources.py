"""Choosing source vertices: the same list for everybody."""

from __future__ import annotations

import numpy as np

from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph


def _mix(value: int) -> int:
    """SplitMix64's output function: a 64-bit hash by integer arithmetic alone."""
    mask = 2**64 - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def choose_sources(graph: Graph, count: int, seed: int) -> list[int]:
    """``count`` distinct vertices of non-zero out-degree, a function of the graph and the seed only.

    All of them, in a seeded order, when there are fewer. Raises UsageError when there is none.
    """
    candidates = np.flatnonzero(np.diff(graph.row_offsets))
    if len(candidates) == 0:
        raise UsageError(f"{graph.full_name}: no vertex has an edge, so name a --source")
    chosen: dict[int, None] = {}
    draw = _mix(seed)
    wanted = min(count, len(candidates))
    while len(chosen) < wanted:
        draw = _mix(draw)
        chosen.setdefault(int(candidates[draw % len(candidates)]))
    return list(chosen)


def check_source(graph: Graph, source: int) -> int:
    """The source itself. Raises UsageError when the graph has no such vertex."""
    if not 0 <= source < graph.num_vertices:
        raise UsageError(
            f"source {source} is out of range: {graph.full_name} has vertices 0 .. {graph.num_vertices - 1}"
        )
    return source
