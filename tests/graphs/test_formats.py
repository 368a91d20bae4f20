"""Compares readers of text formats with other readers, and tests the messages about malformed files."""

import errno
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, strategies as st

from bfsbench.graphs import blocks
from bfsbench.graphs.archives import open_source
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import read_edges, sniff_format
from bfsbench.support.errors import InputError, UsageError
from tests.graphs.texts import (
    EDGES,
    PACKINGS,
    SHIFTED,
    complaint,
    dimacs9,
    metis,
    mtx,
    on_files,
    pairs,
    put,
    snap,
    tarred,
)

UNDIRECTED = [(0, 1), (1, 3), (0, 3), (2, 3)]
NEIGHBOURS = [(1, 2), (1, 4), (2, 1), (2, 4), (3, 4), (4, 2), (4, 1), (4, 3)]
BANNER = "%%MatrixMarket matrix coordinate pattern general\n"
REAL = BANNER.replace("pattern", "real")

vertex = st.integers(0, 30)
edge_lists = st.lists(st.tuples(vertex, vertex), min_size=1, max_size=60)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(
    ("name", "text", "expected", "orientation"),
    [
        ("graph.txt", snap(EDGES), EDGES, "directed"),
        ("graph.gr", dimacs9(EDGES, 5), SHIFTED, "directed"),
        ("graph.mtx", mtx(EDGES, 5), SHIFTED, "directed"),
        ("graph.mtx", mtx(EDGES, 5, "symmetric"), SHIFTED, "each_once"),
        ("graph.graph", metis(UNDIRECTED, 5), NEIGHBOURS, "both_ways"),
    ],
)
def test_every_format_in_every_packing(
    tmp_path: Path, packing: str, name: str, text: str, expected: list[tuple[int, int]], orientation: str
) -> None:
    path = tmp_path / (Path(name).stem + packing if packing == ".tgz" else name + packing)
    put(path, PACKINGS[packing](text.encode(), name))
    edges = read_edges(path, Recipe())
    assert pairs(edges) == expected
    assert edges.orientation == orientation
    assert edges.sources.dtype == edges.targets.dtype == np.int32


def test_packing_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = put(tmp_path / "graph.txt", PACKINGS[".xz"](snap(EDGES).encode(), ""))
    assert pairs(read_edges(path, Recipe())) == EDGES


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g", snap(EDGES)),
        ("g.txt", "# comment\n" + snap(EDGES)),
        ("g", dimacs9(EDGES, 5)),
        ("g.mtx", mtx(EDGES, 5)),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, name: str, text: str, packing: str) -> None:
    path = tmp_path / (name + packing)
    without = pairs(read_edges(put(path, PACKINGS[packing](text.encode(), name)), Recipe()))
    put(path, PACKINGS[packing](b"\xef\xbb\xbf" + text.encode(), name))
    assert pairs(read_edges(path, Recipe())) == without


def test_only_the_file_is_blamed_for_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", snap(EDGES))
    with pytest.raises(PermissionError), open_source(path) as source:
        assert source.read(3) == snap(EDGES).encode()[:3]
        raise PermissionError(errno.EACCES, "somewhere else")


@on_files
@given(
    edges=st.lists(
        st.tuples(*[st.integers(0, 2**63 - 1) | st.integers(0, 10**9)] * 2), min_size=1, max_size=40
    ),
    separator=st.sampled_from(["\t", " ", "  \t "]),
    line_end=st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \n", "\n# note\n"]),
    values=st.sampled_from(["", " 7", "\t3.5e-2 17"]),
    last=st.booleans(),
)
def test_snap_keeps_every_edge_and_id(
    tmp_path: Path, edges: list[tuple[int, int]], separator: str, line_end: str, values: str, last: bool
) -> None:
    text = line_end.join(f"{u}{separator}{v}{values}" for u, v in edges) + (line_end if last else "")
    read = read_edges(put(tmp_path / "graph.txt", text), Recipe())
    assert pairs(read) == edges
    assert read.num_vertices == len({vertex for edge in edges for vertex in edge})
    if read.original_ids is not None:
        assert (np.diff(read.original_ids) > 0).all()


