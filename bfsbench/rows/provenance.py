"""Make result rows. Record which code was measured, and on which machine and software.

Beside a result file ``NAME.csv``, the file ``NAME.runs.jsonl`` contains one line of JSON for each run of
bfsbench that wrote rows.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

from bfsbench import __version__
from bfsbench.backends import GPU_BACKENDS
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.marks import Marks, split_marks
from bfsbench.kernels import source_files
from bfsbench.kernels.source import SourceText
from bfsbench.programs import KernelProgram, KnobValue, Variant
from bfsbench.rows.columns import COLUMNS
from bfsbench.rows.point import Point, row_name
from bfsbench.rows.reading import read_texts
from bfsbench.rows.results import SCHEMA_VERSION, tables_below
from bfsbench.support import toolchain
from bfsbench.support.errors import InputError, ToolchainError, UsageError, no_formula, printable
from bfsbench.support.machine import cpu_model, usable_cores
from bfsbench.support.paths import KERNEL_HEADERS, PACKAGE
from bfsbench.variants import find

RECORD = PACKAGE / "data" / "commit.txt"
"""A file in wheels and sdists. It names the commit from which they were made."""


_GPU_FACTS = (
    *("uuid", "name", "pci.bus_id", "driver_version", "vbios_version"),
    *("ecc.mode.current", "mig.mode.current", "power.limit", "power.max_limit", "clocks.max.sm"),
)
"""The properties of a GPU to ask nvidia-smi for. ``nvidia-smi --help-query-gpu`` explains their names."""
_LIMIT_S = 20
"""Seconds that git or nvidia-smi may take."""


def _output(*command: str) -> str:
    """Return the output of a command, or an empty string if the command fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _git(*arguments: str) -> str:
    """Return the output of a git command on the checkout, or an empty string if the command fails.

    The command takes no lock, because a lock would remain if git were killed.
    """
    return _output("git", "--no-optional-locks", "-C", str(PACKAGE), *arguments)


