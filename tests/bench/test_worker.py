"""Test what a sweep loses when its worker process fails."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends.base import Limits
from bfsbench.bench import messages
from bfsbench.bench.messages import DamagedError, Pipe, frame
from bfsbench.bench.options import Method
from bfsbench.bench.worker import Failure, Worker
from bfsbench.rows.point import Point
from bfsbench.rows.results import axes_of, read_rows
from bfsbench.support.errors import BfsbenchError, ToolchainError, UsageError
from tests.commands import bfsbench
from tests.waiting import wait_until

POINT = Point("lattice(rows=9,columns=7,seed=1):symmetrised", 0, "cpu_queue", "host", None, None)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(None)
    yield worker
    worker.close()


def kill(worker: Worker, how: int = signal.SIGKILL) -> None:
    process = worker._process
    assert process is not None and process.pid is not None
    os.kill(process.pid, how)
    process.wait()


@pytest.mark.parametrize(("how", "name"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGRTMIN + 5, "signal 39")])
def test_a_worker_lost_between_points_costs_one_of_them(worker: Worker, how: int, name: str) -> None:
    first = worker.measure([POINT], Method(1, 60))[POINT]
    assert isinstance(first, dict) and first["status"] == "ok"
    kill(worker, how)
    lost = worker.measure([POINT], Method(1, 60))[POINT]
    assert lost == Failure("crash", f"the worker process was killed by {name}")
    again = worker.measure([POINT], Method(1, 60))[POINT]
    assert isinstance(again, dict) and again["status"] == "ok"


def test_a_device_that_cannot_be_had_is_told_at_the_start() -> None:
    worker = Worker("cuda")
    try:
        assert worker.start() is not None
    except UsageError as error:
        assert "see 'bfsbench doctor'" in str(error)
    finally:
        worker.close()


def test_a_worker_whose_parent_is_gone_ends_without_a_word(
    worker: Worker, capfd: pytest.CaptureFixture[str]
) -> None:
    """The worker notices it when it writes into the pipe between two samples."""
    pipe, process = worker.start(), worker._process
    assert process is not None
    asked = messages.Measure([POINT, replace(POINT, source=1)], Method(1_000_000, 60))
    pipe.send(1, messages.encode(asked))
    assert isinstance(messages.decode_answer(pipe.receive(1, 60)[1]), messages.Step)
    pipe.close()
    assert (process.wait(30), capfd.readouterr().err) == (0, "")


GONE = """
import os, time
from bfsbench.bench.child import in_child

def work(step):
    step()
    while os.getppid() == parent:
        time.sleep(0.01)
    step()

parent = os.getpid()
in_child(work, lambda: os._exit(7))
"""


KILLED = """
import os, signal
from bfsbench.bench import worker

def start(*given, **more):
    started = Popen(*given, **more)
    os.kill(os.getpid(), signal.SIGKILL)

