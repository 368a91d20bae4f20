"""Tests that malicious and malformed files are refused in one line or read correctly."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse

from bfsbench.graphs import blocks, graph as graph_module
from bfsbench.graphs.blocks import Block, Layout, parse_blocks
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.formats import first_look, read_edges, sniff_format
from bfsbench.graphs.graph import Graph, VertexNames
from bfsbench.graphs.interop import write_matrix
from bfsbench.graphs.load import load
from bfsbench.support.errors import InputError, NotEnoughMemoryError
from tests.graphs.texts import EDGES, SHIFTED, Edge, complaint, dimacs9, metis, mtx, pairs, put, snap


def member(name: str, content: bytes = b"", **fields: object) -> bytes:
    """Returns the header of a tar's member with any fields, and the content behind it."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


GRAPH = member("g.txt", snap(EDGES).encode())


@pytest.mark.parametrize("first", ["1 two", "-1 2", "1.0 2.0", "two 1", "source target 3"])
def test_a_first_line_with_a_number_is_no_line_of_headings(tmp_path: Path, first: str) -> None:
    said = complaint(put(tmp_path / "g.el", f"# comment\n{first}\n0 1\n1 2\n"))
    assert said == f"g.el:2: '{first}' is not an edge, and headings of columns contain no numbers"


PAGES = (
    "<!DOCTYPE html>\n<html><body>Log in</body></html>\n1 2\n",
    "\n  <html>\n1 2\n",
    "<?xml version='1.0'?>\n1 2\n",
    "<head> <title>\n1 2\n",
)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("form", ["snap", "csv", "dimacs9", "metis", "mtx", None])
def test_a_page_of_the_web_is_no_graph(tmp_path: Path, page: str, form: str | None) -> None:
    path = put(tmp_path / "g.txt", page)
    with pytest.raises(InputError, match=r"g\.txt: it is a page in HTML or XML, not a graph"):
        read_edges(path, Recipe(format=form))


def test_a_packed_file_that_unpacks_to_far_more_than_a_graph(tmp_path: Path) -> None:
    path, begun = tmp_path / "g.el.gz", time.monotonic()
    with gzip.open(path, "wb") as file:
        for _ in range(100):
            file.write(b"0 1\n" * (1 << 19))
    with pytest.raises(InputError, match=r"g\.el\.gz: .* of it unpack to .* MiB"):
        read_edges(path, Recipe())
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_with_more_edges_than_fit_is_refused_by_its_first_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    lines = b"".join(b"%d %d\n" % (v * 7919 % 99991, v * 104729 % 99991) for v in range(400_000)) * 8
    path = put(tmp_path / f"g.el{suffix}", gzip.compress(lines, 1) if suffix else lines)
    monkeypatch.setattr("bfsbench.graphs.graph.available_memory", lambda: 50 << 20)
    read: list[float] = []
    said = r"by its first blocks: about .* edges need about .* of memory"
    with pytest.raises(NotEnoughMemoryError, match=said):
        read_edges(path, Recipe(), lambda done, size: read.append(done / size))
    assert max(read, default=0) < 0.5


def test_a_line_of_megabytes_is_no_edge(tmp_path: Path) -> None:
    path, begun = put(tmp_path / "g.txt", b"1 " * (20 << 20)), time.process_time()
    assert complaint(path).startswith("g.txt: a line is longer than 1")
    assert time.process_time() - begun < 5


