"""How the CUDA backend packs the arguments of a launch, with a made-up driver that records them."""

from __future__ import annotations

import importlib
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from bfsbench.emulator import Contract

KERNEL = 'extern "C" __global__ void scale(float *values, int count, double by, int first, int level) {}'
MODULES = ("cuda", "cuda_compile", "cuda_memory")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """bfsbench.backends.cuda over a made-up driver."""
    driver = MagicMock(name="pycuda.driver")
    driver.Error = type("Error", (Exception,), {})
    driver.MemoryError = type("MemoryError", (driver.Error,), {})
    driver.CompileError = type("CompileError", (driver.Error,), {})
    driver.mem_alloc.side_effect = lambda size: 0x1000
    for name in ("pycuda", "pycuda.compiler"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    sys.modules["pycuda"].driver = driver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"bfsbench.backends.{name}", raising=False)
    yield importlib.import_module("bfsbench.backends.cuda")
    for name in MODULES:
        sys.modules.pop(f"bfsbench.backends.{name}", None)


def bound(cuda: ModuleType, tmp_path: Path, **named: Any) -> tuple[Any, list[Any]]:
    """A launch of `scale` with the last parameter left open, and what the driver is handed."""
    source = tmp_path / "scale.cu"
    source.write_text(KERNEL)
    handed: list[Any] = []
    function = MagicMock(max_threads_per_block=1024, shared_size_bytes=0, num_regs=8)
    function._launch_kernel.side_effect = lambda *given: handed.append(given)
    limits = SimpleNamespace(
        blocks_per_cluster=1, shared_memory_per_block=48 << 10, shared_memory_per_block_optin=48 << 10
    )
    device = SimpleNamespace(limits=limits, stream="the stream")
    binary = SimpleNamespace(module=SimpleNamespace(get_function=lambda name: function), cubin=b"")
    signature = Contract("").signatures(source, [])["scale"]
    kernel = cuda.CudaKernel(binary, "scale", device, signature)
    return kernel.bind(block=64, scalars=("level",), **named), handed


def test_arguments_are_packed_once_in_the_order_and_alignment_of_the_parameters(
    cuda: ModuleType, tmp_path: Path
) -> None:
    values = cuda.CudaBuffer(4, "float32", None)
    launch, handed = bound(cuda, tmp_path, values=values, count=4, by=np.float64(0.5), first=3)
    launch(7, 11)
    [(grid, block, arguments, shared, stream)] = handed
    assert (grid, block, shared, stream) == ((7, 1), (64, 1, 1), 0, "the stream")
    assert arguments == struct.pack("Pi4xdii", 0x1000, 4, 0.5, 3, 11)


def test_a_refused_launch_is_no_fault_of_the_kernel(cuda: ModuleType, tmp_path: Path) -> None:
    from bfsbench.errors import KernelError, LaunchError

    values = cuda.CudaBuffer(4, "float32", None)
    launch, _ = bound(cuda, tmp_path, values=values, count=4, by=np.float64(0.5), first=3)
    for said, expected in (("invalid argument", LaunchError), ("an illegal memory access", KernelError)):
        launch._launch.side_effect = cuda.cuda.Error(said)
        with pytest.raises(expected, match=said):
            launch(1, 0)
