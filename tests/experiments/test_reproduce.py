"""``bfsbench reproduce`` driven as a user drives it."""

import re
from pathlib import Path

import pytest

from bfsbench.experiments import bundled
from bfsbench.rows.columns import AXES
from bfsbench.rows.results import read_rows
from tests.commands import Completed, bfsbench
from tests.parameters import some

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


def reproduce(*words: str, cwd: Path, check: int = 0) -> Completed:
    return bfsbench("reproduce", *words, cwd=cwd, check=check)


def tiny(*words: str, cwd: Path, check: int = 0) -> Completed:
    return reproduce(*words, "--backend", "cpu", "--repeats", "1", "--out", "out", cwd=cwd, check=check)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


def test_the_list_names_every_experiment(tmp_path: Path) -> None:
    listed = reproduce("--list", cwd=tmp_path).stdout
    assert [line.split()[0] for line in listed.splitlines()[2:]] == [*bundled(), "graph500"]


@pytest.mark.exhaustive
def test_every_experiment_can_be_planned_and_says_how_long_it_takes(tmp_path: Path) -> None:
    words = ("--dry-run", "--stand-ins", "--scale", "0.001", "--backend", "cpu")
    done = reproduce(*bundled(), *words, cwd=tmp_path)
    assert done.stdout.count(", each run once") == len(bundled())
    timed = len(bundled()) - done.stdout.count("\n0 points")
    assert len(re.findall(r"about \d+ (h|min|s) without reading graphs", done.stdout)) == timed > 9
    assert "soc-Epinions1:shrink=0.001:stands_for=soc-Slashdot0811:directed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_experiments_that_run_out_of_time_say_what_is_left(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(MINE.replace('"push", ', ""))
    words = (str(mine), "more.toml", "--stand-ins", "--graph", "streets")
    stopped = tiny(*words, "--minutes", "1e-9", cwd=tmp_path, check=124)
    *_, first, _, second, last = stopped.stderr.splitlines()
    assert (first, second) == ("mine: 3 points left", "more: 1 point left")
    assert last == "bfsbench: the time is over with 4 points left: continue with --resume --out out"
    tiny(*words, "--minutes", "9", "--resume", cwd=tmp_path)
    assert [len(read_rows(tmp_path / "out" / name)) for name in ("mine.csv", "more.csv")] == [3, 1]


def test_a_dry_run_counts_what_is_left(mine: Path, tmp_path: Path) -> None:
    words = (str(mine), "--stand-ins", "--graph", "streets", "--resume")
    assert "3 points, each" in tiny(*words, "--dry-run", cwd=tmp_path).stdout
    tiny(*words, "--variant", "cpu_queue", cwd=tmp_path)
    assert "2 points, each" in tiny(*words, "--dry-run", cwd=tmp_path).stdout


def test_a_dry_run_names_missing_graphs_and_plans_the_rest(mine: Path, tmp_path: Path) -> None:
    done = tiny(str(mine), "--dry-run", cwd=tmp_path)
    assert "bfsbench fetch soc-Slashdot0811" in done.stderr
    assert "\n3 points" in done.stdout


@pytest.mark.exhaustive
def test_the_estimate_is_of_earlier_rows(mine: Path, tmp_path: Path) -> None:
    words = (str(mine), "--graph", "streets", "--backend", "cpu")
    before = reproduce(*words, "--dry-run", cwd=tmp_path).stdout
    assert "3 of them counted as 2 s on cpu, 0.5 s on host" in before
    assert "about 4 s" in before  # two points of 2 s and one of half a second
    run = ("run", "--dataset", "lattice(rows=9,columns=7)", "--variant", "push", "--backend", "cpu")
    bfsbench(*run, "--block", "32:192:+32", "--out", "results/r.csv", cwd=tmp_path)
    after = reproduce(*words, "--dry-run", cwd=tmp_path).stdout
    assert "if points take as long as in results; 1 of them counted as" in after


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
    for text in (done.stdout, (tmp_path / "out" / "mine.md").read_text()):
        assert "streets (shrunk to 0.001)" in text
        assert "soc-Slashdot0811 (stand-in soc-Epinions1, shrunk to 0.001)" in text.replace("\n", " ")


