"""C++ compiler discovery and a content-addressed cache of the shared libraries built with it.

The compiler is ``$CXX``, ``g++``, ``clang++`` or ``c++`` from the PATH, or, on a machine without any, the one
in the PyPI wheel ``ziglang`` (extra ``compiler``).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bfsbench import storage
from bfsbench.errors import ToolchainError
from bfsbench.paths import cache_dir

NO_COMPILER = (
    "no C++ compiler found: install g++ (Debian/Ubuntu: apt install g++) "
    f"or run '{sys.executable} -m pip install ziglang'"
)
NO_NVCC = (
    "no nvcc found: install the CUDA toolkit, or run "
    f"'{sys.executable} -m pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-crt "
    "nvidia-cuda-cccl'"
)


@cache
def compiler() -> tuple[str, ...]:
    """The command that runs the C++ compiler. Raises ToolchainError when there is none."""
    chosen = os.environ.get("CXX")
    if chosen:
        words = shlex.split(chosen)
        if not words or shutil.which(words[0]) is None:
            raise ToolchainError(f"CXX is set to '{chosen}', which is not a program on this machine")
        return tuple(words)
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        if path:
            return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise ToolchainError(NO_COMPILER)


@cache
def compiler_version() -> str:
    """First line of the compiler's ``--version``."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0] if (done.stdout or done.stderr) else "unknown"


def build_library(
    name: str, sources: Sequence[Path], flags: Sequence[str] = (), depends: Sequence[Path] = ()
) -> Path:
    """Compile and link C++ sources into a shared library, once.

    ``depends`` are further files (headers) whose content matters; those beside a source count by themselves.
    The result lives in the cache under a hash of all contents, the flags and the compiler, and appears there
    by an atomic rename, so that concurrent builds and killed ones do no harm.
    Raises ToolchainError with the compiler's first error.
    """
    headers = {h for s in sources for pattern in ("*.h", "*.hpp") for h in s.parent.glob(pattern)}
    digest = hashlib.sha256()
    for part in (*compiler(), compiler_version(), platform.machine(), *flags):
        digest.update(part.encode() + b"\0")
    for file in [*sources, *sorted({*headers, *depends})]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    target = cache_dir() / "native" / f"{name}-{digest.hexdigest()[:20]}.so"
    if target.exists():
        return target
    command = [*compiler(), "-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", *flags, *map(str, sources)]
    try:
        _build(name, command, target)
    except OSError as error:
        where = f"cannot write {target.parent}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error
    return target


def _build(name: str, command: Sequence[str], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        output = Path(work) / target.name
        done = subprocess.run([*command, "-o", str(output)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolchainError(f"cannot compile {name}: {first_error(done.stderr)}")
        storage.publish(output, target)


def first_error(text: str) -> str:
    """The line of a compiler's output that says what went wrong first."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")


def find_nvcc() -> Path:
    """NVIDIA's compiler: on the PATH, under ``CUDA_HOME`` or /usr/local/cuda, or from the PyPI wheels.

    Raises ToolchainError when there is none.
    """
    on_path = shutil.which("nvcc")
    if on_path:
        return Path(on_path)
    roots = [Path(os.environ.get(name, "")) for name in ("CUDA_HOME", "CUDA_ROOT") if os.environ.get(name)]
    spec = importlib.util.find_spec("nvidia")
    wheels = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []
    for root in (
        *roots,
        Path("/usr/local/cuda"),
        *(found for place in wheels for found in place.glob("cu*")),
    ):
        if (root / "bin" / "nvcc").exists():
            return root / "bin" / "nvcc"
    raise ToolchainError(NO_NVCC)
