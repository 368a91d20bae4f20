"""Emulated devices for the tests of this folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.emulator import Buffer, Emulator, Kernel
from bfsbench.support.errors import KernelError

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(params=[0, 1, 2], ids=lambda seed: f"seed{seed}")
def device(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A device that runs threads on two cores in the fastest order, or on one core in an order from a seed.

    After the test, no thread may hold a stack.
    """
    opened = Emulator(seed=request.param, workers=2)
    yield opened
    assert opened.stacks_in_use() == 0
    opened.close()


def kernel_of(device: Emulator, name: str, defines: Mapping[str, str | int] | None = None) -> Kernel:
    """Returns a kernel of the folder ``kernels``. ``name`` has the form FILE:KERNEL."""
    file, _, kernel = name.partition(":")
    return device.module(KERNELS / f"{file}.cu", defines or {}, child_kernels=True).kernel(kernel)


def run_kernel(device: Emulator, name: str, *arguments: Any, blocks: int = 1, **settings: int) -> None:
    """Launch a kernel of the folder ``kernels``. ``settings`` are keyword arguments of ``bind``."""
    kernel_of(device, name).bind(*arguments, **settings)(blocks)


def zeros(device: Emulator, size: int, dtype: npt.DTypeLike = np.int32) -> Buffer:
    """Returns a new buffer that contains zeros."""
    return device.upload(np.zeros(size, dtype))


def write(folder: Path, text: str) -> Path:
    """Write a kernel file. Returns its path."""
    path = folder / "kernel.cu"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return path


def fails(device: Emulator, message: str) -> None:
    """Assert that an earlier launch has failed. The regular expression ``message`` must match its error."""
    with pytest.raises(KernelError, match=message):
        device.synchronize()
