"""The two shapes a graph takes on the host: a list of edges as read or drawn, and the searchable arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from bfsbench.errors import UsageError
from bfsbench.graphs.names import VertexNames
from bfsbench.numerals import whole

if TYPE_CHECKING:
    from collections.abc import Hashable

    import networkx
    import pandas as pd
    import scipy.sparse

    from bfsbench.graphs.interop import Links, SparseMatrix
    from bfsbench.graphs.recipe import WeightPolicy

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
    format: the format of the file; it decides how edges are counted and which are removed.
    weights: int32[E], for all-pairs shortest paths; None where edges have no weights.
    """

    sources: Ids
    targets: Ids
    num_vertices: int
    orientation: Orientation = "directed"
    original_ids: npt.NDArray[np.int64] | None = None
    format: str | None = None
    weights: npt.NDArray[np.int32] | None = None
    weights_unread: bool = False
    """Whether the source has weights other than 1 that were not read."""
    names: VertexNames | None = None
    """Names of the vertices, if the source has names."""
    reader: str = ""
    """The library that read the source, if it was not this package's parser."""


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph ready to be searched: CSR, CSC and COO, read-only and usually memory-mapped.

    row_offsets: int32 or int64[V+1]; column_indices: int32[E], ascending within a row (CSR, out-neighbours).
    column_offsets, row_indices: the same of the transposed graph (CSC, in-neighbours).
    edge_sources: int32[E]; with column_indices as edge targets it is the COO form, in CSR order.
    Offsets are int64 when E > 2**31 - 1. On a symmetrised graph CSC shares the arrays of CSR.
    """

    name: str
    """The name in result rows, without the direction."""
    direction: Direction
    row_offsets: Offsets
    column_indices: Ids
    column_offsets: Offsets
    row_indices: Ids
    edge_sources: Ids
    checksum: str
    """SHA-256 over the CSR arrays and the weights: equal graphs have equal checksums, whatever their
    source."""
    source_checksum: str = ""
    """SHA-256 of the file it was read from, or of the generator's declaration."""
    original_ids: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.int32] | None = None
    """int32[E] in CSR order, ascending among parallel arcs; None where arcs have no weights."""
    weights_unread: bool = False
    """Whether the source has weights other than 1 that were not read."""
    names: VertexNames | None = None
    """Names of the vertices, if the source has names."""
    reader: str = ""
    """The library that read the source, if it was not this package's parser: ``pandas 2.2.3``."""
    statistics: dict[str, float] = field(default_factory=dict)
    locator: str = ""
    """The text that loads it again; empty if it was not loaded. It is the full name or, for files, has the
    path."""

    def __repr__(self) -> str:
        return f"<Graph {self.full_name}: {self.num_vertices:,} vertices, {self.num_edges:,} arcs>"

    @staticmethod
    def from_edges(
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
        directed: bool = True,
        name: str = "graph",
    ) -> Graph:
        """A graph of edges from sources[i] to targets[i].

        Integers, E of each, number the vertices 0 .. ``num_vertices`` - 1, by default up to the largest; text
        names them. weights: E whole numbers of 32 bits. Undirected edges are each given once. Raises
        InputError for columns that do not match or ids out of range.
        """
        from bfsbench.graphs import interop

        return interop.from_edges(
            sources, targets, weights, num_vertices=num_vertices, directed=directed, name=name
        )

    @staticmethod
    def from_csr(
        row_offsets: npt.ArrayLike,
        column_indices: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        name: str = "graph",
    ) -> Graph:
        """A directed graph of CSR arrays, integers [V+1] and [E]. Raises UsageError, InputError."""
        from bfsbench.graphs import interop

        return interop.from_csr(row_offsets, column_indices, weights, name=name)

    @staticmethod
    def from_scipy(
        matrix: SparseMatrix,
        *,
        weights: WeightPolicy | None = None,
        directed: bool = True,
        name: str = "graph",
    ) -> Graph:
        """A graph of the stored entries of a square sparse matrix: from row to column.

        ``weights`` says how to take the entries' values: ``"read"``, whole numbers of 32 bits; ``"ignore"``,
        nothing; None, unspecified, so that all-pairs shortest paths refuse values other than 1. With
        ``directed=False`` the matrix must be symmetric. Raises UsageError, InputError.
        """
        from bfsbench.graphs import interop

        return interop.from_scipy(matrix, weights=weights, directed=directed, name=name)

    @staticmethod
    def from_networkx(graph: Links, *, weights: WeightPolicy | None = None, name: str = "graph") -> Graph:
        """A graph of any class of NetworkX; :meth:`vertex` finds its nodes.

        Weights are the edges' attribute ``weight``, 1 where it is missing; ``weights`` as for
        :meth:`from_scipy`. Raises UsageError, InputError.
        """
        from bfsbench.graphs import interop

        return interop.from_networkx(graph, weights=weights, name=name)

    @staticmethod
    def from_pandas(
        frame: pd.DataFrame,
        *,
        source: Hashable | None = None,
        target: Hashable | None = None,
        weight: Hashable | None = None,
        weights: WeightPolicy | None = None,
        directed: bool = True,
        name: str = "graph",
    ) -> Graph:
        """A graph of a table with an edge a row.

        The columns are those named, or headed like ``source``, ``target`` and ``weight``, or the first three.
        Vertices as for :meth:`from_edges`; ``weights`` as for :meth:`from_scipy`. Raises UsageError,
        InputError.
        """
        from bfsbench.graphs import interop

        return interop.from_pandas(
            *(frame,),
            source=source,
            target=target,
            weight=weight,
            weights=weights,
            directed=directed,
            name=name,
        )

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The adjacency matrix, int32: weights, or 1 for every arc; parallel arcs are separate entries."""
        from bfsbench.graphs import interop

        return interop.to_scipy(self)

    def to_networkx(self) -> networkx.MultiDiGraph[Hashable]:
        """The arcs for NetworkX, nodes called as in the graph's file. Raises UsageError without NetworkX."""
        from bfsbench.graphs import interop

        return interop.to_networkx(self)

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

    def published_ids(self, vertices: Ids) -> npt.NDArray[np.int64] | npt.NDArray[np.str_]:
        """The ids of vertices in the graph's source: int64, or text where it has names. The shape is that of
        ``vertices``.
        """
        if self.names is not None:
            found = [self.names[int(vertex)] for vertex in vertices.ravel()]
            return np.array(found, np.str_).reshape(vertices.shape)
        return vertices.astype(np.int64) if self.original_ids is None else self.original_ids[vertices]

    def vertex(self, published_id: int | str) -> int:
        """The vertex with this id or name in the graph's file. Raises UsageError when there is none."""
        if self.names is not None:
            name = published_id if isinstance(published_id, str) else str(whole("a vertex", published_id))
            found = self.names.find(name)
            if found is None:
                raise UsageError(
                    f"vertex {published_id} is not in {self.full_name}, whose vertices have names"
                )
            return found
        if isinstance(published_id, str):
            if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", published_id):
                raise UsageError(f"'{published_id}' is not a valid integer, as ids of {self.full_name} are")
            published_id = int(published_id)
        published_id = whole("a vertex", published_id)
        ids = self.original_ids
        vertex = published_id if ids is None else int(np.searchsorted(ids, published_id))
        if not 0 <= vertex < self.num_vertices or (ids is not None and ids[vertex] != published_id):
            first, last = (0, self.num_vertices - 1) if ids is None else (ids[0], ids[-1])
            raise UsageError(
                f"vertex {published_id} is not in {self.full_name}, whose ids lie within {first} .. {last}"
            )
        return vertex
