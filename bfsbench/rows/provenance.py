"""Where a measurement was taken: machine, software, commit."""

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
"""Of wheels and sdists: the commit that they are made of."""


def _git(*arguments: str) -> str | None:
    """Output of a git command on the checkout. It takes no lock, which a killed git would leave behind."""
    command = ["git", "--no-optional-locks", "-C", str(PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def commit() -> str:
    """The checkout's commit with ``+dirty`` when its code has uncommitted changes.

    Of an installed package the commit that it was made of; empty where nothing says it. ``BFSBENCH_COMMIT``
    overrides it, for a source tree that was copied to a machine without its history.
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
    """Columns that are the same for every row this process makes."""
    return {
        "host": platform.node(),
        "host_cpu": f"{cpu_model()} ({os.cpu_count()} cores)",
        "python": platform.python_version(),
        "version": __version__,
        "commit": commit(),
        "schema": str(SCHEMA_VERSION),
    }


def now() -> str:
    """UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
