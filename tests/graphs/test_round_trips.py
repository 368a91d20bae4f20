"""Writes random graphs in every format, and reads them back."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, strategies as st

from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.formats import read_edges
from bfsbench.graphs.graph import EdgeList, Graph
from tests.graphs.texts import on_files

Arc = tuple[int, int, int]
SIZE = 12

weight = st.integers(-(2**31), 2**31 - 1)
arcs = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), weight), min_size=1, max_size=30
)
words = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters='"'),
    min_size=1,
    max_size=6,
).filter(lambda word: not word.startswith(("#", "%", "//")))


def frame(edges: list[Arc]) -> pd.DataFrame:
    return pd.DataFrame(edges, columns=["source", "target", "weight"])


def lines(edges: list[Arc], separator: str, heading: str = "") -> str:
    return heading + "".join(separator.join(map(str, edge)) + "\n" for edge in edges)


def one_based(edges: list[Arc], head: str, tag: str = "") -> str:
    return head + "".join(f"{tag}{u + 1} {v + 1} {w}\n" for u, v, w in edges)


def nodes(edges: list[Arc]) -> networkx.MultiDiGraph:
    graph = networkx.MultiDiGraph()
    graph.add_weighted_edges_from(edges)
    return graph


def matrix(path: Path, edges: list[Arc]) -> None:
    """Write a matrix in coordinate form, in which SciPy keeps duplicate entries."""
    sources, targets, weights = zip(*edges, strict=True)
    scipy.sparse.save_npz(path, scipy.sparse.coo_array((weights, (sources, targets)), shape=(SIZE, SIZE)))


WRITERS: dict[str, Callable[[Path, list[Arc]], object]] = {
    "g.txt": lambda path, edges: path.write_text(lines(edges, "\t", "# a comment\n")),
    "g.csv": lambda path, edges: path.write_text(lines(edges, ",", "source,target,weight\n")),
    "g.tsv": lambda path, edges: path.write_text(lines(edges, "\t")),
    "g.edges": lambda path, edges: path.write_text(lines(edges, ";")),
    "quoted.csv": lambda path, edges: frame(edges).to_csv(path, index=False, quoting=csv.QUOTE_ALL),
    "turned.csv": lambda path, edges: frame(edges)[["weight", "target", "source"]].to_csv(path, index=False),
    "g.gr": lambda path, edges: path.write_text(one_based(edges, f"p sp {SIZE} {len(edges)}\n", "a ")),
    "g.mtx": lambda path, edges: path.write_text(
        one_based(edges, f"%%MatrixMarket matrix coordinate integer general\n{SIZE} {SIZE} {len(edges)}\n")
    ),
    "g.npz": matrix,
    "g.npy": lambda path, edges: np.save(path, np.array(edges)),
    "g.parquet": lambda path, edges: frame(edges).to_parquet(path),
    "g.arrow": lambda path, edges: frame(edges).to_feather(path),
    "g.graphml": lambda path, edges: networkx.write_graphml(nodes(edges), path),
    "g.gml": lambda path, edges: networkx.write_gml(nodes(edges), path),
}


def found(edges: EdgeList) -> list[Arc]:
    """Returns the edges with the ids of the file, in ascending order."""
    assert edges.weights is not None
    ids = np.arange(edges.num_vertices) if edges.original_ids is None else edges.original_ids
    if edges.format in ("dimacs9", "mtx"):
        ids = ids - 1
    triples = zip(
        ids[edges.sources].tolist(), ids[edges.targets].tolist(), edges.weights.tolist(), strict=True
    )
    return sorted(triples)


@pytest.mark.parametrize("name", WRITERS)
@on_files
@given(edges=arcs)
def test_every_format_reads_back_what_was_written(tmp_path: Path, name: str, edges: list[Arc]) -> None:
    path = tmp_path / name
    WRITERS[name](path, edges)
    assert found(read_edges(path, Recipe(weights="read"))) == sorted(edges)


@pytest.mark.parametrize("name", WRITERS)
@on_files
@given(edges=arcs)
def test_every_format_makes_the_graph_that_python_makes(tmp_path: Path, name: str, edges: list[Arc]) -> None:
    """Every vertex has an edge, so that all formats have the same number of vertices."""
    edges = edges + [(v, (v + 1) % SIZE, 5) for v in range(SIZE)]
    path = tmp_path / name
    WRITERS[name](path, edges)
    read = read_edges(path, Recipe(weights="read"))
    made = Graph.from_edges(*zip(*edges, strict=True))
    assert build_graph(read, name, Recipe(self_loops="keep")).checksum == made.checksum


@on_files
@given(
    edges=st.sets(
        st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), st.integers(1, 99)), min_size=1
    )
)
def test_metis_reads_back_what_was_written(tmp_path: Path, edges: set[Arc]) -> None:
    undirected = {(min(u, v), max(u, v)): w for u, v, w in edges if u != v} or {(0, 1): 1}
    rows: list[list[int]] = [[] for _ in range(SIZE)]
    for (u, v), w in undirected.items():
        rows[u] += [v + 1, w]
        rows[v] += [u + 1, w]
    body = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "g.graph").write_text(f"{SIZE} {len(undirected)} 001\n{body}")
    read = read_edges(tmp_path / "g.graph", Recipe(weights="read"))
    assert read.weights is not None and read.orientation == "both_ways"
    back = zip(read.sources.tolist(), read.targets.tolist(), read.weights.tolist(), strict=True)
    assert sorted(back) == sorted(arc for (u, v), w in undirected.items() for arc in ((u, v, w), (v, u, w)))


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@on_files
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=20))
def test_names_read_back_as_they_were(tmp_path: Path, separator: str, pairs: list[tuple[str, str]]) -> None:
    text = io.StringIO()
    quoting = csv.QUOTE_MINIMAL if separator.strip() else csv.QUOTE_NONE
    csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(pairs)
    (tmp_path / "g.csv").write_text(f"source{separator}target\n{text.getvalue()}", encoding="utf-8")
    read = read_edges(tmp_path / "g.csv", Recipe(ids="names"))
    assert read.names is not None
    names = list(read.names)
    assert [(names[u], names[v]) for u, v in zip(read.sources, read.targets, strict=True)] == pairs
    assert all(read.names.find(name) == vertex for vertex, name in enumerate(names))
