"""Tests downloads without a published checksum. They must match the first, and plain HTTP needs an option."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from fetch_server import SNAP, Server, entry, gzipped, sha256, snap

from bfsbench.graphs import files
from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.fetch import Transfer, UnavailableError
from bfsbench.support import storage
from tests.commands import invoke

Entries = Callable[[str], Path]

pytestmark = pytest.mark.usefixtures("home")

OTHER = SNAP.replace(b"4\t0", b"4\t1")
"""Another graph with the numbers of vertices and arcs of SNAP."""


def command(*arguments: str, code: int = 0) -> Result:
    result = invoke("fetch", *arguments)
    assert result.exit_code == code, result.output
    return result


def delete_cache(home: Path) -> None:
    for path in (home / "downloads" / "tiny").iterdir():
        path.unlink()


def test_a_download_is_held_to_the_first_even_without_the_cache(
    server: Server, entries: Entries, home: Path
) -> None:
    url = f"{server.url}/tiny.txt.gz"
    server.add("tiny.txt.gz", gzipped(SNAP))
    entries(entry(snap(url)))
    command("tiny", "--insecure")
    known = files.first_download(url)
    assert known is not None and known.sha256 == sha256(gzipped(SNAP))

    delete_cache(home)
    command("tiny")  # a known checksum makes plain HTTP as good as any

    delete_cache(home)
    server.add("tiny.txt.gz", gzipped(OTHER))
    said = command("tiny", code=1).output
    assert f"SHA-256 is {sha256(gzipped(OTHER))}, on {known.on} it was {known.sha256}" in said
    assert "use --accept-changed" in said
    assert files.first_download(url) == known
    assert [path.name for path in (home / "downloads" / "tiny").iterdir()] == [".lock"]

    command("tiny", "--accept-changed")
    accepted = files.first_download(url)
    assert accepted is not None and accepted.sha256 == sha256(gzipped(OTHER))


def test_a_published_checksum_needs_no_record(server: Server, entries: Entries) -> None:
    url = f"{server.url}/tiny.txt"
    server.add("tiny.txt", SNAP)
    for published in ("sha256", "content_sha256"):
        entries(entry(snap(url, **{published: sha256(SNAP)})))
        command("tiny")
        assert files.first_download(url) is None


def test_plain_http_without_a_checksum_is_asked_for(server: Server, entries: Entries) -> None:
    url = f"{server.url}/tiny.txt"
    server.add("tiny.txt", SNAP)
    entries(entry(snap(url)))
    said = command("tiny", code=1).output
    assert url in said and "--insecure accepts it" in said
    assert server.requests == []
    command("tiny", "--insecure")


def test_a_redirection_to_plain_http_is_refused(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An HTTPS address leads to an HTTP address. Anybody on the way could change that answer."""
    import requests

    server.add("tiny.txt", SNAP)
    get = requests.get

    def redirected(url: str, **options: object) -> requests.Response:
        answer = get(f"{server.url}/tiny.txt", **options)  # type: ignore[arg-type]
        asked = requests.Response()
        asked.url = url
        answer.history = [asked]
        return answer

    monkeypatch.setattr(requests, "get", redirected)
    target = home / "tiny.txt"
    with pytest.raises(UnavailableError, match="plain HTTP"):
        Transfer().download("https://safe/tiny.txt", target, None, None, lambda *_: None, secure=True)
    assert list(home.glob("tiny*")) == []
    Transfer().download("https://safe/tiny.txt", target, None, None, lambda *_: None)
    assert target.read_bytes() == SNAP


def test_a_file_that_is_no_graph_is_held_to_by_nobody(server: Server, entries: Entries) -> None:
    """A server's error page must not become the expected content."""
    url = f"{server.url}/tiny.txt"
    entries(entry(snap(url)))
    for page in (b"<html>try again later</html>\n", b"<html> login\n0 1\n"):
        server.add("tiny.txt", page)
        command("tiny", "--insecure", "--no-convert")
        assert files.first_download(url) is None  # it may be a page that asks for a password
        assert "HTML" in command("tiny", code=1).output
        assert files.first_download(url) is None
    server.add("tiny.txt", SNAP)
    command("tiny", "--insecure")


def test_a_damaged_record_is_one_line(server: Server, entries: Entries) -> None:
    server.add("tiny.txt", SNAP)
    entries(entry(snap(f"{server.url}/tiny.txt")))
    path = files.first_downloads_file()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{\xff")
    said = command("tiny", "--insecure", code=1).output
    assert f"{path} is damaged" in said
    assert "Traceback" not in said


def test_a_record_that_cannot_be_written_is_one_line(
    server: Server, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        if path != files.first_downloads_file():
            return write(path, data)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write = storage.write
    server.add("tiny.txt", SNAP)
    entries(entry(snap(f"{server.url}/tiny.txt")))
    monkeypatch.setattr(storage, "write", full)
    said = command("tiny", "--insecure", code=1).output
    assert "BFSBENCH_CHECKSUMS names another place" in said


def test_the_catalogue_asks_for_plain_http_only_where_there_is_another_way() -> None:
    for dataset in Catalogue.load():
        unsafe = [s for s in dataset.sources if s.origin.startswith("http://") and not s.vouched_for]
        assert not unsafe or any(s.origin.startswith("https://") for s in dataset.sources), dataset.name
