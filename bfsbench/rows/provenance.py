"""Determine where a measurement was taken: machine, software and commit."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from bfsbench import __version__
from bfsbench.rows.results import SCHEMA_VERSION
from bfsbench.support.machine import cpu_model
from bfsbench.support.paths import PACKAGE

RECORD = PACKAGE / "data" / "commit.txt"
"""The file in wheels and sdists that names the commit they were made from."""


def _git(*arguments: str) -> str | None:
    """Return the output of a git command on the checkout, or None if the command fails.

    The command takes no lock, because a lock would remain if git were killed.
    """
    command = ["git", "--no-optional-locks", "-C", str(PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def commit() -> str:
    """Return the commit of the checkout, with ``+dirty`` if its code has uncommitted changes.

    For an installed package, this is the commit that the package was made from; empty if unknown. The
    environment variable ``BFSBENCH_COMMIT`` overrides it, for a source tree that was copied without its
    history.
    """
    if said := os.environ.get("BFSBENCH_COMMIT"):
        return said
    top, head = _git("rev-parse", "--show-toplevel"), _git("rev-parse", "--short=12", "HEAD")
    if top is None or head is None or Path(top) != PACKAGE.parent:
        return RECORD.read_text().strip() if RECORD.is_file() else ""
    changed = _git("-C", top, "status", "--porcelain", "--untracked-files=no", "--", "bfsbench", "cuda_src")
    return head + ("+dirty" if changed else "")


@cache
def host_columns() -> dict[str, str]:
    """Return the columns that are equal in every row of this process."""
    return {
        "host": platform.node(),
        "host_cpu": f"{cpu_model()} ({os.cpu_count()} cores)",
        "python": platform.python_version(),
        "version": __version__,
        "commit": commit(),
        "schema": str(SCHEMA_VERSION),
    }


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
