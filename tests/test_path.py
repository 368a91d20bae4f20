"""``bfsbench path``, and the ids by which it names vertices."""

import json
from pathlib import Path

import pytest

from bfsbench.graphs.load import load
from bfsbench.rows.columns import COLUMNS
from bfsbench.rows.results import read_results, read_rows
from bfsbench.support.errors import UsageError
from tests.bench.test_run import LATTICE, run
from tests.commands import bfsbench, complaints, invoke
from tests.report.result_rows import row, write

SPARSE = "# a graph\n10 200\n200 3000\n10 7\n7 3000\n3000 41\n50 10\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a graph whose ids have gaps."""
    (tmp_path / "g.txt").write_text(SPARSE)
    return tmp_path


@pytest.mark.parametrize("variant", ["cpu_queue", "push", "merrill"])
def test_a_path_is_printed_in_the_ids_of_the_file(folder: Path, variant: str) -> None:
    words = ("--dataset", "./g.txt", "--source", "10", "--target", "41", "--variant", variant)
    done = bfsbench("path", *words, "--backend", "cpu", cwd=folder)
    assert done.stdout.splitlines() == ["10", "7", "3000", "41"]


def test_a_path_from_a_vertex_to_itself_is_the_vertex(folder: Path) -> None:
    done = bfsbench("path", "--dataset", "./g.txt", "--source", "41", "--target", "41", cwd=folder)
    assert done.stdout == "41\n"


def test_a_generated_graph_counts_from_0(tmp_path: Path) -> None:
    done = bfsbench("path", "--dataset", "path(n=40)", "--source", "39", "--target", "0", cwd=tmp_path)
    assert done.stdout.split() == [str(v) for v in reversed(range(40))]


def test_without_a_path_there_is_one_line_and_exit_code_1(folder: Path) -> None:
    words = ("path", "--dataset", "./g.txt", "--source", "41", "--target", "10")
    done = bfsbench(*words, cwd=folder, check=1)
    assert done.stdout == ""
    assert complaints(done) == ["bfsbench: there is no path from 41 to 10 in g.txt:directed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--source", "10", "--target", "8"), "8 is not in g.txt:directed, whose ids lie within 7 .. 3000"),
        (("--source", "3001", "--target", "10"), "vertex 3001 is not in g.txt:directed"),
        (("--source", "-1", "--target", "10"), "vertex -1 is not in g.txt:directed"),
        (("--source", "10", "--target", "x"), "'x' is not a valid integer"),
        (("--source", "10"), "Missing option '--target'"),
        (("--source", "10", "--target", "41", "--variant", "pul"), "did you mean pull"),
        (("--source", "10", "--target", "41", "--dataset", "nothere"), "unknown dataset 'nothere'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(folder: Path, words: tuple[str, ...], says: str) -> None:
    done = bfsbench("path", "--dataset", "./g.txt", *words, cwd=folder, check=2)
    assert len(complaints(done)) == 1, done.stderr
    assert says in done.stderr and done.stdout == ""


def test_ids_of_files_and_vertices_go_both_ways(folder: Path) -> None:
    graph = load(str(folder / "g.txt"))
    ids = [7, 10, 41, 50, 200, 3000]
    assert [graph.vertex(number) for number in ids] == list(range(6))
    assert graph.published_ids(graph.column_indices).tolist() == [3000, 7, 200, 10, 3000, 41]
    plain = load("path(n=3)")
    assert (plain.vertex(2), plain.published_ids(plain.column_indices).tolist()) == (2, [1, 0, 2, 1])
    with pytest.raises(UsageError, match=r"vertex 3 is not in path\(n=3\):symmetrised"):
        plain.vertex(3)


def test_a_part_of_a_graph_keeps_the_ids_of_the_whole(folder: Path) -> None:
    words = ("--dataset", "./g.txt:shrink=0.5", "--source", "50", "--target", "7")
    done = bfsbench("path", *words, cwd=folder)
    assert done.stdout.splitlines() == ["50", "10", "7"]


def test_a_sweep_times_and_checks_the_tree_on_request(tmp_path: Path) -> None:
    words = ("--dataset", LATTICE, "--variant", "push,cpu_queue,reorder")
    run(*words, cwd=tmp_path)
    assert [row["parents_ms"] for row in read_rows(tmp_path / "r.csv")] == ["", "", ""]
    done = run(*words, "--resume", "--parents", cwd=tmp_path, check=2)
    assert "r.csv has rows without parents: choose another --out" in done.stderr
    (tmp_path / "r.csv").unlink()
    run(*words, "--parents", cwd=tmp_path)
    assert all(float(row["parents_ms"]) > 0 for row in read_rows(tmp_path / "r.csv"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path, out = tmp_path / "friends.csv", tmp_path / "rows.csv"
    path.write_text("from,to\nann,=bob\n=bob,cleo\n")
    for name in ("ann", "=bob"):
        words = ("run", "--dataset", str(path), "--variant", "cpu_queue", "--repeats", "1", "--out", str(out))
        more = ("--resume",) if out.exists() else ()
        result = invoke(*words, *more, "--source-id", name)
        assert result.exit_code == 0, result.stderr
    return out


def test_rows_have_the_name_of_the_source_as_no_formula(rows: Path) -> None:
    found = {row["source"]: row["source_id"] for row in read_rows(rows)}
    assert sorted(found.values()) == ["'=bob", "ann"]


def test_reports_name_the_one_source(rows: Path, tmp_path: Path) -> None:
    (ann,) = [one for one in read_rows(rows) if one["source_id"] == "ann"]
    alone = write(tmp_path / "one.csv", [ann])
    shown = invoke("report", alone, "--table", "best").stdout
    assert f"friends.csv:directed, source ann ({ann['source']})" in shown
    both = invoke("report", rows, "--table", "best").stdout
    assert "friends.csv:directed, 2 sources" in both


def test_rows_of_before_have_no_name(tmp_path: Path) -> None:
    path = write(tmp_path / "new.csv", [row()])
    lines = [line.split(",") for line in path.read_text().splitlines()]
    place = COLUMNS.index("source_id")
    old = tmp_path / "old.csv"
    old.write_text("".join(",".join([*line[:place], *line[place + 1 :]]) + "\n" for line in lines))
    assert read_results([old])["source_id"].tolist() == [""]
    shown = invoke("report", old, "--table", "best", "--format", "json")
    assert json.loads(shown.stdout)["best"]["rows"][0]["search_ms"] == 1.0
