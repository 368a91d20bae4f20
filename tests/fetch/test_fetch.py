"""Tests fetching: verification, mirrors, folders, several graphs at once, and messages."""

import gzip
import io
import lzma
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock, call

import pytest
from click.testing import Result
from fetch_server import MATRIX, QUICK, SNAP, Server, entry, gzipped, sha256, snap
from rich.console import Console

from bfsbench.cli.progress import FetchDisplay
from bfsbench.graphs import files
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.fetch import Fetcher, Transfer
from bfsbench.graphs.load import load, resolve, stored
from bfsbench.support.errors import BfsbenchError, FetchError
from tests.commands import invoke
from tests.graphs.texts import tarred

Entries = Callable[[str], Path]

pytestmark = pytest.mark.usefixtures("home")


class Silent(Mock):
    """A display that records its calls. It checks that no more bytes arrive than the file has."""

    def progress(self, name: str, done: int, total: int | None) -> None:
        assert total is None or done <= total


@pytest.fixture
def tiny(home: Path, server: Server, entries: Entries) -> None:
    """Put a small graph into the user's catalogue and on the server."""
    server.add("tiny.txt.gz", gzipped(SNAP))
    entries(entry(snap(f"{server.url}/tiny.txt.gz")))


def fetch(*names: str, folder: Path | None = None, convert: bool = True) -> str:
    fetcher = Fetcher(Silent(), Transfer(QUICK), folder, convert, insecure=True)
    return "; ".join(fetcher.fetch(Catalogue.load().get(name)) for name in names)


def command(*arguments: str) -> Result:
    return invoke("fetch", "--insecure", *arguments)


def test_a_graph_is_downloaded_checked_and_converted(server: Server, entries: Entries, home: Path) -> None:
    server.add("tiny.txt.gz", gzipped(SNAP))
    entries(entry(snap(f"{server.url}/tiny.txt.gz", sha256=sha256(gzipped(SNAP)))))
    assert fetch("tiny") == f"downloaded from {server.url}/tiny.txt.gz; 5 vertices, 6 arcs"
    assert load("tiny").num_edges == 6
    found = {path.name for path in (home / "downloads" / "tiny").iterdir()}
    assert found == {".lock", "tiny.txt.gz", "verified.json"}


@pytest.mark.usefixtures("tiny")
def test_what_is_here_is_not_fetched_again(server: Server) -> None:
    fetch("tiny")
    assert fetch("tiny").startswith("already here")
    assert len(server.requests) == 1


@pytest.mark.usefixtures("tiny")
def test_a_file_that_was_touched_is_not_trusted(home: Path) -> None:
    fetch("tiny", convert=False)
    (home / "downloads" / "tiny" / "tiny.txt.gz").write_bytes(b"something else")
    with pytest.raises(BfsbenchError, match="not here yet"):
        load("tiny")
    fetch("tiny")
    assert load("tiny").num_edges == 6


@pytest.mark.parametrize("record", [b"", b"{", b'{"file": 1}'])
@pytest.mark.usefixtures("tiny")
def test_a_damaged_record_vouches_for_nothing(home: Path, record: bytes) -> None:
    fetch("tiny", convert=False)
    (home / "downloads" / "tiny" / "verified.json").write_bytes(record)
    assert files.held(Catalogue.load().get("tiny")) is None
    assert fetch("tiny").startswith("downloaded")


def test_a_mirror_in_another_format_gives_the_same_graph(server: Server, entries: Entries) -> None:
    server.add("tiny.txt.gz", gzipped(SNAP))
    server.add("tiny.tar.gz", tarred(MATRIX, "tiny/tiny.mtx", "w:gz"))
    own, mirror = snap(f"{server.url}/tiny.txt.gz"), f'url = "{server.url}/tiny.tar.gz", format = "mtx"'
    entries(entry(own, mirror))
    fetch("tiny")
    first = load("tiny").checksum
    entries(entry(snap(f"{server.url}/gone.txt.gz"), mirror))
    assert fetch("tiny").startswith(f"downloaded from {server.url}/tiny.tar.gz")
    assert load("tiny").checksum == first


