"""Functions that call ``bfsbench`` as a user does. Most of them start no process, which takes longer."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from bfsbench.cli import main

Completed = subprocess.CompletedProcess[str]


def invoke(*words: object) -> Result:
    """Run a command in this process and in the current folder. Any exit code is accepted."""
    return CliRunner().invoke(main, [str(word) for word in words])


def complaints(done: Completed | Result) -> list[str]:
    """Return the lines on stderr, except the line that appears if a graph loads for more than a second."""
    lines = done.stderr.splitlines()
    return [line for line in lines if not line.startswith(("converting ", "generating "))]


def refused(result: Result) -> str:
    """Return the one error line of a refused request, without the program's name."""
    assert result.exit_code == 2 and result.stdout == ""
    (line,) = complaints(result)
    return line.removeprefix("bfsbench: ")


def bfsbench(*words: str | Path, cwd: Path, check: int | None = 0) -> Completed:
    """Run a command in this process, in the folder ``cwd``, and check its exit code."""
    command = list(map(str, words))
    with contextlib.chdir(cwd):
        result = CliRunner().invoke(main, command)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert check is None or result.exit_code == check, result.stderr
    return Completed(command, result.exit_code, result.stdout, result.stderr)


def bfsbench_with(variants: Path | str, *words: str | Path, cwd: Path, check: int | None = 0) -> Completed:
    """Run a command in a process of its own, with the variants of these folders, and check its exit code."""
    command = [sys.executable, "-m", "bfsbench", *map(str, words)]
    environment = os.environ | {"BFSBENCH_VARIANTS": str(variants)}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert check is None or done.returncode == check, done.stderr
    return done
