"""Test the parts of a cluster that need no workers: addresses, shares, starts, and lines about waiting."""

import os
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bfsbench.cluster import launch, runner
from bfsbench.cluster.address import Jobs, Local, Place, Running, host_and_port, is_loopback, parse
from bfsbench.cluster.runner import Cluster, Shares, _spread
from bfsbench.cluster.tasks import Equipment
from bfsbench.rows.point import Point
from bfsbench.support.errors import OptionError, ToolchainError, UsageError
from tests.cluster.programs import BFSBENCH, Start, dask_scheduler, finished, start

__all__ = ["start"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("local", Local()),
        ("local:4", Local(4)),
        ("dask://node1:8786", Running("node1:8786")),
        ("dask://[fe80::1]:1", Running("[fe80::1]:1")),
        ("tls://node1:8786", Running("node1:8786")),
        ("slurm", Jobs("slurm")),
        ("slurm:a/b.toml", Jobs("slurm", Path("a/b.toml"))),
        ("pbs", Jobs("pbs")),
        ("lsf:x", Jobs("lsf", Path("x"))),
    ],
)
def test_the_places_of_workers(text: str, place: Place) -> None:
    assert parse(text) == place


@pytest.mark.parametrize(
    "text", ["", "local:", "local:0", "local:²", "local:-1", "remote", "slurm:", "node1:8786", "Local"]
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(UsageError, match="is not local"):
        parse(text)


@pytest.mark.parametrize("text", ["dask://node1", "dask://:1", "dask://a:65536", "dask://a:0", "dask://a:b"])
def test_what_is_no_scheduler(text: str) -> None:
    with pytest.raises(UsageError, match="write dask://HOST:PORT"):
        parse(text)


def test_an_address_may_be_copied_from_what_dask_prints() -> None:
    for scheme in ("tcp", "tls"):
        assert host_and_port(f"{scheme}://10.0.0.1:8786") == host_and_port("dask://10.0.0.1:8786")


@pytest.mark.parametrize(
    ("address", "alone"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://10.0.0.1:8786", False),
        ("tcp://0.0.0.0:8786", False),
        ("tcp://no-such-host.invalid:8786", False),
    ],
)
def test_what_others_can_reach_without_a_certificate_is_refused_or_warned_of(
    address: str, alone: bool
) -> None:
    told: list[str] = []
    assert is_loopback(address) == alone
    launch.require_access_control(address.replace("tcp", "tls"), False, told.append)
    if alone:
        launch.require_access_control(address, False, told.append)
        assert told == []
        return
    with pytest.raises(OptionError, match=r"has no TLS: whoever reaches it .* or accept it by insecure"):
        launch.require_access_control(address, False, told.append)
    launch.require_access_control(address, True, told.append)
    (line,) = told
    assert line.startswith(f"warning: {address} has no TLS")


def points(counts: dict[str, int]) -> list[Point]:
    return [Point(graph, i, "push", "cpu", None, 32) for graph, n in counts.items() for i in range(n)]


def groups(counts: dict[str, int]) -> list[tuple[Point, ...]]:
    return [(point,) for point in points(counts)]


@given(
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9)),
    st.lists(st.tuples(st.integers(0, 3), st.booleans())),
)
def test_every_point_is_taken_once_whatever_is_given_back(
    counts: dict[str, int], moves: list[tuple[int, bool]]
) -> None:
    shares = Shares(groups(counts), dict.fromkeys(counts, 1))
    taken: list[Point] = []
    for worker, returns in moves:
        group = shares.take(str(worker))
        if group is not None and returns:
            shares.leave(str(worker))
            shares.give_back(group)
        elif group is not None:
            taken += group
    while group := shares.take("last"):
        taken += group
    assert not shares
    assert sorted(taken, key=repr) == sorted(points(counts), key=repr)


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9), min_size=1), st.integers(1, 4))
def test_a_worker_stays_with_a_graph_while_it_has_points(counts: dict[str, int], workers: int) -> None:
    shares = Shares(groups(counts), {"a": 1, "b": 100, "c": 10, "d": 0, "e": 5})
    left = dict(counts)
    on: dict[int, str] = {}
    turn = 0
    while group := shares.take(str(turn)):
        (point,) = group
        if left.get(on.get(turn, ""), 0):
            assert point.graph == on[turn]
        on[turn] = point.graph
        left[point.graph] -= 1
        turn = (turn + 1) % workers
    assert not any(left.values())


def graph_of(group: tuple[Point, ...] | None) -> str:
    return group[0].graph if group else ""


@pytest.mark.parametrize(
    ("sizes", "workers", "found"),
    [
        ([8], 2, [4, 4]),
        ([3], 4, [3]),
        ([5], 4, [2, 3]),
        ([4, 4], 2, [4, 4]),
        ([8, 1], 4, [4, 4, 1]),
        ([], 2, []),
    ],
)
def test_sources_are_split_only_between_workers_that_would_idle(
    sizes: list[int], workers: int, found: list[int]
) -> None:
    given = [points({name: size}) for name, size in zip("ab", sizes, strict=False)]
    spread = [*_spread(given, workers)]
    assert [len(group) for group in spread] == found
    assert [point for group in spread for point in group] == [point for group in given for point in group]


def test_workers_spread_over_graphs_and_share_the_last() -> None:
    shares = Shares(groups({"small": 3, "large": 3}), {"small": 9, "large": 10})
    assert [graph_of(shares.take(worker)) for worker in "AB"] == ["large", "small"]
    assert [graph_of(shares.take("A")) for _ in range(3)] == ["large", "large", "small"]
    assert [graph_of(shares.take(worker)) for worker in "BA"] == ["small", ""]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "visible_gpus", lambda: ["0", "GPU-7"])


