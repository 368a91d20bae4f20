"""Emulated devices for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bfsbench.emulator import Emulator
from bfsbench.support.errors import KernelError

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(params=[0, 1, 2], ids=lambda seed: f"seed{seed}")
def device(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A device in the fastest order on two cores, and in two seeded orders. None may leak stacks."""
    opened = Emulator(seed=request.param, workers=2)
    yield opened
    assert opened.stacks_in_use() == 0
    opened.close()


def run_kernel(device: Emulator, name: str, *arguments: Any, blocks: int = 1, **settings: int) -> None:
    """Launch a kernel of this folder, named FILE:KERNEL; ``settings`` are those of ``bind``."""
    file, _, kernel = name.partition(":")
    device.module(KERNELS / f"{file}.cu", {}).kernel(kernel).bind(*arguments, **settings)(blocks)


def fails(device: Emulator, message: str) -> None:
    """Assert that a launch so far has failed with a message, a regular expression."""
    with pytest.raises(KernelError, match=message):
        device.synchronize()
