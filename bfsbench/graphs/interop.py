"""Converts columns of edges to edge lists. Converts arrays, SciPy matrices, NetworkX graphs and pandas tables
to graphs. Vertices may be numbers or names, and edges may have weights."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.catalogue import WEIGHT_POLICIES, IdPolicy, Recipe, WeightPolicy
from bfsbench.graphs.convert import build_graph, compact
from bfsbench.graphs.graph import (
    MAX_VERTICES,
    UNNAMED,
    EdgeList,
    Graph,
    Ids,
    Orientation,
    Size,
    VertexNames,
    require,
)
from bfsbench.support.errors import InputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

Column = npt.NDArray[np.generic]
"""One value per edge: integers or text."""


@dataclass(frozen=True)
class Columns:
    """A table of edges. Each column has one value per edge. ``label`` names the table in messages."""

    label: str
    sources: Column
    targets: Column
    weights: Column | None = None
    orientation: Orientation = "directed"
    num_vertices: int | None = None
    """The number of vertices, if every number below it is a vertex. Otherwise None."""
    vertices: Column | None = None
    """All vertices, if they are listed. Some of them may have no edges."""
    names: VertexNames | None = None
    """The names of the vertices 0 .. V-1, if edges give the vertices' numbers. Otherwise None."""
    reader: str = ""
    """The library that read the columns. Empty for this package's parser."""


def edge_list(columns: Columns, ids: IdPolicy, recipe: Recipe) -> EdgeList:
    """Convert columns to an edge list. The function uses the fields ``format``, ``weights`` and
    ``orientation`` of ``recipe``.

    Integers are taken as ids, and strings as names. Vertices with names are numbered in the order of the
    names. Raises InputError for columns of different lengths or other types, for empty names, and for ids
    that are negative or too large. Raises InputError also if weights should be read and there are none, or if
    they are not 32-bit integers.
    """
    label = columns.label
    if len(columns.sources) != len(columns.targets):
        lengths = f"{len(columns.sources):,} sources and {len(columns.targets):,} targets"
        raise InputError(f"{label}: {lengths} do not form pairs")
    original: npt.NDArray[np.int64] | None = None
    names = columns.names
    if ids == "names" or any(end.dtype.kind in "OUST" for end in (columns.sources, columns.targets)):
        sources, targets, names = _named(columns)
        num_vertices = len(names)
    else:
        sources, targets, original, num_vertices = _numbered(columns, ids)
    read, unread = _read_weights(label, columns.weights, len(sources), recipe.weights)
    return EdgeList(
        *(sources, targets, num_vertices, recipe.orientation or columns.orientation, original),
        format=recipe.format,
        weights=read,
        weights_unread=unread,
        names=names,
        reader=columns.reader,
    )


def _read_weights(
    label: str, column: Column | None, edges: int, policy: WeightPolicy | None
) -> tuple[npt.NDArray[np.int32] | None, bool]:
    """Returns the weights, int32[E] or None, and whether the column has weights other than 1 that were not
    read.

    Weights are read only if ``policy`` is ``"read"``. Raises UsageError for an unknown policy. Raises
    InputError for a column that is missing, has another length, or has values other than 32-bit integers.
    """
    if policy not in WEIGHT_POLICIES:
        raise UsageError(f"weights={policy!r}: it is one of {', '.join(map(repr, WEIGHT_POLICIES))}")
    if column is None:
        if policy == "read":
            raise InputError(f"{label}: there are no weights to be read")
        return None, False
    if len(column) != edges:
        raise InputError(f"{label}: {len(column):,} weights and {edges:,} edges differ in number")
    if policy == "ignore":
        return None, False
    numbers = _as_numbers(column)
    if policy is None:
        return None, numbers is None or bool((numbers != 1).any())
    if numbers is None:
        number = next(i for i in range(edges) if _as_numbers(column[i : i + 1]) is None)
        raise InputError(f"{label}: edge {number + 1:,}: weight '{str(column[number])[:40]}' is not a number")
    with np.errstate(invalid="ignore"):
        whole = numbers.astype(np.int32)
    wrong = np.flatnonzero(whole != numbers)
    if len(wrong):
        raise InputError(f"{label}: weight {numbers[wrong[0]]} is not a whole number of 32 bits")
    return whole, False


