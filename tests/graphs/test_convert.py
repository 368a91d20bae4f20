"""Compares CSR, CSC and COO with scipy.sparse, for every recipe, with and without weights."""

import hashlib
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, strategies as st

from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph, Orientation
from bfsbench.graphs.store import GraphStore
from bfsbench.support.errors import InputError
from tests import shapes
from tests.graphs.texts import matrix

V = 40
vertex = st.integers(0, V - 1)
edge_lists = st.lists(st.tuples(vertex, vertex), max_size=150)
choices = st.sampled_from([None, "keep", "drop"])


def edge_list(
    pairs: list[tuple[int, int]], orientation: Orientation = "directed", format: str = ""
) -> EdgeList:
    return replace(shapes.edge_list(V, pairs, orientation), format=format or None)


def multiplicities(
    edges: EdgeList, mirror: bool, drop_loops: bool, drop_duplicates: bool
) -> npt.NDArray[np.float64]:
    """Returns the number of arcs between each pair of vertices after a conversion."""
    counts = matrix(edges).toarray()
    if mirror:
        counts = counts + counts.T - np.diag(counts.diagonal())
    if drop_loops:
        np.fill_diagonal(counts, 0)
    return np.minimum(counts, 1) if drop_duplicates else counts


def expanded(counts: npt.NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Returns the offsets and the columns of the multigraph with these numbers of arcs, made by SciPy."""
    rows = scipy.sparse.csr_matrix(counts)
    rows.sort_indices()
    times = rows.data.astype(int)
    ends = np.concatenate([[0], np.cumsum(times)])
    return ends[rows.indptr].tolist(), np.repeat(rows.indices, times).tolist()


def assert_equals(graph: Graph, counts: npt.NDArray[np.float64]) -> None:
    offsets, columns = expanded(counts)
    assert (graph.row_offsets.tolist(), graph.column_indices.tolist()) == (offsets, columns)
    offsets, rows = expanded(counts.T)
    assert (graph.column_offsets.tolist(), graph.row_indices.tolist()) == (offsets, rows)
    degrees = np.diff(graph.row_offsets)
    assert graph.edge_sources.tolist() == np.repeat(np.arange(V), degrees).tolist()


@given(
    pairs=edge_lists,
    each_once=st.booleans(),
    symmetrise=st.booleans(),
    self_loops=choices,
    duplicates=choices,
    format=st.sampled_from(["", "snap", "mtx"]),
)
def test_every_recipe_agrees_with_scipy(
    pairs: list[tuple[int, int]],
    each_once: bool,
    symmetrise: bool,
    self_loops: Literal["keep", "drop"] | None,
    duplicates: Literal["keep", "drop"] | None,
    format: str,
) -> None:
    edges = edge_list(pairs, "each_once" if each_once else "directed", format)
    recipe = Recipe(symmetrise=symmetrise, self_loops=self_loops, duplicates=duplicates)
    graph = build_graph(edges, "random", recipe)
    mirror = each_once or symmetrise
    drop_loops = self_loops == "drop" or (self_loops is None and format == "mtx")
    drop_duplicates = duplicates == "drop" or (duplicates is None and symmetrise and not each_once)
    assert_equals(graph, multiplicities(edges, mirror, drop_loops, drop_duplicates))
    assert graph.full_name == ("random:symmetrised" if mirror else "random:directed")
    assert (graph.row_indices is graph.column_indices) == mirror


def test_large_enough_for_several_workers_and_buckets() -> None:
    random = np.random.default_rng(7)
    num_vertices, num_edges = 10_000, 400_000
    ends = (num_vertices * random.random((2, num_edges)) ** 3).astype(np.int32)
    graph = build_graph(EdgeList(ends[0], ends[1], num_vertices), "skewed", Recipe(duplicates="drop"))
    reference = scipy.sparse.coo_matrix((np.ones(num_edges), (ends[0], ends[1])), (num_vertices,) * 2)
    rows, columns = reference.tocsr(), reference.tocsc()
    assert np.array_equal(graph.row_offsets, rows.indptr)
    assert np.array_equal(graph.column_indices, rows.indices)
    assert np.array_equal(graph.column_offsets, columns.indptr)
    assert np.array_equal(graph.row_indices, columns.indices)


@given(pairs=edge_lists)
def test_both_ways_is_verified(pairs: list[tuple[int, int]]) -> None:
    reversed_too = pairs + [(v, u) for u, v in pairs if u != v]
    edges = edge_list(reversed_too, "both_ways")
    graph = build_graph(edges, "two-way")
    assert_equals(graph, matrix(edges).toarray())
    assert graph.direction == "symmetrised"
    assert graph.column_offsets is graph.row_offsets


@pytest.mark.parametrize(
    ("pairs", "vertex"),
    [([(0, 1), (1, 0), (2, 3)], 2), ([(0, 1), (1, 2), (2, 0)], 0), ([(4, 5), (4, 5), (5, 4)], 4)],
)
def test_a_missing_reverse_is_named(pairs: list[tuple[int, int]], vertex: int) -> None:
    with pytest.raises(InputError, match=rf"one-way: .*: vertex {vertex} has an arc without its reverse"):
        build_graph(edge_list(pairs, "both_ways"), "one-way")


def test_wide_offsets_hold_the_same_numbers() -> None:
    edges = edge_list([(0, 1), (1, 2), (2, 1)])
    narrow, wide = build_graph(edges, "g"), build_graph(edges, "g", wide_above=2)
    assert (narrow.row_offsets.dtype, wide.row_offsets.dtype) == (np.int32, np.int64)
    assert (narrow.column_offsets.dtype, wide.column_offsets.dtype) == (np.int32, np.int64)
    assert np.array_equal(narrow.row_offsets, wide.row_offsets)
    assert np.array_equal(narrow.column_offsets, wide.column_offsets)
    assert build_graph(edges, "g", wide_above=3).row_offsets.dtype == np.int32


def test_symmetrising_what_is_listed_both_ways_needs_no_room_for_what_is_dropped() -> None:
    def listed_twice() -> EdgeList:
        ends = np.random.default_rng(1).integers(0, 10_000, (2, 200_000), np.int32)
        return EdgeList(np.concatenate(ends), np.concatenate(ends[::-1]), 10_000)

    tracemalloc.start()
    graph = build_graph(listed_twice(), "g", Recipe(symmetrise=True))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    made = graph.row_offsets.nbytes + graph.column_indices.nbytes + graph.edge_sources.nbytes
    assert peak < 3 * made


@pytest.mark.parametrize("pair", [(0, V), (V, 0), (-1, 0)])
def test_ids_out_of_range_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=f"outside 0 .. {V - 1}"):
        build_graph(edge_list([(0, 1), pair]), "wrong")


def test_the_checksum_is_that_of_the_csr_bytes() -> None:
    graph = build_graph(edge_list([(3, 1), (0, 2), (3, 0)]), "first")
    content = graph.row_offsets.astype("<i4").tobytes() + graph.column_indices.astype("<i4").tobytes()
    assert graph.checksum == hashlib.sha256(content).hexdigest()
    assert graph.checksum == build_graph(edge_list([(3, 0), (3, 1), (0, 2)]), "reordered").checksum
    assert graph.checksum != build_graph(edge_list([(3, 0), (3, 1), (0, 1)]), "other").checksum


def test_arrays_are_read_only() -> None:
    graph = build_graph(edge_list([(0, 1)]), "g")
    assert not any(array.flags.writeable for array in graph.searched.values())


EDGES = [(2, 0, 7), (0, 1, 5), (0, 1, 3), (1, 1, 9), (1, 0, 4)]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (Recipe(), [(0, 1, 3), (0, 1, 5), (1, 0, 4), (1, 1, 9), (2, 0, 7)]),
        (Recipe(duplicates="drop"), [(0, 1, 3), (1, 0, 4), (1, 1, 9), (2, 0, 7)]),
        (Recipe(self_loops="drop"), [(0, 1, 3), (0, 1, 5), (1, 0, 4), (2, 0, 7)]),
        (Recipe(symmetrise=True), [(0, 1, 3), (0, 2, 7), (1, 0, 3), (1, 1, 9), (2, 0, 7)]),
    ],
)
def test_weights_stay_with_their_arcs(recipe: Recipe, expected: list[tuple[int, int, int]]) -> None:
    sources, targets, weights = np.array(EDGES, np.int32).T.copy()
    graph = build_graph(EdgeList(sources, targets, 3, weights=weights), "weighted", recipe)
    assert graph.weights is not None and graph.weights.dtype == np.int32
    found = zip(
        graph.edge_sources.tolist(), graph.column_indices.tolist(), graph.weights.tolist(), strict=True
    )
    assert list(found) == expected


def test_weights_come_back_from_the_cache_and_count_in_the_checksum(tmp_path: Path) -> None:
    def drawn() -> EdgeList:
        return generate("weighted_random", n=30, density=20)

    built = GraphStore(tmp_path).build("w", Recipe(), drawn, "c")
    opened = GraphStore(tmp_path).open("w", Recipe(), "c")
    memory = build_graph(drawn(), "w")
    assert opened is not None and opened.weights is not None and memory.weights is not None
    assert np.array_equal(opened.weights, memory.weights)
    assert built.checksum == opened.checksum == memory.checksum
    other = build_graph(generate("weighted_random", n=30, density=20, max_weight=999), "w")
    assert np.array_equal(other.column_indices, memory.column_indices) and other.checksum != memory.checksum
