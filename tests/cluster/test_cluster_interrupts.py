"""An interrupt at any stage of a cluster ends all of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.programs import MEASURE, Start, finished, free_port, start
from tests.test_attacks_on_commands import READY

__all__ = ["start"]

SWEEP = [*MEASURE[3:], "path(n=2000)", "--variant", "cpu_queue", "--source", "0:30:+1", "--repeats", "100000"]
LATE = 40.0
"""Seconds to end. A point would take longer."""


def interrupted(process: subprocess.Popen[str], after_s: float) -> str:
    """Interrupt the processes of a program as a terminal does, some time after Python has started. Returns
    what the program says."""
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    said = finished(process, 130)
    assert time.monotonic() - began < LATE and "Traceback" not in said, said
    return said


STAGES = [0.05, 0.4, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 6.0, 9.0]
"""Seconds: imports, start of the parts, their introduction, points."""


@pytest.mark.parametrize("after_s", STAGES)
@pytest.mark.exhaustive
def test_an_interrupt_at_any_stage_of_a_cluster_ends_it(start: Start, after_s: float) -> None:
    words = [sys.executable, "-c", READY, *SWEEP, "--cluster", "local:2", "--out", "r.csv"]
    process = start(*words, start_new_session=True, stdout=subprocess.PIPE)
    assert "interrupted" in interrupted(process, after_s)


@pytest.mark.parametrize("after_s", STAGES)
@pytest.mark.exhaustive
def test_an_interrupt_at_any_stage_of_a_worker_ends_it(start: Start, tmp_path: Path, after_s: float) -> None:
    """Its scheduler has a sweep for it, whose points are long."""
    port = str(free_port())
    where = f"dask://127.0.0.1:{port}"
    start(sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    start(sys.executable, "-m", "bfsbench", *SWEEP, "--cluster", where, "--out", "r.csv")
    words = [sys.executable, "-c", READY, "worker", where, "--workers", "2"]
    interrupted(start(*words, start_new_session=True, stdout=subprocess.PIPE), after_s)
