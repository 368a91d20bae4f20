"""Tests users' graph files: separators, names, weights, and files of other libraries."""

import gzip
import sys
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse

from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import read_edges
from bfsbench.graphs.graph import EdgeList
from bfsbench.graphs.load import load
from bfsbench.programs.families.apsp.matrix import weight_matrix
from bfsbench.support.errors import UsageError
from tests.commands import bfsbench
from tests.graphs.texts import complaint, pairs, put

EDGES = [(1, 2), (3, 1), (2, 7)]
WEIGHTS = [4, 1, 9]
READ = Recipe(weights="read")
COMPLEX = "%%MatrixMarket matrix coordinate complex general\n"


def names(edges: EdgeList) -> list[tuple[str, str]]:
    assert edges.names is not None
    called = list(edges.names)
    return [(called[u], called[v]) for u, v in zip(edges.sources, edges.targets, strict=True)]


def weights(edges: EdgeList) -> list[int]:
    assert edges.weights is not None and edges.weights.dtype == np.int32
    return edges.weights.tolist()


@pytest.mark.parametrize("comment", ["", "# made by hand\n", "% asym weighted\n", "// a line\n\n"])
@pytest.mark.parametrize("heading", ["", "source{0}target{0}weight\n", "Von{0}Nach{0}Kosten\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", ", " ; "])
def test_every_dialect_of_numbers(tmp_path: Path, comment: str, heading: str, separator: str) -> None:
    lines = [f"{u}{separator}{v}{separator}{w}" for (u, v), w in zip(EDGES, WEIGHTS, strict=True)]
    text = comment + heading.format(separator) + f"\n{comment}".join(lines) + "\n"
    for name in ("g.csv", "g.txt"):
        edges = read_edges(put(tmp_path / name, text), READ)
        assert (pairs(edges), weights(edges), edges.reader) == (EDGES, WEIGHTS, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice,bob\nbob,carol\n", [("alice", "bob"), ("bob", "carol")]),
        ("From,To\nalice,bob\n", [("alice", "bob")]),
        ("name\tage\nfrom\tto\n", [("name", "age"), ("from", "to")]),
        ("New York;Los Angeles\nBern;Zürich\n", [("New York", "Los Angeles"), ("Bern", "Zürich")]),
        ('"a,b","c"\n"c","NA"\n', [("a,b", "c"), ("c", "NA")]),
        ("n1 n2\nn2 n10\n", [("n1", "n2"), ("n2", "n10")]),
        ("a,b\n# not a,vertex\n1,2\n", [("a", "b"), ("1", "2")]),
    ],
)
def test_words_are_vertices(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    path = put(tmp_path / "g.csv.gz", gzip.compress(text.encode()))
    edges = read_edges(path, Recipe(ids="names") if text.startswith("a,b\n#") else Recipe())
    assert names(edges) == expected
    assert list(edges.names or ()) == sorted({word for edge in expected for word in edge})
    assert edges.reader.startswith("pandas ")


@pytest.mark.parametrize(
    "text",
    [
        "id,source,target,weight\nx,1,2,4\ny,3,1,1\nz,2,7,9\n",
        "weight;dst;src\n4;2;1\n1;1;3\n9;7;2\n",
        '"1","2","4"\n"3","1","1"\n"2","7","9"\n',
        "Source,Target,Type,Weight\n1,2,Directed,4\n3,1,Directed,1\n2,7,Directed,9\n",
    ],
)
def test_pandas_reads_what_the_native_parser_does_not(tmp_path: Path, text: str) -> None:
    edges = read_edges(put(tmp_path / "g.csv", text), READ)
    assert (pairs(edges), weights(edges)) == (EDGES, WEIGHTS)
    assert edges.reader == f"pandas {pd.__version__}"


def test_konect_says_which_edges_are_undirected(tmp_path: Path) -> None:
    path = put(tmp_path / "out.moreno", "% sym positive\n% 3 3\n1 2 4 1200\n3 1 1 1300\n")
    edges = read_edges(path, READ)
    assert (edges.orientation, pairs(edges), weights(edges)) == ("each_once", [(1, 2), (3, 1)], [4, 1])
    assert load(str(path)).full_name.endswith("out.moreno:symmetrised")
    put(path, "% bip unweighted\n1 1\n")
    assert "both sides of a bipartite KONECT file count from 1" in complaint(path, Recipe())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("g.gr", "p sp 3 2\na 1 2 7\na 2 3 2.0\n", [7, 2]),
        ("g.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 7\n2 3 -2\n", [7, -2]),
        ("g.graph", "3 2 001\n2 7\n1 7 3 5\n2 5\n", [7, 7, 5, 5]),
    ],
)
def test_weights_of_published_formats(tmp_path: Path, name: str, text: str, expected: list[int]) -> None:
    path = put(tmp_path / name, text)
    assert weights(read_edges(path, READ)) == expected
    unread, ignored = read_edges(path, Recipe()), read_edges(path, Recipe(weights="ignore"))
    assert (unread.weights, unread.weights_unread) == (None, True)
    assert (ignored.weights, ignored.weights_unread) == (None, False)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("g.csv", "1,2,0.5\n", "g.csv:1: weight 0.5 is not a whole number of 32 bits"),
        ("g.txt", "0 1 7\n1 2 2147483648\n", "g.txt:2: weight 2147483648 is not a whole number of 32 bits"),
        ("g.txt", "0 1\n", "g.txt: there are no weights to be read"),
        ("g.csv", "a,b,0.5\n", "g.csv: weight 0.5 is not a whole number of 32 bits"),
        ("g.csv", "a,b,much\n", "g.csv: edge 1: weight 'much' is not a number"),
        ("g.csv", "a,b,1\nb,c,\n", "g.csv: edge 2: weight '' is not a number"),
        ("g.mtx", COMPLEX + "2 2 1\n1 2 1 1\n", "g.mtx: there are no weights to be read"),
    ],
)
def test_weights_that_cannot_be_read(tmp_path: Path, name: str, text: str, says: str) -> None:
    assert complaint(put(tmp_path / name, text), READ) == says