Popen, worker.Popen = worker.Popen, start
worker.Worker(None).start()
"""


def test_a_worker_whose_parent_is_killed_at_its_start_ends_without_a_word() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")


def test_a_child_whose_parent_is_gone_ends_without_a_word() -> None:
    done = subprocess.run([sys.executable, "-c", GONE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")


def test_closing_twice_is_closing_once(worker: Worker) -> None:
    worker.start()
    worker.close()
    worker.close()


@pytest.mark.parametrize("step", ["multiprocessing.Pipe", "Popen"])
def test_a_process_that_cannot_be_started_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object, **_more: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(f"bfsbench.bench.worker.{step}", fail)
    words = ("--dataset", POINT.graph, "--variant", POINT.variant, "--out", "r.csv")
    done = bfsbench("run", *words, cwd=tmp_path, check=1)
    assert done.stderr == "bfsbench: the worker process could not be started: Too many open files\n"
    assert not (tmp_path / "r.csv").exists()


MEDDLING = {
    "junk": ("crash", "the worker process sent something that is not a message"),
    "pickle": ("crash", "the worker process sent something that is not a message"),
    "framed_pickle": ("crash", "the worker process sent an answer that cannot be read"),
    "other_request": ("crash", "the worker process answered request"),
    "earlier_request": ("crash", "the worker process answered request"),
    "other_question": ("crash", "the worker process gave the answer to another question"),
    "other_row": ("crash", "the worker process gave the answer to another question"),
    "other_point": ("crash", "the worker process named a point that it was not given"),
    "flipped_bit": ("crash", "the worker process sent a damaged message"),
    "cut_and_ended": ("crash", "the worker process ended within a message"),
    "cut_and_stopped": ("timeout", "not finished within 3 s"),
    "endless": ("timeout", "not finished within 3 s"),
    "forked": ("ok", ""),
    "forked_and_stayed": ("ok", ""),
}


ON_A_CLUSTER = ("junk", "other_request", "cut_and_stopped", "forked", "forked_and_stayed")


@pytest.mark.parametrize(
    ("where", "kinds"),
    [
        ((), tuple(MEDDLING)[::2]),
        pytest.param((), tuple(MEDDLING)[1::2], marks=pytest.mark.exhaustive),
        pytest.param(("--cluster", "local:2"), ON_A_CLUSTER, marks=pytest.mark.exhaustive),
    ],
    ids=["alone", "alone, others", "cluster"],
)
def test_whatever_a_program_does_to_the_pipe_costs_its_own_row(
    where: tuple[str, ...], kinds: tuple[str, ...], tmp_path: Path
) -> None:
    environment = os.environ | {"BFSBENCH_VARIANTS": str(Path(__file__).parent.parent / "faulty")}
    words = ["--dataset", POINT.graph, "--variant", "meddles", "--meddling", ",".join(kinds)]
    more = ["--repeats", "1", "--timeout", "3", "--out", "r.csv", *where]
    command = [sys.executable, "-m", "bfsbench", "run", *words, *more]
    with (tmp_path / "said").open("w") as said:  # a pipe would stay open as long as any forked process
        done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=said, timeout=200)
    text = (tmp_path / "said").read_text()
    assert done.returncode == 1 and "Traceback" not in text, text
    rows = read_rows(tmp_path / "r.csv")
    assert len({axes_of(row) for row in rows}) == len(rows) == len(kinds)
    for row in rows:
        status, reason = MEDDLING[row["knobs"].removeprefix("MEDDLING=")]
        assert row["status"] == status and row["reason"].startswith(reason), row
        assert bool(row["search_ms"]) == (status == "ok")
    assert not (tmp_path / "unpickled").exists()
    wait_until(lambda: not any(lives_in(one, tmp_path) for one in psutil.process_iter()))


def lives_in(process: psutil.Process, folder: Path) -> bool:
    """Return whether a process runs in this folder."""
    try:
        return process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.fixture
def pipes() -> Iterator[tuple[Pipe, Pipe]]:
    ends = [Pipe(end) for end in multiprocessing.Pipe()]
    yield ends[0], ends[1]
    for end in ends:
        end.close()


def test_a_long_message_arrives_whole(pipes: tuple[Pipe, Pipe]) -> None:
    ours, theirs = pipes
    payload = os.urandom(1 << 22)
    sending = threading.Thread(target=theirs.send, args=(7, payload))
    sending.start()
    assert ours.receive(7, 10) == (7, payload)
    sending.join()


def test_a_message_that_nobody_takes_is_given_up(pipes: tuple[Pipe, Pipe]) -> None:
    with pytest.raises(TimeoutError):
        pipes[0].send(1, bytes(1 << 22), 0.05)


@given(cut=st.integers(0, 10_000), flipped=st.integers(0, 100_000), junk=st.binary(max_size=60))
def test_no_damage_passes_for_a_message(cut: int, flipped: int, junk: bytes) -> None:
    whole = frame(3, messages.encode(messages.Rows([{"graph": "g", "status": "ok"}])))
    damaged = bytearray(whole)
    damaged[flipped // 8 % len(whole)] ^= 1 << flipped % 8
    for data in (whole[: cut % len(whole)], bytes(damaged), junk + whole if junk else b"\0" + whole):
        ours, theirs = (Pipe(end) for end in multiprocessing.Pipe())
        os.write(theirs.fileno(), data)
        theirs.close()
        with pytest.raises((DamagedError, EOFError)):
            ours.receive(3, 10)
        ours.close()


@given(st.binary(max_size=80))
def test_reading_an_answer_gives_an_answer_or_says_that_it_is_none(payload: bytes) -> None:
    try:
        answer = messages.decode_answer(payload)
    except DamagedError:
        return
    assert messages.decode_answer(messages.encode(answer)) == answer


def test_messages_arrive_as_they_were() -> None:
    point = Point("g", 3, "adaptive", "cuda", None, 128, (("A", 1), ("B", 0.5), ("C", "x")))
    method = Method(max_noise=1, min_time=0.5, cold=True, parents=True, order="shuffled:3", tls=None)
    for request in (messages.Measure([point], method), messages.Profile(point, {"status": "ok"})):
        assert messages.decode_request(messages.encode(request)) == request
    limits = Limits(32, 1024, 2**31 - 1, 132, 2048, 49152, 232448, 233472, 2**37)
    for answer in (
        messages.Ready(None),
        messages.Ready(messages.DeviceInfo("cuda", {"gpu": "H200"}, limits)),
        messages.Step(3),
        messages.Rows([{"status": "ok"}]),
        messages.Levels([{"level": "0"}]),
        Failure("timeout", "why", fatal=True),
    ):
        assert messages.decode_answer(messages.encode(answer)) == answer


def test_rows_are_of_the_points_that_they_name() -> None:
    whole = POINT.axes() | {"status": "ok"}
    other = replace(POINT, source=1)
    assert messages.Rows([whole]).of([POINT]) == {POINT: whole}
    failed = POINT.axes() | {"status": "wrong"}
    assert messages.Rows([failed]).of([POINT, other]) == {POINT: failed}
    without = [{name: whole[name] for name in whole if name != missing} for missing in whole]
    for rows in ([], [whole | {"source": "7"}], *([row] for row in without)):
        with pytest.raises(DamagedError):
            messages.Rows(rows).of([POINT])
    with pytest.raises(DamagedError):
        messages.Rows([whole]).of([POINT, other])


def test_an_error_at_the_start_keeps_its_exit_code() -> None:
    class OwnError(ToolchainError):
        """An error class that errors.py does not have."""

    for error in (UsageError("a"), OwnError("b"), BfsbenchError("c")):
        told = messages.decode_answer(messages.encode(messages.Refused.of(error)))
        assert isinstance(told, messages.Refused)
        assert str(told.error()) == str(error) and told.error().exit_code == error.exit_code
    assert type(messages.Refused("Path", "x").error()) is BfsbenchError
    assert type(messages.Refused("Iterable", "x").error()) is BfsbenchError
