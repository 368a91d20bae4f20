"""A sweep under NVIDIA's compute-sanitizer: faults of its kernels on a GPU, by source line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from bfsbench.errors import ToolchainError, UsageError
from bfsbench.wording import plural

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_OF_ROWS = ("--out", "--repeats", "--resume", "--retry-failed")
"""Options that have no effect where no rows are kept."""
_MARK = "========= "
_MOST_SHOWN = 20


def sanitize(tool: str, words: Sequence[str]) -> bool:
    """Run ``bfsbench WORDS`` under a tool, each point with one repeat and without a result file to keep;
    print the findings. Returns whether there are none. Raises ToolchainError where there is no
    compute-sanitizer, UsageError for options that exclude it and where the sweep itself cannot be run.
    """
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise ToolchainError(
            "no compute-sanitizer found: it comes with the CUDA toolkit; put its bin on the PATH"
        )
    own = [word for word in words if word.partition("=")[0] in _OF_ROWS]
    if own:
        raise UsageError(f"--sanitizer keeps no rows: leave out {', '.join(own)}")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--tool", tool, "--target-processes", "all", "--log-file", f"{folder}/%p.log"]
        sweep = [sys.executable, "-m", "bfsbench", *_without_sanitizer(words)]
        done = subprocess.run(
            [*command, *sweep, "--repeats", "1", "--out", f"{folder}/rows.csv"], check=False
        )
        logs = [path.read_text(errors="replace") for path in sorted(Path(folder).glob("*.log"))]
    if done.returncode not in (0, 1) or not logs:
        raise UsageError(f"the sweep under compute-sanitizer ended with exit code {done.returncode}")
    found = Counter(finding for log in logs for finding in findings(log))
    for finding, count in found.most_common(_MOST_SHOWN):
        click.echo(f"{finding}: {plural(count, 'time')}")
    if len(found) > _MOST_SHOWN:
        click.echo(f"and {plural(len(found) - _MOST_SHOWN, 'finding')} more")
    total = sum(found.values())
    click.echo(f"{tool}: {plural(total, 'error') if total else 'nothing found'}", err=True)
    return not found and done.returncode == 0


def _without_sanitizer(words: Sequence[str]) -> Iterable[str]:
    """The words without ``--sanitizer TOOL`` or ``--sanitizer=TOOL``."""
    rest = iter(words)
    for word in rest:
        if word == "--sanitizer":
            next(rest, None)
        elif not word.startswith("--sanitizer="):
            yield word


def findings(log: str) -> Iterable[str]:
    """The errors in a log of compute-sanitizer, each with the source line where it says one.

    An error begins with a line that is not indented behind the mark; ``in FILE:LINE`` in it or in the next
    line is where the kernel was.
    """
    lines = [line.removeprefix(_MARK) for line in log.splitlines() if line.startswith(_MARK)]
    for place, line in enumerate(lines):
        if line.startswith(
            (" ", "COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application")
        ):
            continue
        where = next(
            (at[1] for text in lines[place : place + 2] if (at := re.search(r" in (\S+:\d+)", text))), ""
        )
        what = line.partition(" at ")[0]
        yield f"{what} ({where})" if where else what
