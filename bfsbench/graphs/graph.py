"""Defines the two forms of a graph on the host: an edge list as read or generated, and the arrays for
searching. If the graph's file contains words instead of numbers, the graph keeps the names of its vertices.

The module also estimates how much memory it takes to build a graph. An estimate adds up the arrays that exist
at the peak of a conversion. It is compared with the available memory of the machine and the process
(:func:`bfsbench.support.machine.available_memory`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from bfsbench.support.errors import NotEnoughMemoryError, UsageError, size_text, whole
from bfsbench.support.machine import available_memory

if TYPE_CHECKING:
    from collections.abc import Hashable

    import networkx
    import pandas as pd
    import scipy.sparse

    from bfsbench.graphs.catalogue import WeightPolicy
    from bfsbench.graphs.interop import Links, SparseMatrix
    from bfsbench.support.gpu_memory import DeviceArray, SupportsDLPack


_PER_VERTEX = 40
"""Bytes per vertex for offsets, original ids and the working memory of the statistics."""


@dataclass(frozen=True)
class Size:
    """The size of a graph: its number of vertices, the number of edges in its file, whether each edge is
    stored as two arcs, and whether edges have weights."""

    vertices: int
    edges: int
    mirrored: bool = False
    """True if every edge is stored as two arcs."""
    weighted: bool = False

    @property
    def peak_bytes(self) -> int:
        """Returns the peak memory in bytes of reading or generating the edges and converting them.

        An undirected graph takes 8 bytes per edge of the file, and 12 bytes for each of the two arcs of an
        edge. A directed graph takes 20 bytes per arc: 8 bytes for the arc as a 64-bit key, 4 bytes for the
        column, 4 bytes for the row, and 4 bytes for the column in the transposed graph. Weights take more
        memory, because arcs with weights are sorted in additional arrays.
        """
        arc_bytes = 32 if self.mirrored else 20
        if self.weighted:
            arc_bytes += 64 if self.mirrored else 24
        return self.vertices * _PER_VERTEX + self.edges * arc_bytes


def require(size: Size, name: str, held: int = 0) -> None:
    """Check that there is enough memory to make a graph of this size. Raises NotEnoughMemoryError if there is
    not.

    ``held`` is the number of bytes of this graph that are already allocated.
    """
    require_bytes(size.peak_bytes - held, f"{name}: {size.vertices:,} vertices and {size.edges:,} edges")


def require_bytes(needed: int, what: str) -> None:
    """Check that ``needed`` bytes of memory are available. Raises NotEnoughMemoryError if they are not.
    ``what`` names the use of the memory in the message.
    """
    available = available_memory()
    if available is not None and needed > available:
        raise NotEnoughMemoryError(
            f"{what} need about {size_text(needed)} of memory, {size_text(available)} are available"
        )


@dataclass(frozen=True, eq=False)
class VertexNames(Sequence[str]):
    """The name of every vertex, sorted by code points, so that bisection finds a name.

    ``offsets`` is int64[V+1]. ``text`` is uint8, with the names in UTF-8 one after the other. Each array may
    be a mapped file.
    """

    offsets: npt.NDArray[np.int64]
    text: npt.NDArray[np.uint8]

    @staticmethod
    def of(names: Sequence[str]) -> VertexNames:
        """Returns a VertexNames object that contains these names, which must be sorted already."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(name) for name in encoded], out=offsets[1:])
        return VertexNames(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, vertex: int) -> str: ...
    @overload
    def __getitem__(self, vertex: slice) -> list[str]: ...
    def __getitem__(self, vertex: int | slice) -> str | list[str]:
        if isinstance(vertex, slice):
            return [self[v] for v in range(*vertex.indices(len(self)))]
        if not 0 <= vertex < len(self):
            raise IndexError(vertex)
        begin, end = self.offsets[vertex], self.offsets[vertex + 1]
        return self.text[begin:end].tobytes().decode("utf-8", "surrogatepass")

    def find(self, name: str) -> int | None:
        """Returns the id of the vertex with this name, or None if no vertex has it."""
        vertex = bisect_left(self, name)
        return vertex if vertex < len(self) and self[vertex] == name else None

    def take(self, vertices: npt.NDArray[np.int32]) -> VertexNames:
        """Returns VertexNames of the given vertices only. The ids in ``vertices`` must ascend."""
        return VertexNames.of([self[int(vertex)] for vertex in vertices])