def test_weights_are_never_taken_as_1_in_silence(tmp_path: Path) -> None:
    path = put(tmp_path / "g.csv", "0,1,4\n1,2,1\n0,2,9\n")
    with pytest.raises(
        UsageError, match=r"g\.csv:directed has weights that were not read: add ':weights=read'"
    ):
        weight_matrix(load(str(path)))
    assert weight_matrix(load(f"{path}:weights=read"))[0].tolist() == [0, 4, 9]
    assert weight_matrix(load(f"{path}:weights=ignore"))[0].tolist() == [0, 1, 1]
    put(path, "0,1,1\n1,2,1\n0,2,1\n")
    assert weight_matrix(load(str(path)))[0].tolist() == [0, 1, 1]
    assert load(f"{path}:weights=read:shrink=0.7").weights is not None


def test_weights_do_not_change_what_a_search_is_of(tmp_path: Path) -> None:
    """Result rows are compared by the checksum, so it must not change."""
    heavy, plain = put(tmp_path / "a.txt", "0 1 4\n1 2 1\n"), put(tmp_path / "b.txt", "0 1\n1 2\n")
    assert load(str(heavy)).checksum == load(str(plain)).checksum == load(f"{heavy}:weights=ignore").checksum


def matrix() -> scipy.sparse.coo_matrix:
    ends = np.array(EDGES).T
    return scipy.sparse.coo_matrix((WEIGHTS, (ends[0], ends[1])), (9, 9))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr"])
def test_npz_of_scipy(tmp_path: Path, kind: str) -> None:
    scipy.sparse.save_npz(tmp_path / "g.npz", matrix().asformat(kind))
    edges = read_edges(tmp_path / "g.npz", READ)
    found = sorted(zip(pairs(edges), weights(edges), strict=True))
    assert [pair for pair in found if pair[1]] == sorted(zip(EDGES, WEIGHTS, strict=True))
    assert (edges.num_vertices, edges.reader.split()[0]) == (9, "SciPy")


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_npy_pairs(tmp_path: Path, dtype: type[np.integer]) -> None:
    array = np.column_stack([np.array(EDGES), WEIGHTS]).astype(dtype)
    np.save(tmp_path / "g.npy", array)
    edges = read_edges(tmp_path / "g.npy", READ)
    assert (pairs(edges), weights(edges)) == (EDGES, WEIGHTS)
    np.save(tmp_path / "g.npy", np.zeros((2, 4), dtype))
    said = complaint(tmp_path / "g.npy", Recipe())
    assert said == "g.npy: an array of shape (2, 4) is not a list of pairs: it must be (edges, 2 or 3)"


