"""Kernels that kernels launch: what is in order with what, and launches that are lost."""

from __future__ import annotations

import numpy as np
import pytest

from bfsbench.emulator import Emulator, Finding
from tests.emulator.conftest import KERNELS

FAMILY = KERNELS / "family.cu"
MEET = {"MEET": "__syncthreads()"}


def found(name: str, defines: dict[str, str], *arguments: int, blocks: int = 1) -> list[Finding]:
    with Emulator(watched=True) as device:
        data = device.upload(np.zeros(4, np.int32))
        module = device.module(FAMILY, {**MEET, **defines}, child_kernels=True)
        module.kernel(name).bind(data, *arguments, block=64)(blocks)
        device.synchronize()
        return device.findings()


@pytest.mark.parametrize(
    ("name", "defines", "blocks"),
    [
        ("parent", {}, 1),
        ("parent", {"STREAM": "cudaStreamTailLaunch", "AFTER(word)": "if(threadIdx.x==5)word=1"}, 1),
        ("siblings", {"STREAM": "nullptr"}, 1),
        ("blocks", {}, 1),
    ],
)
def test_children_in_order(name: str, defines: dict[str, str], blocks: int) -> None:
    assert found(name, defines, blocks=blocks) == []


@pytest.mark.parametrize(
    ("name", "defines", "blocks"),
    [
        ("parent", {"MEET": ""}, 1),
        ("parent", {"AFTER(word)": "if(threadIdx.x==0)word=1"}, 1),
        ("siblings", {}, 1),
        ("blocks", {"STREAM": "nullptr"}, 2),
    ],
)
def test_children_race_with_what_runs_beside_them(name: str, defines: dict[str, str], blocks: int) -> None:
    races = found(name, defines, blocks=blocks)
    assert {race.fault for race in races} == {"race"}
    text = FAMILY.read_text().splitlines()
    lines = {text[line.number - 1] for race in races for line in race.lines if line}
    assert any(line.endswith("// child") for line in lines)


def test_a_launch_that_is_refused_and_not_asked_for_is_lost() -> None:
    assert found("refused", {}, 1) == []
    (lost,) = found("refused", {}, 0)
    assert lost.fault == "lost launch"
    assert lost.where == "a child kernel, refused with error 9"
    assert lost.actor.line is not None
    assert lost.actor.line.text().endswith("// refused")
