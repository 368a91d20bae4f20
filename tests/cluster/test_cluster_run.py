"""``bfsbench run --cluster`` as a user runs it, with processes killed under it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import dask
import distributed
import psutil
import pytest

import bfsbench
from bfsbench.cluster import launch
from bfsbench.cluster.address import FORMS, host_and_port
from bfsbench.rows.columns import COLUMNS, PROFILE_COLUMNS
from bfsbench.rows.results import axes_of, read_rows
from tests.cluster.programs import (
    BFSBENCH,
    LATTICE,
    MEASURE,
    RUN,
    Start,
    dask_scheduler,
    family,
    finished,
    rows_in,
    start,
    wait_for_rows,
)
from tests.commands import complaints, invoke
from tests.test_attacks_on_commands import READY

__all__ = ["start"]


@pytest.fixture
def scheduler(start: Start) -> tuple[str, subprocess.Popen[str]]:
    """Start a scheduler and two workers by their documented commands. Returns its address and process."""
    port, process = dask_scheduler(start, "--host", "127.0.0.1")
    address = f"dask://127.0.0.1:{port}"
    start(*BFSBENCH, "worker", address, "--workers", "2")
    return address, process


@pytest.mark.exhaustive
def test_the_rows_are_those_of_one_process(start: Start, tmp_path: Path) -> None:
    words = "--variant push,pull,cpu_queue --grid auto,2 --block 32,64 --sources 2 --profile"
    one = start(*RUN, *words.split(), "--out", "alone.csv")
    two = start(*RUN, *words.split(), "--cluster", "local:2", "--out", "spread.csv")
    finished(one, 0)
    said = finished(two, 0)
    assert re.search(r"Dask's dashboard: http://127.0.0.1:\d+/status\n(waiting .*\n)*workers: 2 on ", said)
    assert re.search(r"\[\d+/36, \d+ points/min \(\d+, \d+\)\]", said)
    same = ("status", "depth", "reached", "edges_traversed", "graph_checksum", "gpu", "schema")
    assert facts(tmp_path / "alone.csv", COLUMNS, same) == facts(tmp_path / "spread.csv", COLUMNS, same)
    assert len(rows_in(tmp_path / "spread.csv")) == 36
    alone, spread = (tmp_path / f"{name}.levels.csv" for name in ("alone", "spread"))
    same = ("level", "frontier_size")
    assert facts(alone, PROFILE_COLUMNS, same) == facts(spread, PROFILE_COLUMNS, same)


def facts(path: Path, columns: Sequence[str], names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the axes and the columns ``names`` of all rows in a file, sorted."""
    return sorted((axes_of(row), *(row[name] for name in names)) for row in read_rows(path, columns))


def test_what_kills_a_worker_costs_one_row_and_what_hangs_another(start: Start, tmp_path: Path) -> None:
    for variant in ("push", "pull"):  # compiled here, not within the time limit
        bfsbench.search(bfsbench.generate("path", n=2), variant, backend="cpu")
    words = "--variant push,orphans,dies,hangs,pull --block 64 --timeout 3 --cluster local:2 --out r.csv"
    said = finished(start(*MEASURE, LATTICE, *words.split()), 1)
    rows = rows_in(tmp_path / "r.csv")
    assert len({axes_of(row) for row in rows}) == len(rows) == 5, said
    assert re.search(r"worker \S+-[01] was lost: other workers get its points", said)
    outcome = {(row["variant"], row["status"]) for row in rows}
    assert outcome == {
        ("frontier_numbers", "ok"),
        ("orphans", "crash"),
        ("dies", "crash"),
        ("hangs", "timeout"),
        ("pull", "ok"),
    }
    for row in rows:
        if row["variant"] == "orphans":
            assert re.fullmatch(r"worker \S+-[01] was lost", row["reason"])
            assert row["gpu"].startswith("emulated") and row["host_cpu"] and row["num_vertices"]
    assert "5 points: 2 crash, 2 ok, 1 timeout" in said


