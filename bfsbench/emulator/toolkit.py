"""Makes a folder with the layout of a CUDA toolkit, so that CMake accepts ``bfsbench nvcc`` as its compiler.

CMake runs ``bin/nvcc`` of this folder with ``--version`` and ``-v``, and reads what it prints. CMake itself
calls the host's C++ compiler for .cpp files and for linking, with the folders ``include`` and ``lib64``.
"""

import hashlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from bfsbench.emulator.library import INCLUDE, link
from bfsbench.support import storage
from bfsbench.support.paths import cache_dir
from bfsbench.support.toolchain import compiler, writing

VERSION_LINES = (
    "nvcc: NVIDIA (R) Cuda compiler driver",
    "Cuda compilation tools, release 12.9, V12.9.41",
    "This is bfsbench in the place of nvcc. It builds programs that run on the CPU.",
)
"""The output of ``bfsbench nvcc --version``. CMake recognises nvcc by the first line, and
reads the version in the second line."""
_LIBRARIES = ("libcudart.so", "libcudart_static.a", "libcudadevrt.a", "libcuda.so")
"""NVIDIA's names for libraries whose functions the emulator's runtime provides. The linker recognises a
shared library by its content, even if its name ends with ``.a``."""


def toolkit(runtime: Path) -> Path:
    """Make a folder in the cache that has the layout of a CUDA toolkit, or bring the folder up to date.
    Returns the path of the folder. ``runtime`` is the library of the emulator's runtime. Each installation of
    bfsbench has its own folder."""
    digest = hashlib.sha256(f"{sys.executable}\n{INCLUDE}".encode()).hexdigest()[:20]
    top = cache_dir().absolute() / "native" / f"toolkit-{digest}"
    with writing(top / "nvvm" / "libdevice"):  # CMake demands this folder
        pass
    for header in (INCLUDE / "emu", *(INCLUDE / "cuda").iterdir()):
        link(top / "include" / header.name, header)
    for name in _LIBRARIES:
        link(top / "lib64" / name, runtime)
    _write_script(top / "bin" / "nvcc", (sys.executable, "-m", "bfsbench", "nvcc"))
    _write_script(top / "bin" / "c++", compiler())
    return top


def _write_script(script: Path, command: tuple[str, ...]) -> None:
    """Write a shell script that runs a command, and passes its own arguments on to the command. A script that
    already has this text is not written again."""
    text = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'.encode()
    if not script.exists() or script.read_bytes() != text:
        with writing(script.parent), storage.unfinished(storage.part_of(script)) as part:
            part.write_bytes(text)
            part.chmod(0o755)
            part.replace(script)


def settings(top: Path) -> Iterator[str]:
    """Yields the lines that CMake reads in the output of ``-v``: the toolkit's folders, the architecture for
    which kernels are compiled, and the command that links a program."""
    folder = f'"-L{top / "lib64"}"'
    yield f"TOP={top}"
    yield f'INCLUDES="-I{top / "include"}"'
    yield f"LIBRARIES={folder}"
    yield "-arch compute_90"
    yield f"{top / 'bin' / 'c++'} -o a.out {folder} -lcudadevrt -lcudart_static -lrt -lpthread -ldl"
