"""The lines printed while waiting for a cluster."""

import subprocess
import sys
import time

import pytest

from bfsbench.cluster import dispatch, launch as waiting
from bfsbench.cluster.address import Jobs, Local, Running
from bfsbench.cluster.launch import Wait, require_dask
from bfsbench.cluster.runner import Cluster
from bfsbench.cluster.tasks import Equipment
from tests.cluster.programs import BFSBENCH, Start, finished, free_port, start

__all__ = ["start"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, in one element."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_wait_says_more_and_more_seldom_for_what_and_how_long(clock: list[float]) -> None:
    told: list[str] = []
    wait = Wait("a worker", told.append, 100)
    for _ in range(100):
        assert not wait.over("0 of 1 there")
        clock[0] += 1
    assert told[0] == "waiting for a worker (0 of 1 there): 3 s so far, 100 s at most"
    assert [line.split("): ")[1].split(" s so far")[0] for line in told] == ["3", "6", "12", "24", "48", "96"]
    clock[0] += 1
    assert wait.over() and len(told) == 6


def test_a_wait_without_an_end_goes_on_saying_so(clock: list[float]) -> None:
    told: list[str] = []
    wait = Wait("a job", told.append)
    for _ in range(3600):
        clock[0] += 10
        assert not wait.over()
    assert told[-1].endswith("s so far, until interrupted")
    assert 3600 * 10 / waiting.LONGEST_S - 3 < len(told) < 3600 * 10 / waiting.LONGEST_S + 9


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (Local(2), (2, "2 workers on this machine", 120.0)),
        (Running("head:8786"), (1, "what 'bfsbench worker dask://head:8786' starts", 120.0)),
        (Jobs("pbs"), (1, "the first of 2 pbs jobs to start", None)),
    ],
)
def test_what_is_waited_for(place: Local | Running | Jobs, expected: tuple[int, str, float | None]) -> None:
    require_dask()
    cluster = Cluster(place, Equipment("cpu", 0), False, print)
    assert cluster._expected(1 if isinstance(place, Running) else 2) == expected


@pytest.mark.exhaustive
def test_a_scheduler_without_workers_is_waited_for_with_a_line(start: Start) -> None:
    port = free_port()
    listen = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    start(sys.executable, "-m", "dask", "scheduler", *listen)
    where = ["--dataset", "soc-Epinions1", "--cluster", f"dask://127.0.0.1:{port}"]
    sweep = start(*BFSBENCH, "run", *where, "--variant", "cpu_queue", "--out", "r.csv")
    heard = next_line(sweep, "waiting for what")
    assert f"'bfsbench worker dask://127.0.0.1:{port}' starts (0 of 1 there): " in heard
    assert heard.endswith(" s so far, 120 s at most\n")
    start(*BFSBENCH, "worker", f"dask://127.0.0.1:{port}", "--workers", "1")
    assert "1 point: 1 ok" in finished(sweep, 0)


def next_line(process: subprocess.Popen[str], beginning: str) -> str:
    """The next line of a program's output that begins like this."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"nothing began with {beginning!r}")


def test_a_sweep_whose_workers_are_gone_says_that_it_waits(clock: list[float]) -> None:
    told: list[str] = []
    crowd = dispatch.Members(None, Equipment("cpu", 0), False, told.append)  # type: ignore[arg-type]
    for _ in range(int(dispatch.WITHOUT_WORKERS_S)):
        assert not crowd._without_workers()
        clock[0] += 1
    assert told[0] == "waiting for another worker, as none is left: 3 s so far, 30 s at most"
    clock[0] += 2
    assert crowd._without_workers()