class TestTars:
    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
    @pytest.mark.parametrize("target", ["g.txt", "other.txt"])
    def test_a_link_of_the_same_name_is_not_followed(self, tmp_path: Path, kind: bytes, target: str) -> None:
        link = member("g.txt", type=kind, linkname=target)
        for content in (link + GRAPH, GRAPH + link):
            assert pairs(read_edges(put(tmp_path / "x.tar", content + bytes(1024)), Recipe())) == EDGES

    def test_the_later_of_two_files_of_a_name_replaces_the_first(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.tar", member("g.txt", b"7 8\n") + GRAPH + bytes(1024))
        assert pairs(read_edges(path, Recipe())) == EDGES

    def test_a_negative_size_is_refused(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.tar", member("g.txt", size=-512) + GRAPH + bytes(1024))
        assert complaint(path) == "x.tar: member g.txt has a negative size; fetch the archive again"

    @pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
    @pytest.mark.parametrize("size", [8 << 30, -1024])
    def test_a_name_of_gigabytes_is_not_read(self, tmp_path: Path, kind: bytes, size: int) -> None:
        path = put(tmp_path / "x.tar", member("long", type=kind, size=size) + GRAPH + bytes(1024))
        assert complaint(path).startswith("x.tar: damaged or truncated archive (a header of ")

    def test_a_file_with_holes_is_refused(self, tmp_path: Path) -> None:
        info = tarfile.TarInfo("g.txt")
        info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
        header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        header[386:398] = header[398:410] = b"00000000000\0"
        header[483:495] = b"77777777777\0"  # 8 GiB of nothing
        checksum = sum(header[:148]) + sum(header[156:512]) + 8 * 32
        header[148:156] = b"%06o\0 " % checksum
        said = complaint(put(tmp_path / "x.tar", bytes(header) + bytes(1024)))
        assert said == "x.tar: member g.txt is a sparse file; unpack it first"

    def test_a_map_of_holes_without_an_end(self, tmp_path: Path) -> None:
        attributes = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "g.txt"}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            info = tarfile.TarInfo("g.txt")
            info.pax_headers, info.size = attributes, 512
            archive.addfile(info, io.BytesIO(b"900000\n".ljust(512, b"0")))
        cut = packed.getvalue().rstrip(b"\0")
        assert complaint(put(tmp_path / "x.tar", cut)).startswith("x.tar: damaged or truncated archive")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("g.txt", snap(EDGES), EDGES),
        ("g", dimacs9(EDGES, 5), SHIFTED),
        ("g.mtx", mtx(EDGES, 5), SHIFTED),
        ("g.graph", metis([(0, 3), (3, 4)], 6), [(1, 4), (4, 1), (4, 5), (5, 4)]),
    ],
)
@pytest.mark.parametrize("size", [7, 4 << 20])
def test_lines_end_in_lf_cr_lf_or_cr(
    tmp_path: Path, end: str, name: str, text: str, expected: list[Edge], size: int
) -> None:
    path = put(tmp_path / name, text.replace("\n", end))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks.whole_lines, "__defaults__", (size,))
        assert pairs(read_edges(path, Recipe())) == expected


@pytest.mark.parametrize("ends", ["\r", "\n"])
def test_millions_of_blank_lines_take_no_longer_than_others(tmp_path: Path, ends: str) -> None:
    path = put(tmp_path / "g.txt", "0 1\n" + ends * (9 << 20) + "1 2\n")
    began = time.process_time()
    assert pairs(read_edges(path, Recipe())) == [(0, 1), (1, 2)]
    assert time.process_time() - began < 5


