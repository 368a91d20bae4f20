"""Tests downloads from a server that stalls, disconnects, sends wrong data, or has a new version."""

import errno
import gzip
import os
import random
import socket
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fetch_server import QUICK, Server, serving, sha256
from hypothesis import given, strategies as st

from bfsbench.graphs.fetch import Patience, StoppedError, Transfer, UnavailableError
from bfsbench.graphs.files import Progress
from bfsbench.support.errors import FetchError, UsageError

BODY = random.Random(1).randbytes(200_000)
OTHER = random.Random(2).randbytes(200_000)
NO_NUMBERS = ("\xb2", "9" * 5000, "-1", "soon")
"""Values of the header Retry-After that are not numbers of seconds."""


def download(
    server: Server,
    folder: Path,
    *,
    path: str = "graph.gz",
    size: int | None = None,
    digest: str | None = None,
    transfer: Transfer | None = None,
    progress: Progress = lambda done, total: None,
) -> str:
    transfer = transfer or Transfer(QUICK)
    return transfer.download(f"{server.url}/{path}", folder / "graph.gz", size, digest, progress)


def give_up(server: Server, folder: Path, path: str = "graph.gz") -> None:
    """Download until the first failure, which leaves a part of the file."""
    with pytest.raises(UnavailableError):
        download(server, folder, path=path, transfer=Transfer(Patience(attempts=1)))


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_alone(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY)
    assert download(server, tmp_path, size=len(BODY), digest=sha256(BODY)) == sha256(BODY)
    assert (tmp_path / "graph.gz").read_bytes() == BODY
    assert leftovers(tmp_path) == ["graph.gz"]


def test_progress_counts_bytes_up_to_the_whole(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY)
    seen: list[tuple[int, int | None]] = []
    download(server, tmp_path, progress=lambda *step: seen.append(step))
    assert seen == sorted(seen)
    assert seen[-1] == (len(BODY), len(BODY))


def test_a_cut_connection_is_resumed_and_only_the_rest_is_sent(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[70_000, 50_000])
    assert download(server, tmp_path, digest=sha256(BODY)) == sha256(BODY)
    assert server.sent("graph.gz") == len(BODY)
    assert [wanted for _, wanted, _, _ in server.requests] == [None, "bytes=70000-", "bytes=120000-"]


