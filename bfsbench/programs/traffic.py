"""The memory traffic of an algorithm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes that an algorithm has to move through global memory, for the roofline. Ids, levels and offsets
    have 4 bytes; extra traffic by races, such as duplicates, is left out."""

    per_edge: int = 8
    """Per edge read: its entry in the adjacency array, and the test whether its other end is new."""
    per_frontier_edge: int = 0
    """Per edge out of the frontier in addition, for searches that read all edges to find these."""
    per_vertex: int = 20
    """Per vertex reached: its level, two offsets, and its entry in a queue, written and read."""
    per_scan: int = 0
    """Per vertex and level, reached or not: reads to find the frontier."""
