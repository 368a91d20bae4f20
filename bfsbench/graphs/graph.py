"""The two shapes a graph takes on the host: a list of edges as read or drawn, and the searchable arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from bfsbench.errors import UsageError

Ids = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

Orientation = Literal["directed", "each_once", "both_ways"]
"""How an edge list is to be read: arcs as they stand; undirected edges each listed once; undirected edges of
which both arcs are listed."""

Direction = Literal["directed", "symmetrised"]

MAX_VERTICES = 2**31 - 1
"""Vertex ids are int32 everywhere."""


@dataclass(frozen=True)
class EdgeList:
    """Edges in file or drawing order.

    sources, targets: int32[E], ids 0 .. num_vertices-1.
    original_ids: int64[V], the publisher's id of every vertex, when ids were compacted or shifted.
    format: that of the file they were read from; it decides what counts as an edge and what is cleaned.
    weights: int32[E], for all-pairs shortest paths; None where edges have no weights.
    """

    sources: Ids
    targets: Ids
    num_vertices: int
    orientation: Orientation = "directed"
    original_ids: npt.NDArray[np.int64] | None = None
    format: str | None = None
    weights: npt.NDArray[np.int32] | None = None


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph ready to be searched: CSR, CSC and COO, read-only and usually memory-mapped.

    row_offsets: int32 or int64[V+1]; column_indices: int32[E], ascending within a row (CSR, out-neighbours).
    column_offsets, row_indices: the same of the transposed graph (CSC, in-neighbours).
    edge_sources: int32[E]; with column_indices as edge targets it is the COO form, in CSR order.
    Offsets are int64 when E > 2**31 - 1. On a symmetrised graph CSC shares the arrays of CSR.
    """

    name: str
    """As result rows give it, without the direction."""
    direction: Direction
    row_offsets: Offsets
    column_indices: Ids
    column_offsets: Offsets
    row_indices: Ids
    edge_sources: Ids
    checksum: str
    """SHA-256 over the CSR arrays and the weights: equal graphs, equal checksums, wherever they came from."""
    source_checksum: str = ""
    """SHA-256 of the file it was read from, or of the generator's declaration."""
    original_ids: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.int32] | None = None
    """int32[E] in CSR order, ascending among parallel arcs; None where arcs have no weights."""
    statistics: dict[str, float] = field(default_factory=dict)
    locator: str = ""
    """By which it is loaded again; empty where it was not loaded. It equals its full name unless it is a
    file's, which is found by its path."""

    def __repr__(self) -> str:
        return f"<Graph {self.full_name}: {self.num_vertices:,} vertices, {self.num_edges:,} arcs>"

    @property
    def full_name(self) -> str:
        """Name with the direction, as every result row gives it."""
        return f"{self.name}:{self.direction}"

    @property
    def num_vertices(self) -> int:
        return len(self.row_offsets) - 1

    @property
    def num_edges(self) -> int:
        """Arcs stored; an undirected edge counts twice."""
        return len(self.column_indices)

    def published_ids(self, vertices: Ids) -> npt.NDArray[np.int64]:
        """The ids of vertices in the file that the graph was read from, int64 of the same shape."""
        return vertices.astype(np.int64) if self.original_ids is None else self.original_ids[vertices]

    def vertex(self, published_id: int) -> int:
        """The vertex that has this id in the graph's file. Raises UsageError when there is none."""
        ids = self.original_ids
        vertex = published_id if ids is None else int(np.searchsorted(ids, published_id))
        if not 0 <= vertex < self.num_vertices or (ids is not None and ids[vertex] != published_id):
            first, last = (0, self.num_vertices - 1) if ids is None else (ids[0], ids[-1])
            raise UsageError(
                f"vertex {published_id} is not in {self.full_name}, whose ids lie within {first} .. {last}"
            )
        return vertex