@pytest.mark.parametrize(
    ("behaviour", "statuses"),
    [
        ({"stalls": [65_536]}, [200, 206]),
        ({"cuts": [10_000] * 12}, [200, *[206] * 12]),  # attempts count only while nothing arrives
        ({"cuts": [70_000], "ranges": False}, [200, 200]),
        ({"statuses": [500, 503]}, [500, 503, 200]),
        ({"length": -1}, [200]),
        *(({"statuses": [503], "retry_after": no_number}, [503, 200]) for no_number in NO_NUMBERS),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_server_that_behaves_badly_is_read_all_the_same(
    server: Server, tmp_path: Path, behaviour: dict[str, Any], statuses: list[int]
) -> None:
    server.add("graph.gz", BODY, **behaviour)
    assert download(server, tmp_path, size=len(BODY), digest=sha256(BODY)) == sha256(BODY)
    assert [status for _, _, status, _ in server.requests] == statuses


def test_a_server_that_sends_slower_than_any_is_given_up(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, pace=0.1)
    patience = replace(QUICK, slowest=1e6)
    with pytest.raises(UnavailableError, match=r"less than 1e\+06 bytes per second arrive"):
        download(server, tmp_path, transfer=Transfer(patience))
    assert len(server.requests) <= 1  # a request is noted at its end


def test_a_server_that_sends_little_each_time_is_given_up(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[70_000] * 50)
    patience = replace(QUICK, slowest=1e9, read_timeout=0.05, first_pause=0.2, longest_pause=0.2)
    with pytest.raises(UnavailableError, match=r"less than 1e\+09 bytes per second arrive"):
        download(server, tmp_path, transfer=Transfer(patience))
    assert len(server.requests) < 5


@given(cuts=st.lists(st.integers(1, 60_000), max_size=8))
def test_wherever_it_is_cut_no_byte_is_sent_twice(cuts: list[int]) -> None:
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        server.add("graph.gz", BODY, cuts=list(cuts))
        assert download(server, Path(folder)) == sha256(BODY)
        assert server.sent("graph.gz") == len(BODY)


def test_a_server_without_ranges_that_always_cuts_is_given_up(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[70_000] * 50, ranges=False)
    with pytest.raises(UnavailableError, match="gave up after 3 tries"):
        download(server, tmp_path)
    assert len(server.requests) == QUICK.attempts
    assert not (tmp_path / "graph.gz").exists()


def test_a_file_that_changes_in_between_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    def change(number: int) -> None:
        if number == 1:
            server.add("graph.gz", OTHER)

    server.add("graph.gz", BODY, cuts=[70_000], before=change)
    # The second request is answered by what was there when it came; the change shows on the third.
    server.files["graph.gz"].cuts.append(20_000)
    assert download(server, tmp_path) == sha256(OTHER)
    assert (tmp_path / "graph.gz").read_bytes() == OTHER


@pytest.mark.parametrize("validators", [{"etag": None}, {"etag": 'W/"weak"'}])
def test_nothing_is_resumed_on_trust(
    server: Server, tmp_path: Path, validators: dict[str, str | None]
) -> None:
    server.add("graph.gz", BODY, cuts=[70_000], **validators)
    assert download(server, tmp_path) == sha256(BODY)
    assert [wanted for _, wanted, _, _ in server.requests] == [None, None]


def test_a_date_serves_where_there_is_no_strong_etag(server: Server, tmp_path: Path) -> None:
    date = "Fri, 01 May 2020 19:19:17 GMT"
    server.add("graph.gz", BODY, cuts=[70_000], etag='W/"weak"', last_modified=date)
    assert download(server, tmp_path) == sha256(BODY)
    assert server.requests[1][1] == "bytes=70000-"


def test_the_server_may_ask_for_a_longer_pause(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, statuses=[429], retry_after="1")
    patience = Patience(attempts=3, first_pause=0.001, longest_pause=0.2)
    stop = Mock(spec=threading.Event)
    stop.wait.return_value = stop.is_set.return_value = False
    download(server, tmp_path, transfer=Transfer(patience, stop))
    stop.wait.assert_called_once_with(0.2)


def test_pauses_grow_and_vary() -> None:
    patience = Patience(first_pause=1.0, longest_pause=10.0)
    for failures, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 10.0)):
        pauses = {patience.pause(failures) for _ in range(50)}
        assert longest / 2 <= min(pauses) <= max(pauses) <= longest
        assert len(pauses) > 1


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_missing_file_is_not_asked_for_twice(server: Server, tmp_path: Path, status: int) -> None:
    server.add("graph.gz", BODY, statuses=[status])
    with pytest.raises(UnavailableError, match=rf"/graph\.gz: {status} "):
        download(server, tmp_path)
    assert len(server.requests) == 1
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("behaviour", "expected", "message"),
    [
        ({"body": OTHER}, {"digest": sha256(BODY)}, f"SHA-256 is {sha256(OTHER)}.*{sha256(BODY)}; deleted"),
        ({}, {"size": 200_001}, "holds 200,000 bytes where the catalogue says 200,001"),
        ({"length": 150_000}, {"size": 200_000}, "150,000"),
        (
            {"length": 250_000, "cuts": [200_000] * 9, "ranges": False},
            {},
            "the connection broke off; gave up",
        ),
        ({"statuses": [302], "location": "http://[::1/"}, {}, r"graph\.gz: "),
    ],
)
def test_a_wrong_answer_gives_no_file(
    server: Server, tmp_path: Path, behaviour: dict[str, Any], expected: dict[str, Any], message: str
) -> None:
    server.add("graph.gz", **{"body": BODY, **behaviour})
    with pytest.raises(UnavailableError, match=message):
        download(server, tmp_path, **expected)
    assert not (tmp_path / "graph.gz").exists()
    assert leftovers(tmp_path) == [] or "length" in behaviour


