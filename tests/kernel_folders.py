"""Lets variants use kernels of another folder, such as an older version or a changed copy."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bfsbench.programs import variant as programs
from bfsbench.support.paths import CUDA_SRC
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


_DECLARATION = """
from bfsbench.variants.frontier_numbers import FrontierNumbers


class Mine(FrontierNumbers):
    name = level_kernel = "{name}"
    aliases = ()
"""


def write_variant(folder: Path, name: str, change: Callable[[str], str] = str) -> Path:
    """Declares a variant in a folder. Returns the file of its kernel, a copy of ``frontier_numbers`` that
    ``change`` edits."""
    kernel = folder / f"{name}.cu"
    text = (CUDA_SRC / "frontier_numbers.cu").read_text().replace("frontier_numbers(", f"{name}(")
    kernel.write_text(change(text))
    kernel.with_suffix(".py").write_text(_DECLARATION.format(name=name))
    return kernel
