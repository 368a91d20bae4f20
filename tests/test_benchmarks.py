"""Scripts of tests/benchmarks: litmus tests on the emulator, comparisons of kernels, and large results."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.generators import GENERATORS
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import WrongResultError
from bfsbench.support.paths import CUDA_SRC
from tests.benchmarks.adaptive_endurance import DRAW, draw_graph
from tests.benchmarks.kernel_versions import SharedBuffers, main as compare_versions
from tests.benchmarks.litmus.patterns import AS_USED, PATTERNS, trials
from tests.benchmarks.settings_again import main as measure_again
from tests.report.result_rows import host_row, row as result_row, write

ROUNDS = 12


@pytest.mark.exhaustive
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
    """The emulator's happens-before order finds a race even if no value shows it."""
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


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.exhaustive
def test_claims_without_atomics_are_seen_to_fail(seed: int) -> None:
    with CpuDevice(seed, watched=True) as device:
        (trial, *_) = (one for one in trials(device) if one.order == "no atomics")
        assert trial.run(2000, seconds=60).forbidden > 0


GRAPH = "lattice(rows=6,columns=5)"


def changed_copy(folder: Path, file: str, old: str, new: str) -> Path:
    """Returns a copy of the kernels with a change."""
    kernels = folder / "cuda_src"
    shutil.copytree(CUDA_SRC, kernels)
    text = (kernels / file).read_text()
    assert old in text
    (kernels / file).write_text(text.replace(old, new))
    return kernels


def beside(out: Path, *versions: str) -> Result:
    words = (str(out), *versions, "--graph", GRAPH, "--variant", "push_frontier", "--backend", "cpu")
    return CliRunner().invoke(compare_versions, [*words, "--repeats", "2", "--sources", "2"])


def test_each_version_has_rows_of_all_sources(tmp_path: Path) -> None:
    other = changed_copy(tmp_path, "push_frontier.cu", "__global__", "/* another */ __global__")
    done = beside(tmp_path / "rows.csv", f"one={CUDA_SRC}", f"other={other}")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("lattice(rows=6,columns=5,seed=1):symmetrised: one ")
    rows = [*csv.DictReader((tmp_path / "rows.csv").open())]
    assert sorted(row["version"] for row in rows) == ["one", "one", "other", "other"]
    assert len({row["source"] for row in rows}) == 2
    assert all(len(row["search_ms_samples"].split(";")) == 2 for row in rows)


def test_a_version_that_is_wrong_ends_it(tmp_path: Path) -> None:
    wrong = changed_copy(tmp_path, "push_frontier.cu", "level + 1", "level + 2")
    assert isinstance(beside(tmp_path / "rows.csv", f"wrong={wrong}").exception, WrongResultError)


@pytest.mark.parametrize("version", ["old", "=HEAD", "old=HEAD,KNOB", f"old={CUDA_SRC},KNOB=1"])
def test_what_is_no_version_is_refused(tmp_path: Path, version: str) -> None:
    done = beside(tmp_path / "rows.csv", version)
    assert done.exit_code != 0


def test_versions_of_one_name_are_refused(tmp_path: Path) -> None:
    """One of two commits would be unpacked over the other."""
    done = beside(tmp_path / "rows.csv", "old=HEAD~1", "old=HEAD")
    assert done.exit_code == 2
    assert "names of their own" in done.output
    assert not (tmp_path / "rows.csv").exists()


def test_random_graphs_are_of_all_generators() -> None:
    assert {*DRAW} == {*GENERATORS}
    for name in DRAW:
        assert draw_graph(np.random.default_rng(1), name, 200).num_vertices > 0, name


def test_buffers_of_one_size_and_type_are_given_once(device: Device) -> None:
    shared = SharedBuffers(device)
    with shared.given():
        one, other, signal = device.empty(5, "int32"), device.empty(5, "int32"), device.signal(2)
    with shared.given():
        again = [device.signal(2), *(device.empty(5, "int32") for _ in range(3))]
    assert again[:3] == [signal, one, other]
    assert again[3] not in (one, other)
    assert device.empty(5, "int32") not in (one, other)


LIMIT_S, LIMIT_GB = 2 + 1.3, 0.4 + 0.11
"""The limits of processor time and memory for 100,000 rows. The start may take 2 s and 0.4 GB of them."""
ROUNDS_OF_LARGE_FILES = 3
"""Runs of each command. The shortest time counts, because other processes share the processor."""


@pytest.mark.exhaustive
def test_result_files_of_100_000_rows_take_a_tenth_of_what_a_million_may(tmp_path: Path) -> None:
    """A million rows may take 15 s of processor time and 1.5 GB in each command.

    The start takes equally long for any number of rows. So 100,000 rows may take the start and a tenth of the
    rest. The first run also compiles all modules, so a later run is the shortest.
    """
    commands = ("text", "page", "resume")
    words = ("--rows", "100000", "--file", str(tmp_path / "r.csv"), *commands * ROUNDS_OF_LARGE_FILES)
    # In a small process, because a program that it starts counts the memory of its parent, too.
    script = [sys.executable, "-m", "tests.benchmarks.big_results", *words]
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        script, cwd=CUDA_SRC.parent, env=os.environ | compiled, capture_output=True, text=True, check=True
    )
    lines = [line.split()[:5] for line in done.stdout.splitlines()]
    for name in commands:
        runs = [line[1:] for line in lines if line[0] == name]
        assert len(runs) == ROUNDS_OF_LARGE_FILES
        assert all(code == "0" for *_, code in runs), f"{name} fails"
        assert min(float(busy_s) for _, busy_s, *_ in runs) < LIMIT_S, name
        assert max(float(memory_gb) for _, _, memory_gb, _ in runs) < LIMIT_GB, name


def test_settings_of_a_file_are_measured_again_and_absent_programs_are_named(tmp_path: Path) -> None:
    graph = {"graph": "lattice(rows=4,columns=4,seed=1):symmetrised"}
    rows = [
        result_row(variant="frontier_numbers", block=64, **graph),
        result_row(variant="somebodys", program="somebodys 1.0", **graph),
        host_row(**graph),
    ]
    file, out = write(tmp_path / "settings.csv", rows), tmp_path / "again.csv"
    done = CliRunner().invoke(measure_again, [str(file), "--out", str(out), "--sources", "1"])
    assert done.exit_code == 0, done.output
    assert "not installed, and left out: somebodys\n" in done.output
    found = {(row["variant"], row["block"], row["status"]) for row in read_rows(out)}
    kernel = "frontier_numbers"
    assert found == {(kernel, "64", "ok"), (kernel, "256", "ok"), ("cpu_queue", "", "ok")}