SPOILT: dict[str, tuple[dict[str, list[int]], dict[str, str], str]] = {
    "missing": ({"statuses": [404] * 9}, {}, "404 Not Found"),
    "broken": ({"statuses": [500] * 9}, {}, "500 .*gave up after 3 tries"),
    "stalled": ({"stalls": [0] * 9}, {}, "no answer for too long; gave up"),
    "changed": ({}, {"sha256": "0" * 64}, "SHA-256 is .*; deleted"),
    "changed inside": ({}, {"content_sha256": "0" * 64}, "SHA-256 of the graph inside is .*; deleted"),
}
"""For each case: the server's failure, the checksum in the catalogue, and the error."""


@pytest.fixture(params=SPOILT)
def spoilt(request: pytest.FixtureRequest, server: Server) -> tuple[str, str]:
    """Returns a source that cannot be fetched, and the error."""
    behaviour, checksums, message = SPOILT[request.param]
    server.add("own/tiny.txt.gz", gzipped(SNAP), **behaviour)
    return snap(f"{server.url}/own/tiny.txt.gz", **checksums), message


def test_a_mirror_is_tried_when_an_address_fails(
    server: Server, entries: Entries, spoilt: tuple[str, str]
) -> None:
    server.add("mirror/tiny.txt.gz", gzipped(SNAP))
    entries(entry(spoilt[0], snap(f"{server.url}/mirror/tiny.txt.gz")))
    assert fetch("tiny").startswith(f"downloaded from {server.url}/mirror/")
    assert load("tiny").num_edges == 6


def test_without_a_mirror_the_address_and_the_fault_are_named(
    server: Server, entries: Entries, spoilt: tuple[str, str], home: Path
) -> None:
    entries(entry(spoilt[0]))
    with pytest.raises(FetchError, match=f"{server.url}/own/tiny.txt.gz: .*{spoilt[1]}"):
        fetch("tiny")
    assert not (home / "downloads" / "tiny" / "tiny.txt.gz").exists()


def test_a_file_that_cannot_be_read_is_replaced_by_the_mirrors(server: Server, entries: Entries) -> None:
    server.add("own/tiny.txt.gz", gzipped(SNAP)[:-20])
    server.add("mirror/tiny.txt.gz", gzipped(SNAP))
    sources = [snap(f"{server.url}/{place}/tiny.txt.gz") for place in ("own", "mirror")]
    entries(entry(*sources))
    assert fetch("tiny").startswith(f"downloaded from {server.url}/mirror/")
    assert load("tiny").num_edges == 6


def test_counts_that_differ_from_the_published_ones_fail(
    server: Server, entries: Entries, home: Path
) -> None:
    server.add("tiny.txt.gz", gzipped(SNAP))
    entries(entry(snap(f"{server.url}/tiny.txt.gz"), more="num_vertices = 5\nnum_edges = 7"))
    with pytest.raises(FetchError, match="7 edges are published, the source has 6"):
        fetch("tiny")
    assert not (home / "downloads" / "tiny" / "tiny.txt.gz").exists(), "the file has no checksum"


@pytest.mark.parametrize(
    ("name", "pack"), [("tiny.txt", bytes), ("tiny.txt.gz", gzip.compress), ("tiny.txt.xz", lzma.compress)]
)
def test_a_folder_may_hold_the_file_in_any_packing(
    tmp_path: Path, entries: Entries, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(SNAP))
    entries(entry(snap("http://localhost/tiny.txt.gz", content_sha256=sha256(SNAP))))
    assert fetch("tiny", folder=tmp_path) == f"copied from {tmp_path}; 5 vertices, 6 arcs"
    (tmp_path / name).unlink()
    assert load("tiny").num_edges == 6, "the copy is independent"


def test_a_folder_may_hold_the_matrix_of_an_archive(tmp_path: Path, entries: Entries) -> None:
    (tmp_path / "tiny.mtx.xz").write_bytes(lzma.compress(MATRIX))
    entries(entry('url = "http://localhost/tiny.tar.gz", format = "mtx"'))
    assert fetch("tiny", folder=tmp_path).endswith("5 vertices, 6 arcs")


