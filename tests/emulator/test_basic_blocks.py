"""Calls at basic blocks that tell nothing are left out, and counts are the same without them."""

from __future__ import annotations

import numpy as np
import pytest

from bfsbench.emulator import Count, Emulator, library
from bfsbench.emulator.basic_blocks import BLOCK, without_idle_blocks
from tests.emulator.conftest import KERNELS

LOOP = """\
\t.type\tkernel, @function
kernel:
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # first
\tje\t.L3
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # forward
.L2:
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # target
\tcall\t*__tsan_read4@GOTPCREL(%rip)
\tje\t.L4
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # branch
.L4:
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # source
\tjne\t.L2
.L3:
\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # last
\tret
\t.size\tkernel, .-kernel
"""


def kept(assembly: str) -> list[str]:
    """The remarks behind the calls at blocks that are left."""
    lines = without_idle_blocks(assembly).splitlines()
    return [line.partition("# ")[2] for line in lines if BLOCK in line]


def test_calls_next_to_backward_jumps_are_kept() -> None:
    assert kept(LOOP) == ["first", "target", "source"]
    assert len(LOOP.splitlines()) - len(without_idle_blocks(LOOP).splitlines()) == 3


def test_an_access_tells_where_a_lane_jumps_from() -> None:
    accessed = LOOP.replace("# source", "# source\n\tcall\t*__tsan_write4@GOTPCREL(%rip)")
    assert kept(accessed) == ["first", "target"]


def test_leaving_a_loop_asks_where_a_lane_is() -> None:
    assert "branch" in kept(LOOP.replace("# branch", "# branch\n\tcall\t*_ZN3emu4partEv@GOTPCREL(%rip)"))


ALL = ["first", "forward", "target", "branch", "source", "last"]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("\tje\t.L3", "\tjmp\t*%rax"),  # anywhere
        ("\tje\t.L3", "\tjmp\tother"),  # another function
        ("\tcall\t*__tsan_read4@GOTPCREL(%rip)", "\tcall\tkernel"),  # a watched one
        (".L2:\n", ".L2:\n\tje\t.L3\n"),  # two ways on from the target
        ("\tjne\t.L2", ".L5:\n\tjne\t.L2\n\tje\t.L5"),  # two ways to the source
    ],
)
def test_all_calls_are_kept_where_jumps_are_not_plain(line: str, instead: str) -> None:
    assert kept(LOOP.replace(line, instead)) == ALL


def test_a_function_that_another_one_calls_is_asked_where_it_ends() -> None:
    caller = LOOP.replace("kernel", "caller").replace("__tsan_read4@GOTPCREL(%rip)", "kernel")
    assert kept(LOOP + caller) == ["first", "target", "source", "last", *ALL]


def counts_of_loops() -> list[tuple[Count, ...]]:
    found = []
    with Emulator(counted=True) as device:
        x, y = (device.upload(np.arange(64, dtype=np.int32)) for _ in range(2))
        module = device.module(KERNELS / "counted.cu", {})
        for name in ("divergent", "unrolled", "deep_stacks"):
            module.kernel(name).bind(x, y, block=64)(2)
            device.synchronize()
            found.append(tuple(device.counts()[0]))
    return found


def test_counts_are_the_same_without_these_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counts_of_loops()
    monkeypatch.setattr(library, "without_idle_blocks", lambda assembly: assembly)
    assert counts_of_loops() == counts