@on_files
@given(edges=edge_lists, symmetry=st.sampled_from(["general", "symmetric"]))
def test_matrix_market_agrees_with_scipy(tmp_path: Path, edges: list[tuple[int, int]], symmetry: str) -> None:
    lower = [(max(edge), min(edge)) for edge in edges] if symmetry == "symmetric" else edges
    path = put(tmp_path / "graph.mtx", mtx(lower, 31, symmetry))
    read = read_edges(path, Recipe())
    found = Counter(zip(read.sources.tolist(), read.targets.tolist(), strict=True))
    if read.orientation == "each_once":
        found += Counter((v, u) for u, v in found.elements() if u != v)
    reference = scipy.io.mmread(path)
    assert found == Counter(zip(reference.row.tolist(), reference.col.tolist(), strict=True))
    assert read.num_vertices == reference.shape[0]


@on_files
@given(garbage=st.binary(max_size=80), name=st.sampled_from(["g.txt", "g.gr", "g.graph", "g.mtx", "g"]))
def test_garbage_is_parsed_or_refused(tmp_path: Path, garbage: bytes, name: str) -> None:
    assert_read_or_refused(put(tmp_path / name, garbage))


@on_files
@given(data=st.data())
def test_damaged_files_are_parsed_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    texts = {"g.txt": snap(EDGES), "g.gr": dimacs9(EDGES, 5), "g.mtx": mtx(EDGES, 5)}
    texts["g.graph"] = metis(UNDIRECTED, 5)
    name, text = data.draw(st.sampled_from(sorted(texts.items())))
    packing = data.draw(st.sampled_from(sorted(PACKINGS)))
    content = bytearray(PACKINGS[packing](text.encode(), name))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert_read_or_refused(put(tmp_path / (name + packing), bytes(content)))


def assert_read_or_refused(path: Path) -> None:
    try:
        edges = read_edges(path, Recipe())
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert len(edges.sources) == len(edges.targets) > 0
        assert min(edges.sources.min(), edges.targets.min()) >= 0
        assert max(edges.sources.max(), edges.targets.max()) < edges.num_vertices


