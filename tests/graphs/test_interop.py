"""Tests graphs made of objects of other libraries. They equal the graph of a file, and convert back."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, strategies as st

from bfsbench.graphs.graph import Graph
from bfsbench.graphs.interop import as_graph
from bfsbench.graphs.load import load
from bfsbench.programs.families.apsp.matrix import weight_matrix
from bfsbench.support.errors import InputError, UsageError
from tests.graphs.texts import put, snap

EDGES = [(0, 1), (0, 2), (1, 2), (2, 0), (3, 1)]
SOURCES, TARGETS = zip(*EDGES, strict=True)
WEIGHTS = [4, 1, 9, 2, 7]


def frame() -> pd.DataFrame:
    return pd.DataFrame({"source": SOURCES, "target": TARGETS})


def sparse() -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((np.ones(5, np.int8), (SOURCES, TARGETS)), shape=(4, 4))


def made(path: Path) -> dict[str, object]:
    return {
        "graph": Graph.from_edges(SOURCES, TARGETS),
        "csr": Graph.from_csr([0, 2, 3, 4, 5], [1, 2, 2, 0, 1]),
        "scipy": sparse(),
        "coo": sparse().tocoo(),
        "networkx": networkx.DiGraph(EDGES),
        "pandas": frame(),
        "pairs": np.array(EDGES, np.uint16),
        "columns": (list(SOURCES), np.array(TARGETS)),
        "path": path,
        "text": f"{path}:directed",
    }


@pytest.mark.parametrize("kind", made(Path()))
def test_checksums_are_those_of_the_same_file(tmp_path: Path, kind: str) -> None:
    path = put(tmp_path / "g.txt", snap(EDGES))
    graph = as_graph(made(path)[kind])
    assert isinstance(graph, Graph)
    assert graph.checksum == load(str(path)).checksum
    assert (graph.num_vertices, graph.direction) == (4, "directed")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1, 2], "a list is not a graph: accepted are a Graph, a name or path"),
        (7, "a int is not a graph"),
        (np.zeros((3, 5)), r"an array of float64 and shape \(3, 5\) is not a graph"),
        (np.zeros((3, 2)), "vertices are float64, not integers or text"),
        (np.array([[0, -1]]), "vertex id -1 is negative"),
        (([0, 1], [1]), "2 sources and 1 targets do not form pairs"),
        (([[0, 1]], [1]), "sources have 2 dimensions"),
        (scipy.sparse.csr_array((2, 3)), "a matrix of 2 x 3 is not a graph"),
        (pd.DataFrame({"a": [1]}), "a DataFrame of 1 columns has no sources and targets"),
        (pd.DataFrame({"a": [1, None], "b": [1, 2]}), "the DataFrame has edges that lack a vertex"),
        (networkx.Graph(), "graph: there are no vertices"),
    ],
)
def test_what_is_no_graph_is_named(given: object, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        as_graph(given)
    assert "\n" not in str(caught.value)


def test_text_names_vertices() -> None:
    assert list(Graph.from_edges(["a", "a "], ["b", "b"]).names or ()) == ["a", "a ", "b"]
    graph = Graph.from_edges(["b", "a"], ["c", "b"], name="letters")
    assert graph.names is not None and list(graph.names) == ["a", "b", "c"]
    assert [graph.vertex(name) for name in "abc"] == [0, 1, 2]
    assert list(graph.to_networkx().edges()) == [("a", "b"), ("b", "c")]
    assert list(as_graph(pd.DataFrame({"x": ["b", "a"], "y": ["c", "b"]})).names or ()) == ["a", "b", "c"]


def test_nodes_of_any_kind_are_found_again() -> None:
    graph = networkx.Graph([(10, 30), (30, 20)])
    graph.add_node(99)
    found = Graph.from_networkx(graph)
    assert (found.direction, found.num_vertices) == ("symmetrised", 4)
    assert (found.vertex(20), found.vertex(99)) == (1, 3)
    mixed = Graph.from_networkx(networkx.DiGraph([((0, 1), "x")]))
    assert list(mixed.names or ()) == ["(0, 1)", "x"]


def test_weights_are_read_or_known_not_to_be() -> None:
    matrix = scipy.sparse.csr_array((WEIGHTS, (SOURCES, TARGETS)), shape=(4, 4))
    table = frame().assign(cost=WEIGHTS)
    nodes = networkx.DiGraph()
    nodes.add_weighted_edges_from((u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True))
    expected = Graph.from_edges(SOURCES, TARGETS, WEIGHTS)
    assert expected.weights is not None
    for graph in (
        Graph.from_scipy(matrix, weights="read"),
        Graph.from_pandas(table, weights="read"),
        Graph.from_pandas(table, source="source", target="target", weight="cost", weights="read"),
        Graph.from_networkx(nodes, weights="read"),
        Graph.from_csr([0, 2, 3, 4, 5], [1, 2, 2, 0, 1], WEIGHTS),
    ):
        assert graph.checksum == expected.checksum
        assert graph.to_scipy().toarray().tolist() == matrix.toarray().tolist()
    for unread in (matrix, table, nodes):
        with pytest.raises(UsageError, match="has weights that were not read"):
            weight_matrix(as_graph(unread))
    assert weight_matrix(Graph.from_scipy(matrix, weights="ignore"))[0, 1] == 1
    with pytest.raises(InputError, match=r"weight 0\.5 is not a whole number"):
        Graph.from_edges([0], [1], [0.5])
    with pytest.raises(InputError, match="1 weights and 2 edges differ in number"):
        Graph.from_edges([0, 1], [1, 0], [1])


@pytest.mark.parametrize("policy", ["Ignore", "no", False, True, ""])
def test_other_words_about_weights_are_refused(policy: Any) -> None:
    with pytest.raises(UsageError, match=r"it is one of 'read', 'ignore', None"):
        Graph.from_scipy(scipy.sparse.csr_array([[0, 5], [0, 0]]), weights=policy)


def test_names_have_no_given_number_of_vertices() -> None:
    for names in (["a", "b"], np.array([3, 2], object)):
        with pytest.raises(UsageError, match="sources are names: num_vertices is only for whole numbers"):
            Graph.from_edges(names, names, num_vertices=10)
    assert Graph.from_edges([], [], num_vertices=5).num_vertices == 5


def test_matrices_of_other_dimensions_are_refused() -> None:
    for shape, said in (((2, 2, 2), "2 x 2 x 2"), ((3,), "3"), ((2, 3), "2 x 3")):
        with pytest.raises(UsageError, match=f"a matrix of {said} is not a graph"):
            Graph.from_scipy(scipy.sparse.coo_array(np.ones(shape)))


def test_arrays_that_are_no_csr_are_refused() -> None:
    for targets in (np.array([0, 0], object), [0.0, 0.5], ["a", "b"]):
        with pytest.raises(UsageError, match=r"column_indices are an array of .* whole numbers are needed"):
            Graph.from_csr([0, 2], targets)
    assert Graph.from_csr([0, 0], []).num_edges == 0
    for offsets in ([0, 3], [1, 2], [0, 2, 1, 2], [], [[0, 2]], [0.0, 2.0]):
        with pytest.raises(UsageError, match="row_offsets"):
            Graph.from_csr(offsets, [0, 0])
    with pytest.raises(InputError, match="vertex id 5 is above 0"):
        Graph.from_csr([0, 1], [5])


def test_undirected_graphs() -> None:
    once = Graph.from_edges([0, 1], [1, 2], directed=False)
    both = Graph.from_scipy(once.to_scipy(), directed=False)
    assert once.direction == both.direction == "symmetrised"
    assert once.checksum == both.checksum
    with pytest.raises(InputError, match="not every edge is listed both ways"):
        Graph.from_scipy(sparse(), directed=False)


edge_lists = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-9, 9)), min_size=1, max_size=40
)


@given(edges=edge_lists)
def test_there_and_back(edges: list[tuple[int, int, int]]) -> None:
    graph = Graph.from_edges(*zip(*edges, strict=True), num_vertices=10)
    again = Graph.from_scipy(graph.to_scipy(), weights="read")
    from_nodes = Graph.from_networkx(graph.to_networkx(), weights="read")
    assert graph.checksum == again.checksum == from_nodes.checksum
    rows = Graph.from_csr(graph.row_offsets, graph.column_indices, graph.weights)
    assert rows.checksum == graph.checksum


CHECKED = """
from pathlib import Path
import numpy as np
import numpy.typing as npt
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.interop import as_graph

graph: Graph = as_graph(Path("g.txt"))
reveal_type(Graph.from_edges([0], np.array([1])).num_edges)
reveal_type(graph.vertex("a"))
Graph.from_edges(sources=3 + 4j, targets=None, name=5)
"""


@pytest.mark.exhaustive
def test_a_user_s_type_checker_sees_the_types(tmp_path: Path) -> None:
    path = put(tmp_path / "mine.py", CHECKED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count('Revealed type is "int"') == 2, done.stdout
    assert 'Argument "name" to "from_edges" of "Graph" has incompatible type "int"' in done.stdout
