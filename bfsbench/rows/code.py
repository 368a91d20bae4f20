"""Compute the hash that records in each row which code was measured."""

import hashlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from bfsbench.kernels import source_files
from bfsbench.kernels.source import SourceText
from bfsbench.programs import KernelProgram, KnobValue, Variant
from bfsbench.rows.point import Point
from bfsbench.support.errors import ToolchainError
from bfsbench.support.paths import KERNEL_HEADERS
from bfsbench.support.toolchain import (
    HERE,
    NVCC_OPTIONS,
    NVRTC_OPTIONS,
    compiler_version,
    nvcc_version,
    nvrtc_version,
)
from bfsbench.variants import find

DIGITS = 16
"""Hexadecimal digits of the hash in a row."""

_HOSTS = re.compile(r"bfsbench\.(variants|programs\.families)\b")
"""Modules of the package that may hold a variant's host loop."""


def code_of(point: Point) -> str:
    """Return the value of the column ``code`` for a point that is measured now."""
    return code_hash(find(point.variant), dict(point.knobs), point.backend)[:DIGITS]


def is_outdated(row: Mapping[str, str], point: Point) -> bool:
    """Return whether the code of a row's point has changed since the row was taken.

    Returns False if this is unknown: rows of older files have no hash, and the compiler may be missing.
    """
    now = code_of(point) if row["code"] else ""
    return bool(now) and row["code"] != now


def code_hash(
    variant: type[Variant], knobs: Mapping[str, KnobValue], backend: str, nvcc: str | None = None
) -> str:
    """Return the SHA-256, in hexadecimal, of the code that runs for a point.

    It covers every kernel file with all its headers, or the native program, or the files that an entry runs.
    It also covers the modules of the host loop, macros, and the compiler's version and options. It does not
    cover grid, block and run-time knobs. Comments, docstrings and blank lines do not count, except in the
    files of an entry. ``nvcc`` is the version of another machine's compiler; by default this machine's
    compiler is asked. Returns "" if the compiler or a file is missing.
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
    """Return the text of a Python file without comments and without strings that stand alone."""
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
        return (nvcc or nvcc_version(), *NVCC_OPTIONS)
    if backend == "cuda-core":
        return (f"NVRTC {nvrtc_version()}", repr(NVRTC_OPTIONS))
    return (compiler_version(),)


def _program(variant: type[Variant]) -> Iterator[Path]:
    if issubclass(variant, KernelProgram):
        for source in variant.source_files():
            yield from source_files(source, KERNEL_HEADERS)
    elif (native := HERE / f"{variant.name}.cpp").exists():
        yield from (native, *HERE.glob("*.h"))


def _host_modules(variant: type[Variant]) -> Iterator[Path]:
    """Yield the files of the modules that define a variant's class and its base classes. Also yield the files
    of modules of variants from which these modules import.
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