@pytest.mark.parametrize("packing", [name for name in PACKINGS if name not in ("", ".tar")])
def test_a_truncated_archive_is_named(tmp_path: Path, packing: str) -> None:
    random = np.random.default_rng(1)
    text = snap(list(map(tuple, random.integers(0, 10**6, (2000, 2)).tolist())))
    content = PACKINGS[packing](text.encode(), "graph.txt")
    path = put(tmp_path / f"graph.txt{packing}", content[: len(content) * 2 // 3])
    assert f"graph.txt{packing}: damaged or truncated archive" in complaint(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.txt", "0 1\n# c\n\n2 x3\n", "g.txt:4: 'x3' is not a vertex id"),
        ("g.txt", "0 1\n2\n", "g.txt:2: the line is incomplete"),
        ("g.txt", "0 1\r\n-2 3\r\n", "g.txt:2: vertex id -2 is negative"),
        ("g.txt", "0 1\n2.5 3\n", "g.txt:2: '2.5' is not a vertex id"),
        ("g.txt", "0 1 1\n2 3 five\n", "g.txt:2: 'five' is not a number"),
        ("g.txt", "0 1 2\n1 0\n", "g.txt:2: the line is incomplete"),
        ("g.txt", "0 1\n1 0 2 3\n", "g.txt:2: '2' is one value too many; every line must have as many as"),
        ("g.txt", "0 1\n2 99999999999999999999\n", "g.txt:2: vertex id 99999999999999999999 is above"),
        ("g.txt", "0,1\n2,x\n", "g.txt:2: 'x' is not a vertex id"),
        ("g.txt", "0;1\n2,3\n", "g.txt:2: '2,3' is not a vertex id"),
        ("g.txt", "# nothing\n", "g.txt: the file holds no edges"),
        ("g.txt", "", "g.txt: the file is empty"),
        (
            "g.txt",
            "# Nodes: 3 Edges: 3\n0 1\n1 2\n",
            "g.txt: the header announces 3 entries, the file holds 2",
        ),
        ("g.dat", "some text\n", "g.dat: unknown format; say which of snap, dimacs9, metis, mtx, csv, npz"),
        ("g.gr", "c x\np sp 3 1\na 1 4 1\n", "g.gr:3: vertex id 4 is above 3"),
        ("g.gr", "p sp 3 1\na 0 1 1\n", "g.gr:2: vertex id 0 is below 1"),
        ("g.gr", "p sp 3 1\na 1 2\n", "g.gr:2: the line is incomplete"),
        ("g.gr", "p sp 3 1\na 1 2 3 4\n", "g.gr:2: '4' is one value too many"),
        ("g.gr", "p sp 3 1\ne 1 2 3\n", "g.gr:2: the line starts with 'e' instead of 'a'"),
        ("g.gr", "p sp 3 2\na 1 2 3\n", "g.gr: the header announces 2 entries, the file holds 1"),
        ("g.gr", "p tw 3 2\n", "g.gr:1: 'p tw 3 2' is not the line 'p sp VERTICES ARCS'"),
        ("g.gr", "c only\n", "g.gr: the line 'p sp VERTICES ARCS' is missing"),
        ("g.gr", "p sp 2147483648 1\n", "g.gr:1: 2,147,483,648 vertices"),
        ("g.graph", "% c\n3 1\n2\n1\n4\n", "g.graph:5: vertex id 4 is above 3"),
        ("g.graph", "2 1\n2\n1\n\n1\n", "g.graph:5: the header announces 2 vertices, this line is one more"),
        ("g.graph", "4 1\n2\n1\n", "g.graph: the header announces 4 vertices, the file has lines for 2"),
        ("g.graph", "2 2\n2\n1\n", "g.graph: the header announces 4 entries, the file holds 2"),
        ("g.graph", "2 1 5\n2\n1\n", "g.graph:1: METIS format '5'"),
        ("g.graph", "2 1 1\n2 9\n1\n", "g.graph:3: the line is incomplete"),
        ("g.graph", "2 -1\n2\n1\n", "g.graph:1: '2 -1' is not the header"),
        ("g.mtx", "%%MatrixMarket matrix array real general\n", "g.mtx:1: '%%MatrixMarket matrix array"),
        ("g.mtx", BANNER.replace("pattern", "quaternion"), "g.mtx:1: 'quaternion general' is not known"),
        ("g.mtx", BANNER + "%\n3 4 1\n1 1\n", "g.mtx:3: a matrix of 3 x 4 is not a graph"),
        ("g.mtx", BANNER + "3 3 1\n1 1 0.5\n", "g.mtx:3: '0.5' is one value too many"),
        ("g.mtx", BANNER + "3 3 2\n1 2\n", "g.mtx: the header announces 2 entries, the file holds 1"),
        ("g.mtx", BANNER + "3 3\n", "g.mtx:2: '3 3' is not the size line"),
        ("g.mtx", REAL + "3 3 1\n1 2 1.0.0\n", "g.mtx:3: '1.0.0' is not a number"),
    ],
)
def test_malformed_files_are_refused_by_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    assert complaint(put(tmp_path / name, text)).startswith(message)


def test_errors_name_the_line_in_later_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.whole_lines, "__defaults__", (64,))
    text = snap([(1, 2)] * 999) + "1 y\n" + snap([(3, 4)] * 500)
    assert complaint(put(tmp_path / "g.txt", text)).startswith("g.txt:1001: 'y'")
    text = metis([(0, 1)] * 300, 2000).replace("2000 300", "1990 300") + "1\n"
    assert complaint(put(tmp_path / "g.graph", text)).startswith("g.graph:2003: the header announces 1990")


