"""Kernels from another folder than the package's: an older version of them, or a copy with changes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bfsbench.programs import variant as programs
from bfsbench.variants import graph_parts, prepared_rows

COMPILERS = ("cpu", "cuda", "cuda_core_compile", "pycuda_compile")
"""Modules of bfsbench.backends that name the headers' folders. Not all can be imported on every machine."""


@contextmanager
def kernels_from(cuda_src: Path) -> Iterator[None]:
    """Variants are compiled from this folder meanwhile, which is like cuda_src; by devices that are open."""
    compilers = (sys.modules.get(f"bfsbench.backends.{name}") for name in COMPILERS)
    with pytest.MonkeyPatch.context() as patch:
        for compiler in filter(None, compilers):
            patch.setattr(compiler, "KERNEL_HEADERS", (cuda_src / "common", cuda_src))
        for module in (programs, graph_parts, prepared_rows):
            patch.setattr(module, "CUDA_SRC", cuda_src)
        yield
