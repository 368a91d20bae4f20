"""Compiling ``.cu`` files with PyCUDA and nvcc, and caching the binaries.

PyCUDA writes its cache in place and does not check what it reads. A process killed while it writes would
leave a broken kernel to the next one. Here each process works in a folder of its own that begins with links
to all finished binaries, and links its own into the common folder once they are complete.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pycuda.driver as cuda
from pycuda.compiler import DynamicSourceModule, compile

from bfsbench import storage
from bfsbench.errors import ToolchainError
from bfsbench.paths import KERNEL_HEADERS, cache_dir
from bfsbench.toolchain import find_nvcc, first_error

Compiled = tuple[Any, bytes | None]
"""PyCUDA's module, and the cubin that it was loaded from; None where the driver has linked it."""


def compile_source(source: Path, options: list[str], child_kernels: bool, appended: str = "") -> Compiled:
    """A ``.cu`` file, with some C++ behind it, loaded in the current context. Raises ToolchainError."""
    try:
        finished, own = _folders()
        compiled = _compile(source, options, child_kernels, appended, own)
        for binary in own.iterdir():
            if not (finished / binary.name).exists():
                storage.link(binary, finished / binary.name)
        return compiled
    except OSError as error:
        where = f"cannot write {cache_dir()}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error


def _compile(
    source: Path, options: list[str], child_kernels: bool, appended: str, cache_folder: Path
) -> Compiled:
    nvcc = find_nvcc()
    settings: dict[str, Any] = {
        "nvcc": str(nvcc),
        "options": options,
        "no_extern_c": True,
        "include_dirs": [str(folder) for folder in (source.parent, *KERNEL_HEADERS)],
        "cache_dir": str(cache_folder),
    }
    if child_kernels:
        settings["cuda_libdir"] = str(nvcc.resolve().parent.parent / "lib64")
    text = f'#line 1 "{source}"\n{source.read_text()}\n{appended}'
    try:
        if child_kernels:
            return DynamicSourceModule(text, **settings), None
        cubin = compile(text, **settings)
        return cuda.module_from_buffer(cubin), cubin
    except cuda.CompileError as error:
        raise ToolchainError(f"cannot compile {source.name}: {first_error(str(error.stderr))}") from error


@cache
def _folders() -> tuple[Path, Path]:
    """The common folder of finished binaries, and this process's own."""
    finished = cache_dir() / "pycuda"
    finished.mkdir(parents=True, exist_ok=True)
    for left in cache_dir().glob("pycuda-*-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            shutil.rmtree(left, ignore_errors=True)  # its process was killed
    own = Path(tempfile.mkdtemp(dir=cache_dir(), prefix=f"pycuda-{os.getpid()}-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    for binary in finished.iterdir():
        storage.link(binary, own / binary.name)
    return finished, own