Ids = npt.NDArray[np.int32]
Vertex = int | str | tuple[Any, ...]
"""A vertex that a caller gives: its number, its name, or a tuple that is a node of a NetworkX graph."""
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

Orientation = Literal["directed", "each_once", "both_ways"]
"""How an edge list is to be read. ``directed``: as arcs. ``each_once``: as undirected edges, each listed
once. ``both_ways``: as undirected edges of which both arcs are listed."""

Direction = Literal["directed", "symmetrised"]

SEARCHED = ("row_offsets", "column_indices", "column_offsets", "row_indices", "edge_sources")

MAX_VERTICES = 2**31 - 1
"""The limit follows from vertex ids, which are int32 everywhere."""


@dataclass(frozen=True)
class EdgeList:
    """Edges in the order of the file or of the generator.

    sources, targets: int32[E], ids 0 .. num_vertices-1. original_ids: int64[V], the id that each vertex has
    in the file, if vertices were renumbered. format: the file's format. The conversion's defaults depend on
    it: self loops are dropped only if the file is a Matrix Market file. weights: int32[E], for all-pairs
    shortest paths. None if edges have no weights.
    """

    sources: Ids
    targets: Ids
    num_vertices: int
    orientation: Orientation = "directed"
    original_ids: npt.NDArray[np.int64] | None = None
    format: str | None = None
    weights: npt.NDArray[np.int32] | None = None
    weights_unread: bool = False
    """True if the source has weights other than 1 that were not read."""
    names: VertexNames | None = None
    """Names of the vertices, if the source has names."""
    reader: str = ""
    """The library that read the source. Empty for this package's parser."""


