"""Graphs from objects of other libraries, and back: arrays, SciPy, NetworkX, pandas."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bfsbench.errors import UsageError
from bfsbench.graphs.columns import Column, Columns, edge_list
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.delimited import columns_of
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.graphs.recipe import IdPolicy, Recipe, WeightPolicy

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import scipy.sparse

TAKEN = (
    "a Graph, a name or path as 'bfsbench run --dataset' takes it, a SciPy sparse matrix, a NetworkX graph, "
    "a pandas DataFrame of edges, an array of shape (edges, 2 or 3), or a pair (sources, targets)"
)


class Entries(Protocol):
    """SciPy's sparse matrix in coordinate form."""

    row: npt.NDArray[np.integer[Any]]
    col: npt.NDArray[np.integer[Any]]
    data: npt.NDArray[np.generic]


class SparseMatrix(Protocol):
    """The part of SciPy's sparse matrices that is used."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def tocoo(self) -> Entries: ...


class Links(Protocol):
    """The part of NetworkX's graphs that is used."""

    def is_directed(self) -> bool: ...
    def nodes(self) -> Iterable[Hashable]: ...
    def edges(self, *, data: str, default: object) -> Iterable[tuple[Hashable, Hashable, object]]: ...


GraphLike: TypeAlias = (
    "Graph | str | os.PathLike[str] | SparseMatrix | Links | pd.DataFrame | npt.NDArray[np.integer[Any]] "
    "| tuple[npt.ArrayLike, npt.ArrayLike]"
)
"""TAKEN, as types."""


def as_graph(anything: GraphLike | object) -> Graph:
    """Convert an object to a graph: any of TAKEN.

    Weights of a matrix, a NetworkX graph, a table or a third column are not read, which all-pairs shortest
    paths refuse: make a Graph with ``weights="read"`` for them. Raises UsageError for any other object.
    """
    if isinstance(anything, Graph):
        return anything
    if isinstance(anything, str | os.PathLike):
        from bfsbench.graphs.load import load

        return load(os.fspath(anything))
    if hasattr(anything, "tocoo"):
        return from_scipy(cast(SparseMatrix, anything))
    if hasattr(anything, "is_directed") and hasattr(anything, "edges"):
        return from_networkx(cast(Links, anything))
    if hasattr(anything, "columns") and hasattr(anything, "iloc"):
        return from_pandas(cast("pd.DataFrame", anything))
    if isinstance(anything, np.ndarray) and anything.ndim == 2 and anything.shape[1] in (2, 3):
        weights = anything[:, 2] if anything.shape[1] == 3 else None
        return _build(Columns("graph", anything[:, 0], anything[:, 1], weights), "keep", None)
    if isinstance(anything, tuple) and len(anything) == 2:
        return from_edges(*anything)
    raise UsageError(f"{_described(anything)} is not a graph: accepted are {TAKEN}")


def from_edges(
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    num_vertices: int | None = None,
    directed: bool = True,
    name: str = "graph",
) -> Graph:
    """See :meth:`Graph.from_edges`."""
    given = [np.asarray(column) for column in (sources, targets)]
    for what, column in zip(("sources", "targets"), given, strict=True):
        if column.ndim != 1:
            raise UsageError(f"{what} have {column.ndim} dimensions: one value an edge is wanted")
        if num_vertices is not None and column.dtype.kind in "OSU":
            raise UsageError(f"{what} are names: num_vertices goes with whole numbers")
    heavy = None if weights is None else np.asarray(weights)
    columns = Columns(
        *(name, given[0], given[1], heavy),
        orientation="directed" if directed else "each_once",
        num_vertices=num_vertices,
    )
    return _build(columns, "keep", None if heavy is None else "read")


def from_csr(
    row_offsets: npt.ArrayLike,
    column_indices: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    name: str = "graph",
) -> Graph:
    """See :meth:`Graph.from_csr`."""
    offsets, targets = np.asarray(row_offsets), np.asarray(column_indices)
    if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
        raise UsageError(
            f"row_offsets are {_described(offsets)}: one integer a vertex and one more are wanted"
        )
    if len(targets) and targets.dtype.kind not in "iu":
        raise UsageError(f"column_indices are {_described(targets)}: whole numbers are wanted")
    wide = offsets.astype(np.int64)
    degrees = wide[1:] - wide[:-1]
    if offsets[0] != 0 or offsets[-1] != len(targets) or (degrees < 0).any():
        raise UsageError(f"row_offsets do not ascend from 0 to the {len(targets):,} column_indices")
    sources = np.repeat(np.arange(len(degrees), dtype=np.int32), degrees)
    return from_edges(sources, targets, weights, num_vertices=len(degrees), name=name)


