"""All-pairs shortest paths: every variant against SciPy, on difficult graphs, and their paths."""

import time
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import floyd_warshall

import bfsbench
from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import generate
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.apsp.matrix import INFINITY, MAX_VERTICES, Matrix, weight_matrix
from bfsbench.programs.families.apsp.problem import (
    AllPairs,
    WrongDistancesError,
    check_next_hops,
    path_between,
)
from bfsbench.support.errors import LaunchError, NoPathError, UsageError
from bfsbench.variants import all_variants, find
from bfsbench.variants.base import AllPairsVariant, DeviceGraph, KernelSetup, KnobValue
from tests.parameters import covering, some

UNWEIGHTED = ("apsp_bfs", "cpu_apsp_bfs")
"""Variants that refuse weights, which test_closeness.py tests."""
VARIANTS = [
    name for name, variant in all_variants().items() if variant.family == "apsp" and name not in UNWEIGHTED
]
TILES = [
    {"TILE_SIZE": tile, "ELEMENTS_X": x, "ELEMENTS_Y": y}
    for tile, x, y in ((32, 1, 1), (32, 8, 8), (32, 2, 4), (64, 4, 2), (64, 8, 1), (128, 4, 8), (128, 8, 8))
]


def weighted(num_vertices: int, arcs: list[tuple[int, int, int]]) -> Graph:
    """Returns a graph of arcs (source, target, weight)."""
    rows = np.array(arcs, np.int32).reshape(-1, 3)
    sources, targets, weights = (np.ascontiguousarray(column) for column in rows.T)
    edges = EdgeList(sources, targets, num_vertices, weights=weights)
    return build_graph(edges, "weighted")


def random_graph(n: int, density: float = 5, **parameters: int) -> Graph:
    return build_graph(generate("weighted_random", n=n, density=density, **parameters), f"random {n}")


def prepared(
    name: str, device: Device, graph: Graph, block: int = 64, tracks: bool = False, **knobs: KnobValue
) -> AllPairsVariant:
    variant = find(name)
    values = variant.knob_values(knobs)
    if variant.host:
        built = variant(graph, values)
    else:
        own = variant.own_block(values) or block
        built = variant(KernelSetup(DeviceGraph(device, graph), None, own, values))
    built.tracks = tracks
    built.prepare()
    return built


def solved(
    name: str, device: Device, graph: Graph, block: int = 64, tracks: bool = False, **knobs: KnobValue
) -> AllPairsVariant:
    """Returns a variant after its second run, to which the first run must leave no state."""
    variant = prepared(name, device, graph, block, tracks, **knobs)
    for _ in range(2):
        variant.reset()
        variant.solve()
    return variant


def check_distances(name: str, device: Device, graph: Graph, block: int = 64, **knobs: KnobValue) -> None:
    """Assert that a variant finds SciPy's distances."""
    AllPairs(graph).check_distances(solved(name, device, graph, block, **knobs).distances())


def check_hops(name: str, device: Device, graph: Graph, **knobs: KnobValue) -> AllPairsVariant:
    """Assert that following a variant's next hops takes the distances, and that these are right."""
    variant = solved(name, device, graph, tracks=True, **knobs)
    AllPairs(graph).check_distances(variant.distances())
    check_next_hops(weight_matrix(graph), variant.distances(), variant.next_hops())
    return variant


def by_definition(graph: Graph) -> Matrix:
    """Returns distances by relaxing arcs until nothing changes, which shares no code with the package."""
    n = graph.num_vertices
    weights = np.ones(graph.num_edges, np.int64) if graph.weights is None else graph.weights.astype(np.int64)
    found = np.full((n, n), INFINITY, np.int64)
    np.fill_diagonal(found, 0)
    while True:
        before = found.copy()
        for source, target, weight in zip(graph.edge_sources, graph.column_indices, weights, strict=True):
            reached = before[:, source] < INFINITY
            found[reached, target] = np.minimum(found[reached, target], before[reached, source] + weight)
        if np.array_equal(found, before):
            return found.astype(np.int32)


LARGE = (INFINITY - 1) // 5

