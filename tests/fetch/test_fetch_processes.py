"""Tests killed, interrupted and simultaneous processes that fetch."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fetch_server import SNAP, Server, entry, sha256, snap

from tests.waiting import wait_until

Entries = Callable[[str], Path]

pytestmark = pytest.mark.usefixtures("home")

BIG = b"# a long comment\n" * 40_000 + SNAP


RESTORE_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


def start_fetch(*arguments: str) -> subprocess.Popen[str]:
    # The interpreter leaves SIGINT alone where its parent ignores it, as shells do in the background.
    program = f"{RESTORE_SIGINT}; from bfsbench.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, "fetch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_fetch_is_resumed(server: Server, entries: Entries, home: Path, end: signal.Signals) -> None:
    server.add("tiny.txt", BIG, pace=0.05)
    entries(entry(snap(f"{server.url}/tiny.txt", sha256=sha256(BIG))))
    part = home / "downloads" / "tiny" / "tiny.txt.part"
    with start_fetch("tiny") as process:
        wait_until(lambda: part.exists() and part.stat().st_size > 0)
        process.send_signal(end)
        output, _ = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "Traceback" not in (output or "")
    assert not part.with_name("tiny.txt").exists()
    held = part.stat().st_size
    server.files["tiny.txt"].pace = 0.0
    with start_fetch("tiny") as again:
        output, _ = again.communicate(timeout=20)
    assert "tiny: downloaded from" in output
    assert server.requests[-1][1:] == (f"bytes={held}-", 206, len(BIG) - held)


def test_two_processes_that_fetch_the_same_graph_do_the_work_once(server: Server, entries: Entries) -> None:
    server.add("tiny.txt", BIG, pace=0.01)
    entries(entry(snap(f"{server.url}/tiny.txt", sha256=sha256(BIG))))
    with start_fetch("tiny") as first, start_fetch("tiny") as second:
        outputs = [process.communicate(timeout=30)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert sorted("already here" in output for output in outputs) == [False, True]
    assert len(server.requests) == 1
