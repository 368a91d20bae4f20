"""How points are sampled, from the words of the command line to rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.bench.results import read_rows
from tests.bench.test_run import LATTICE, SMALL, run, run_faulty


def test_points_take_turns_and_rows_say_how_they_were_measured(tmp_path: Path) -> None:
    words = ("--dataset", f"{LATTICE},{SMALL}", "--variant", "cpu_queue,push,dies", "--block", "32")
    how = ("--repeats", "2", "--warmup", "2", "--cold", "--parents")
    run_faulty(*words, *how, "--order", "shuffled:5", cwd=tmp_path, check=1)
    rows = read_rows(tmp_path / "r.csv")
    assert [row["variant"] for row in rows] == ["cpu_queue", "frontier_numbers", "dies"] * 2
    for row in rows:
        assert row["method"] == "cold warmup=2 shuffled:5"
        if row["variant"] == "dies":
            assert row["status"] == "crash" and row["search_ms"] == ""
            continue
        samples = [float(value) for value in row["search_ms_samples"].split(";")]
        assert len(samples) == len(row["wall_ms_samples"].split(";")) == 2
        assert float(row["search_ms"]) == min(samples) > 0
        assert float(row["mteps"]) == pytest.approx(
            int(row["edges_traversed"]) / min(samples) / 1e3, abs=0.01
        )
        assert float(row["parents_ms"]) > 0 and row["samples_discarded"] == "0"
    again = ("--resume", "--order", "shuffled:5")
    assert "nothing left to do" in run_faulty(*words, *how, *again, cwd=tmp_path, check=1).stderr
    warm = run_faulty(*words, "--resume", cwd=tmp_path, check=2)
    assert "has rows measured 'cold warmup=2 shuffled:5', not 'as usual'" in warm.stderr


def test_samples_are_as_many_as_noise_and_time_ask_for(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "cpu_queue", "--energy")
    run(*words, "--max-noise", "0.000001", "--max-samples", "9", cwd=tmp_path)
    (row,) = read_rows(tmp_path / "r.csv")
    assert row["search_ms_samples"].count(";") == 8 and row["method"] == "max_noise=1e-06%"
    assert row["energy_j"] == "" and "energy: unknown, this device has no counter" in row["warnings"]