SHAPES = {
    "one vertex": weighted(1, []),
    "one vertex with a self loop": weighted(1, [(0, 0, 5)]),
    "two vertices": weighted(2, [(0, 1, 7)]),
    "two vertices without arcs": weighted(2, []),
    "three vertices, two arcs better than one": weighted(3, [(0, 1, 2), (1, 2, 3), (0, 2, 9)]),
    "disconnected": weighted(9, [(0, 1, 3), (1, 2, 4), (2, 0, 1), (5, 6, 2), (6, 7, 8)]),
    "weights of zero": weighted(6, [(0, 1, 0), (1, 0, 0), (1, 2, 0), (2, 3, 4), (3, 1, 0), (4, 5, 0)]),
    "self loops": weighted(4, [(0, 0, 1), (0, 1, 2), (1, 1, 0), (1, 3, 2), (3, 3, 9)]),
    "parallel arcs": weighted(3, [(0, 1, 9), (0, 1, 2), (0, 1, 5), (1, 2, 3), (1, 2, 1), (0, 2, 4)]),
    "largest weights": weighted(6, [(v, v + 1, LARGE) for v in range(5)]),
    "path, backwards in the matrix": weighted(70, [(v + 1, v, 1) for v in range(69)]),
    "unweighted": build_graph(generate("kronecker", scale=5, edge_factor=4), "kronecker"),
    **{f"random {n}": random_graph(n) for n in (31, 32, 33, 63, 64, 65, 100, 127, 129)},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_distances_are_scipys(device: Device, name: str, shape: str) -> None:
    check_distances(name, device, SHAPES[shape])


@pytest.mark.parametrize("shape", [name for name, graph in SHAPES.items() if graph.num_vertices < 40])
def test_scipy_is_asked_rightly(shape: str) -> None:
    graph = SHAPES[shape]
    assert AllPairs(graph).distances.tolist() == by_definition(graph).tolist()


@pytest.mark.parametrize("tile", some(TILES, TILES[0], TILES[2], TILES[5]), ids=str)
def test_distances_do_not_depend_on_the_tile(device: Device, tile: dict[str, int]) -> None:
    for n in (1, 33, 130, 200):
        check_distances("apsp_fw_blocked", device, random_graph(n, density=3), **tile)


@pytest.mark.parametrize("block", [1, 32, 33, 256])
def test_distances_do_not_depend_on_the_block(device: Device, block: int) -> None:
    check_distances("apsp_fw", device, random_graph(70), block)


@pytest.mark.parametrize(("name", "seed"), covering(VARIANTS, range(1, 5)))
@pytest.mark.exhaustive
def test_distances_do_not_depend_on_the_schedule(name: str, seed: int) -> None:
    with closing(open_device("cpu", seed)) as device:
        check_distances(name, device, random_graph(70))


@given(
    n=st.integers(1, 40),
    arcs=st.lists(
        st.tuples(st.integers(0, 39), st.integers(0, 39), st.sampled_from([0, 1, 2, 1000])), max_size=120
    ),
)
def test_random_multigraphs(device: Device, n: int, arcs: list[tuple[int, int, int]]) -> None:
    graph = weighted(n, [(source % n, target % n, weight) for source, target, weight in arcs])
    expected = by_definition(graph).tolist()
    for name in VARIANTS:
        assert solved(name, device, graph).distances().tolist() == expected, name


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_following_next_hops_takes_the_distance(device: Device, name: str, shape: str) -> None:
    check_hops(name, device, SHAPES[shape])


@pytest.mark.parametrize("tile", some(TILES, TILES[0], TILES[2], TILES[5]), ids=str)
def test_next_hops_do_not_depend_on_the_tile(device: Device, tile: dict[str, int]) -> None:
    check_hops("apsp_fw_blocked", device, random_graph(130, density=3, max_weight=2), **tile)


@given(
    n=st.integers(1, 12), arcs=st.lists(st.tuples(*[st.integers(0, 11)] * 2, st.integers(0, 1)), max_size=60)
)
def test_paths_are_found_through_arcs_of_weight_zero(
    device: Device, n: int, arcs: list[tuple[int, int, int]]
) -> None:
    graph = weighted(n, [(source % n, target % n, weight) for source, target, weight in arcs])
    weights = weight_matrix(graph)
    for name in VARIANTS:
        variant = check_hops(name, device, graph)
        distances, hops = variant.distances(), variant.next_hops()
        for source, target in np.argwhere(distances < INFINITY):
            path = path_between(hops, source, target)
            assert (path[0], path[-1], len(set(path))) == (source, target, len(path))
            assert weights[path[:-1], path[1:]].sum() == distances[source, target]


def test_wrong_next_hops_are_told() -> None:
    graph = weighted(4, [(0, 1, 0), (1, 0, 0), (1, 2, 3), (0, 3, 9)])
    weights, distances = weight_matrix(graph), AllPairs(graph).distances
    right = np.array([[0, 1, 1, 3], [0, 1, 2, 0], [-1, -1, 2, -1], [-1, -1, -1, 3]], np.int32)
    check_next_hops(weights, distances, right)
    for (source, target), hop, reason in (
        ((0, 2), -1, "no vertex to go to"),
        ((2, 0), 1, "no vertex to go to"),
        ((0, 3), 4, "no vertex to go to"),
        ((0, 3), 1, "hops that never get there"),
        ((1, 2), 0, "hops that never get there"),
        ((0, 2), 2, "a hop that is on no shortest path"),
    ):
        wrong = right.copy()
        wrong[source, target] = hop
        with pytest.raises(WrongDistancesError, match=reason):
            check_next_hops(weights, distances, wrong)


def test_paths_that_there_are_not() -> None:
    hops = np.array([[0, 1, 1], [-1, 1, 0], [-1, -1, 2]], np.int32)
    assert path_between(hops, 0, 1).tolist() == [0, 1]
    assert path_between(hops, 2, 2).tolist() == [2]
    with pytest.raises(NoPathError, match="there is no path from 1 to 0"):
        path_between(hops, 1, 0)
    with pytest.raises(UsageError, match=r"vertex 3 is out of range: there are 0 \.\. 2"):
        path_between(hops, 0, 3)
    with pytest.raises(UsageError, match="these next hops lead from vertex 0 not to 2"):
        path_between(hops, 0, 2)
    with pytest.raises(UsageError, match="there are no next hops to follow"):
        path_between(None, 0, 1)


def test_a_wrong_distance_is_told() -> None:
    graph = weighted(3, [(0, 1, 2), (1, 2, 3)])
    found = AllPairs(graph).distances.copy()
    found[0, 2] = 6
    with pytest.raises(WrongDistancesError, match="1 of 9 distances differ; from 0 to 2 it is 6, not 5"):
        AllPairs(graph).check_distances(found)


def test_a_block_over_the_devices_limit_is_refused(device: Device) -> None:
    with pytest.raises(LaunchError, match="takes 16,384 threads a block, but the device has"):
        prepared("apsp_fw_blocked", device, random_graph(5), TILE_SIZE=128, ELEMENTS_X=1, ELEMENTS_Y=1)


def test_graphs_that_no_matrix_can_hold_are_refused() -> None:
    with pytest.raises(UsageError, match="32,769 vertices: all-pairs shortest paths take a dense matrix"):
        weight_matrix(build_graph(generate("path", n=MAX_VERTICES + 1), "long"))
    with pytest.raises(UsageError, match="an arc of weight -1: weights must not be negative"):
        weight_matrix(weighted(2, [(0, 1, -1)]))
    with pytest.raises(UsageError, match="a path over 7 vertices could be longer than"):
        weight_matrix(weighted(7, [(0, 1, LARGE)]))


@pytest.mark.parametrize(("n", "products"), [(1, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (9, 3), (10, 4)])
def test_the_number_of_products_is_the_papers(device: Device, n: int, products: int) -> None:
    variant = prepared("apsp_min_plus", device, random_graph(n))
    assert variant.num_products == products  # ceil(log2(n - 1))


@pytest.mark.parametrize("n", [1, 2, 33, 63, 64, 65, 130, 259, 320])
@pytest.mark.parametrize("density", [1, 40])
def test_sizes_around_the_tiles_of_the_processors_search(emulator: Device, n: int, density: float) -> None:
    check_hops("cpu_floyd_warshall", emulator, random_graph(n, density))


def test_the_processors_search_takes_at_most_half_of_scipys_time() -> None:
    """On idle cores it takes less than a fifth. Here other tests may use the cores at the same time."""
    graph = random_graph(512, density=10)
    matrix = weight_matrix(graph)
    scipys = []
    for _ in range(3):
        begin = time.perf_counter()
        floyd_warshall(matrix)
        scipys.append(1000 * (time.perf_counter() - begin))
    result = bfsbench.all_pairs(graph, "cpu_floyd_warshall", repeats=5)
    assert min(result.search_ms) < min(scipys) / 2
