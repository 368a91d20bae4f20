"""Test the record of runs beside a result file: command, machine and software."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from bfsbench.rows.provenance import commit, describe_run, gpu_facts, read_runs, runs_file
from tests.commands import bfsbench

SWEEP = ("run", "--dataset", "path(n=9)", "--variant", "cpu_queue", "--repeats", "1", "--out", "rows.csv")

SMI = """#!/bin/sh
case "$*" in
  *"-i 0000:00:06.0"*) echo "GPU-12ab, NVIDIA H200, 0000:00:06.0, 580.1, 96.00, Enabled, Disabled, 700.00 W, 700.00 W, 1980 MHz";;
  *) exit 6;;
esac
"""  # noqa: E501


def test_every_run_that_makes_rows_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/bfsbench", *SWEEP, "--sources", "a b"])
    bfsbench(*SWEEP, cwd=tmp_path)
    (first,) = read_runs(tmp_path / "rows.csv")
    assert first["command"] == (
        "bfsbench run --dataset 'path(n=9)' --variant cpu_queue --repeats 1 --out rows.csv --sources 'a b'"
    )
    assert (first["kernel"], first["commit"]) == (platform.release(), commit())
    assert first["os"] and first["compiler"] and first["began"].startswith("20")
    assert first["packages"]["numpy"] and first["gpus"] == []
    bfsbench(*SWEEP, "--resume", cwd=tmp_path)
    assert len(read_runs(tmp_path / "rows.csv")) == 1, "it made no row"
    bfsbench(*SWEEP, "--resume", "--source", "3", cwd=tmp_path)
    assert len(read_runs(tmp_path / "rows.csv")) == 2
    with runs_file(tmp_path / "rows.csv").open("a") as file:
        file.write('{"command": "bfsb')
    assert len(read_runs(tmp_path / "rows.csv")) == 2, "an unfinished line is left out"
    assert read_runs(tmp_path / "others.csv") == []


def test_a_gpu_is_recorded_with_its_identifier_ecc_mig_and_power_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    here = {"gpu": "NVIDIA H200", "gpu_bus_id": "0000:00:06.0", "driver": "580.1", "host": platform.node()}
    (gpu,) = describe_run([here, here])["gpus"]
    assert gpu["uuid"] == "GPU-12ab"
    assert (gpu["ecc.mode.current"], gpu["mig.mode.current"]) == ("Enabled", "Disabled")
    assert (gpu["power.limit"], gpu["driver"]) == ("700.00 W", "580.1")
    elsewhere = here | {"host": "another"}
    assert describe_run([elsewhere])["gpus"] == [elsewhere], "this host's nvidia-smi knows nothing of it"
    assert gpu_facts("0000:99:00.0") == {}
    program.unlink()
    assert gpu_facts("0000:00:06.0") == {}


def test_a_record_is_plain_json(tmp_path: Path) -> None:
    bfsbench("reproduce", "graph500", "--scale", "8", "--variant", "cpu_queue", "--out", "out", cwd=tmp_path)
    (line,) = (tmp_path / "out" / "graph500-8-cpu_queue.runs.jsonl").read_text().splitlines()
    assert json.loads(line)["python"] == platform.python_version()
