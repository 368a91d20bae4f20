"""Lets variants use kernels of another folder, such as an older version or a changed copy."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bfsbench.programs import variant as programs
from bfsbench.variants import graph_parts, prepared_rows


@contextmanager
def kernels_from(cuda_src: Path) -> Iterator[None]:
    """Compile the kernels of variants from a folder like cuda_src, in the ``with`` block. Devices may be open
    already."""
    backends = [module for name, module in sys.modules.items() if name.startswith("bfsbench.backends.")]
    with pytest.MonkeyPatch.context() as patch:
        for module in backends:
            if hasattr(module, "KERNEL_HEADERS"):
                patch.setattr(module, "KERNEL_HEADERS", (cuda_src / "common", cuda_src))
        for module in (programs, graph_parts, prepared_rows):
            patch.setattr(module, "CUDA_SRC", cuda_src)
        yield