def test_a_folder_is_believed_no_more_than_a_server(tmp_path: Path, entries: Entries, home: Path) -> None:
    (tmp_path / "tiny.txt.xz").write_bytes(lzma.compress(SNAP + b"1\t2\n"))
    entries(entry(snap("http://localhost/tiny.txt.gz", content_sha256=sha256(SNAP))))
    with pytest.raises(FetchError, match=r"tiny\.txt\.xz: SHA-256 of the graph inside is"):
        fetch("tiny", folder=tmp_path)
    (tmp_path / "tiny.txt.xz").unlink()
    (tmp_path / "tiny.txt.gz").write_bytes(gzipped(SNAP + b"1\t2\n"))
    entries(entry(snap("http://localhost/tiny.txt.gz", sha256=sha256(gzipped(SNAP)))))
    with pytest.raises(FetchError, match=r"tiny\.txt\.gz: SHA-256 is .*, the catalogue says"):
        fetch("tiny", folder=tmp_path)
    assert [path.name for path in (home / "downloads" / "tiny").iterdir()] == [".lock"]


def test_a_folder_without_the_file_says_what_was_looked_for(tmp_path: Path, entries: Entries) -> None:
    entries(entry(snap("http://localhost/tiny.txt.gz")))
    with pytest.raises(FetchError, match=r"does not hold tiny\.txt\.gz, nor another packing"):
        fetch("tiny", folder=tmp_path)


def test_a_file_that_no_server_offers_says_so(entries: Entries) -> None:
    entries(entry('file = "tiny.txt", format = "snap"'))
    with pytest.raises(FetchError, match=r"no server offers it: get tiny\.txt and run .*--from FOLDER"):
        fetch("tiny")


def test_retries_are_told_and_the_error_ends_in_a_way_out(server: Server, entries: Entries) -> None:
    server.add("tiny.txt.gz", gzipped(SNAP), statuses=[503] * 3)
    entries(entry(snap(f"{server.url}/tiny.txt.gz")))
    display = Silent()
    with pytest.raises(
        FetchError, match=r"try again, or put tiny\.txt\.gz into a folder and use --from FOLDER$"
    ):
        Fetcher(display, Transfer(QUICK), insecure=True).fetch(Catalogue.load().get("tiny"))
    notes = [call("tiny", f"retrying ({number} of 3): 503 Service Unavailable") for number in (2, 3)]
    assert display.note.call_args_list == notes