def test_an_archive_of_arrays_is_not_one_array(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "g.npz", matrix())
    (tmp_path / "n.npy").write_bytes((tmp_path / "g.npz").read_bytes())
    for graph in ("./n.npy", "./g.npz:format=npy"):
        words = ("path", "--dataset", graph, "--source", "0", "--target", "2")
        done = bfsbench(*words, cwd=tmp_path, check=2)
        assert done.stderr.splitlines()[-1].endswith("format=npz reads such files")
    bfsbench("path", "--dataset", "./n.npy:format=npz", "--source", "1", "--target", "2", cwd=tmp_path)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_tables_of_arrow(tmp_path: Path, suffix: str, named: bool) -> None:
    ends = [[f"n{v}" if named else v for v in column] for column in zip(*EDGES, strict=True)]
    table = pa.table({"weight": WEIGHTS, "src": ends[0], "dst": ends[1]})
    path = tmp_path / f"g{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    edges = read_edges(path, READ)
    assert weights(edges) == WEIGHTS
    assert edges.reader == f"PyArrow {pa.__version__}"
    expected = [(f"n{u}", f"n{v}") for u, v in EDGES]
    assert names(edges) == expected if named else pairs(edges) == EDGES


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("suffix", [".graphml", ".gml"])
def test_files_of_networkx(tmp_path: Path, suffix: str, directed: bool) -> None:
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_node("alone")
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True))
    path = tmp_path / f"g{suffix}"
    (networkx.write_graphml if suffix == ".graphml" else networkx.write_gml)(graph, path)
    loaded = load(f"{path}:weights=read")
    assert loaded.direction == ("directed" if directed else "symmetrised")
    assert loaded.reader == f"NetworkX {networkx.__version__}"
    back = loaded.to_networkx()
    assert set(back.nodes) == set(graph.nodes)
    expected = set(graph.edges(data="weight"))
    if not directed:
        expected |= {(v, u, w) for u, v, w in expected}
    assert set(back.edges(data="weight")) == expected


def test_parallel_edges_of_graphml_stay(tmp_path: Path) -> None:
    networkx.write_graphml(networkx.DiGraph([("a", "b")]), tmp_path / "g.graphml")
    text = (tmp_path / "g.graphml").read_text()
    edge = '<edge source="a" target="b" />'
    assert edge in text
    numbered = edge.replace(" />", ' id="0" />')
    path = put(tmp_path / "g.graphml", text.replace(edge, edge * 3 + numbered))
    assert names(read_edges(path, Recipe())) == [("a", "b")] * 4
    put(path, text.replace('edgedefault="directed"', 'edgedefault="yes"'))
    assert "says by 'edgedefault' whether edges are directed" in complaint(path, Recipe())


def test_a_quotation_mark_that_is_not_closed_is_refused(tmp_path: Path) -> None:
    said = complaint(put(tmp_path / "g.csv", 'a,b\na,"b\nc,d"\n'), Recipe())
    assert said == "g.csv:2: a quotation mark is not closed"


@pytest.mark.parametrize("name", ["g.npz", "g.npy", "g.parquet", "g.arrow", "g.graphml", "g.gml"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x93NUMPY\x01\x00", b"<graphml", b"graph ["])
def test_what_a_library_cannot_read_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    assert name in complaint(put(tmp_path / name, content), Recipe())


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    said = complaint(put(tmp_path / "g.parquet", b"PAR1"), Recipe())
    assert said == "g.parquet is read by pyarrow, which is not installed: run 'pip install bfsbench[tables]'"


def test_names_come_back_from_the_cache_and_are_shown(tmp_path: Path) -> None:
    put(tmp_path / "g.csv", "from,to\nZürich,Bern\nBern,Genf\nGenf,Lugano\n")
    first, again = load(str(tmp_path / "g.csv")), load(str(tmp_path / "g.csv"))
    for graph in (first, again):
        assert graph.names is not None and list(graph.names) == ["Bern", "Genf", "Lugano", "Zürich"]
        assert graph.published_ids(graph.column_indices).tolist() == ["Genf", "Lugano", "Bern"]
        assert (graph.vertex("Genf"), graph.reader.split()[0]) == (1, "pandas")
        with pytest.raises(UsageError, match=r"vertex Basel is not in .*, whose vertices have names"):
            graph.vertex("Basel")
    ends = ("--source", "Zürich", "--target", "Lugano")
    done = bfsbench("path", "--dataset", "./g.csv", *ends, cwd=tmp_path)
    assert done.stdout.split() == ["Zürich", "Bern", "Genf", "Lugano"]
    assert "g.csv:directed was read by pandas" in done.stderr
    part = load(f"{tmp_path}/g.csv:shrink=0.5")
    assert part.names is not None and len(part.names) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "--dataset"), "unknown dataset 'xxx"),
        (("report",), ": File name too long"),
        (("check",), ": File name too long"),
        (("entry", "check"), ": File name too long"),
    ],
)
def test_a_name_that_no_file_can_have_is_one_line(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (line,) = bfsbench(*words, "x" * 300, cwd=tmp_path, check=2).stderr.splitlines()
    assert line.startswith("bfsbench: ") and says in line


def test_the_name_of_a_file_may_have_a_comma(tmp_path: Path) -> None:
    put(tmp_path / "a,b.txt", "0 1\n")
    words = ("--dataset", "./a,b.txt", "--variant", "cpu_queue", "--repeats", "1", "--out", "r.csv")
    bfsbench("run", *words, cwd=tmp_path)
    assert "a,b.txt:directed" in (tmp_path / "r.csv").read_text()