@pytest.mark.exhaustive
def test_resuming_repeats_nothing(mine: Path, tmp_path: Path) -> None:
    words = (str(mine), "--graph", "streets")
    tiny(*words, cwd=tmp_path)
    rows = read_rows(tmp_path / "out" / "mine.csv")
    assert len(rows) == 3
    assert "add --resume" in tiny(*words, cwd=tmp_path, check=2).stderr
    assert "nothing left to do" in tiny(*words, "--resume", cwd=tmp_path).stderr
    assert read_rows(tmp_path / "out" / "mine.csv") == rows


def test_tables_can_be_made_again_from_rows_alone(mine: Path, tmp_path: Path) -> None:
    first = tiny(str(mine), "--graph", "streets", cwd=tmp_path).stdout
    rows = tmp_path / "out" / "mine.csv"
    kept = rows.read_bytes()
    again = tiny(str(mine), "--rows", "out/mine.csv", cwd=tmp_path)
    assert first.endswith(again.stdout) and again.stdout.startswith("mine: "), (
        "a sweep shows its own table first"
    )
    assert rows.read_bytes() == kept
    assert "not here" not in tiny(str(mine), "--rows", "out/mine.csv", cwd=tmp_path).stderr


def test_rows_that_do_not_fit_an_experiment_are_told(mine: Path, tmp_path: Path) -> None:
    name = "lattice(rows=9,columns=7)"
    other = tmp_path / "other.toml"
    other.write_text(MINE.replace(f'"{name}"', f'"{name}:self_loops=drop"'))
    tiny(str(other), "--graph", "streets", cwd=tmp_path)
    done = tiny(str(mine), "--rows", "out/other.csv", cwd=tmp_path)
    assert "mine: no row fits, because the files have lattice(rows=9,columns=7" in done.stderr
    assert done.stderr.endswith("the reading options differ\n")


def test_an_output_that_cannot_be_written_is_told(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    for words in (["bfs4k-fig1"], [str(mine), "--graph", "streets", "--backend", "cpu"]):
        done = reproduce(*words, "--out", "out/x", cwd=tmp_path, check=2)
        assert "cannot write out/x" in done.stderr


def test_an_unknown_name_or_graph_is_told(mine: Path, tmp_path: Path) -> None:
    done = tiny("springer-fig77", cwd=tmp_path, check=2)
    assert "unknown experiment 'springer-fig77': did you mean springer-fig7" in done.stderr
    done = tiny("x" * 20, cwd=tmp_path, check=2)
    assert f"unknown experiment '{'x' * 20}': see 'bfsbench reproduce --list'" in done.stderr
    done = tiny(str(mine), "--graph", "street", cwd=tmp_path, check=2)
    assert "experiment mine has no graph 'street': streets, soc-Slashdot0811" in done.stderr
    assert "name an experiment" in reproduce(cwd=tmp_path, check=2).stderr


@pytest.mark.parametrize(
    "name", some(["springer-fig8", "luo-table3", "bfs4k-fig12", "cse6230-bfs-degree"], "luo-table3")
)
def test_a_bundled_experiment_runs_from_end_to_end(name: str, tmp_path: Path) -> None:
    done = tiny(name, "--stand-ins", "--scale", "0.002", cwd=tmp_path)
    rows = read_rows(tmp_path / "out" / f"{name}.csv")
    assert {row["status"] for row in rows} == {"ok"}
    assert len({tuple(row[axis] for axis in AXES) for row in rows}) == len(rows)
    assert "What the paper claims" in done.stdout or name == "springer-fig8"
    assert ": reproduced\n" not in done.stdout, "emulated kernels prove nothing about speed"


@pytest.mark.exhaustive
def test_the_maze_and_the_trace_are_drawn(tmp_path: Path) -> None:
    done = tiny("pmpp-maze", "pmpp-trace", "--scale", "0.05", cwd=tmp_path)
    maze = re.search(r"^◆[█●◆· \n]*◆$", done.stdout, re.MULTILINE)
    assert maze is not None
    assert maze[0].count("◆") == 2
    assert "push_multilevel" in done.stdout
    assert "shrunk" not in done.stdout.partition("pmpp-trace")[2], "nine vertices cannot be fewer"
