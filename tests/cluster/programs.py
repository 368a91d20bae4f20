"""Start the programs of a cluster in tests, and wait for their end."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from bfsbench.rows.results import read_rows

FAULTY = Path(__file__).parent.parent / "faulty"
LATTICE = "lattice(rows=9,columns=7)"
GRAPHS = f"kronecker(scale=6,edge_factor=4,seed=1),{LATTICE}"
BFSBENCH = [sys.executable, "-m", "bfsbench"]
MEASURE = [*BFSBENCH, "run", "--backend", "cpu", "--repeats", "2", "--dataset"]
RUN = [*MEASURE, GRAPHS]

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts programs in the test's folder. The programs are killed at the end."""
    with starting(tmp_path) as begin:
        yield begin


@contextlib.contextmanager
def starting(folder: Path) -> Iterator[Start]:
    """Return a context with a function that starts programs in this folder.

    ``variables`` replace variables of a program's environment. The programs are killed at the end.
    """
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str, variables: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
        environment = {**os.environ, "BFSBENCH_VARIANTS": str(FAULTY), **(variables or {})}
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, **more
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        for one in family(process.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        process.communicate()


def family(pid: int) -> list[psutil.Process]:
    """Return a process and its living descendants."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def finished(process: subprocess.Popen[str], code: int) -> str:
    """Wait until a program ends with this exit code, and no process is left. Returns its stderr."""
    before = family(process.pid)
    _, said = process.communicate(timeout=100)
    assert process.returncode == code, said
    _gone, alive = psutil.wait_procs(before, timeout=10)
    assert not alive
    return said


def rows_in(path: Path) -> list[dict[str, str]]:
    return read_rows(path) if path.exists() else []


def wait_for_rows(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    while len(rows_in(path)) < count:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)


def dask_scheduler(start: Start, *words: str) -> tuple[int, subprocess.Popen[str]]:
    """Start a scheduler by Dask's command. Returns its port and its process."""
    port = free_port()
    command = [sys.executable, "-m", "dask", "scheduler", "--no-dashboard", "--port", str(port), *words]
    return port, start(*command)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
