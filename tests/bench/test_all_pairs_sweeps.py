"""Test all-pairs shortest paths as a user runs them: run, report, tune, path, and the Python API."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import bfsbench
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.load import load
from bfsbench.programs.families.apsp import problem as apsp
from bfsbench.programs.families.apsp.matrix import INFINITY
from bfsbench.reports import tables
from bfsbench.rows.results import read_results, read_rows
from bfsbench.support.errors import UsageError
from tests.commands import invoke, refused

WEIGHTED = ("apsp_fw", "apsp_min_plus", "apsp_fw_blocked", "cpu_floyd_warshall")
GRAPH = "weighted_random(n=40,density=20)"


def run(out: Path, *arguments: str) -> Result:
    measuring = ("--backend", "cpu", "--repeats", "1", "--out", str(out))
    return invoke("run", "--dataset", GRAPH, *measuring, *arguments)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.csv"


@pytest.mark.exhaustive
def test_a_family_is_run_and_reported(out: Path) -> None:
    result = run(out, "--family", "apsp", "--variant", ",".join(WEIGHTED), "--block", "32,64")
    assert result.exit_code == 0, result.stderr
    rows = read_rows(out)
    points = {(row["variant"], row["block"]) for row in rows}
    assert points == {
        *(("apsp_fw", block) for block in ("32", "64")),
        *(("apsp_min_plus", "256"), ("apsp_fw_blocked", "512"), ("cpu_floyd_warshall", "")),
    }
    for row in rows:
        assert (row["family"], row["status"], row["source"], row["mteps"]) == ("apsp", "ok", "", "")
        gops = 2 * 40**3 / float(row["search_ms"]) / 1e6
        assert float(row["gops"]) == pytest.approx(gops, rel=0.01, abs=0.001)
    text = invoke("report", str(out)).stdout
    assert "all-pairs shortest paths" in text and "all pairs\n" in text and "GOPS" in text


@pytest.mark.exhaustive
def test_both_families_in_one_report(tmp_path: Path) -> None:
    for family, name in (("bfs", "cpu_queue"), ("apsp", "cpu_floyd_warshall")):
        assert run(tmp_path / f"{family}.csv", "--variant", name).exit_code == 0
    best = tables(read_results([tmp_path]), ["best"])
    assert [(table.name, len(table.rows)) for table in best] == [("best_apsp", 1), ("best", 1)]
    for table in best:
        assert table.rows[0][table.columns.index("speedup")] == 1


def test_the_family_follows_from_the_variants(tmp_path: Path) -> None:
    def planned(*arguments: str) -> set[str]:
        result = run(tmp_path / "r.csv", "--dry-run", *arguments)
        assert result.exit_code == 0, result.stderr
        table, *_ = result.stdout.split("\n\n")
        return {line.split()[1] for line in table.splitlines()[2:]}

    assert planned("--variant", "apsp_fw") == {"apsp_fw"}
    assert planned("--variant", "apsp_fw,all") == planned("--family", "apsp") >= {"apsp_fw", "apsp_min_plus"}
    assert "cpu_queue" in planned() and "apsp_fw" not in planned()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--variant", "apsp_fw,pull"), "one run takes variants of one family, not apsp_fw and pull"),
        (("--variant", "pull", "--family", "apsp"), "variant pull is of family bfs, not apsp"),
        (("--family", "apsp", "--source", "3"), "all-pairs shortest paths have no source"),
        (("--family", "apsp", "--sources", "3"), "all-pairs shortest paths have no source"),
        (("--family", "apsp", "--profile"), "--profile measures the steps of a run"),
        (("--variant", "apsp_fw_blocked", "--tile-size", "48"), "knob TILE_SIZE: 48 is out of range"),
        (("--variant", "apsp_fw", "--dataset", "path(n=40000)"), "40,000 vertices: all-pairs shortest paths"),
    ],
)
def test_what_cannot_be_asked(out: Path, arguments: tuple[str, ...], message: str) -> None:
    load("path(n=40000)")  # a slow generation would print a line before the error
    assert message in refused(run(out, *arguments))
    assert not out.exists()


def test_a_dry_run_refuses_graphs_of_too_many_vertices(tmp_path: Path) -> None:
    (tmp_path / "large.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern general\n40000 40000 1\n1 2\n"
    )
    for large in ("path(n=40000)", str(tmp_path / "large.mtx"), "soc-Epinions1"):
        words = ("--variant", "apsp_fw", "--dry-run", "--dataset", f"path(n=30),{large}")
        assert "vertices: all-pairs shortest paths take a dense" in refused(run(tmp_path / "r.csv", *words))
    words = ("--variant", "apsp_fw", "--dry-run", "--dataset", "path(n=32768),path(n=40000):shrink=0.5")
    assert run(tmp_path / "r.csv", *words).exit_code == 0


def test_a_block_that_is_too_large_is_a_row(out: Path) -> None:
    result = run(out, "--variant", "apsp_fw_blocked", "--tile-size", "128", "--elements-x", "1")
    assert result.exit_code == 1
    (row,) = read_rows(out)
    assert (row["status"], row["family"]) == ("cannot launch", "apsp")
    assert "8,192 threads a block" in row["reason"]


@pytest.mark.exhaustive
def test_next_hops_are_timed_apart_and_resumed(out: Path) -> None:
    assert run(out, "--variant", ",".join(WEIGHTED), "--parents").exit_code == 0
    assert all(float(row["parents_ms"]) > 0 for row in read_rows(out))
    again = run(out, "--variant", ",".join(WEIGHTED), "--parents", "--resume")
    assert again.exit_code == 0 and "nothing left to do" in again.stderr


def test_wrong_distances_are_a_wrong_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bfsbench.rows.point import Point

    point = Point(
        f"{GRAPH.removesuffix(')')},seed=1):directed", None, "cpu_floyd_warshall", "host", None, None
    )
    right = Session(None).measure([point], Method(1, 60, parents=True))[0]
    assert right["status"] == "ok" and float(right["parents_ms"]) > 0
    monkeypatch.setattr(apsp, "reference_distances", lambda graph, rows: np.zeros((len(rows), 40), np.int32))
    row = Session(None).measure([point], Method(1, 60))[0]
    assert row["status"] == "wrong" and "distances differ" in row["reason"]


def test_rows_of_a_large_graph_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsp, "WHOLE_UP_TO", 50)
    monkeypatch.setattr(apsp, "ROWS_SAMPLED", 6)
    graph = bfsbench.generate("weighted_random", n=90, density=10)
    problem = apsp.AllPairs(graph)
    assert len(set(problem.rows)) == 6 and {0, 89} <= set(problem.rows)
    found = bfsbench.all_pairs(graph, "cpu_floyd_warshall").distances
    assert np.array_equal(found[problem.rows], problem.distances)
    found[89, 3] += 1
    with pytest.raises(apsp.WrongDistancesError, match="from 89 to 3"):
        problem.check_distances(found)


def test_tuning_chooses_among_tiles(tmp_path: Path) -> None:
    measuring = ("--backend", "cpu", "--repeats", "1", "--out", str(tmp_path / "t.csv"), "--elements-x", "8")
    method = ("--method", "exhaustive", "--tile-size", "32", "--elements-y", "4,8")
    result = invoke("tune", "--dataset", GRAPH, "--variant", "apsp_fw_blocked", *measuring, *method)
    assert result.exit_code == 0, result.stderr
    assert sorted(row["block"] for row in read_rows(tmp_path / "t.csv")) == ["16", "32"]
    line = result.stdout.splitlines()[-1]
    assert "--tile-size 32" in line and "--source" not in line and "--block" not in line


def test_paths_on_the_command_line(tmp_path: Path) -> None:
    graph = bfsbench.generate("weighted_random", n=40, density=20)
    pairs = bfsbench.all_pairs(graph, "apsp_fw", backend="cpu", next_hops=True)
    assert pairs.next_hops_ms is not None and pairs.next_hops_ms > 0
    expected = bfsbench.path_between(pairs.next_hops, 3, 17).tolist()
    for variant in ("apsp_fw", "cpu_floyd_warshall"):
        asked = ("path", "--dataset", GRAPH, "--source", "3", "--target", "17", "--backend", "cpu")
        found = [int(line) for line in invoke(*asked, "--variant", variant).stdout.splitlines()]
        assert (found[0], found[-1]) == (expected[0], expected[-1])
    none = invoke(
        "path", "--dataset", "path(n=3,directed=1)", "--source", "2", "--target", "0", "--variant", "apsp_fw"
    )
    assert none.exit_code == 1 and "there is no path from 2 to 0" in none.stderr


def test_the_functions_of_the_package() -> None:
    graph = bfsbench.generate("weighted_random", n=33, density=10)
    blocked = bfsbench.all_pairs(graph, backend="cpu", repeats=2, TILE_SIZE=32)
    assert blocked.backend == "cpu" and len(blocked.search_ms) == 2 and blocked.next_hops is None
    assert blocked.distances.shape == (33, 33) and int(blocked.distances.max()) <= INFINITY
    assert np.array_equal(blocked.distances, bfsbench.all_pairs(graph, "cpu_floyd_warshall").distances)
    with pytest.raises(UsageError, match="variant pull is of family bfs, not apsp"):
        bfsbench.all_pairs(graph, "pull", backend="cpu")
    with pytest.raises(UsageError, match="variant apsp_fw is of family apsp, not bfs"):
        bfsbench.search(graph, "apsp_fw", backend="cpu")
    with pytest.raises(UsageError, match="repeats must be at least 1, not 0"):
        bfsbench.all_pairs(graph, repeats=0)
