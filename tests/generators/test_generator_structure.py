"""Tests that each kind of graph has the structure that its source describes."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, strategies as st
from scipy.sparse.csgraph import connected_components

from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS, generate, recommended_source
from bfsbench.graphs.generators.declaration import parse_spec
from bfsbench.graphs.generators.kinds import open_cells
from bfsbench.graphs.graph import EdgeList
from tests.graphs.texts import matrix, pairs

Counts = npt.NDArray[np.int64]
KRONECKER = {"scale": 10, "edge_factor": 64, "shuffle": 0}
sides = st.integers(1, 9)


def out_degrees(edges: EdgeList) -> Counts:
    return np.bincount(edges.sources, minlength=edges.num_vertices)


def degrees(edges: EdgeList) -> Counts:
    return out_degrees(edges) + np.bincount(edges.targets, minlength=edges.num_vertices)


def components(edges: EdgeList) -> int:
    return int(connected_components(matrix(edges), return_labels=False))


def repeated(edges: EdgeList, ordered: bool = False) -> int:
    """Returns how many edges repeat an earlier edge. Direction counts only if ``ordered``."""
    pairs = np.column_stack((edges.sources, edges.targets))
    return len(pairs) - len(np.unique(pairs if ordered else np.sort(pairs, axis=1), axis=0))


def close_to_share(hits: int | np.integer[Any], trials: int, share: float) -> bool:
    """Returns whether ``hits`` lies within five standard deviations of a binomial draw."""
    return abs(int(hits) - trials * share) <= 5 * math.sqrt(trials * share * (1 - share)) + 1


@pytest.mark.parametrize(
    ("name", "parameters", "shares"),
    [
        ("kronecker", KRONECKER, (0.57, 0.19, 0.19, 0.05)),
        ("kronecker", {**KRONECKER, "a": 0.2, "b": 0.5, "c": 0}, (0.2, 0.5, 0, 0.3)),
        ("rmat", {"n": 1024, "m": 65536, "noise": 0}, (0.45, 0.15, 0.15, 0.25)),
    ],
)
def test_every_level_of_a_recursive_matrix_has_the_quadrants_shares(
    name: str, parameters: dict[str, int | float], shares: tuple[float, ...]
) -> None:
    edges = generate(name, **parameters)
    for bit in range(10):
        quadrants = 2 * (edges.sources >> bit & 1) + (edges.targets >> bit & 1)
        for quadrant, share in enumerate(shares):
            assert close_to_share(np.count_nonzero(quadrants == quadrant), len(quadrants), share)


def test_levels_of_a_recursive_matrix_are_independent() -> None:
    edges = generate("rmat", n=4, m=80_000, noise=0)
    cells = np.bincount(4 * edges.sources + edges.targets, minlength=16)
    for source in range(4):
        for target in range(4):
            high = 2 * (source >> 1) + (target >> 1)
            low = 2 * (source & 1) + (target & 1)
            share = (0.45, 0.15, 0.15, 0.25)[high] * (0.45, 0.15, 0.15, 0.25)[low]
            assert close_to_share(cells[4 * source + target], 80_000, share)


def test_shuffling_only_relabels() -> None:
    plain, shuffled = (generate("kronecker", scale=9, shuffle=shuffle) for shuffle in (0, 1))
    assert degrees(plain).tolist() != degrees(shuffled).tolist()
    assert sorted(degrees(plain)) == sorted(degrees(shuffled))
    labels: dict[int, int] = {}
    for before, after in ((plain.sources, shuffled.sources), (plain.targets, shuffled.targets)):
        for old, new in zip(before.tolist(), after.tolist(), strict=True):
            assert labels.setdefault(old, new) == new
    assert len(set(labels.values())) == len(labels)


def test_rmat_noise_keeps_the_average_shares() -> None:
    edges = generate("rmat", n=1024, m=65536, noise=0.2)
    assert repr(degrees(edges).tolist()) != repr(degrees(generate("rmat", n=1024, m=65536)).tolist())
    for bit in range(10):
        assert np.mean((edges.sources >> bit & 1) == 0) == pytest.approx(0.6, abs=0.02)


def test_rmat_halves_ids_rounding_down() -> None:
    edges = generate("rmat", n=1000, m=100_000)
    # 1000 is halved nine times: 500, 250, 125, 62, 31, 15, 7, 3, 1.
    sums = {0}
    for step in (500, 250, 125, 62, 31, 15, 7, 3, 1):
        sums |= {value + step for value in sums}
    assert set(edges.sources) | set(edges.targets) <= sums
    assert max(sums) < 1000


def test_uniform_degrees_are_those_of_independent_draws() -> None:
    edges = generate("uniform", n=1000, m=100_000)
    found = degrees(edges)
    chi_square = np.sum((found - 200.0) ** 2 / 200.0)
    assert abs(chi_square - 999) < 5 * math.sqrt(2 * 999)
    assert close_to_share(np.count_nonzero(edges.sources == edges.targets), 100_000, 0.001)


def test_small_world_without_moves_is_the_ring() -> None:
    edges = generate("small_world", n=50, k=3, p=0)
    expected = [(v, (v + step) % 50) for v in range(50) for step in (1, 2, 3)]
    assert pairs(edges) == expected


def test_small_world_moves_the_share_p() -> None:
    edges = generate("small_world", n=20_000, k=10, p=0.3)
    steps = (edges.targets - edges.sources) % 20_000
    ring = np.count_nonzero((steps >= 1) & (steps <= 10))
    assert close_to_share(ring, 200_000, 0.7)
    assert degrees(edges).mean() == pytest.approx(20, abs=0.02)


@given(n=st.integers(3, 60), k=st.integers(1, 29), p=st.floats(0, 1), seed=st.integers(0, 99))
def test_small_worlds_are_simple_graphs(n: int, k: int, p: float, seed: int) -> None:
    edges = generate("small_world", n=2 * k + n, k=k, p=p, seed=seed)
    assert not np.any(edges.sources == edges.targets)
    assert repeated(edges) == 0
    assert out_degrees(edges).max() <= k


def test_geometric_graphs_join_what_is_near_and_number_it_by_cells() -> None:
    edges = generate("geometric", n=20_000, degree=12)
    assert repeated(edges) == 0
    assert not np.any(edges.sources == edges.targets)
    # A vertex near the border has fewer neighbours: the mean is a little below 12.
    assert 11 < degrees(edges).mean() < 12
    assert degrees(edges).max() < 40
    # 40 x 40 cells hold 12.5 vertices each, and an edge leads at most one row of cells on.
    assert np.abs(edges.targets - edges.sources).max() < 2.5 * 20_000 / 40


@given(n=st.integers(1, 40), degree=st.floats(0, 60), seed=st.integers(0, 99))
def test_small_geometric_graphs_are_simple(n: int, degree: float, seed: int) -> None:
    edges = generate("geometric", n=n, degree=degree, seed=seed)
    assert np.all(edges.sources < edges.targets)
    assert repeated(edges) == 0
    # The radius is at most the side. Of four points in a square two are as near: by Turan's theorem no more
    # than a third of n^2 pairs are not.
    assert n * (n - 1) // 2 - len(edges.sources) <= n * n // 3 or degree < math.pi * n


def test_crawls_have_hubs_and_near_links() -> None:
    edges = generate("crawl", n=100_000)
    assert len(edges.sources) == pytest.approx(1_000_000, rel=0.05)
    assert out_degrees(edges).min() >= 1
    assert out_degrees(edges).max() <= 160
    distances = np.abs(edges.targets.astype(np.int64) - edges.sources)
    assert np.count_nonzero(distances < 1000) / len(distances) == pytest.approx(0.75, abs=0.02)
    in_degrees = np.bincount(edges.targets, minlength=100_000)
    assert in_degrees.max() > 20_000
    assert np.median(in_degrees) < 12


def test_a_forest_without_fire_is_a_tree() -> None:
    edges = generate("forest_fire", n=500, f=0, b=0)
    assert edges.sources.tolist() == list(range(1, 500))
    assert np.all(edges.targets < edges.sources)


@pytest.mark.parametrize("start", [1, 5])
def test_a_fire_spreads_along_arcs(start: int) -> None:
    edges = generate("forest_fire", n=600, s=start)
    neighbours: list[set[int]] = [set() for _ in range(600)]
    for vertex in range(600):
        burned = edges.targets[edges.sources == vertex].tolist()
        assert len(burned) == len(set(burned))
        assert bool(burned) == (vertex >= start)
        assert all(v < vertex for v in burned)
        for position, caught in enumerate(burned[1:], start=1):
            assert neighbours[caught].intersection(burned[:position])
        for v in burned:
            neighbours[v].add(vertex)
            neighbours[vertex].add(v)


@pytest.mark.exhaustive
def test_fires_have_the_expected_size() -> None:
    # The fire of the third vertex starts at 1 in half of the cases, from where 0 burns forwards with f; in
    # the other half it starts at 0, from where 1 burns backwards with b.
    sizes = [out_degrees(generate("forest_fire", n=3, f=0.3, b=0.6, seed=seed))[2] for seed in range(4000)]
    assert close_to_share(sizes.count(2), 4000, 0.45)


def test_forest_fire_is_connected() -> None:
    assert components(generate("forest_fire", n=5000)) == 1


@given(rows=sides, columns=sides, depth=st.integers(1, 5), keep=st.sampled_from([0.5, 1.0]))
def test_lattices_join_neighbours(rows: int, columns: int, depth: int, keep: float) -> None:
    edges = generate("lattice", rows=rows, columns=columns, depth=depth, keep=keep)
    whole = depth * rows * (columns - 1) + depth * (rows - 1) * columns + (depth - 1) * rows * columns
    assert edges.num_vertices == rows * columns * depth
    assert len(edges.sources) == whole if keep == 1 else len(edges.sources) <= whole
    ends = np.unravel_index(np.array([edges.sources, edges.targets]), (depth, rows, columns))
    assert np.all(np.abs(np.diff(ends, axis=1)).sum(axis=0) == 1)
    assert repeated(edges) == 0


def test_a_lattice_keeps_its_share() -> None:
    edges = generate("lattice", rows=400, columns=500, keep=0.7)
    assert close_to_share(len(edges.sources), 2 * 400 * 500 - 900, 0.7)
    assert degrees(edges).mean() == pytest.approx(2.8, abs=0.02)


@given(rows=sides, columns=sides, segments=st.integers(1, 5))
def test_roads_are_paths_between_junctions(rows: int, columns: int, segments: int) -> None:
    edges = generate("roads", rows=rows, columns=columns, segments=segments, keep=1)
    roads = rows * (columns - 1) + (rows - 1) * columns
    assert edges.num_vertices == rows * columns + roads * (segments - 1)
    assert len(edges.sources) == roads * segments
    assert np.all(degrees(edges)[rows * columns :] == 2)
    cut = generate("roads", rows=rows, columns=columns, segments=segments, keep=0)
    assert len(cut.sources) == roads * (segments - 1)
    assert repeated(edges) == repeated(cut) == 0


def test_generated_roads_are_as_large_and_as_sparse_as_those_of_europe() -> None:
    europe = Catalogue.load().get("europe_osm")
    vertices, edges = GENERATORS["roads"].counts({"rows": 2697, "columns": 2697})
    assert vertices == pytest.approx(europe.num_vertices, rel=0.01)
    assert edges == pytest.approx(europe.num_edges, rel=0.01)
    small = generate("roads", rows=300, columns=300)
    assert degrees(small).mean() == pytest.approx(2 * edges / vertices, abs=0.02)


@given(n=st.integers(1, 3000), form=st.sampled_from(["grid3d", "triangular2d"]))
@example(n=126, form="grid3d")
def test_luo_grids_are_connected_and_of_degree_six(n: int, form: str) -> None:
    edges = generate("luo_grid", n=n, form=form)
    assert edges.num_vertices == n
    assert degrees(edges).max() <= 6
    assert components(edges) == 1
    centre = recommended_source("luo_grid", {"n": n, "form": form})
    assert centre is not None and 0 <= centre < n
    assert n < 125 or degrees(edges)[centre] == 6


@pytest.mark.parametrize(("form", "interior"), [("grid3d", 18**3), ("triangular2d", 87**2)])
def test_the_inside_of_a_luo_grid_has_degree_six(form: str, interior: int) -> None:
    n = 20**3 if form == "grid3d" else 89**2
    edges = generate("luo_grid", n=n, form=form)
    assert np.count_nonzero(degrees(edges) == 6) == interior


@pytest.mark.parametrize("n", [2000, 10_999, 100_000])
def test_luo_scale_free_degrees(n: int) -> None:
    edges = generate("luo_scale_free", n=n)
    found = degrees(edges)
    hubs = np.flatnonzero(found >= 999)
    rest = np.delete(found, hubs)
    assert len(hubs) == n // 1000
    assert sorted(set(hubs // 1000)) == list(range(n // 1000))
    assert np.count_nonzero(found[hubs] != 1000) + np.count_nonzero(rest < 5) <= 1
    assert rest.max() == 7
    assert rest.mean() == pytest.approx(6, abs=0.1)
    assert not np.any(edges.sources == edges.targets)
    assert repeated(edges) < 0.1 * len(edges.sources)


@given(
    nodes=st.integers(1, 60), density=st.floats(0, 100), degree=st.floats(10, 100), seed=st.integers(0, 99)
)
def test_dense_digraphs_are_strongly_connected_within_their_degree(
    nodes: int, density: float, degree: float, seed: int
) -> None:
    nodes += 20
    edges = generate("dense", nodes=nodes, density=density, degree=degree, seed=seed)
    ring = np.arange(nodes)
    joined = matrix(edges).toarray()
    assert joined[ring, ring].all()
    assert joined[ring, (ring + 1) % nodes].all()
    assert out_degrees(edges).max() <= nodes * degree / 100
    assert repeated(edges, ordered=True) == 0


def test_dense_digraphs_have_their_density() -> None:
    edges = generate("dense", nodes=1000, density=25)
    chosen = len(edges.sources) - 2 * 1000
    assert close_to_share(chosen, 1000 * 998, 0.25)


def test_culling_a_dense_row_favours_no_column() -> None:
    edges = generate("dense", nodes=1000, density=80, degree=30)
    assert set(out_degrees(edges)) == {300}
    columns = np.bincount(edges.targets, minlength=1000)
    assert columns[:500].sum() == pytest.approx(150_000, rel=0.01)


def test_mazes_leave_blocked_cells_alone() -> None:
    parameters = {"rows": 40, "columns": 30, "blocked": 0.3, "seed": 3}
    edges = generate("maze", **parameters)
    is_open = open_cells(rows=40, columns=30, blocked=0.3, seed=3)
    assert close_to_share(int(is_open.sum()), 1200, 0.7)
    assert is_open[0, 0] and is_open[-1, -1]
    expected = [
        (row * 30 + column, below * 30 + right)
        for row, column in zip(*is_open.nonzero(), strict=True)
        for below, right in ((row, column + 1), (row + 1, column))
        if below < 40 and right < 30 and is_open[below, right]
    ]
    assert sorted(pairs(edges)) == sorted(expected)
    assert recommended_source("maze", parameters) == 0


def test_small_shapes() -> None:
    def drawn(spec: str) -> list[tuple[int, int]]:
        name, parameters = parse_spec(spec)
        return pairs(generate(name, **parameters))

    assert drawn("star(n=4)") == drawn("star(n=4,arcs=out)") == [(0, 1), (0, 2), (0, 3)]
    assert drawn("star(n=3,arcs=in)") == [(1, 0), (2, 0)]
    assert drawn("path(n=3)") == [(0, 1), (1, 2)]
    for name in ("path", "star", "binary_tree", "complete"):
        assert drawn(f"{name}(n=1)") == []
    assert drawn("cycle(n=3)") == [(0, 1), (1, 2), (2, 0)]
    assert drawn("complete(n=3)") == [(0, 1), (0, 2), (1, 2)]
    assert drawn("binary_tree(n=6)") == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]


def test_the_pmpp_example_has_the_columns_of_the_figure() -> None:
    edges = generate("pmpp")
    order = np.lexsort((edges.sources, edges.targets))
    assert edges.sources[order].tolist() == [7, 0, 0, 1, 1, 3, 2, 4, 2, 5, 7, 2, 3, 4, 6]
    assert recommended_source("pmpp", {}) == 0
