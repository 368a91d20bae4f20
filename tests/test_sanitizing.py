"""``run --sanitizer``, with a stand-in for compute-sanitizer that runs the sweep and writes logs like its."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.cli.sanitizing import findings

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at filter(int) const+0xab0 in culling.cuh:74
=========     and Write access at filter(int) const+0xab0 in culling.cuh:74 [4 hazards]
=========
========= Invalid __global__ read of size 4 bytes
=========     at expand(int *)+0x90 in luo.cu:31
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors
"""
STAND_IN = """#!/bin/sh
while [ "$1" != "--log-file" ]; do shift; done
cp "$LOG" "$(dirname "$2")/1.log"
shift 2
exec "$@"
"""


def run(folder: Path, log: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    """A sweep of one point; without a log there is no compute-sanitizer."""
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    if log is not None:
        (folder / "compute-sanitizer").write_text(STAND_IN)
        (folder / "compute-sanitizer").chmod(0o755)
        (folder / "log").write_text(log)
        environment["LOG"] = str(folder / "log")
    sweep = ["run", "--dataset", "path(n=4)", "--variant", "cpu_queue", "--sanitizer", *words]
    command = [sys.executable, "-m", "bfsbench", *sweep]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_findings_have_their_lines() -> None:
    assert list(findings(CLEAN)) == []
    assert list(findings(RACES)) == [
        "Error: Race reported between Write access (culling.cuh:74)",
        "Invalid __global__ read of size 4 bytes (luo.cu:31)",
    ]


def test_a_clean_sweep_passes_and_keeps_no_rows(tmp_path: Path) -> None:
    done = run(tmp_path, CLEAN, "memcheck")
    assert done.returncode == 0, done.stderr
    assert "memcheck: nothing found" in done.stderr
    assert not list(tmp_path.glob("**/*.csv"))


def test_what_is_found_is_told_and_fails(tmp_path: Path) -> None:
    done = run(tmp_path, RACES, "racecheck")
    assert done.returncode == 1
    assert "Invalid __global__ read of size 4 bytes (luo.cu:31): 1 time" in done.stdout
    assert "racecheck: 2 errors" in done.stderr


@pytest.mark.parametrize(
    ("log", "words", "complaint"),
    [
        (None, ["memcheck"], "no compute-sanitizer found"),
        (CLEAN, ["memcheck", "--out", "r.csv"], "--sanitizer keeps no rows: leave out --out"),
        (CLEAN, ["nothing"], "'nothing' is not one of"),
        (CLEAN, ["memcheck", "--source", "9"], "ended with exit code 2"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, log: str | None, words: list[str], complaint: str
) -> None:
    done = run(tmp_path, log, *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