@on_files
@given(edges=edge_lists, size=st.integers(1, 40))
def test_blocks_do_not_show(tmp_path: Path, edges: list[tuple[int, int]], size: int) -> None:
    simple = [(u, v) for u, v in edges if u != v]
    path = put(tmp_path / "g.graph", metis([*simple, (0, 1)], 31))
    whole = pairs(read_edges(path, Recipe()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks.whole_lines, "__defaults__", (max(size, 24),))
        assert pairs(read_edges(path, Recipe())) == whole


def test_metis_weights_are_skipped(tmp_path: Path) -> None:
    text = "3 2 111 2\n9 5 5 2 7\n9 5 5 1 7 3 8\n9 5 5 2 8"
    edges = read_edges(put(tmp_path / "g.graph", text), Recipe())
    assert pairs(edges) == [(1, 2), (2, 1), (2, 3), (3, 2)]


def test_ids_kept_or_compacted(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", "7 3\n3 9\n")
    compacted = read_edges(path, Recipe())
    assert (compacted.sources.tolist(), compacted.targets.tolist()) == ([1, 0], [0, 2])
    assert compacted.original_ids is not None and compacted.original_ids.tolist() == [3, 7, 9]
    kept = read_edges(path, Recipe(ids="keep"))
    assert (kept.num_vertices, kept.original_ids) == (10, None)
    assert pairs(kept) == [(7, 3), (3, 9)]
    isolated = put(tmp_path / "g.mtx", mtx([(4, 1)], 6))
    assert read_edges(isolated, Recipe()).num_vertices == 6
    without = read_edges(isolated, Recipe(ids="compact"))
    assert without.original_ids is not None and without.original_ids.tolist() == [2, 5]


def test_kept_ids_must_fit_int32(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", "1 2\n2147483647 0\n")
    assert complaint(path, Recipe(ids="keep")).startswith("g.txt:2: vertex id 2147483647 is above 2147483646")
    assert pairs(read_edges(path, Recipe())) == [(1, 2), (2147483647, 0)]


def test_recipe_overrides_format_and_orientation(tmp_path: Path) -> None:
    path = put(tmp_path / "g.mtx", snap(EDGES))
    edges = read_edges(path, Recipe(format="snap", orientation="each_once"))
    assert (edges.orientation, edges.format, pairs(edges)) == ("each_once", "snap", EDGES)
    with pytest.raises(UsageError, match=r"unknown format 'snapp': did you mean snap"):
        read_edges(path, Recipe(format="snapp"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", snap(EDGES), "snap"),
        ("a.txt", mtx(EDGES, 5), "mtx"),
        ("a.txt", dimacs9(EDGES, 5), "dimacs9"),
        ("a.metis", metis(UNDIRECTED, 5), "metis"),
        *(("a", text, "snap") for text in ("0 1\n", "1\t2\n", "% x\n1 2\n")),
        *(("a", text, "csv") for text in ("1,2\n", "a;b\n1;2\n")),
    ],
)
def test_sniffing(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert sniff_format(put(tmp_path / name, text)) == expected


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt.gz", PACKINGS[".gz"](snap(EDGES * 1000).encode(), ""))
    seen: list[tuple[int, int]] = []
    read_edges(path, Recipe(), lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_an_empty_file_of_a_given_format(tmp_path: Path) -> None:
    path = put(tmp_path / "g.txt", "")
    assert complaint(path, Recipe(format="snap")) == "g.txt: the file holds no edges"
    assert complaint(path, Recipe(format="mtx")).startswith("g.txt: '%%MatrixMarket matrix")


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.txt") == "cannot read none.txt: No such file or directory"
    (tmp_path / "folder").mkdir()
    assert complaint(tmp_path / "folder") == "cannot read folder: Is a directory"


class TestMembers:
    """Tests which member of an archive is read."""

    def archive(self, path: Path, members: dict[str, str]) -> Path:
        with tarfile.open(path, "w:gz") as archive:
            for number, (member, text) in enumerate(members.items()):
                part = put(path.parent / f"part{number}", text)
                archive.add(part, member)
        return path

    def test_named_as_the_archive(self, tmp_path: Path) -> None:
        members = {"x/README.txt": "?", "x/x_coord.mtx": "?", "x/other.mtx": "?", "y/nice.mtx": mtx(EDGES, 5)}
        assert pairs(read_edges(self.archive(tmp_path / "nice.tar.gz", members), Recipe())) == SHIFTED

    def test_named_as_its_folder(self, tmp_path: Path) -> None:
        members = {"nice/nice_coord.mtx": "?", "nice/nice.mtx": mtx(EDGES, 5)}
        assert pairs(read_edges(self.archive(tmp_path / "1234.tgz", members), Recipe())) == SHIFTED

    def test_the_only_one_with_a_graph_suffix(self, tmp_path: Path) -> None:
        members = {"README": "?", "any.mtx": mtx(EDGES, 5), "licence.txt": "?"}
        assert pairs(read_edges(self.archive(tmp_path / "1234.tgz", members), Recipe())) == SHIFTED

    def test_ambiguous(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path / "1234.tgz", {"a.txt": "0 1", "b.txt": "0 1"})
        assert complaint(path).endswith("1234.tgz: which member is the graph? Unpack one of a.txt, b.txt")

    def test_none(self, tmp_path: Path) -> None:
        empty_zip = b"PK\x05\x06" + bytes(18)
        assert complaint(put(tmp_path / "1234.zip", empty_zip)) == "1234.zip: the archive holds no file"

    def test_errors_name_the_member(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.tar.xz", tarred(b"0 1\n1 z\n", "a.txt", "w:xz"))
        assert re.match(r"a\.tar\.xz:a\.txt:2: 'z'", complaint(path))