def _as_numbers(column: Column) -> npt.NDArray[np.number] | None:
    if column.dtype.kind in "iuf":
        return column  # type: ignore[return-value]
    if column.dtype.kind == "b":
        return column.astype(np.int32)
    try:
        return column.astype(np.float64)
    except (ValueError, TypeError):
        return None


def _named(columns: Columns) -> tuple[Ids, Ids, VertexNames]:
    import pandas as pd

    listed = [columns.sources, columns.targets]
    if columns.vertices is not None:
        listed.append(columns.vertices)
    ends = pd.concat([pd.Series(end).astype(str) for end in listed])
    middle = len(columns.sources)
    empty = np.flatnonzero((ends == "").to_numpy()[: 2 * middle])
    if len(empty):
        raise InputError(f"{columns.label}: edge {empty[0] % middle + 1:,} lacks the name of a vertex")
    codes, unique = pd.factorize(ends, sort=True)
    numbers = codes.astype(np.int32)
    return numbers[:middle].copy(), numbers[middle : 2 * middle].copy(), VertexNames.of(unique.tolist())


def _numbered(columns: Columns, policy: IdPolicy) -> tuple[Ids, Ids, npt.NDArray[np.int64] | None, int]:
    sources, targets = (_whole_ids(columns.label, end) for end in (columns.sources, columns.targets))
    if columns.vertices is not None or policy == "compact":
        if columns.vertices is None:
            narrow_sources, narrow_targets, original = compact(sources, targets)
        else:
            original = np.unique(_whole_ids(columns.label, columns.vertices))
            narrow_sources, narrow_targets = (
                np.searchsorted(original, end).astype(np.int32) for end in (sources, targets)
            )
        plain = not len(original) or original[-1] == len(original) - 1
        return narrow_sources, narrow_targets, None if plain else original, len(original)
    largest = max((int(end.max(initial=-1)) for end in (sources, targets)), default=-1)
    if largest >= MAX_VERTICES:
        raise InputError(f"{columns.label}: vertex id {largest} is above {MAX_VERTICES - 1}")
    num_vertices = largest + 1 if columns.num_vertices is None else columns.num_vertices
    if largest >= num_vertices:
        raise InputError(f"{columns.label}: vertex id {largest} is above {num_vertices - 1}")
    require(Size(num_vertices, len(sources)), columns.label)
    return sources.astype(np.int32), targets.astype(np.int32), None, num_vertices


def _whole_ids(label: str, column: Column) -> npt.NDArray[np.int64]:
    if column.dtype.kind not in "iu" and len(column):
        raise InputError(f"{label}: vertices are {column.dtype}, not integers or text")
    if column.dtype.kind == "u" and len(column) and int(column.max()) > 2**63 - 1:
        raise InputError(f"{label}: vertex id {column.max()} is above {2**63 - 1}")
    ids = column.astype(np.int64)
    if len(ids) and ids.min() < 0:
        raise InputError(f"{label}: vertex id {ids.min()} is negative")
    return ids


TAKEN = (
    "a Graph, a name or path as 'bfsbench run --dataset' takes it, a SciPy sparse matrix, a NetworkX graph, "
    "a pandas DataFrame of edges, an array of shape (edges, 2 or 3), a list of pairs, "
    "or a pair (sources, targets)"
)


