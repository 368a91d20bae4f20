"""Converts arrays, SciPy matrices, NetworkX graphs and pandas tables to graphs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.catalogue import IdPolicy, Recipe, WeightPolicy
from bfsbench.graphs.columns import Column, Columns, edge_list
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

TAKEN = (
    "a Graph, a name or path as 'bfsbench run --dataset' takes it, a SciPy sparse matrix, a NetworkX graph, "
    "a pandas DataFrame of edges, an array of shape (edges, 2 or 3), or a pair (sources, targets)"
)


class Entries(Protocol):
    """A protocol with the attributes of a SciPy sparse matrix in coordinate form."""

    row: npt.NDArray[np.integer[Any]]
    col: npt.NDArray[np.integer[Any]]
    data: npt.NDArray[np.generic]


class SparseMatrix(Protocol):
    """A protocol with the members of a SciPy sparse matrix that this module uses."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def tocoo(self) -> Entries: ...


class Links(Protocol):
    """A protocol with the methods of a NetworkX graph that this module uses."""

    def is_directed(self) -> bool: ...
    def nodes(self) -> Iterable[Hashable]: ...
    def edges(self, *, data: str, default: object) -> Iterable[tuple[Hashable, Hashable, object]]: ...


GraphLike: TypeAlias = (
    "Graph | str | os.PathLike[str] | SparseMatrix | Links | pd.DataFrame | npt.NDArray[np.integer[Any]] "
    "| tuple[npt.ArrayLike, npt.ArrayLike]"
)
"""The types of the objects that ``TAKEN`` lists."""


def as_graph(anything: GraphLike | object) -> Graph:
    """Convert any object that ``TAKEN`` lists to a Graph. Raises UsageError for any other object.

    The function reads no weights from a matrix, a NetworkX graph, a table or a third column. All-pairs
    shortest paths refuse a graph whose weights were not read. Make a Graph with ``weights="read"`` for them.
    """
    if isinstance(anything, Graph):
        return anything
    if isinstance(anything, str | os.PathLike):
        from bfsbench.graphs.load import load

        return load(os.fspath(anything))
    if hasattr(anything, "tocoo"):
        return Graph.from_scipy(cast(SparseMatrix, anything))
    if hasattr(anything, "is_directed") and hasattr(anything, "edges"):
        return Graph.from_networkx(cast(Links, anything))
    if hasattr(anything, "columns") and hasattr(anything, "iloc"):
        return Graph.from_pandas(cast("pd.DataFrame", anything))
    if isinstance(anything, np.ndarray) and anything.ndim == 2 and anything.shape[1] in (2, 3):
        weights = anything[:, 2] if anything.shape[1] == 3 else None
        return build(Columns("graph", anything[:, 0], anything[:, 1], weights), "keep", None)
    if isinstance(anything, tuple) and len(anything) == 2:
        return Graph.from_edges(*anything)
    raise UsageError(f"{described(anything)} is not a graph: accepted are {TAKEN}")


def networkx_columns(graph: Links, label: str, reader: str = "") -> Columns:
    """Returns the edges of a NetworkX graph as columns. Each edge is listed once. An edge without the
    attribute ``weight`` gets weight 1."""
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


def build(columns: Columns, ids: IdPolicy, weights: WeightPolicy | None) -> Graph:
    edges: EdgeList = edge_list(columns, ids, weights)
    if edges.num_vertices == 0:
        raise UsageError(f"{columns.label}: there are no vertices")
    return build_graph(edges, columns.label, Recipe())


def _numbers_or_names(nodes: Sequence[Hashable]) -> Column:
    """Returns nodes as int64 if every node is an integer or the text of one, else as text. Raises UsageError
    if two nodes have equal text."""
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


def plain(series: pd.Series) -> Column:
    """Returns the values of a pandas series as a NumPy array. Values that are not numbers become objects."""
    kind = getattr(series.dtype, "kind", "O")
    return np.asarray(series.to_numpy() if kind in "iuf" else series.to_numpy(object))


def described(thing: object) -> str:
    if isinstance(thing, np.ndarray):
        return f"an array of {thing.dtype} and shape {thing.shape}"
    if isinstance(thing, Path):
        return f"the path {thing}"
    return f"a {type(thing).__module__}.{type(thing).__qualname__}".replace("builtins.", "")
