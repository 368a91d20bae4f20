"""Runs the points of ``bfsbench run --sanitizer`` under compute-sanitizer, which checks kernels on a GPU."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from bfsbench.support.errors import ToolchainError, UsageError, plural

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_OF_ROWS = ("--out", "--repeats", "--resume", "--retry-failed")
"""Options that concern the result file, which a sweep under compute-sanitizer does not keep."""
_MARK = "========= "
_MOST_SHOWN = 20


def sanitize(tool: str, words: Sequence[str]) -> bool:
    """Run ``bfsbench WORDS`` under a tool of compute-sanitizer, and print the findings.

    Returns True if there are no findings and no point failed. Each point runs with one repeat, and no result
    file is kept. Raises ToolchainError if compute-sanitizer is not installed. Raises UsageError for options
    that concern the result file, and if the sweep itself cannot run.
    """
    program = shutil.which("compute-sanitizer")
    if program is None:
        lacks = "no compute-sanitizer found: it comes with the CUDA toolkit; put its bin on the PATH"
        raise ToolchainError(lacks)
    own = [word for word in words if word.partition("=")[0] in _OF_ROWS]
    if own:
        raise UsageError(f"--sanitizer keeps no rows: leave out {', '.join(own)}")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--tool", tool, "--target-processes", "all", "--log-file", f"{folder}/%p.log"]
        sweep = [sys.executable, "-m", "bfsbench", *_without_sanitizer(words)]
        once = ["--repeats", "1", "--quiet", "--out", f"{folder}/rows.csv"]
        done = subprocess.run([*command, *sweep, *once], check=False)
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
    rest = iter(words)
    for word in rest:
        if word == "--sanitizer":
            next(rest, None)
        elif not word.startswith("--sanitizer="):
            yield word


def findings(log: str) -> Iterable[str]:
    """Yield the errors in a log of compute-sanitizer, as one line of text each. The line also names the place
    in the source, if the log contains it.

    In the log, each error begins with a line that is not indented after ``=========``. The words ``in
    FILE:LINE`` in this line or the next line are the place in the source.
    """
    lines = [line.removeprefix(_MARK) for line in log.splitlines() if line.startswith(_MARK)]
    for place, line in enumerate(lines):
        if line.startswith(
            (" ", "COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application")
        ):
            continue
        where = re.search(r" in (\S+:\d+)", "\n".join(lines[place : place + 2]))
        what = line.partition(" at ")[0]
        yield f"{what} ({where[1]})" if where else what