class SparseMatrix(Protocol):
    """A protocol with the members of a SciPy sparse matrix that this module uses."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def tocoo(self) -> Any: ...


class Links(Protocol):
    """A protocol with the methods of a NetworkX graph that this module uses."""

    def is_directed(self) -> bool: ...
    def nodes(self) -> Iterable[Hashable]: ...
    def edges(
        self, *, data: str | bool, default: object = None
    ) -> Iterable[tuple[Hashable, Hashable, Any]]: ...


GraphLike: TypeAlias = (
    "Graph | str | os.PathLike[str] | SparseMatrix | Links | pd.DataFrame | npt.NDArray[np.integer[Any]] "
    "| tuple[npt.ArrayLike, npt.ArrayLike]"
)
"""The types of the objects that ``TAKEN`` lists."""


def as_graph(anything: GraphLike | object, weights: WeightPolicy | None = None) -> Graph:
    """Convert an object to a Graph. ``TAKEN`` lists the accepted types. Raises UsageError for any other type.

    A matrix, a NetworkX graph, a table, or an array with three columns may have weights. ``weights`` has the
    meaning that :meth:`Graph.from_scipy` describes. All-pairs shortest paths refuse a graph with unread
    weights other than 1. Raises UsageError for ``weights`` with a Graph, because its weights are known.
    """
    if isinstance(anything, Graph):
        if weights is not None:
            raise UsageError("weights does not go with a Graph: give it to the function that makes the Graph")
        return anything
    if isinstance(anything, str | os.PathLike):
        from bfsbench.graphs.load import load

        return load(anything if weights is None else f"{os.fspath(anything)}:weights={weights}")
    if hasattr(anything, "tocoo"):
        return Graph.from_scipy(cast(SparseMatrix, anything), weights=weights)
    if hasattr(anything, "is_directed") and hasattr(anything, "edges"):
        return Graph.from_networkx(cast(Links, anything), weights=weights)
    if hasattr(anything, "columns") and hasattr(anything, "iloc"):
        return Graph.from_pandas(cast("pd.DataFrame", anything), weights=weights)
    if isinstance(anything, list) and anything and all(isinstance(edge, tuple) for edge in anything):
        anything = np.array(anything) if len({len(edge) for edge in anything}) == 1 else anything
    if isinstance(anything, np.ndarray) and anything.ndim == 2 and anything.shape[1] in (2, 3):
        return build(Columns(UNNAMED, *anything.T), "keep", weights)
    if isinstance(anything, tuple) and len(anything) == 2:
        if weights == "read":
            raise InputError(f"{UNNAMED}: there are no weights to be read")
        return Graph.from_edges(*anything)
    raise UsageError(f"{described(anything)} is not a graph: accepted are {TAKEN}")


def write_matrix(file: BinaryIO, graph: Graph) -> None:
    """Write a graph as an ``.npz`` file, which ``scipy.sparse.load_npz`` can also read. If vertices have
    names, the file also has the two arrays of :class:`VertexNames`. The original ids, and whether the graph
    is directed, are not saved."""
    matrix = graph.to_scipy()
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    if graph.names is not None:
        arrays |= {"name_offsets": graph.names.offsets, "name_text": graph.names.text}
    np.savez(file, format=np.array("csr"), shape=np.array(matrix.shape), **arrays)


def names_in(archive: Mapping[str, npt.NDArray[Any]], num_vertices: int) -> VertexNames | None:
    """Returns the vertex names in the arrays that ``write_matrix`` wrote, or None if the arrays contain no
    names. Raises ValueError if the stored names are malformed or their number is not ``num_vertices``."""
    if "name_offsets" not in archive:
        return None
    offsets, text = archive["name_offsets"], archive["name_text"]
    fitting = offsets.shape == (num_vertices + 1,) and text.ndim == 1
    if not fitting or offsets.dtype != np.int64 or text.dtype != np.uint8:
        raise ValueError("name_offsets and name_text do not fit the matrix")
    if offsets[0] != 0 or offsets[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("name_offsets do not ascend from 0 to the length of name_text")
    names = VertexNames(offsets, text)
    known = names[:]
    if known != sorted(set(known)):
        raise ValueError("names of vertices do not ascend")
    return names


def matrix_columns(matrix: SparseMatrix, label: str, orientation: Orientation, reader: str = "") -> Columns:
    """Returns the edges of a graph that is given as a SciPy sparse matrix. A stored value at row u and column
    v is the weight of an edge from u to v.

    Raises UsageError for an object that is not a sparse matrix, and InputError for a matrix that is not
    square.
    """
    if not hasattr(matrix, "tocoo"):
        raise UsageError(f"{described(matrix)} is not a SciPy sparse matrix")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(f"{length:,}" for length in matrix.shape)
        raise InputError(f"{label}: a matrix of {shape} is not a graph: only square matrices are")
    entries = matrix.tocoo()
    return Columns(
        *(label, np.asarray(entries.row), np.asarray(entries.col), np.asarray(entries.data)),
        orientation=orientation,
        num_vertices=int(matrix.shape[0]),
        reader=reader,
    )


def networkx_columns(graph: Links, label: str, reader: str = "", weight: str | None = None) -> Columns:
    """Returns the edges of a NetworkX graph as columns. Each edge is listed once.

    ``weight`` names the attribute with the weights, by default ``weight``. An edge without the attribute gets
    weight 1. Raises UsageError if no edge has the attribute ``weight`` that the caller named, or if ``str``
    returns equal texts for two nodes.
    """
    edges = list(graph.edges(data=weight or "weight", default=1))
    if weight is not None and not any(weight in facts for _, _, facts in graph.edges(data=True)):
        raise UsageError(f"no edge of the NetworkX graph has the attribute {weight!r}")
    nodes = _numbers_or_names(list(graph.nodes()))
    places = dict(zip(graph.nodes(), nodes.tolist(), strict=True))
    ends = np.array([(places[u], places[v]) for u, v, _ in edges], nodes.dtype).reshape(-1, 2)
    weights = [weight for _, _, weight in edges]
    numbers = all(isinstance(weight, int | float | np.number) for weight in weights)
    return Columns(
        *(label, ends[:, 0], ends[:, 1], np.array(weights, None if numbers and weights else object)),
        orientation="directed" if graph.is_directed() else "each_once",
        vertices=nodes,
        reader=reader,
    )


def build(columns: Columns, ids: IdPolicy, weights: WeightPolicy | None) -> Graph:
    """Returns the graph that is made of columns of edges. ``ids`` and ``weights`` are options, as in
    :class:`Recipe`.

    Raises UsageError if there are no vertices, and every error that ``edge_list`` and ``build_graph`` raise.
    """
    edges = edge_list(columns, ids, Recipe(weights=weights))
    if edges.num_vertices == 0:
        raise UsageError(f"{columns.label}: there are no vertices")
    return build_graph(edges, columns.label)


def _numbers_or_names(nodes: Sequence[Hashable]) -> Column:
    """Returns the nodes as int64 if every node is an integer, or a string of at most 18 digits without a
    leading zero. Otherwise returns the nodes as strings, converted by ``str``.

    Raises UsageError if ``str`` returns equal texts for two nodes.
    """
    if all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in nodes):
        return np.array(nodes, np.int64)
    texts = [str(node) for node in nodes]
    if len(set(texts)) != len(texts):
        raise UsageError("two nodes of the NetworkX graph have the same text")
    if all(text.isascii() and text.isdigit() and len(text) < 19 and str(int(text)) == text for text in texts):
        return np.array([int(text) for text in texts], np.int64)
    return np.array(texts, object)


def plain(series: pd.Series) -> Column:
    """Returns the values of a pandas series as a NumPy array. If the values are not numbers, the array has
    the type object.
    """
    kind = getattr(series.dtype, "kind", "O")
    return np.asarray(series.to_numpy() if kind in "iuf" else series.to_numpy(object))


def described(thing: object) -> str:
    """Returns a phrase that names the type of an object, for messages."""
    if isinstance(thing, np.ndarray):
        return f"an array of {thing.dtype} and shape {thing.shape}"
    if isinstance(thing, Path):
        return f"the path {thing}"
    return f"a {type(thing).__module__}.{type(thing).__qualname__}".replace("builtins.", "")
