"""Record each run beside its rows: command, time, machine and software.

``NAME.runs.jsonl`` has one line of JSON for each run that wrote rows to ``NAME.csv``.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bfsbench.rows.provenance import host_columns, now
from bfsbench.support import toolchain
from bfsbench.support.errors import ToolchainError, UsageError

_GPU_FACTS = (
    *("uuid", "name", "pci.bus_id", "driver_version", "vbios_version"),
    *("ecc.mode.current", "mig.mode.current", "power.limit", "power.max_limit", "clocks.max.sm"),
)
"""The properties of a GPU to ask nvidia-smi for. ``nvidia-smi --help-query-gpu`` explains their names."""
_LIMIT_S = 20


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
        "compiler": _compiler(),
        "nvcc": _nvcc(),
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


def _compiler() -> str:
    try:
        return next(iter(_output(*toolchain.compiler(), "--version").splitlines()), "")
    except ToolchainError:
        return ""


def _nvcc() -> str:
    try:
        return toolchain.nvcc_version()
    except ToolchainError:
        return ""


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