def test_without_a_network_mirrors_fail_at_once(entries: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    entries(entry(snap("http://one.invalid/tiny.txt"), snap("https://two.invalid/tiny.txt.gz")))
    started = time.monotonic()
    output = command("tiny").output
    assert time.monotonic() - started < 5
    assert "retrying" not in output
    for address in ("http://one.invalid/tiny.txt", "https://two.invalid/tiny.txt.gz"):
        assert f"{address}: the server's name is unknown (is there a network?);" in output
    assert "or put tiny.txt or tiny.txt.gz into a folder and use --from FOLDER" in output


def test_one_failure_does_not_stop_the_others(server: Server, entries: Entries) -> None:
    server.add("tiny.txt.gz", gzipped(SNAP))
    entries(
        entry(snap(f"{server.url}/none.txt.gz"), name="absent")
        + entry(snap(f"{server.url}/tiny.txt.gz"), name="tiny")
    )
    result = command("absent", "tiny", "pmpp-example")
    assert result.exit_code == 1
    assert f"absent: {server.url}/none.txt.gz: 404 Not Found" in result.output
    assert "tiny: downloaded" in result.output
    assert "pmpp-example: generated; 9 vertices, 15 arcs" in result.output
    assert "1 of 3 failed: absent" in result.output
    assert load("tiny").num_edges == 6


def test_several_downloads_run_at_once(server: Server, entries: Entries) -> None:
    names = ("one", "two", "three")
    together = threading.Barrier(len(names), timeout=10)
    for name in names:
        server.add(f"{name}.txt.gz", gzipped(SNAP), before=lambda number: together.wait() and None)
    entries("".join(entry(snap(f"{server.url}/{name}.txt.gz"), name=name) for name in names))
    result = command("--family", "mine", "--jobs", "3")
    assert result.exit_code == 0, result.output
    assert not together.broken


@pytest.mark.usefixtures("tiny")
def test_without_conversion_only_the_file_comes(home: Path) -> None:
    assert command("tiny", "--no-convert").exit_code == 0
    assert not (home / "graphs").exists()
    assert " fetched" in command("--list", "tiny").output


def test_the_list_shows_every_state(server: Server, entries: Entries) -> None:
    for name in ("whole", "begun"):
        server.add(f"{name}.txt.gz", gzipped(SNAP))
    server.files["begun.txt.gz"].cuts = [20] + [0] * 9
    entries("".join(entry(snap(f"{server.url}/{n}.txt.gz"), name=n) for n in ("whole", "begun", "never")))
    fetch("whole")
    with pytest.raises(FetchError):
        fetch("begun")
    output = command("--list", "whole", "begun", "never", "pmpp", "epinions", "USA-road-d.NY").output
    states = {line.split()[0]: line.split()[-1] for line in output.splitlines()[2:]}
    assert states == {
        "whole": "converted",
        "begun": "partial",
        "never": "missing",
        "pmpp-example": "generated",
        "soc-Epinions1": "bundled",
        "USA-road-d.NY": "bundled",
    }
    assert "365,050" in output, "counts are of the file that is here"


@pytest.mark.usefixtures("tiny")
def test_graphs_without_a_download_are_prepared(home: Path) -> None:
    own = home / "own.csv"
    own.write_text("0,1\n1,2\n")
    names = ("kronecker(scale=4)", f"{own}:directed", "tiny:symmetrised")
    (home / "bad.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 9\n1 2\n")
    result = command(*names, f"{home}/bad.mtx")
    assert result.exit_code == 1 and "1 of 5 failed: bad.mtx" in result.stderr
    assert "own.csv:directed: ready; 3 vertices, 2 arcs" in result.stderr
    for request in map(resolve, names):
        found = files.held(request.dataset) if request.dataset else None
        assert stored(request, found) is not None


def test_the_list_holds_the_whole_catalogue() -> None:
    output = command("--list").output
    assert all(name in output for name in Catalogue.load().names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["soc-Slashdot9"], "unknown dataset 'soc-Slashdot9': did you mean"),
        (["--family", "rood"], "unknown family 'rood': choose one of"),
        (["rods.csv"], "cannot read rods.csv: No such file"),
        (["roads.csv.gz:directed"], "cannot read roads.csv.gz: No such file"),
        ([], "name the graphs to fetch"),
        (["tiny", "--from", "/no/such/folder"], "does not exist"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(arguments: list[str], message: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_cache_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, entries: Entries
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path / "file"))
    entries(entry(snap("http://localhost:9/tiny.txt.gz")))
    result = command("tiny")
    assert result.exit_code == 1
    assert "tiny: cannot write in" in result.output
    assert "set BFSBENCH_CACHE" in result.output
    with pytest.raises(BfsbenchError, match="not here yet"):
        load("tiny")


def test_bars_on_a_terminal_end_in_one_line_a_graph() -> None:
    screen = io.StringIO()
    with FetchDisplay(Console(file=screen, force_terminal=True, width=120)) as display:
        display.stage("tiny", "downloading", "http://localhost/[bracketed]")
        display.progress("tiny", 512, 1024)
        display.stage("tiny", "converting")
        display.note("tiny", "retrying (2 of 6): no answer")
        display.finish("tiny", "downloaded from http://localhost/[bracketed]", failed=False)
        display.finish("other", "failed before it began", failed=True)
    assert "tiny: downloaded from http://localhost/[bracketed]" in screen.getvalue()
    assert "tiny: retrying (2 of 6): no answer" in screen.getvalue()
    assert "other: failed before it began" in screen.getvalue()