@cache
def commit() -> str:
    """Return the git commit of the checkout, with ``+dirty`` if its code has uncommitted changes.

    For an installed package, return the commit that the package was made from, or an empty string if that
    commit is unknown. The environment variable ``BFSBENCH_COMMIT`` overrides the result, for a source tree
    that was copied without its history.
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
    """Return the columns that describe the machine, the software and the commit. These columns have equal
    values in all rows that this process makes."""
    return {
        "host": platform.node(),
        "host_cpu": f"{cpu_model()} ({usable_cores()} cores)",
        "python": platform.python_version(),
        "version": __version__,
        "commit": commit(),
        "schema": str(SCHEMA_VERSION),
    }


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def base_row(point: Point, graph: Graph, device: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a result row that are known before a point (configuration) is run: its identity,
    its graph, the machine and the time.

    ``device`` contains the columns that describe the device. These columns are left out for host programs.
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
    """Return the result row of a point (configuration) that failed. The row has no time.

    ``reason`` says why the point failed. Only the first line of this text is kept. Control characters and
    formulas of spreadsheets are escaped.
    """
    first = no_formula(printable((reason.splitlines() or [""])[0]))
    return base_row(point, graph, device) | {"status": status, "reason": first}


def runs_file(rows: Path) -> Path:
    """Return the path of the record of runs beside a result file."""
    return rows.with_name(f"{rows.name.removesuffix('.csv')}.runs.jsonl")


def record_run(rows: Path, origins: Iterable[Mapping[str, str]]) -> None:
    """Append this run to the record of runs beside a result file.

    ``origins`` contains one dictionary per device: the columns of this run's rows that describe the device,
    the machine and the software. Raises UsageError if the record cannot be written.
    """
    path = runs_file(rows)
    line = json.dumps(describe_run(origins)) + "\n"
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def read_runs(rows: Path) -> list[dict[str, Any]]:
    """Return the recorded runs of a result file, the oldest first. Returns an empty list if there is no
    readable record.

    An unfinished last line, which a killed run leaves, is skipped.
    """
    try:
        lines = runs_file(rows).read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return []


_FEWEST_ROWS = 5
"""Rows of a graph and backend in one file that an estimate of time needs."""
UNKNOWN_S = {**dict.fromkeys(GPU_BACKENDS, 0.5), "host": 0.5, "cpu": 2.0}
"""Seconds assumed for a point without such rows, by backend."""


def expected_seconds(points: Iterable[Point], rows: Path) -> tuple[float, int]:
    """Return how long these points (configurations) will take, in s, and how many of them are guessed by
    UNKNOWN_S.

    All other points take as long as the points on their graph and backend in the result file ``rows``, or in
    the result files below the folder ``rows``.
    """
    paces: dict[tuple[str, str], float] = {}
    for file in tables_below(rows) if rows.is_dir() else [rows]:
        with suppress(InputError):
            paces |= _seconds_per_row(file)
    seconds, guessed = 0.0, 0
    for point in points:
        pace = paces.get((_searched(point.graph), point.backend))
        seconds += UNKNOWN_S[point.backend] if pace is None else pace
        guessed += pace is None
    return seconds, guessed


def _seconds_per_row(rows: Path) -> dict[tuple[str, str], float]:
    """Return the mean time between the rows of a result file in s, for each graph and backend with enough
    rows.

    Several runs may have written the file. If there were n runs, the n - 1 longest times between rows are
    ignored, because they are probably the pauses between the runs. Returns an empty dictionary if the file
    has no record of its runs, or if the times of its rows cannot be read.
    """
    if not (runs := len(read_runs(rows))):
        return {}
    texts = read_texts(rows, COLUMNS, ("taken_at", "graph", "backend"))
    try:
        moments = map(datetime.fromisoformat, texts["taken_at"])
        taken = sorted(zip(moments, texts["graph"], texts["backend"], strict=True))
    except (TypeError, ValueError):  # a time is missing, or only some times have a time zone
        return {}
    between = sorted(
        ((then - at).total_seconds(), graph, backend) for (at, graph, backend), (then, *_) in pairwise(taken)
    )
    times: dict[tuple[str, str], list[float]] = {}
    for seconds, graph, backend in between[: max(0, len(between) - runs + 1)]:
        times.setdefault((_searched(graph), backend), []).append(seconds)
    return {where: fmean(found) for where, found in times.items() if len(found) >= _FEWEST_ROWS}


def _searched(full_name: str) -> str:
    """Return a graph's full name. The marks of stand-ins and of 64-bit offsets are removed from the
    name."""
    name, _, direction = row_name(full_name).rpartition(":")
    plain, marks = split_marks(name)
    return f"{plain}{Marks(marks.shrink).suffix}:{direction}"


def describe_run(origins: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Return a description of this process's run: its command, time, machine, software and GPUs.

    ``origins`` contains one dictionary per device: the columns of this run's rows that describe the device,
    the machine and the software.
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

    Returns an empty dictionary if nvidia-smi is not installed or fails.
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


DIGITS = 16
"""Hexadecimal digits of the hash in a row."""

_HOSTS = re.compile(r"bfsbench\.(variants|programs\.families)\b")
"""Modules of the package that may hold a variant's host loop."""


def code_of(point: Point) -> str:
    """Return the value of the result column ``code`` for a point (configuration) that is measured now."""
    return code_hash(find(point.variant), dict(point.knobs), point.backend)[:DIGITS]


def is_outdated(row: Mapping[str, str], point: Point) -> bool:
    """Return whether the code of a result row's point has changed since the point was measured.

    Returns False if this is unknown, because the row is of an older file without hashes, or because the
    compiler is missing.
    """
    now = code_of(point) if row["code"] else ""
    return bool(now) and row["code"] != now


