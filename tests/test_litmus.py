"""The litmus tests run on the emulator: their logic, and by its rules of order the hand-overs themselves."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.backends.cpu import CpuDevice
from tests.benchmarks.litmus.patterns import AS_USED, PATTERNS, trials
from tests.parameters import some

ROUNDS = 12


def test_the_program_prints_and_writes_every_trial(tmp_path: Path) -> None:
    out = tmp_path / "litmus.csv"
    command = [sys.executable, "-m", "tests.benchmarks.litmus", "--backend", "cpu", "--rounds", "300"]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    assert "forbidden outcomes, with all rules kept: 0" in done.stdout
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["pattern"] for row in rows} == {pattern.name for pattern in PATTERNS}
    for row in rows:
        assert int(row["looks"]) >= int(row["rounds"]) > 0
        assert int(row["forbidden"]) == int(row["stale"]) + int(row["early"]) + int(row["wrong"])
        assert row["order"] != AS_USED or int(row["forbidden"]) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hand_overs_are_in_order_and_controls_are_not(seed: int) -> None:
    """By the emulator's happens-before, which finds a race whether or not it shows in a value."""
    raced = {}
    with CpuDevice(seed, watched=True) as device:
        for trial in trials(device):
            result = trial.run(ROUNDS, seconds=60)
            findings = [found for found in device.findings() if not found.benign]
            key = (trial.pattern.kernel, trial.order)
            raced[key] = raced.get(key, False) or bool(findings)
            if trial.order == AS_USED:
                assert not findings, f"{trial.pattern.name}: {findings[0]}"
                assert result.forbidden == 0
    controls = {key for key, found in raced.items() if found}
    assert controls == {key for key in raced if key[1] not in (AS_USED, "no atomics")}


@pytest.mark.parametrize("seed", some([1, 2, 3], 1))
def test_claims_without_atomics_are_seen_to_fail(seed: int) -> None:
    with CpuDevice(seed, watched=True) as device:
        (trial, *_) = (one for one in trials(device) if one.order == "no atomics")
        assert trial.run(2000, seconds=60).forbidden > 0
