"""``bfsbench reproduce`` driven as a user drives it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.bench.results import read_rows
from bfsbench.experiments import bundled, find

MINE = """
title = "Two searches of mine"
paper = "nobody's"
source = "0"

[[graphs]]
name = "lattice(rows=9,columns=7)"
label = "streets"

[[graphs]]
name = "soc-Slashdot0811"
stand_ins = ["soc-Slashdot0902", "soc-Epinions1"]

[[sweeps]]
variants = ["push", "cpu_queue"]
block = "32,64"

[[drawings]]
kind = "bars"

[[claims]]
text = "push is faster"
graphs = ["streets"]
series = "push"
versus = ["cpu_queue"]
"""


def reproduce(*words: str, cwd: Path, check: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bfsbench", "reproduce", *words]
    done = subprocess.run(command, cwd=cwd, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == check, done.stderr
    assert "Traceback" not in done.stderr
    return done


def tiny(*words: str, cwd: Path, check: int = 0) -> subprocess.CompletedProcess[str]:
    return reproduce(*words, "--backend", "cpu", "--repeats", "1", "--out", "out", cwd=cwd, check=check)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_experiment_says_what_it_reproduces(name: str) -> None:
    experiment = find(name)
    assert experiment.name == name
    assert experiment.title and experiment.paper and experiment.figure


def test_missing_graphs_are_named_with_the_line_that_fetches_them(mine: Path, tmp_path: Path) -> None:
    done = tiny(str(mine), cwd=tmp_path, check=2)
    assert done.stderr.count("\n") == 1
    assert "'bfsbench fetch soc-Slashdot0811'" in done.stderr
    assert "--stand-ins" in done.stderr
    assert not (tmp_path / "out").exists()


def test_shrunk_graphs_and_stand_ins_are_marked_in_rows_and_tables(mine: Path, tmp_path: Path) -> None:
    done = tiny(str(mine), "--stand-ins", "--scale", "0.001", cwd=tmp_path)
    graphs = {row["graph"] for row in read_rows(tmp_path / "out" / "mine.csv")}
    assert graphs == {
        "lattice(rows=9,columns=7,seed=1):shrink=0.001:symmetrised",
        "soc-Epinions1:shrink=0.001:stands_for=soc-Slashdot0811:directed",
    }
    assert "streets (shrunk to 0.001)" in done.stdout
    assert "soc-Slashdot0811 (stand-in soc-Epinions1, shrunk to 0.001)" in done.stdout


def test_resuming_repeats_nothing(mine: Path, tmp_path: Path) -> None:
    words = (str(mine), "--graph", "streets")
    tiny(*words, cwd=tmp_path)
    rows = read_rows(tmp_path / "out" / "mine.csv")
    assert len(rows) == 3
    assert "add --resume" in tiny(*words, cwd=tmp_path, check=2).stderr
    assert "nothing left to do" in tiny(*words, "--resume", cwd=tmp_path).stderr
    assert read_rows(tmp_path / "out" / "mine.csv") == rows