@pytest.mark.exhaustive
def test_a_killed_worker_is_replaced(start: Start, tmp_path: Path) -> None:
    words = "--variant push,pull --sources 2 --block 32,64,128 --cluster local:2 --out r.csv"
    process = start(*RUN, *words.split())
    wait_for_rows(tmp_path / "r.csv", 5, process)
    workers = [child for child in psutil.Process(process.pid).children() if child.children()]
    assert len(workers) == 2
    workers[0].kill()
    finished(process, process.wait(100))
    rows = rows_in(tmp_path / "r.csv")
    assert len({axes_of(row) for row in rows}) == len(rows) == 24
    statuses = Counter(row["status"] for row in rows)
    assert statuses["crash"] <= 1 and statuses["ok"] == 24 - statuses["crash"]
    assert process.returncode == statuses["crash"]


@pytest.mark.exhaustive
def test_an_interrupt_ends_the_workers_and_says_how_to_go_on(start: Start, tmp_path: Path) -> None:
    words = "--variant push,hangs --cluster local:2 --out r.csv"
    process = start(*RUN, *words.split(), start_new_session=True)
    wait_for_rows(tmp_path / "r.csv", 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    said = finished(process, 130)
    assert said.strip().splitlines()[-1] == "bfsbench: interrupted: continue with --resume --out r.csv"
    assert "Traceback" not in said


@pytest.mark.parametrize("words", ["run", "worker"])
@pytest.mark.exhaustive
def test_an_interrupt_while_workers_start(start: Start, words: str, request: pytest.FixtureRequest) -> None:
    if words == "run":
        process = start(*RUN, "--cluster", "local:2", "--variant", "push", start_new_session=True)
    else:
        address, _ = request.getfixturevalue("scheduler")
        process = start(*BFSBENCH, "worker", address, "--workers", "2", start_new_session=True)
    while len(family(process.pid)) < 4:  # workers, and Python's resource tracker
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = finished(process, 130)
    assert said.endswith("bfsbench: interrupted\n" if words == "run" else "") and "Traceback" not in said


@pytest.mark.exhaustive
def test_a_lost_client_is_resumed(
    start: Start, scheduler: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    address, _ = scheduler
    words = f"--variant push,pull --sources 2 --block 32,64,128 --cluster {address} --out r.csv".split()
    process = start(*RUN, *words)
    wait_for_rows(tmp_path / "r.csv", 5, process)
    process.kill()
    process.wait()
    kept = len(rows_in(tmp_path / "r.csv"))
    said = finished(start(*RUN, *words, "--resume"), 0)
    assert f"{kept} of 24 points are in r.csv already" in said
    rows = rows_in(tmp_path / "r.csv")
    assert len({axes_of(row) for row in rows}) == len(rows) == 24
    assert {row["status"] for row in rows} == {"ok"}


@pytest.mark.exhaustive
def test_a_lost_scheduler_ends_the_sweep_which_is_resumed(
    start: Start, scheduler: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    address, head = scheduler
    words = ["--variant", "push,pull", "--sources", "2", "--block", "32,64,128", "--out", "r.csv"]
    process = start(*RUN, *words, "--cluster", address)
    wait_for_rows(tmp_path / "r.csv", 5, process)
    head.kill()
    said = finished(process, 1)
    assert said.strip().splitlines()[-1] == "bfsbench: the scheduler was lost: continue with --resume"
    assert "Traceback" not in said
    finished(start(*RUN, *words, "--resume"), 0)
    rows = rows_in(tmp_path / "r.csv")
    assert len({axes_of(row) for row in rows}) == len(rows) == 24
    assert {row["status"] for row in rows} == {"ok"}


def unasked(said: str) -> list[str]:
    """Return a program's output without lines about waiting, which appear only on a busy machine."""
    return [line for line in said.splitlines() if not line.startswith("waiting for ")]


@pytest.mark.exhaustive
def test_workers_end_with_their_scheduler_and_when_told(
    start: Start, scheduler: tuple[str, subprocess.Popen[str]]
) -> None:
    address, head = scheduler
    with distributed.Client(host_and_port(address), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    examined = invoke("doctor", "--cluster", address)
    assert examined.stdout.endswith("All 2 workers can run and are alike.\n"), examined.output
    told, other = (start(*BFSBENCH, "worker", address, "--workers", "1") for _ in range(2))
    with distributed.Client(host_and_port(address), set_as_default=False) as client:
        client.wait_for_workers(4, timeout=60)
    _, *workers = family(told.pid)
    for worker in workers:
        worker.send_signal(signal.SIGINT)
    time.sleep(1)  # a terminal signals all processes at once
    assert family(told.pid)[1:] == workers
    told.send_signal(signal.SIGINT)
    assert unasked(finished(told, 130)) == []
    head.kill()
    assert "Traceback" not in finished(other, 0)


def test_workers_that_wait_for_a_scheduler_end_when_told(start: Start) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        process = start(*BFSBENCH, "worker", f"dask://127.0.0.1:{listener.getsockname()[1]}")
        listener.accept()[0].close()
        process.send_signal(signal.SIGTERM)
        assert unasked(finished(process, 130)) == []


def test_workers_without_a_scheduler_say_so() -> None:
    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        done = invoke("worker", "dask://127.0.0.1:1", "--workers", "1")
    assert done.exit_code == 2
    assert done.stderr.strip().endswith(
        "no scheduler answers at tcp://127.0.0.1:1: start one with 'dask scheduler', "
        "or show its certificates with --tls"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--cluster", "here"), f"'here' is not {FORMS}"),
        (("--cluster", "dask://127.0.0.1:1"), "no scheduler answers at tcp://127.0.0.1:1"),
        (("--cluster", "slurm:no.toml", "--insecure"), "cannot read no.toml: No such file"),
        (("--mixed-devices",), "--mixed-devices goes with --cluster"),
        (("--tls", "no"), "--tls goes with --cluster"),
        (("--cluster", "local", "--tls", "no"), "/no/ca.pem: No such file"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.setattr(launch, "CONNECT_LIMIT_S", 0.5)
    monkeypatch.chdir(tmp_path)
    done = invoke(*RUN[3:], "--variant", "push", "--out", "r.csv", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(complaints(done)) == 1, done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_a_sweep_that_the_workers_cannot_do_ends_before_it_begins(start: Start, tmp_path: Path) -> None:
    said = finished(start(*RUN, "--block", "2048", "--cluster", "local:1", "--out", "r.csv"), 2)
    assert said.strip().splitlines()[-1] == "bfsbench: block 2048 is over the device's limit of 1024"
    assert not (tmp_path / "r.csv").exists()


SWEEP = [*MEASURE[3:], "path(n=2000)", "--variant", "cpu_queue", "--source", "0:30:+1", "--repeats", "100000"]
LATE = 40.0
"""Seconds that an interrupted program may take to end. A point would take longer."""


def interrupted(process: subprocess.Popen[str], after_s: float) -> str:
    """Interrupt the processes of a program as a terminal does, ``after_s`` seconds after Python has started.

    Returns the program's stderr.
    """
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    said = finished(process, 130)
    assert time.monotonic() - began < LATE and "Traceback" not in said, said
    return said


STAGES = [0.05, 0.4, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 6.0, 9.0]
"""Seconds until the interrupt: during imports, starts of processes, introductions, or points."""


@pytest.mark.parametrize("after_s", STAGES)
@pytest.mark.exhaustive
def test_an_interrupt_at_any_stage_of_a_cluster_ends_it(start: Start, after_s: float) -> None:
    words = [sys.executable, "-c", READY, *SWEEP, "--cluster", "local:2", "--out", "r.csv"]
    process = start(*words, start_new_session=True, stdout=subprocess.PIPE)
    assert "interrupted" in interrupted(process, after_s)


@pytest.mark.parametrize("after_s", STAGES)
@pytest.mark.exhaustive
def test_an_interrupt_at_any_stage_of_a_worker_ends_it(start: Start, tmp_path: Path, after_s: float) -> None:
    """The worker's scheduler has a sweep of long points."""
    port, _ = dask_scheduler(start, "--host", "127.0.0.1")
    where = f"dask://127.0.0.1:{port}"
    start(*BFSBENCH, *SWEEP, "--cluster", where, "--out", "r.csv")
    words = [sys.executable, "-c", READY, "worker", where, "--workers", "2"]
    interrupted(start(*words, start_new_session=True, stdout=subprocess.PIPE), after_s)
