"""A family that a user declares in a folder, ``tests/components``, works like a family of the package."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.rows.columns import COLUMNS

ROOT = Path(__file__).parent.parent
COMPONENTS = ROOT / "tests" / "components"
TWO_PARTS = "0 1\n1 2\n3 4\n5 5\n"


SEVERAL_COMMANDS = """
import json, sys
from click.testing import CliRunner
from bfsbench.cli import main

results = [CliRunner().invoke(main, words) for words in json.loads(sys.argv[1])]
print(json.dumps([(result.exit_code, result.stdout, result.stderr) for result in results]))
"""


def python(*words: str, cwd: Path, check: int = 0, folder: Path | None = COMPONENTS) -> str:
    """Returns the output of a Python program with the family's folder, or its stderr if ``check`` is 2."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"BFSBENCH_VARIANTS": str(folder)} if folder else {}
    done = subprocess.run([sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == check, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if check > 1 else done.stdout


def bfsbench(*words: str, cwd: Path, check: int = 0, folder: Path | None = COMPONENTS) -> str:
    """Returns the output of a command like ``python``."""
    return python("-m", "bfsbench", *words, cwd=cwd, check=check, folder=folder)


def several(*commands: tuple[str, ...], cwd: Path) -> list[tuple[int, str, str]]:
    """Runs commands in one process with the family's folder. Returns the exit code, stdout and stderr of
    each."""
    return [tuple(done) for done in json.loads(python("-c", SEVERAL_COMMANDS, json.dumps(commands), cwd=cwd))]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with two graphs and the rows of all variants of the family on them."""
    folder = tmp_path_factory.mktemp("components")
    (folder / "parts.txt").write_text(TWO_PARTS)
    graphs = "parts.txt:symmetrised,path(n=12)"
    words = ("--backend", "cpu", "--out", "r.csv", "--repeats", "3", "--block", "32,64", "--both-ways", "0,1")
    bfsbench("run", "--family", "cc", "--dataset", graphs, *words, cwd=folder, check=1)
    return folder


def test_it_is_listed(swept: Path) -> None:
    asked = several(("list", "variants"), ("list", "knobs"), ("run", "--help"), cwd=swept)
    assert [code for code, *_ in asked] == [0, 0, 0]
    variants, knobs, helped = (shown for _, shown, _ in asked)
    assert "cc_spread" in variants and "cc_host" in variants
    assert "BOTH_WAYS" in knobs
    assert "cc" in helped


def test_it_is_swept_and_checked(swept: Path) -> None:
    lines = (swept / "r.csv").read_text().splitlines()
    assert lines[0].split(",") == [*COLUMNS, "components", "shape", "arcs_us"]
    found = list(csv.DictReader(lines))
    right = [row for row in found if row["variant"] != "cc_merged"]
    assert len(right) == 2 * (4 + 1) and {row["status"] for row in right} == {"ok"}
    assert {(row["graph"][:5], row["components"], row["shape"]) for row in right} == {
        ("parts", "3", "several"),
        ("path(", "1", "one"),
    }
    merged = {row["graph"][:5]: row for row in found if row["variant"] == "cc_merged"}
    assert (merged["parts"]["status"], merged["parts"]["reason"]) == ("wrong", "1 of 6 labels differ")
    assert merged["path("]["status"] == "ok"
    assert all(float(row["arcs_us"]) > 0 and not row["mteps"] for row in right)


def test_it_is_resumed(swept: Path) -> None:
    graph = ("--dataset", "path(n=12)", "--repeats", "3")
    words = (*graph, "--variant", "cc_host", "--out", "r.csv", "--resume")
    before = (swept / "r.csv").read_text()
    bfsbench("run", *words, cwd=swept)
    assert (swept / "r.csv").read_text() == before


@pytest.mark.exhaustive
def test_a_file_of_another_family_gets_its_columns(tmp_path: Path) -> None:
    graph = ("--dataset", "path(n=4)", "--backend", "cpu", "--out", "r.csv")
    bfsbench("run", *graph, "--variant", "cpu_queue", cwd=tmp_path)
    header, row = (tmp_path / "r.csv").read_text().splitlines()
    assert header == ",".join(COLUMNS)
    bfsbench("run", *graph, "--variant", "cc_host", "--resume", cwd=tmp_path)
    first, *both = (tmp_path / "r.csv").read_text().splitlines()
    assert first == f"{header},components,shape,arcs_us" and both[0] == f"{row},,,"
    assert both[1].split(",")[-3:-1] == ["1", "one"]


@pytest.mark.exhaustive
def test_it_is_reported(swept: Path) -> None:
    drawing = ("report", "r.csv", "--format", "svg", "--out", "plots", "--plot")
    asked = several(
        ("report", "r.csv", "--format", "json"),
        ("report", "r.csv"),
        ("report", "r.csv", "--format", "html"),
        (*drawing, "bars"),
        (*drawing, "profile"),
        cwd=swept,
    )
    assert [code for code, *_ in asked] == [0, 0, 0, 0, 2]
    tables, text, page, *_ = (shown for _, shown, _ in asked)
    made = json.loads(tables)
    best = [*made["best_cc"]["rows"], *made["best_cc_emulated"]["rows"]]
    assert {row["variant"] for row in best} == {"cc_host", "cc_merged", "cc_spread"}
    assert all(row["arcs_us"] > 0 and "mteps" not in row for row in best)
    assert "connected components" in text and "all components" in text and "arcs/us" in text
    assert "arcs_us" in page
    assert list((swept / "plots").glob("bars_cc*.svg"))
    assert "have nothing for 'profile'" in asked[-1][2]


def test_it_is_compared(swept: Path) -> None:
    words = ("--table", "points", "--format", "csv")
    assert "cc_host" in bfsbench("compare", "r.csv", "r.csv", *words, cwd=swept)


def test_its_rows_cannot_be_read_without_it(swept: Path) -> None:
    said = bfsbench("report", "r.csv", cwd=swept, check=2, folder=None)
    assert "columns of no family" in said and "components, shape, arcs_us" in said


def test_it_has_neither_paths_nor_profiles(swept: Path) -> None:
    graph = ("--dataset", "path(n=12)", "--variant", "cc_host")
    paths = ("path", *graph, "--source", "0", "--target", "3")
    asked = several(paths, ("run", *graph, "--profile"), cwd=swept)
    assert [code for code, *_ in asked] == [2, 2]
    assert "variants of family cc find no paths" in asked[0][2]
    assert "connected components have none" in asked[1][2]


def test_it_is_used_from_python(swept: Path) -> None:
    code = (
        "import bfsbench; graph = bfsbench.load('parts.txt:symmetrised'); "
        "found = bfsbench.solve(graph, 'spread', backend='cpu', block=32, BOTH_WAYS=1); "
        "print(found.answer.tolist(), found.figures['components'], len(found.search_ms)); "
        "print(sorted(set(bfsbench.read_results('r.csv')['components'].dropna().tolist())))"
    )
    assert python("-c", code, cwd=swept).splitlines() == ["[0, 0, 0, 3, 3, 5] 3 1", "[1, 3]"]
