"""Emulated devices for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bfsbench.emulator import Emulator

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(params=[0, 1, 2], ids=lambda seed: f"seed{seed}")
def device(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A device in the fastest order on two cores, and in two seeded orders. None may leak stacks."""
    opened = Emulator(seed=request.param, workers=2)
    yield opened
    assert opened.stacks_in_use() == 0
    opened.close()