def test_diagonals_are_counted_before_they_are_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is small, because all values on its diagonals are 1."""
    path, size = tmp_path / "g.npz", 2000
    diagonals = scipy.sparse.dia_array((np.ones((500, size), np.int8), np.arange(500)), shape=(size, size))
    scipy.sparse.save_npz(path, diagonals)
    monkeypatch.setattr(graph_module, "available_memory", lambda: 10 << 20)
    with pytest.raises(NotEnoughMemoryError, match="its entries need about"):
        read_edges(path, Recipe())


def test_rows_of_a_table_are_counted_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.parquet"
    pandas.DataFrame({"source": np.zeros(1_000_000, int), "target": 0}).to_parquet(path)
    monkeypatch.setattr(graph_module, "available_memory", lambda: 10 << 20)
    with pytest.raises(NotEnoughMemoryError, match="its 1,000,000 rows need about"):
        read_edges(path, Recipe())


def test_a_line_number_counts_every_kind_of_line_end(tmp_path: Path) -> None:
    assert complaint(put(tmp_path / "g.txt", "0 1\r\n\r1 2\r\n\n3 x\n")) == "g.txt:5: 'x' is not a vertex id"


def test_adjacency_lists_are_no_edge_lists(tmp_path: Path) -> None:
    said = complaint(put(tmp_path / "g.txt", "0 1 2\n1 0\n2 0 3 4\n"))
    assert said == "g.txt:2: the line is incomplete"
    said = complaint(put(tmp_path / "g.txt", "0 1\n1 0 2\n"))
    assert said.startswith("g.txt:2: '2' is one value too many; every line must have as many as the first")


@pytest.mark.parametrize(
    ("name", "comment", "text"),
    [
        ("g.txt", "# ", snap(EDGES)),
        ("g", "c ", dimacs9(EDGES, 5)),
        ("g.gr", "c ", dimacs9(EDGES, 5)),
        ("g.graph", "% ", metis([(0, 3), (3, 4)], 6)),
    ],
)
def test_comments_before_the_data_may_be_long(tmp_path: Path, name: str, comment: str, text: str) -> None:
    path = put(tmp_path / name, text)
    plain, form = pairs(read_edges(path, Recipe())), sniff_format(path)
    put(path, f"{comment}{'x' * 98}\n" * 50_000 + text)
    assert path.stat().st_size > blocks.BLOCK_BYTES
    assert (pairs(read_edges(path, Recipe())), sniff_format(path)) == (plain, form)
    assert first_look(path)[0] == ("both_ways" if form == "metis" else "directed")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x28\xb5\x2f\xfd\x04\x00A\x00\x00", "it is packed by zstd: unpack it first"),
        ("0 1\n1 2\n".encode("utf-16"), "it is in UTF-16: save it in UTF-8"),
    ],
)
def test_what_is_known_and_not_read_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    assert complaint(put(tmp_path / "g.txt", content)) == f"g.txt: {reason}"


def test_a_matrix_of_nothing_is_no_graph(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "g.npz", scipy.sparse.coo_array((0, 0)))
    assert complaint(tmp_path / "g.npz") == "g.npz: the file holds no vertices"


@pytest.mark.parametrize(
    ("offsets", "text", "says"),
    [
        ([0, 1], "ab", "name_offsets and name_text do not fit the matrix"),
        ([0, 1, 9], "ab", "name_offsets do not ascend from 0 to the length of name_text"),
        ([0, 1, 2], "ba", "names of vertices do not ascend"),
    ],
)
def test_wrong_names_in_an_archive_are_refused(
    tmp_path: Path, offsets: list[int], text: str, says: str
) -> None:
    graph = Graph.from_edges(["a"], ["b"])
    names = VertexNames(np.array(offsets, np.int64), np.frombuffer(text.encode(), np.uint8))
    with (tmp_path / "g.npz").open("wb") as file:
        write_matrix(file, replace(graph, names=names))
    assert complaint(tmp_path / "g.npz") == f"g.npz: SciPy cannot read it: {says}"
    np.save(tmp_path / "g.npy", np.empty((0, 2), np.int64))
    assert complaint(tmp_path / "g.npy") == "g.npy: the file holds no vertices"


def test_blank_lines_beyond_what_an_id_can_number_are_no_vertices() -> None:
    """The test pretends that a block of ten lines has 2**31 lines."""
    layout = Layout(1, 3, comments="%", adjacency=True, max_rows=3)

    def texts() -> Iterator[Block]:
        yield Block(b"2\n1\n\n", 0.5)
        yield Block(b"\n" * 10, 1.0)

    original = blocks._parse

    def many(text: bytes, layout: Layout) -> tuple[blocks.Parsed, blocks._Outcome]:
        parsed, outcome = original(text, layout)
        if text.startswith(b"\n"):
            parsed = blocks.Parsed(parsed.sources, parsed.targets, 2**31)
        return parsed, outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_parse", many)
        parsed = parse_blocks(texts(), layout, "g.graph", 2)
    assert (parsed.sources.tolist(), parsed.targets.tolist(), parsed.rows) == ([0, 1], [1, 0], 2**31 + 3)
    assert parsed.sources.dtype == np.int32


def test_what_ends_never_or_once_is_no_graph(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    for path in tmp_path.iterdir():
        with pytest.raises(InputError, match="it is a pipe or a device, and graphs are read several times"):
            load(str(path))


SCRIPT = Path(__file__).parents[1] / "benchmarks" / "malformed_files.py"


@pytest.mark.parametrize("files", [300, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_malformed_files_are_read_rightly_or_refused_with_one_line(files: int) -> None:
    command = [sys.executable, str(SCRIPT), "--files", str(files), "--seed", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{files:,} files, 0 broke a rule"
