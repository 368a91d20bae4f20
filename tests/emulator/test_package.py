"""Tests of the emulator with kernels that have nothing to do with graphs."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import bfsbench.emulator
from bfsbench.emulator import Emulator, Hardware
from bfsbench.support.errors import DeviceOutOfMemoryError, LaunchError
from tests.emulator.conftest import KERNELS, write

VECTORS = KERNELS / "vectors.cu"
OTHERS = {*sys.stdlib_module_names, "numpy", "elftools"}
MAY_IMPORT = {"emulator", "kernels", "support"}


@pytest.mark.parametrize("seed", [0, 1])
def test_vectors_are_added(seed: int) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    with Emulator(seed) as device:
        sums = device.empty(1000, np.float32)
        module = device.module(VECTORS, {})
        module.kernel("add").bind(device.upload(x), device.upload(y), sums, 1000, block=128)(8)
        assert (sums.download() == x + y).all()
        parts = device.empty(8, np.float32)
        module.kernel("block_sums").bind(sums, parts, 1000, block=128, shared=4 * 128)(8)
        assert parts.download().sum() == (x + y).sum()


def test_a_host_array_can_be_a_buffer() -> None:
    x = np.ones(100, np.float32)
    with Emulator() as device:
        buffer = device.adopt(x)
        device.module(VECTORS, {}).kernel("add").bind(buffer, buffer, buffer, 50, block=64)(1)
    assert x.tolist() == [2] * 50 + [1] * 50


def test_hardware_is_chosen() -> None:
    small = Hardware(multiprocessors=2, max_threads_per_block=256, memory=1 << 20)
    with Emulator(hardware=small) as device:
        add = device.module(VECTORS, {}).kernel("add")
        assert add.resident_blocks(128) == 2 * 2048 // 128
        with pytest.raises(LaunchError, match="257 threads a block, the limit is 256"):
            add.resident_blocks(257)
        with pytest.raises(DeviceOutOfMemoryError, match="of 1048576"):
            device.empty(1 << 18, np.float64)


def test_headers_are_found_where_it_is_told(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "value.cuh").write_text("#define VALUE 5\n", encoding="utf-8")
    get = 'extern "C" __global__ void get(int* out) { *out = VALUE; }\n'
    source = write(tmp_path, f'#include "value.cuh"\n{get}')
    with Emulator(include=[headers]) as device:
        out = device.signal()
        device.module(source, {}).kernel("get").bind(out, block=1)(1)
        assert out.read() == 5


def test_it_imports_nothing_of_what_is_built_upon_it() -> None:
    """The emulator imports only lower packages of this project, and no libraries for graphs."""
    for path in Path(bfsbench.emulator.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                first, *rest = name.split(".")
                allowed = rest[0] in MAY_IMPORT if first == "bfsbench" else first in OTHERS
                assert allowed, f"{path.name} imports {name}"
