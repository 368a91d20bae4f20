"""Converts a list of edges to the arrays CSR, CSC and COO. Vertex ids with gaps are renumbered to 0, 1, ...
in ascending order.
"""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.catalogue import DEFAULT, Recipe
from bfsbench.graphs.graph import MAX_VERTICES, EdgeList, Graph, Ids, Offsets, Size, require
from bfsbench.support.errors import InputError, UsageError
from bfsbench.support.toolchain import library

OriginalIds = npt.NDArray[np.int64]
IdArray = npt.NDArray[np.int32 | np.int64]


@cache
def _native() -> ctypes.CDLL:
    native = library("renumber")
    ids = np.ctypeslib.ndpointer(np.int32, ndim=1, flags="C")
    words = np.ctypeslib.ndpointer(np.uint64, ndim=1, flags="C")
    native.mark_ids.argtypes = [ctypes.c_int64, ids, words]
    native.rank_words.argtypes = [ctypes.c_int64, words]
    native.rank_words.restype = ctypes.c_int64
    native.list_ids.argtypes = [ctypes.c_int64, words, np.ctypeslib.ndpointer(np.int64, ndim=1, flags="C")]
    native.renumber_ids.argtypes = [ctypes.c_int64, ids, words]
    return native


def compact(sources: IdArray, targets: IdArray) -> tuple[Ids, Ids, OriginalIds]:
    """Renumber the endpoints of edges to 0, 1, ... in ascending order of their ids.

    ``sources`` and ``targets`` are non-negative ids. If the two arrays are int32, they are renumbered in
    place. If they are int64, they are copied. Returns the renumbered ids, int32, and the original id of every
    vertex, int64[V] ascending.
    """
    if sources.dtype != np.int32:
        original = np.union1d(np.unique(sources), np.unique(targets)).astype(np.int64, copy=False)
        narrow = [np.searchsorted(original, ids).astype(np.int32) for ids in (sources, targets)]
        return narrow[0], narrow[1], original
    sources, targets = (ids.astype(np.int32, copy=False) for ids in (sources, targets))
    native = _native()
    largest = max(int(ids.max(initial=-1)) for ids in (sources, targets))
    words = np.zeros(largest // 32 + 1, np.uint64)  # each is a struct Word of the native code
    for ids in (sources, targets):
        native.mark_ids(len(ids), ids, words)
    original = np.empty(native.rank_words(len(words), words), np.int64)
    native.list_ids(len(words), words, original)
    if len(original) and original[-1] != len(original) - 1:
        for ids in (sources, targets):
            native.renumber_ids(len(ids), ids, words)
    return sources, targets, original


INT32_MAX = 2**31 - 1

_Wide = npt.NDArray[np.int64]


@cache
def _native_convert() -> ctypes.CDLL:
    native = library("convert")
    int32, int64 = ctypes.c_int32, ctypes.c_int64
    ids, offsets, packed = (
        np.ctypeslib.ndpointer(dtype, ndim=1, flags="C") for dtype in (np.int32, np.int64, np.uint64)
    )
    native.count_loops.argtypes = [int64, ids, ids, int32]
    native.count_loops.restype = int64
    native.group_by_row.argtypes = [int64, ids, ids, int32, int32, int32, int64, packed, offsets, ids]
    native.offsets_without_duplicates.argtypes = [int64, offsets, ids, offsets]
    native.copy_without_duplicates.argtypes = [int64, offsets, ids, offsets, ids]
    native.expand_rows.argtypes = [int64, offsets, ids]
    return native


@dataclass(frozen=True)
class _Plan:
    """The steps that a conversion applies to edges: add reverse arcs, drop self loops, drop duplicates."""

    mirror: bool
    """True if each edge is stored both ways."""
    undirected: bool
    drop_loops: bool
    drop_duplicates: bool

    @staticmethod
    def of(edges: EdgeList, recipe: Recipe) -> _Plan:
        symmetrise = recipe.symmetrise and edges.orientation == "directed"
        mirror = symmetrise or edges.orientation == "each_once"
        self_loops = recipe.self_loops or ("drop" if edges.format == "mtx" else "keep")
        duplicates = recipe.duplicates or ("drop" if symmetrise else "keep")
        undirected = mirror or edges.orientation == "both_ways"
        return _Plan(mirror, undirected, self_loops == "drop", duplicates == "drop")


@dataclass(frozen=True)
class _Rows:
    """Arcs grouped by row: int64 offsets[V+1], int32 columns[E]."""

    offsets: _Wide
    columns: Ids


def build_graph(
    edges: EdgeList, name: str, recipe: Recipe = DEFAULT, *, wide_above: int = INT32_MAX
) -> Graph:
    """Convert an edge list to a graph in memory. Its statistics contain only ``edges_listed``.

    Offsets are int64 for more than ``wide_above`` arcs. The conversion needs 8 bytes per arc in addition to
    the edges and the result. The function drops its references to the arrays in ``edges`` early. If the
    caller holds no references either, their memory is then freed. Raises InputError for ids out of range.
    Also raises InputError if the orientation is ``both_ways`` and an arc lacks its reverse. Raises
    NotEnoughMemoryError for a graph that does not fit into the memory of this machine.
    """
    plan = _Plan.of(edges, recipe)
    held = edges.sources.nbytes + edges.targets.nbytes
    require(Size(edges.num_vertices, len(edges.sources), plan.mirror, edges.weights is not None), name, held)
    num_vertices, listed = edges.num_vertices, edges_listed(edges)
    weights = None if edges.weights is None else _weights_by_row(edges, plan)
    sources, targets = edges.sources, edges.targets
    none = np.empty(0, np.int32)
    edges = replace(edges, sources=none, targets=none, weights=None)  # this frees the arrays of the edges
    if plan.mirror and plan.drop_duplicates:
        # If a list contains both arcs of its edges, one arc per edge is kept before reverse arcs are added.
        # Arcs that would be dropped later then take no memory.
        sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        rows = _without_duplicates(_group(sources, targets, num_vertices, name, replace(plan, mirror=False)))
        sources, targets = _row_of_each(rows), rows.columns
    rows = _group(sources, targets, num_vertices, name, plan)
    del sources, targets
    if plan.drop_duplicates and not plan.mirror:
        rows = _without_duplicates(rows)
    edge_sources = _row_of_each(rows)
    transposed = rows
    if not plan.mirror:
        transposed = _group(rows.columns, edge_sources, num_vertices, name)
    if edges.orientation == "both_ways":
        _require_symmetry(rows, transposed, name, edges.original_ids)
        transposed = rows
    row_offsets = _narrowed(rows.offsets, wide_above)
    column_offsets = row_offsets if transposed is rows else _narrowed(transposed.offsets, wide_above)
    for array in (row_offsets, rows.columns, column_offsets, transposed.columns, edge_sources, weights):
        if array is not None:
            array.flags.writeable = False
    return Graph(
        name=name,
        direction="symmetrised" if plan.undirected else "directed",
        row_offsets=row_offsets,
        column_indices=rows.columns,
        column_offsets=column_offsets,
        row_indices=transposed.columns,
        edge_sources=edge_sources,
        checksum=graph_checksum(row_offsets, rows.columns, weights),
        original_ids=edges.original_ids,
        weights=weights,
        weights_unread=edges.weights_unread,
        names=edges.names,
        reader=edges.reader,
        statistics={"edges_listed": listed},
    )


def graph_of_csr(row_offsets: Offsets, column_indices: Ids, name: str, *, directed: bool = True) -> Graph:
    """Returns a graph that uses the given CSR arrays, row_offsets [V+1] and column_indices [E], without a
    copy. The other arrays are made in memory.

    If the graph is not directed, each edge must be listed both ways. Raises UsageError if the row offsets do
    not ascend from 0 to E, or if the column indices of a row do not ascend. Raises UsageError also if there
    are no vertices, or more than MAX_VERTICES. Raises InputError for ids out of range, and for an arc without
    its reverse in a graph that is not directed. Raises NotEnoughMemoryError if the other arrays do not fit
    into memory.
    """
    require_offsets(row_offsets, len(column_indices))
    num_vertices = len(row_offsets) - 1
    if not 1 <= num_vertices <= MAX_VERTICES:
        raise UsageError(f"{name}: {num_vertices:,} vertices are not within 1 .. {MAX_VERTICES:,}")
    require(Size(num_vertices, len(column_indices)), name)
    row_offsets, column_indices = row_offsets.view(), column_indices.view()
    rows = _Rows(row_offsets.astype(np.int64, copy=False), column_indices)
    edge_sources = _row_of_each(rows)
    falling = (column_indices[1:] < column_indices[:-1]) & (edge_sources[1:] == edge_sources[:-1])
    if falling.any():
        row = edge_sources[falling.argmax()]
        raise UsageError(f"column_indices of row {row} do not ascend: sort each row, or call Graph.from_csr")
    transposed = _group(column_indices, edge_sources, num_vertices, name)
    column_offsets: Offsets = transposed.offsets.astype(row_offsets.dtype, copy=False)  # type: ignore[assignment]
    if not directed:
        _require_symmetry(rows, transposed, name, None)
        transposed, column_offsets = rows, row_offsets
    for array in (row_offsets, column_indices, column_offsets, transposed.columns, edge_sources):
        array.flags.writeable = False
    return Graph(
        name=name,
        direction="directed" if directed else "symmetrised",
        row_offsets=row_offsets,
        column_indices=column_indices,
        column_offsets=column_offsets,
        row_indices=transposed.columns,
        edge_sources=edge_sources,
        checksum=graph_checksum(_narrowed(rows.offsets, INT32_MAX), column_indices),
        statistics={"edges_listed": len(column_indices)},
    )


def require_offsets(row_offsets: npt.NDArray[np.integer[Any]], arcs: int) -> None:
    """Check the row offsets of a graph that has ``arcs`` arcs. Raises UsageError if they do not ascend from 0
    to ``arcs``."""
    ascend = len(row_offsets) > 0 and (row_offsets[1:] >= row_offsets[:-1]).all()
    if not ascend or row_offsets[0] != 0 or row_offsets[-1] != arcs:
        raise UsageError(f"row_offsets do not ascend from 0 to the {arcs:,} column_indices")


def edges_listed(edges: EdgeList) -> int:
    """Returns the number of edges as their publisher counts them. A METIS file lists each edge twice but
    counts it once.
    """
    return len(edges.sources) // 2 if edges.format == "metis" else len(edges.sources)


def graph_checksum(
    row_offsets: Offsets, column_indices: Ids, weights: npt.NDArray[np.int32] | None = None
) -> str:
    """Returns the SHA-256 of the bytes of row_offsets, column_indices and any weights, each little-endian."""
    digest = hashlib.sha256()
    for array in (row_offsets, column_indices, weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _group(rows: Ids, columns: Ids, num_vertices: int, name: str, plan: _Plan | None = None) -> _Rows:
    """Returns arcs grouped by row. Raises InputError for an id out of range.

    With ``plan``, the function sorts the columns of each row. It also adds reverse arcs and drops self loops,
    if the plan says so. Duplicates stay. Without ``plan``, the columns of a row keep the order of the edges.
    """
    native = _native_convert()
    rows, columns = (np.ascontiguousarray(ids, np.int32) for ids in (rows, columns))
    loops = native.count_loops(len(rows), rows, columns, num_vertices)
    if loops < 0:
        raise InputError(f"{name}: an edge has a vertex outside 0 .. {num_vertices - 1}")
    mirror, drop_loops = (plan.mirror, plan.drop_loops) if plan else (False, False)
    arcs = (len(rows) - loops) * (2 if mirror else 1) + (0 if drop_loops else loops)
    grouped = _Rows(np.empty(num_vertices + 1, np.int64), np.empty(arcs, np.int32))
    native.group_by_row(
        *(len(rows), rows, columns, mirror, drop_loops, plan is not None),
        *(num_vertices, np.empty(arcs, np.uint64), grouped.offsets, grouped.columns),
    )
    return grouped


def _weights_by_row(edges: EdgeList, plan: _Plan) -> npt.NDArray[np.int32]:
    """Returns the weights of the arcs that a conversion makes from weighted edges, int32[E] in CSR order.
    Parallel arcs are in ascending order of weight. If duplicates are dropped, the lightest arc stays."""
    assert edges.weights is not None
    rows, columns, weights = edges.sources, edges.targets, edges.weights
    if plan.mirror:
        back = rows != columns  # a self loop has only one arc
        rows, columns, weights = (
            np.concatenate([rows, columns[back]]),
            np.concatenate([columns, rows[back]]),
            np.concatenate([weights, weights[back]]),
        )
    places = rows.astype(np.int64) * edges.num_vertices + columns
    if plan.drop_loops:
        stays = rows != columns
        places, weights = places[stays], weights[stays]
    if not (places[1:] > places[:-1]).all():  # arcs of a generator are often in this order already
        order = np.lexsort((weights, places))
        places, weights = places[order], weights[order]
    if plan.drop_duplicates:
        weights = weights[np.concatenate([[True], places[1:] != places[:-1]])] if len(places) else weights
    return np.array(weights, np.int32)


def _row_of_each(rows: _Rows) -> Ids:
    """Returns the row of every arc, int32[E]."""
    expanded = np.empty(len(rows.columns), np.int32)
    _native_convert().expand_rows(len(rows.offsets) - 1, rows.offsets, expanded)
    return expanded


def _without_duplicates(rows: _Rows) -> _Rows:
    native, num_vertices = _native_convert(), len(rows.offsets) - 1
    offsets = np.empty_like(rows.offsets)
    native.offsets_without_duplicates(num_vertices, rows.offsets, rows.columns, offsets)
    columns = np.empty(int(offsets[-1]), np.int32)
    native.copy_without_duplicates(num_vertices, rows.offsets, rows.columns, offsets, columns)
    return _Rows(offsets, columns)


def _require_symmetry(
    rows: _Rows, transposed: _Rows, name: str, original_ids: npt.NDArray[np.int64] | None
) -> None:
    """Check that the transposed graph equals the graph. Raises InputError if they differ.

    They are equal if every arc has a reverse arc, and k parallel arcs have k reverse arcs.
    """
    if np.array_equal(rows.offsets, transposed.offsets):
        differing = np.flatnonzero(rows.columns != transposed.columns)[:1]
        vertex = np.searchsorted(rows.offsets, differing, side="right") - 1
    else:
        vertex = np.flatnonzero(rows.offsets != transposed.offsets)[:1] - 1
    if len(vertex):
        shown = vertex[0] if original_ids is None else original_ids[vertex[0]]
        raise InputError(
            f"{name}: not every edge is listed both ways: vertex {shown} has an arc without its reverse; "
            "read it as directed, or symmetrise it"
        )


def _narrowed(offsets: _Wide, wide_above: int) -> Offsets:
    return offsets if offsets[-1] > wide_above else offsets.astype(np.int32)