def code_hash(
    variant: type[Variant], knobs: Mapping[str, KnobValue], backend: str, nvcc: str | None = None
) -> str:
    """Return the SHA-256, in hexadecimal, of the code that runs when a variant with these knob values is
    measured.

    Depending on the variant, the hash covers all its kernel files with their headers, the native program, or
    the files of an entry (a program of other authors). It also covers the Python modules of the host loop,
    the macros, and the version and options of the compiler. It does not cover grid, block and run-time knobs.
    Comments, docstrings and blank lines do not change the hash, except in the files of an entry.

    ``nvcc`` is the version of the CUDA compiler to assume, for code that another machine compiled. By default
    it is the version of this machine's compiler. Returns "" if the compiler or a file is missing.
    """
    macros = tuple(
        (knob.name, knobs.get(knob.name, knob.default)) for knob in variant.knobs if knob.compile_time
    )
    return _hash(variant, macros, backend, nvcc)


@cache
def _hash(
    variant: type[Variant], macros: tuple[tuple[str, KnobValue], ...], backend: str, nvcc: str | None
) -> str:
    digest = hashlib.sha256()
    try:
        parts = variant.program_parts()
        for part in (backend, *map(str, macros), *(() if parts else _compiler(backend, nvcc))):
            digest.update(part.encode() + b"\0")
        for content in parts or ():
            digest.update(content + b"\0")
        for file in sorted({*_program(variant), *_host_modules(variant)}):
            code = _python_code(file) if file.suffix == ".py" else SourceText(file).code
            lines = filter(None, (line.rstrip() for line in code.split("\n")))
            digest.update("\n".join([file.name, *lines, "\0"]).encode(errors="surrogateescape"))
    except (OSError, ToolchainError):
        return ""
    return digest.hexdigest()


def _python_code(file: Path) -> str:
    """Return the text of a Python file without comments, docstrings and other statements that are only a
    string."""
    content = file.read_bytes()
    tokens = list(tokenize.tokenize(io.BytesIO(content).readline))
    lines = content.decode(tokens[0].string).split("\n")
    line_starts = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    for before, token, after in reversed(list(zip(tokens, tokens[1:], tokens[2:], strict=False))):
        stands_alone = before.type in line_starts and after.type == tokenize.NEWLINE
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and stands_alone):
            (first, start), (last, end) = token.start, token.end
            lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][end:]]
    return "\n".join(lines)


def _compiler(backend: str, nvcc: str | None) -> tuple[str, ...]:
    if backend == "cuda":
        return (nvcc or toolchain.nvcc_version(), *toolchain.NVCC_OPTIONS)
    if backend == "cuda-core":
        return (f"NVRTC {toolchain.nvrtc_version()}", repr(toolchain.NVRTC_OPTIONS))
    return (toolchain.compiler_version(),)


def _program(variant: type[Variant]) -> Iterator[Path]:
    if issubclass(variant, KernelProgram):
        for source in variant.source_files():
            yield from source_files(source, KERNEL_HEADERS)
    elif (native := toolchain.HERE / f"{variant.name}.cpp").exists():
        yield from (native, *toolchain.HERE.glob("*.h"))


def _host_modules(variant: type[Variant]) -> Iterator[Path]:
    """Yield the files of the modules that define a variant's class and its base classes. Also yield the files
    of other variants' modules from which these modules import.
    """
    names = {base.__module__ for base in variant.__mro__ if _is_host(base.__module__)}
    for name in sorted(names):
        module = sys.modules[name]
        yield _file(module)
        if not name.startswith("bfsbench.programs.families"):
            used = {getattr(value, "__module__", "") or "" for value in vars(module).values()}
            yield from (
                _file(sys.modules[other]) for other in sorted(used) if other.startswith("bfsbench.variants.")
            )


def _is_host(module: str) -> bool:
    return bool(_HOSTS.match(module)) or not module.startswith(("bfsbench.", "builtins", "abc"))


def _file(module: ModuleType) -> Path:
    return Path(module.__file__ or "")
