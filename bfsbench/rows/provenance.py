"""Make the rows of points, and record where they are measured: machine, software and commit.

``NAME.runs.jsonl`` has one line of JSON for each run that wrote rows to ``NAME.csv``.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bfsbench import __version__
from bfsbench.graphs.graph import Graph
from bfsbench.rows.code import code_of
from bfsbench.rows.point import Point
from bfsbench.rows.results import SCHEMA_VERSION
from bfsbench.support import toolchain
from bfsbench.support.errors import ToolchainError, UsageError, no_formula, printable
from bfsbench.support.machine import cpu_model
from bfsbench.support.paths import PACKAGE
from bfsbench.variants import find

RECORD = PACKAGE / "data" / "commit.txt"
"""The file in wheels and sdists that names the commit they were made from."""


_GPU_FACTS = (
    *("uuid", "name", "pci.bus_id", "driver_version", "vbios_version"),
    *("ecc.mode.current", "mig.mode.current", "power.limit", "power.max_limit", "clocks.max.sm"),
)
"""The properties of a GPU to ask nvidia-smi for. ``nvidia-smi --help-query-gpu`` explains their names."""
_LIMIT_S = 20
"""Seconds that git or nvidia-smi may take."""


def _output(*command: str) -> str:
    """Return what a command prints, or an empty text if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _git(*arguments: str) -> str:
    """Return the output of a git command on the checkout, or an empty text if it fails.

    The command takes no lock, because a lock would remain if git were killed.
    """
    return _output("git", "--no-optional-locks", "-C", str(PACKAGE), *arguments)


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
    if not top or not head or Path(top) != PACKAGE.parent:
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


def base_row(point: Point, graph: Graph, device: Mapping[str, str]) -> dict[str, str]:
    """Return the columns known before a point is run: its axes, its graph, where it is run and when.

    ``device`` is the device's description. It is left out for host programs.
    """
    name = ""
    if graph.names is not None and point.source is not None:
        name = no_formula(printable(graph.names[point.source]))
    return {
        **point.axes(),
        "family": find(point.variant).family,
        **({} if point.backend == "host" else device),
        **host_columns(),
        "code": code_of(point),
        "taken_at": now(),
        "num_vertices": str(graph.num_vertices),
        "num_edges": str(graph.num_edges),
        "source_id": name,
        "graph_checksum": graph.checksum,
        "source_checksum": graph.source_checksum,
    }


def failed_row(
    point: Point, graph: Graph, device: Mapping[str, str], status: str, reason: str
) -> dict[str, str]:
    """Return a row without a time.

    ``reason`` is cut to its first line, in which control characters and formulas of spreadsheets are escaped.
    """
    first = no_formula(printable((reason.splitlines() or [""])[0]))
    return base_row(point, graph, device) | {"status": status, "reason": first}


def runs_file(rows: Path) -> Path:
    """Return the path of the record of runs beside a result file."""
    return rows.with_name(f"{rows.name.removesuffix('.csv')}.runs.jsonl")


def record_run(rows: Path, origins: Iterable[Mapping[str, str]]) -> None:
    """Append this run to the record of runs beside a result file.

    ``origins`` are the provenance columns of the rows to come, one entry per device. Raises UsageError if the
    record cannot be written.
    """
    path = runs_file(rows)
    line = json.dumps(describe_run(origins)) + "\n"
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def read_runs(rows: Path) -> list[dict[str, Any]]:
    """Return the recorded runs of a result file, the first run first. Returns an empty list without a record.

    An unfinished last line, of a run that was killed, is left out.
    """
    try:
        lines = runs_file(rows).read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return []


def describe_run(origins: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Return a description of this process's run: its command, time, machine, software and GPUs.

    ``origins`` are the provenance columns of the rows to come, one entry per device.
    """
    devices = {origin["gpu_bus_id"]: dict(origin) for origin in origins if origin.get("gpu_bus_id")}
    local, program = platform.node(), Path(sys.argv[0]).name
    return {
        "command": shlex.join(["bfsbench" if program == "__main__.py" else program, *sys.argv[1:]]),
        "began": now(),
        **host_columns(),
        **_software(),
        "gpus": [
            origin | (gpu_facts(bus) if origin["host"] == local else {}) for bus, origin in devices.items()
        ],
    }


@cache
def _software() -> dict[str, Any]:
    """Return the system, the compilers and the Python packages. They do not change while the process runs."""
    return {
        "os": _system(),
        "kernel": platform.release(),
        "compiler": _version(toolchain.compiler_version),
        "nvcc": _version(toolchain.nvcc_version),
        "packages": dict(sorted((one.name, one.version) for one in importlib.metadata.distributions())),
    }


def gpu_facts(bus_id: str) -> dict[str, str]:
    """Return nvidia-smi's facts about the GPU with this PCI address.

    Returns an empty dictionary without nvidia-smi.
    """
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return {}
    asked = f"--query-gpu={','.join(_GPU_FACTS)}"
    said = _output(smi, "-i", bus_id, asked, "--format=csv,noheader").splitlines()
    values = [value.strip() for value in said[0].split(",")] if said else []
    return dict(zip(_GPU_FACTS, values, strict=True)) if len(values) == len(_GPU_FACTS) else {}


def _version(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (OSError, ToolchainError):
        return ""


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
