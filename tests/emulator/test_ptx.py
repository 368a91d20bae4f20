"""Tests of inline PTX: its effects, its memory orders, and errors for unknown instructions."""

from pathlib import Path

import numpy as np
import pytest

from bfsbench.emulator import Emulator
from bfsbench.emulator.translate import translate
from bfsbench.support.errors import ToolchainError
from tests.emulator.conftest import KERNELS, kernel_of, write, zeros

PTX = KERNELS / "ptx.cu"


def test_instructions() -> None:
    with Emulator(watched=True) as device:
        out, words = (zeros(device, 8, dtype) for dtype in (np.int32, np.uint32))
        vectors = device.upload(np.array([0, 0, 0, 0, 1, 2, 3, 4], np.int32))
        kernel_of(device, "ptx:instructions").bind(out, words, vectors, block=32)(1)
        assert out.download()[:5].tolist() == [77, 0, 4321, 3 + 700 + 5000, 1]
        assert words.download()[:4].tolist() == [6, 11, 8, 9]
        assert device.findings() == []


@pytest.mark.parametrize("watched", [False, True])
def test_clusters(watched: bool) -> None:
    with Emulator(watched=watched) as device:
        out = zeros(device, 4)
        kernel_of(device, "ptx:cluster").bind(out, block=1)(4)
        assert out.download().tolist() == [101, 100, 101, 100]


@pytest.mark.parametrize(
    ("store", "load", "races"),
    [
        ("st.release.gpu", "ld.acquire.gpu", False),
        ("st.release.sys", "ld.acquire.sys", False),
        ("fence.acq_rel.gpu; st.relaxed.gpu", "ld.acquire.gpu", False),
        ("st.relaxed.gpu", "ld.acquire.gpu", True),
        ("st.release.gpu", "ld.relaxed.gpu", True),
        ("st.volatile", "ld.volatile", True),
        ("st.release.cta", "ld.acquire.gpu", True),
        ("st.release.gpu", "ld.acquire.cta", True),
        ("st", "ld", True),
    ],
)
def test_order(tmp_path: Path, store: str, load: str, races: bool) -> None:
    """Writes before a release are visible after an acquire, if both scopes contain both threads."""
    text = PTX.read_text().replace('"st.release.gpu', f'"{store}').replace('"ld.acquire.gpu', f'"{load}')
    source = write(tmp_path, text)
    found = []
    for seed in (1, 2):
        with Emulator(seed, watched=True) as device:
            data, flag, out = (zeros(device, 4) for _ in range(3))
            device.module(source, {}).kernel("hand_over").bind(data, flag, out, block=32)(3)
            device.synchronize()
            found += device.findings()
    assert bool(found) == races
    assert {finding.fault for finding in found} <= {"race"}


def test_unknown_instructions_are_refused_with_their_line(device: Emulator) -> None:
    device.module(PTX, {})  # without the macro, the preprocessor removes the unknown instruction
    line = PTX.read_text().splitlines().index("#ifdef UNKNOWN") + 2
    with pytest.raises(ToolchainError, match=rf"ptx\.cu:{line}:.*inline PTX is not emulated: mbarrier\.init"):
        device.module(PTX, {"UNKNOWN": 1})


@pytest.mark.parametrize(
    "text",
    [
        "ld.acquire.gpu.u32 %0, [%1",
        "ld.u32 %0, [%7];",
        "ld.async.u32 %0, [%1];",
        "ld.u32 {%0, %1}, [%1];",
        "bra done;",
        "fence.proxy.async;",
        "barrier.cluster.arrive.relaxed;",
        "atom.add.f16x2 %0, [%1], %1;",
        "setp.eq.and.u32 %0, %1, %1;",
        "bar.red.popc.u32 r, 1, 64, p;",
        "add",
        "mov.u32 %0, %%nothing;",
    ],
)
def test_instructions_that_are_not_emulated(tmp_path: Path, text: str) -> None:
    source = write(tmp_path, f'void f(int* p) {{ int v; asm volatile("{text}" : "=r"(v) : "l"(p)); }}\n')
    assert 'static_assert(false, "inline PTX is not emulated' in translate(source).text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("void f() { asm(NAME); }", "its first part is not a string"),
        ('void f(int x) { asm("" : "=r" x); }', "cannot read the operand"),
        ('#define FENCE asm("membar.gl;")\n', "inline PTX in a macro"),
    ],
)
def test_statements_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ToolchainError, match=rf"kernel\.cu:1: error: .*{message}"):
        translate(write(tmp_path, text))