def from_scipy(
    matrix: SparseMatrix,
    *,
    weights: WeightPolicy | None = None,
    directed: bool = True,
    name: str = "graph",
) -> Graph:
    """See :meth:`Graph.from_scipy`."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(f"{length:,}" for length in matrix.shape)
        raise UsageError(f"a matrix of {shape} is no graph: only square ones are")
    entries = matrix.tocoo()
    columns = Columns(
        *(name, np.asarray(entries.row), np.asarray(entries.col), np.asarray(entries.data)),
        orientation="directed" if directed else "both_ways",
        num_vertices=int(matrix.shape[0]),
    )
    return _build(columns, "keep", weights)


def from_networkx(graph: Links, *, weights: WeightPolicy | None = None, name: str = "graph") -> Graph:
    """See :meth:`Graph.from_networkx`."""
    return _build(networkx_columns(graph, name), "compact", weights)


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
    """See :meth:`Graph.from_pandas`."""
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
    columns = Columns(
        *(name, _plain(ends[0]), _plain(ends[1])),
        weights=None if found[2] is None else _plain(frame[found[2]]),
        orientation="directed" if directed else "each_once",
    )
    return _build(columns, "keep", weights)


def networkx_columns(graph: Links, label: str, reader: str = "") -> Columns:
    """The edges of a NetworkX graph, each once; an edge without the attribute ``weight`` weighs 1."""
    edges = list(graph.edges(data="weight", default=1))
    nodes = _numbers_or_names(list(graph.nodes()))
    places = dict(zip(graph.nodes(), nodes.tolist(), strict=True))
    sources, targets = (
        np.array([places[edge[end]] for edge in edges], nodes.dtype if len(nodes) else np.int64)
        for end in (0, 1)
    )
    return Columns(
        *(label, sources, targets, _weight_column([edge[2] for edge in edges])),
        orientation="directed" if graph.is_directed() else "each_once",
        vertices=nodes,
        reader=reader,
    )


def to_scipy(graph: Graph) -> scipy.sparse.csr_array:
    """See :meth:`Graph.to_scipy`."""
    from scipy.sparse import csr_array

    values = np.ones(graph.num_edges, np.int32) if graph.weights is None else graph.weights.copy()
    shape = (graph.num_vertices, graph.num_vertices)
    return csr_array((values, graph.column_indices.copy(), graph.row_offsets.copy()), shape=shape)


def to_networkx(graph: Graph) -> networkx.MultiDiGraph[Hashable]:
    """See :meth:`Graph.to_networkx`."""
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise UsageError("NetworkX is not installed: run 'pip install bfsbench[networkx]'") from error
    made: networkx.MultiDiGraph[Hashable] = networkx.MultiDiGraph(name=graph.full_name)
    called = graph.published_ids(np.arange(graph.num_vertices, dtype=np.int32)).tolist()
    made.add_nodes_from(called)
    ends = zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True)
    if graph.weights is None:
        made.add_edges_from((called[u], called[v]) for u, v in ends)
    else:
        weights = graph.weights.tolist()
        made.add_edges_from(
            (called[u], called[v], {"weight": w}) for (u, v), w in zip(ends, weights, strict=True)
        )
    return made


def _build(columns: Columns, ids: IdPolicy, weights: WeightPolicy | None) -> Graph:
    edges: EdgeList = edge_list(columns, ids, weights)
    if edges.num_vertices == 0:
        raise UsageError(f"{columns.label}: there are no vertices")
    return build_graph(edges, columns.label, Recipe())


def _numbers_or_names(nodes: Sequence[Hashable]) -> Column:
    """Nodes as integers if all are integers or their text; as text otherwise."""
    if all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in nodes):
        return np.array(nodes, np.int64)
    texts = [str(node) for node in nodes]
    if len(set(texts)) != len(texts):
        raise UsageError("two nodes of the NetworkX graph have the same text")
    if all(text.isascii() and text.isdigit() and len(text) < 19 and str(int(text)) == text for text in texts):
        return np.array([int(text) for text in texts], np.int64)
    return np.array(texts, object)


def _weight_column(weights: list[object]) -> Column:
    numbers = all(isinstance(weight, int | float | np.number) for weight in weights)
    return np.array(weights) if numbers and weights else np.array(weights, object)


def _plain(series: pd.Series) -> Column:
    """The values as a NumPy array, text as objects."""
    kind = getattr(series.dtype, "kind", "O")
    return np.asarray(series.to_numpy() if kind in "iuf" else series.to_numpy(object))


def _described(thing: object) -> str:
    if isinstance(thing, np.ndarray):
        return f"an array of {thing.dtype} and shape {thing.shape}"
    if isinstance(thing, Path):
        return f"the path {thing}"
    return f"a {type(thing).__module__}.{type(thing).__qualname__}".replace("builtins.", "")