@pytest.mark.usefixtures("gpus")
def test_each_worker_is_pinned_to_a_gpu_of_its_own() -> None:
    for backend in ("auto", "cuda"):
        pins = [options["env"] for options in launch.nannies(None, backend)]
        assert pins == [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "GPU-7"}]
    (options,) = launch.nannies(1, "auto")
    assert (options["nthreads"], options["env"]) == (1, {"CUDA_VISIBLE_DEVICES": "0"})
    with pytest.raises(UsageError, match="3 workers for 2 visible GPUs"):
        launch.nannies(3, "cuda")


@pytest.mark.usefixtures("gpus")
def test_emulators_and_host_programs_need_no_gpu() -> None:
    for backend in ("cpu", None):
        assert [options["env"] for options in launch.nannies(3, backend)] == [{}, {}, {}]
    assert len(launch.nannies(None, "cpu")) == len(os.sched_getaffinity(0))
    assert len(launch.nannies(None, None)) == 1


class Driver:
    """Replaces the CUDA driver library."""

    def __init__(self, count: int) -> None:
        self.count = count

    def cuInit(self, _flags: int) -> int:  # noqa: N802
        return 0

    def cuDeviceGetCount(self, reference: Any) -> int:  # noqa: N802
        reference._obj.value = self.count
        return 0


@pytest.mark.parametrize(
    ("named", "count", "found"),
    [(None, 2, ["0", "1"]), ("3,1", 2, ["3", "1"]), ("3, 9,1", 1, ["3"]), ("", 0, [])],
)
def test_visible_gpus_go_by_the_names_they_were_given(
    monkeypatch: pytest.MonkeyPatch, named: str | None, count: int, found: list[str]
) -> None:
    if named is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    monkeypatch.setattr("ctypes.CDLL", lambda _name: Driver(count))
    assert launch.visible_gpus() == found


def test_what_is_to_be_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    named = [text.partition(">")[0] for text in extras["optional-dependencies"]["cluster"]]
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    for needs in (launch.require_dask, lambda: launch.start_jobs(Jobs("slurm"), None)):
        with pytest.raises(ToolchainError) as caught:
            needs()
        assert str(caught.value).endswith(f"pip install {' '.join(named)}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the monotonic clock. Returns a list with its time as the only element."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_wait_says_more_and_more_seldom_for_what_and_how_long(clock: list[float]) -> None:
    told: list[str] = []
    wait = launch.Wait("a worker", told.append, 100)
    for _ in range(100):
        assert not wait.over("0 of 1 there")
        clock[0] += 1
    assert told[0] == "waiting for a worker (0 of 1 there): 3 s so far, 100 s at most"
    assert [line.split("): ")[1].split(" s so far")[0] for line in told] == ["3", "6", "12", "24", "48", "96"]
    clock[0] += 1
    assert wait.over() and len(told) == 6


def test_a_wait_without_an_end_goes_on_saying_so(clock: list[float]) -> None:
    told: list[str] = []
    wait = launch.Wait("a job", told.append)
    for _ in range(3600):
        clock[0] += 10
        assert not wait.over()
    assert told[-1].endswith("s so far, until interrupted")
    assert 3600 * 10 / launch.LONGEST_S - 3 < len(told) < 3600 * 10 / launch.LONGEST_S + 9


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (Local(2), (2, "2 workers on this machine", 120.0)),
        (Running("head:8786"), (1, "what 'bfsbench worker dask://head:8786' starts", 120.0)),
        (Jobs("pbs"), (1, "the first of 2 pbs jobs to start", None)),
    ],
)
def test_what_is_waited_for(place: Local | Running | Jobs, expected: tuple[int, str, float | None]) -> None:
    launch.require_dask()
    cluster = Cluster(place, Equipment("cpu", 0), False, print)
    assert cluster._expected(1 if isinstance(place, Running) else 2) == expected


@pytest.mark.exhaustive
def test_a_scheduler_without_workers_is_waited_for_with_a_line(start: Start) -> None:
    port, _ = dask_scheduler(start, "--host", "127.0.0.1")
    where = ["--dataset", "soc-Epinions1", "--cluster", f"dask://127.0.0.1:{port}"]
    sweep = start(*BFSBENCH, "run", *where, "--variant", "cpu_queue", "--out", "r.csv")
    heard = next_line(sweep, "waiting for what")
    assert f"'bfsbench worker dask://127.0.0.1:{port}' starts (0 of 1 there): " in heard
    assert heard.endswith(" s so far, 120 s at most\n")
    start(*BFSBENCH, "worker", f"dask://127.0.0.1:{port}", "--workers", "1")
    assert "1 point: 1 ok" in finished(sweep, 0)


def next_line(process: subprocess.Popen[str], beginning: str) -> str:
    """Return the next line of a program's stderr that begins with this text."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(beginning):
            return line
    raise AssertionError(f"nothing began with {beginning!r}")


def test_a_sweep_whose_workers_are_gone_says_that_it_waits(clock: list[float]) -> None:
    told: list[str] = []
    crowd = runner.Members(None, Equipment("cpu", 0), False, told.append)  # type: ignore[arg-type]
    for _ in range(int(runner.WITHOUT_WORKERS_S)):
        assert not crowd._without_workers()
        clock[0] += 1
    assert told[0] == "waiting for another worker, as none is left: 3 s so far, 30 s at most"
    clock[0] += 2
    assert crowd._without_workers()
