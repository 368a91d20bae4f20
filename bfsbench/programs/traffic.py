"""What an algorithm has to move through a device's memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes that an algorithm has to move through global memory, for holding its searches against what a
    device can move. Ids, levels and offsets have 4; what races add, such as duplicates, is left out."""

    per_edge: int = 8
    """Of an edge that is read: its entry in the adjacency array, and what tells if its other end is new."""
    per_frontier_edge: int = 0
    """Of an edge out of the frontier beyond that, where all edges are read to find these."""
    per_vertex: int = 20
    """Of a vertex reached, once: its level, two offsets, and its place in a queue, written and read."""
    per_scan: int = 0
    """Of every vertex in every level, reached or not: what is read of all to find the frontier."""
