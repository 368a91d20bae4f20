"""Interrupts during native code, and the end of a process after an interrupt."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bfsbench.support.errors import UsageError
from bfsbench.support.interrupts import INTERRUPTED, interruptible

LONG_US = 60_000_000
"""A time in microseconds that is longer than any test."""


def sleep_natively() -> int:
    """Wait in native code, in which Python handles no signals."""
    return int(ctypes.CDLL(None).usleep(LONG_US))


def interrupt_soon() -> None:
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()


def test_an_interrupt_ends_the_wait_for_native_code() -> None:
    began = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        interruptible(sleep_natively)
    assert time.monotonic() - began < 10


def test_results_and_errors_pass_through() -> None:
    def refuse() -> None:
        raise UsageError("no")

    assert interruptible(lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(UsageError, match="no"):
        interruptible(refuse)


def test_without_a_handler_no_thread_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes ignore interrupts, and measure in their main thread."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    assert interruptible(lambda: threading.current_thread() is threading.main_thread())


LEAVES = f"""
import subprocess, sys
from pathlib import Path
from bfsbench.support import storage
from bfsbench.support.descendants import become_parent_of_orphans
from bfsbench.support.interrupts import interruptible_pool, leave
from tests.test_interrupts import sleep_natively

become_parent_of_orphans()
with storage.unfinished(Path(sys.argv[1])) as folder:
    folder.mkdir()
    (folder / "part").touch()
    script = "sleep {LONG_US} & echo $!; exec sleep {LONG_US}"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    print(shell.pid, shell.stdout.readline().strip(), flush=True)
    shell.kill()
    try:
        with interruptible_pool(1) as pool:
            pool.submit(sleep_natively)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        leave()
"""


def test_a_process_that_leaves_has_no_children_and_no_unfinished_files(tmp_path: Path) -> None:
    """The process does not wait for its thread. It kills the child of a child that has ended."""
    folder = tmp_path / "unfinished"
    done = subprocess.run(
        [sys.executable, "-c", LEAVES, folder], stdout=subprocess.PIPE, text=True, timeout=50
    )
    assert done.returncode == INTERRUPTED and not folder.exists()
    assert not [pid for pid in done.stdout.split() if is_alive(pid)]


def is_alive(pid: str) -> bool:
    """Returns whether a process exists and has not ended."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()
