"""The blocked Floyd-Warshall of the CPU: sizes around its tiles, next hops, and its time."""

import time

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall

import bfsbench
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.apsp.matrix import INFINITY, Matrix, weight_matrix


def random_graph(n: int, density: float = 10) -> Graph:
    return bfsbench.generate("weighted_random", n=n, density=density)


def expected(graph: Graph) -> Matrix:
    """SciPy's distances, from a matrix in which 0 means that there is no arc."""
    matrix = weight_matrix(graph)
    found = floyd_warshall(np.where(matrix < INFINITY, matrix, 0))
    return np.where(np.isinf(found), INFINITY, found).astype(np.int32)


@pytest.mark.parametrize("n", [1, 2, 33, 63, 64, 65, 130, 259, 320])
@pytest.mark.parametrize("density", [1, 40])
def test_distances_and_next_hops(n: int, density: float) -> None:
    graph = random_graph(n, density)
    result = bfsbench.all_pairs(graph, "cpu_floyd_warshall", next_hops=True)
    distances, hops = result.distances, result.next_hops
    assert np.array_equal(distances, expected(graph))
    assert hops is not None
    assert (hops[distances == INFINITY] == -1).all()
    rows, columns = np.nonzero((distances < INFINITY) & ~np.eye(n, dtype=bool))
    after = hops[rows, columns]
    assert (weight_matrix(graph)[rows, after] + distances[after, columns] == distances[rows, columns]).all()


def test_it_takes_at_most_a_fifth_of_scipys_time() -> None:
    graph = random_graph(512)
    matrix = weight_matrix(graph)
    scipys = []
    for _ in range(3):
        begin = time.perf_counter()
        floyd_warshall(matrix)
        scipys.append(1000 * (time.perf_counter() - begin))
    result = bfsbench.all_pairs(graph, "cpu_floyd_warshall", repeats=5)
    assert min(result.search_ms) < min(scipys) / 5