def test_a_server_that_never_ends_is_stopped_at_the_size(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY * 20, length=-1)
    arrived = []
    with pytest.raises(UnavailableError, match="holds more than the 200,000 bytes of the catalogue"):
        download(server, tmp_path, size=len(BODY), progress=lambda done, total: arrived.append(done))
    assert leftovers(tmp_path) == []
    assert len(BODY) < max(arrived) <= len(BODY) + (1 << 16)  # a block more
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [gzip.compress(BODY), b"no gzip file at all"])
def test_a_file_labelled_as_compressed_in_transit_is_kept_as_it_is(
    server: Server, tmp_path: Path, body: bytes
) -> None:
    server.add("graph.gz", body, encoding="gzip")
    assert download(server, tmp_path, size=len(body), digest=sha256(body)) == sha256(body)


def test_a_name_that_is_unknown_later_is_asked_for_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up, asked = socket.getaddrinfo, []

    def forgetful(*request: Any) -> Any:
        asked.append(request)
        if len(asked) == 2:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(*request)

    monkeypatch.setattr(socket, "getaddrinfo", forgetful)
    server.add("graph.gz", BODY, cuts=[70_000])
    assert download(server, tmp_path) == sha256(BODY)
    assert len(asked) == 3


def test_a_part_left_by_an_earlier_process_is_continued(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[90_000], statuses=[])
    give_up(server, tmp_path)
    assert leftovers(tmp_path) == ["graph.gz.part", "graph.gz.part.json"]
    assert download(server, tmp_path, digest=sha256(BODY)) == sha256(BODY)
    assert server.sent("graph.gz") == len(BODY)


def test_a_part_of_a_file_that_has_changed_since_is_not_continued(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[90_000])
    give_up(server, tmp_path)
    server.add("graph.gz", OTHER)
    assert download(server, tmp_path) == sha256(OTHER)


def test_a_part_from_another_address_is_not_continued(server: Server, tmp_path: Path) -> None:
    server.add("mirror/graph.gz", OTHER, cuts=[90_000], etag='"same"')
    server.add("graph.gz", BODY, etag='"same"')
    give_up(server, tmp_path, "mirror/graph.gz")
    assert download(server, tmp_path) == sha256(BODY)


@pytest.mark.parametrize("description", [None, b"", b"{", b'{"url": 5}', b"[]"])
def test_a_part_without_a_valid_description_is_not_continued(
    server: Server, tmp_path: Path, description: bytes | None
) -> None:
    (tmp_path / "graph.gz.part").write_bytes(OTHER[:1000])
    if description is not None:
        (tmp_path / "graph.gz.part.json").write_bytes(description)
    server.add("graph.gz", BODY)
    assert download(server, tmp_path) == sha256(BODY)


def test_a_complete_part_is_only_moved(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[90_000])
    give_up(server, tmp_path)
    (tmp_path / "graph.gz.part").write_bytes(BODY)
    requests = len(server.requests)
    assert download(server, tmp_path) == sha256(BODY)
    assert len(server.requests) == requests


def test_an_overlong_part_is_thrown_away(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY, cuts=[90_000])
    give_up(server, tmp_path)
    (tmp_path / "graph.gz.part").write_bytes(BODY + b"more")
    assert download(server, tmp_path) == sha256(BODY)


def test_nobody_listening_is_one_clear_line(tmp_path: Path) -> None:
    with serving() as closed:
        pass
    with pytest.raises(UnavailableError) as caught:
        download(closed, tmp_path)
    assert str(caught.value) == f"{closed.url}/graph.gz: connection refused; gave up after 3 tries"


def test_a_stop_keeps_what_has_arrived(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY)
    transfer = Transfer(QUICK)
    with pytest.raises(StoppedError, match="run the command again to resume"):
        download(server, tmp_path, transfer=transfer, progress=lambda done, total: transfer.stop.set())
    assert (tmp_path / "graph.gz.part").stat().st_size > 0
    assert download(server, tmp_path) == sha256(BODY)


def test_a_full_disk_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY)

    def full(done: int, total: int | None) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FetchError, match=f"no space left in {tmp_path}") as caught:
        download(server, tmp_path, progress=full)
    assert not isinstance(caught.value, UnavailableError), "a mirror would not help"


def test_an_unusable_folder_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.add("graph.gz", BODY)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot write in .*/file: .*BFSBENCH_CACHE"):
        download(server, tmp_path / "file")