UNNAMED = "graph"
"""The name of a graph in memory that the caller has not named."""


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph ready to be searched, as read-only arrays of CSR, CSC and COO, which are usually memory-mapped.

    row_offsets: int32 or int64[V+1]. column_indices: int32[E], ascending in each row (CSR, out-neighbours).
    column_offsets, row_indices: the arrays of the transposed graph (CSC, in-neighbours).
    edge_sources: int32[E]. Together with column_indices as targets it is the COO form, in CSR order.

    Offsets are int64 if E > 2**31 - 1. In a symmetrised graph, CSC shares the arrays of CSR.
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
    """SHA-256 over the CSR arrays and the weights. Equal graphs have equal checksums, whatever their
    source."""
    source_checksum: str = ""
    """SHA-256 of the file from which the graph was read, or of the generator's specification."""
    original_ids: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.int32] | None = None
    """int32[E] in CSR order, ascending among parallel arcs. None if arcs have no weights."""
    weights_unread: bool = False
    """True if the source has weights other than 1 that were not read."""
    names: VertexNames | None = None
    """Names of the vertices, if the source has names."""
    reader: str = ""
    """The library that read the source, such as ``pandas 2.2.3``. Empty for this package's parser."""
    statistics: dict[str, float] = field(default_factory=dict)
    locator: str = ""
    """The text that loads the graph again: its full name and, for a file, the path. Empty if it was not
    loaded."""
    on_gpu: Mapping[str, DeviceArray] = field(default_factory=dict)
    """Arrays of this graph that another library has on the first GPU, by the names of the fields."""

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
        name: str = UNNAMED,
    ) -> Graph:
        """Returns a graph with an edge from sources[i] to targets[i] for every i.

        If the ends are integers, the vertices are 0 .. ``num_vertices`` - 1. By default, ``num_vertices`` is
        the largest end plus 1. If the ends are text, they are names of vertices. ``weights`` are 32-bit
        integers, one per edge. Undirected edges are given once each. Raises UsageError for arrays that are
        not one-dimensional, for ``num_vertices`` together with names, and if there are no vertices. Raises
        InputError for columns of different lengths or wrong types, for ids out of range, and for wrong
        weights.
        """
        from bfsbench.graphs import interop

        given = [np.asarray(column) for column in (sources, targets)]
        for what, column in zip(("sources", "targets"), given, strict=True):
            if column.ndim != 1:
                raise UsageError(f"{what} have {column.ndim} dimensions: one value per edge is needed")
            if num_vertices is not None and column.dtype.kind in "OSU":
                raise UsageError(f"{what} are names: num_vertices is only for whole numbers")
        columns = interop.Columns(
            *(name, given[0], given[1], None if weights is None else np.asarray(weights)),
            orientation="directed" if directed else "each_once",
            num_vertices=num_vertices,
        )
        return interop.build(columns, "keep", None if weights is None else "read")

    @staticmethod
    def from_csr(
        row_offsets: npt.ArrayLike,
        column_indices: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        name: str = UNNAMED,
    ) -> Graph:
        """Returns a directed graph made of CSR arrays of integers: ``row_offsets`` [V+1] and
        ``column_indices`` [E].

        Raises UsageError if an array does not contain integers, or if the arrays do not fit each other.
        Raises InputError for ids out of range, and for wrong weights.
        """
        from bfsbench.graphs import convert, interop

        offsets, targets = np.asarray(row_offsets), np.asarray(column_indices)
        if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
            raise UsageError(
                f"row_offsets are {interop.described(offsets)}: "
                "one integer per vertex and one more are needed"
            )
        if len(targets) and targets.dtype.kind not in "iu":
            raise UsageError(f"column_indices are {interop.described(targets)}: whole numbers are needed")
        convert.require_offsets(offsets, len(targets))
        wide = offsets.astype(np.int64)
        degrees = wide[1:] - wide[:-1]
        sources = np.repeat(np.arange(len(degrees), dtype=np.int32), degrees)
        return Graph.from_edges(sources, targets, weights, num_vertices=len(degrees), name=name)

    @staticmethod
    def from_dlpack(
        row_offsets: SupportsDLPack,
        column_indices: SupportsDLPack,
        *,
        directed: bool = True,
        name: str = UNNAMED,
    ) -> Graph:
        """Returns a graph that uses the CSR arrays of another library, such as CuPy or PyTorch, without a
        copy.

        ``row_offsets`` is int32 or int64[V+1]. ``column_indices`` is int32[E], ascending in each row. Each
        array is in host memory or on the first GPU, and must not change as long as the graph is used. If the
        graph is not directed, each edge must be listed both ways. Searches on the GPU read an array in GPU
        memory directly. bfsbench also copies arrays in GPU memory to the host, for the checks of searches and
        for the CSC and COO forms.

        Raises UsageError for arrays of other types or strides, or on another device. Raises UsageError also
        if the arrays do not fit each other, or if a row does not ascend. Raises InputError for ids out of
        range, and for an arc without its reverse in a graph that is not directed.
        """
        from bfsbench.graphs import convert
        from bfsbench.support import gpu_memory

        given = {"row_offsets": row_offsets, "column_indices": column_indices}
        shared = {what: gpu_memory.shared(array, what) for what, array in given.items()}
        for what, types in (("row_offsets", ("int32", "int64")), ("column_indices", ("int32",))):
            if shared[what].dtype not in types:
                raise UsageError(f"{what} are {shared[what].dtype}, but {' or '.join(types)} is wanted")
        offsets, targets = (np.asarray(array) for array in shared.values())
        on_gpu = {what: array for what, array in shared.items() if not isinstance(array, np.ndarray)}
        return replace(convert.graph_of_csr(offsets, targets, name, directed=directed), on_gpu=on_gpu)

    @staticmethod
    def from_scipy(
        matrix: SparseMatrix,
        *,
        weights: WeightPolicy | None = None,
        directed: bool = True,
        name: str = UNNAMED,
    ) -> Graph:
        """Returns a graph with an arc from row to column for each stored entry of a square sparse matrix.

        With ``weights="read"``, the entries' values become the arcs' weights. They must be 32-bit integers.
        With ``"ignore"``, every arc has weight 1. With None, the values are not read, and all-pairs shortest
        paths refuse the graph if any value differs from 1. With ``directed=False`` the matrix must be
        symmetric. Raises UsageError if ``matrix`` is not a sparse matrix or has no rows, and for any other
        value of ``weights``. Raises InputError for a matrix that is not square or not symmetric, and for
        wrong weights.
        """
        from bfsbench.graphs import interop

        columns = interop.matrix_columns(matrix, name, "directed" if directed else "both_ways")
        return interop.build(columns, "keep", weights)

    @staticmethod
    def from_networkx(
        graph: Links, *, weight: str | None = None, weights: WeightPolicy | None = None, name: str = UNNAMED
    ) -> Graph:
        """Returns a Graph made of a NetworkX graph of any class. :meth:`vertex` finds the vertex of a node.

        If ``weight`` names an attribute of the edges, the weights are read from this attribute. An edge
        without the attribute has weight 1. By default, the attribute ``weight`` has the weights. The argument
        ``weights`` then decides whether they are read, as :meth:`from_scipy` describes. Raises UsageError if
        there are no nodes, if no edge has the named attribute, or if ``str`` returns equal texts for two
        nodes. Raises InputError for wrong weights.
        """
        from bfsbench.graphs import interop

        policy = "read" if weights is None and weight is not None else weights
        return interop.build(interop.networkx_columns(graph, name, weight=weight), "compact", policy)

    @staticmethod
    def from_pandas(
        frame: pd.DataFrame,
        *,
        source: Hashable | None = None,
        target: Hashable | None = None,
        weight: Hashable | None = None,
        weights: WeightPolicy | None = None,
        directed: bool = True,
        name: str = UNNAMED,
    ) -> Graph:
        """Returns a Graph made of a table with one edge per row.

        ``source``, ``target`` and ``weight`` name the columns. By default, columns with well-known headings
        (``source``, ``from``, ``src``, ``weight``, ...) are used, or else the first three columns. The ends
        of edges are ids or names, as in :meth:`from_edges`. If ``weight`` is given, the weights are read.
        Otherwise ``weights`` has the meaning that :meth:`from_scipy` describes. Raises UsageError for missing
        columns or vertices, and InputError for wrong ids or weights.
        """
        from bfsbench.graphs import interop
        from bfsbench.graphs.tables import columns_of

        headings = list(frame.columns)
        if len(headings) < 2:
            raise UsageError(f"a DataFrame of {len(headings)} columns has no sources and targets")
        places = columns_of([str(heading) for heading in headings], len(headings))
        found = [None if place is None else headings[place] for place in places]
        for position, chosen in enumerate((source, target, weight)):
            if chosen is not None and chosen not in headings:
                raise UsageError(f"the DataFrame has no column {chosen!r}: there are {headings}")
            found[position] = found[position] if chosen is None else chosen
        ends = [frame[heading] for heading in found[:2]]
        if any(end.isna().any() for end in ends):
            raise UsageError("the DataFrame has edges that lack a vertex")
        columns = interop.Columns(
            *(name, interop.plain(ends[0]), interop.plain(ends[1])),
            weights=None if found[2] is None else interop.plain(frame[found[2]]),
            orientation="directed" if directed else "each_once",
        )
        policy = "read" if weights is None and weight is not None else weights
        return interop.build(columns, "keep", policy)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Returns the adjacency matrix, int32. An entry is the arc's weight, or 1 if arcs have no weights.
        Parallel arcs are separate entries."""
        from scipy.sparse import csr_array

        values = np.ones(self.num_edges, np.int32) if self.weights is None else self.weights.copy()
        shape = (self.num_vertices, self.num_vertices)
        return csr_array((values, self.column_indices.copy(), self.row_offsets.copy()), shape=shape)

    def to_networkx(self) -> networkx.MultiDiGraph[Hashable]:
        """Returns the arcs as a NetworkX graph, whose nodes have the ids or names of the graph's file. Raises
        UsageError if NetworkX is not installed."""
        try:
            import networkx
        except ModuleNotFoundError as error:
            raise UsageError("NetworkX is not installed: run 'pip install bfsbench[networkx]'") from error
        made: networkx.MultiDiGraph[Hashable] = networkx.MultiDiGraph(name=self.full_name)
        nodes = self.published_ids(np.arange(self.num_vertices, dtype=np.int32)).tolist()
        made.add_nodes_from(nodes)
        sources, targets = (
            [nodes[v] for v in ids.tolist()] for ids in (self.edge_sources, self.column_indices)
        )
        if self.weights is None:
            made.add_edges_from(zip(sources, targets, strict=True))
        else:
            made.add_weighted_edges_from(zip(sources, targets, self.weights.tolist(), strict=True))
        return made

    def in_memory(self) -> Graph:
        """Returns the graph with copies in memory of the arrays that searches use, so that these arrays
        depend on no file.

        Attributes that share an array also share its copy. All other arrays, such as weights, are not copied.
        """
        copies = {id(array): np.array(array) for array in self.searched.values()}
        copied: dict[str, Any] = {name: copies[id(array)] for name, array in self.searched.items()}
        return replace(self, **copied)

    def with_wide_offsets(self) -> Graph:
        """Returns the graph with 64-bit offsets. By default, only graphs of more than 2^31 - 1 arcs have
        64-bit offsets."""
        rows = self.row_offsets.astype(np.int64)
        shared = self.column_offsets is self.row_offsets
        columns = rows if shared else self.column_offsets.astype(np.int64)
        rows.flags.writeable = columns.flags.writeable = False
        return replace(self, row_offsets=rows, column_offsets=columns)

    @property
    def searched(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the arrays that searches use (CSR, CSC and COO), as a dictionary with the arrays' names as
        keys.
        """
        return {name: getattr(self, name) for name in SEARCHED}

    @property
    def full_name(self) -> str:
        """Returns the graph's name followed by its direction, such as ``soc-Slashdot0902:directed``."""
        return f"{self.name}:{self.direction}"

    @property
    def num_vertices(self) -> int:
        return len(self.row_offsets) - 1

    @property
    def num_edges(self) -> int:
        """Returns the number of stored arcs. An undirected edge counts twice."""
        return len(self.column_indices)

    def published_ids(self, vertices: npt.ArrayLike) -> npt.NDArray[np.int64] | npt.NDArray[np.str_]:
        """Returns the ids or names that the given vertices have in the graph's file. The result has the shape
        of ``vertices``. Ids are int64, and names are strings. Raises UsageError for numbers that are not
        vertices."""
        vertices = np.asarray(vertices)
        if vertices.size and vertices.dtype.kind not in "iu":
            raise UsageError(f"vertices must be whole numbers, not {vertices.dtype}")
        for vertex in vertices[(vertices < 0) | (vertices >= self.num_vertices)][:1] if vertices.size else ():
            raise UsageError(f"vertex {vertex} is out of range: there are 0 .. {self.num_vertices - 1}")
        if self.names is not None:
            found = [self.names[int(vertex)] for vertex in vertices.ravel()]
            return np.array(found, np.str_).reshape(vertices.shape)
        numbers = vertices.astype(np.int64)
        return numbers if self.original_ids is None else self.original_ids[numbers]

    def vertex(self, published_id: Vertex) -> int:
        """Returns the vertex number for this id or name in the graph's file. A tuple, such as a node of a
        NetworkX graph, is converted to text first. Raises UsageError if no vertex has this id or name."""
        if isinstance(published_id, tuple):
            published_id = str(published_id)
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
