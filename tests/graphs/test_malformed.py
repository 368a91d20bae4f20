"""Malformed files of every format; see tests/benchmarks/malformed_files.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "malformed_files.py"


@pytest.mark.parametrize("files", [300, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_malformed_files_are_read_rightly_or_refused_with_one_line(files: int) -> None:
    command = [sys.executable, str(SCRIPT), "--files", str(files), "--seed", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{files:,} files, 0 broke a rule"
