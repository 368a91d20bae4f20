"""Test who can reach a cluster with and without certificates."""

import asyncio
import contextlib
import json
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from distributed.comm import connect

from bfsbench.cluster import launch
from bfsbench.cluster.address import QUEUES
from bfsbench.cluster.certificates import Certificates, make
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import InputError, ToolchainError
from tests.cluster.programs import (
    BFSBENCH,
    RUN,
    Start,
    dask_scheduler,
    family,
    finished,
    free_port,
    start,
    wait_for_rows,
)
from tests.commands import invoke
from tests.waiting import wait_until

__all__ = ["start"]


def listening(process: subprocess.Popen[str]) -> list[tuple[str, int]]:
    """Return the addresses and ports on which a program and its children listen."""
    found: list[tuple[str, int]] = []
    for one in family(process.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [
                tuple(at.laddr) for at in one.net_connections("inet") if at.status == psutil.CONN_LISTEN
            ]
    return found


@pytest.fixture
def local(start: Start, tmp_path: Path) -> Iterator[list[tuple[str, int]]]:
    """Return the addresses and ports on which a local cluster listens during a sweep."""
    words = (
        "--variant cpu_queue,meddles --meddling cut_and_stopped --timeout 100 --cluster local:2 --out r.csv"
    )
    process = start(*RUN, *words.split())
    wait_for_rows(tmp_path / "r.csv", 1, process)
    yield listening(process)


def test_a_local_cluster_listens_on_loopback_alone_and_takes_no_stranger(
    local: list[tuple[str, int]], tmp_path: Path
) -> None:
    assert len(local) >= 6  # a scheduler and its dashboard, two nannies, two workers
    assert {address for address, _port in local} == {"127.0.0.1"}
    other = make(tmp_path / "other").security().get_connection_args("client")
    for _address, port in local:
        for scheme, shown in (("tcp", {}), ("tls", other)):
            with pytest.raises(OSError):
                asyncio.run(reach(f"{scheme}://127.0.0.1:{port}", **shown))


async def reach(address: str, **shown: object) -> None:
    """Connect to one of Dask's processes. Raises OSError."""
    async with asyncio.timeout(1):  # a page of Dask's answers in another language
        await connect(address, timeout=0.5, **shown)


@pytest.mark.exhaustive
def test_a_sweep_with_certificates_and_others_without(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = invoke("certificates", tmp_path / "tls").stdout
    port = free_port()
    for line in (line.split() for line in said.splitlines() if line.startswith("  ")):
        line = [word.replace("HOST:8786", f"127.0.0.1:{port}") for word in line]
        if line[:2] == ["dask", "scheduler"]:
            start(sys.executable, "-m", *line, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        elif line[1] == "worker":
            start(*BFSBENCH, *line[1:], "--workers", "1")
        else:
            sweep = [*RUN[3:], "--variant", "cpu_queue", *line[2:-1]]
    heard = finished(start(*RUN[:3], *sweep, "--out", "r.csv"), 0)
    assert "warning" not in heard and "Dask's dashboard" in heard
    assert [row["status"] for row in read_rows(tmp_path / "r.csv")] == ["ok", "ok"]

    where = ["--cluster", f"dask://127.0.0.1:{port}"]
    examined = invoke("doctor", *where, "--tls", tmp_path / "tls", "--format", "json")
    assert len(json.loads(examined.stdout)["workers"]) == 1, examined.output
    monkeypatch.setattr(launch, "CONNECT_LIMIT_S", 1)
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "other")
    for more, hint in (
        ([], "or show its certificates with --tls"),
        (["--tls", "other"], "or it has other certificates"),
    ):
        for command in (["run", "--dataset", "soc-Epinions1", "--variant", "cpu_queue"], ["doctor"]):
            refused = invoke(*command, *where, *more)
            assert refused.exit_code == 2, refused.output
            *_waits, line = refused.stderr.splitlines()
            assert line.startswith("bfsbench: no scheduler answers at t") and line.endswith(hint)


def test_certificates_are_the_user_s_alone_and_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "tls"
    assert invoke("certificates", folder).exit_code == 0
    made = Certificates.of(folder)
    for path in (folder, *made.files):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    before = [path.read_bytes() for path in made.files]
    again = invoke("certificates", folder)
    assert again.exit_code == 2
    assert again.stderr == f"bfsbench: {made.files[0]} exists: choose another folder\n"
    assert [path.read_bytes() for path in made.files] == before
    (tmp_path / "file").touch()
    assert invoke("certificates", tmp_path / "file" / "x").exit_code == 2


def shake_hands(server: Certificates, client: Certificates) -> None:
    """Perform a TLS handshake in memory, as strictly as Python can. Raises ssl.SSLError."""
    sides = []
    for purpose, shown in ((ssl.Purpose.CLIENT_AUTH, server), (ssl.Purpose.SERVER_AUTH, client)):
        context = ssl.create_default_context(purpose, cafile=str(shown.files[0]))
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_cert_chain(*shown.files[1:])
        sides.append(context)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        sides[0].wrap_bio(to_server, to_client, server_side=True),
        sides[1].wrap_bio(to_client, to_server),
    ]
    left = 2
    for _ in range(4):
        for end in ends[::-1]:
            try:
                end.do_handshake()
                left -= 1
            except ssl.SSLWantReadError:
                continue
    assert left <= 0


def test_certificates_of_one_folder_trust_each_other_and_no_others(tmp_path: Path) -> None:
    ours, others = make(tmp_path / "ours"), make(tmp_path / "others")
    shake_hands(ours, ours)
    for pair in ((ours, others), (others, ours)):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(*pair)


def test_a_folder_that_cannot_serve_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"cannot read .*ca.pem: No such file .*; make them with 'bfsbench"):
        Certificates.of(tmp_path)
    made = make(tmp_path / "tls")
    made.files[2].chmod(0o640)
    with pytest.raises(InputError, match=r"others may read .*key.pem: chmod 600"):
        Certificates.of(made.folder)
    made.files[2].chmod(0o600)
    made.files[1].write_text("nonsense")
    with pytest.raises(InputError, match="tls does not hold certificates"):
        Certificates.of(made.folder).security()
    alone = invoke("doctor", "--tls", tmp_path)
    assert (alone.exit_code, alone.stderr) == (2, "bfsbench: --tls goes with --cluster\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ToolchainError, match="pip install cryptography"):
        make(tmp_path / "more")


def test_workers_of_a_scheduler_on_this_machine_listen_on_loopback_alone(start: Start) -> None:
    port, _ = dask_scheduler(start, "--host", "127.0.0.1")
    worker = start(*BFSBENCH, "worker", f"dask://127.0.0.1:{port}", "--workers", "1")
    wait_until(lambda: len(listening(worker)) >= 2, 60)  # a nanny and a worker
    assert {address for address, _port in listening(worker)} == {"127.0.0.1"}


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize(
    "command", [("run", "--dataset", "path(n=4)", "--variant", "cpu_queue", "--out", "r.csv"), ("doctor",)]
)
def test_jobs_without_certificates_are_refused_before_a_port_is_opened(
    queue: str, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object) -> None:
        raise InputError("jobs were started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "start_jobs", started)
    no = invoke(*command, "--cluster", queue)
    what = f"the scheduler for {queue} has no TLS: whoever reaches it or its workers can run code as you"
    assert no.exit_code == 2 and no.stderr.startswith(f"bfsbench: {what}")
    assert no.stderr.endswith("or accept it by --insecure\n")
    assert "jobs were started" in invoke(*command, "--cluster", queue, "--insecure").stderr


@pytest.mark.exhaustive
def test_a_scheduler_that_others_can_reach_is_refused_by_sweeps_and_doctor(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port, _ = dask_scheduler(start)
    where = ["--cluster", f"dask://127.0.0.1:{port}"]
    sweep = ["run", "--dataset", "path(n=4)", "--variant", "cpu_queue", "--out", "r.csv"]
    for command in (sweep, ["doctor"]):
        no = invoke(*command, *where)
        assert no.exit_code == 2 and "has no TLS" in no.stderr and "--insecure" in no.stderr


@pytest.mark.exhaustive
def test_the_doctor_s_cluster_listens_on_loopback_alone(start: Start) -> None:
    examining = start(*BFSBENCH, "doctor", "--cluster", "local:1")
    found: list[tuple[str, int]] = []
    while examining.poll() is None:
        found = max(found, listening(examining), key=len)
    assert len(found) >= 4  # a scheduler and its dashboard, a nanny, a worker
    assert {address for address, _port in found} == {"127.0.0.1"}


def test_a_worker_refuses_a_scheduler_that_anybody_can_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(address: str, *_others: object) -> None:
        assert address == "tcp://192.0.2.1:8786"

    monkeypatch.setattr(launch, "serve", serve)
    words = ["worker", "dask://192.0.2.1:8786", "--workers", "1"]
    no = invoke(*words)
    assert no.exit_code == 2
    (line,) = no.stderr.splitlines()
    who = "tcp://192.0.2.1:8786 has no TLS: whoever reaches it or its workers can run code as you"
    assert line.startswith(f"bfsbench: {who}") and line.endswith("or accept it by --insecure")
    done = invoke(*words, "--insecure")
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"warning: {who}")
