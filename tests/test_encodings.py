"""Tests terminals that cannot show every character, and file names that are not text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOT_TEXT = os.fsdecode(b"caf\xe9")
"""A file name in Latin-1, which is not valid UTF-8."""


def bfsbench(*words: str, cwd: Path, code: int = 0, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "bfsbench", *words]
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.csv"
    path.write_text("source,target\nä,ö\nö,€\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_what_an_encoding_lacks_is_escaped(encoding: str, graph: Path) -> None:
    words = ("path", "--dataset", "./graph.csv", "--source", "ä", "--target", "€")
    lines = bfsbench(*words, cwd=graph.parent, PYTHONIOENCODING=encoding).stdout.splitlines()
    assert lines[0] == "ä".encode(encoding)
    assert lines[-1] == ("€".encode() if encoding == "utf-8" else b"\\u20ac")


def test_the_marks_of_heat_maps_are_escaped(tmp_path: Path) -> None:
    sweep = ("run", "--dataset", "path(n=9)", "--variant", "push", "--block", "32,64", "--repeats", "1")
    bfsbench(*sweep, "--backend", "cpu", "--out", "rows.csv", cwd=tmp_path, PYTHONIOENCODING="ascii")
    words = ("report", "rows.csv", "--table", "heatmap")
    shown = bfsbench(*words, cwd=tmp_path, PYTHONIOENCODING="ascii").stdout
    assert b"Marks: * best, \\xb7 up to" in shown


@pytest.mark.exhaustive
def test_result_files_may_have_any_name(graph: Path) -> None:
    rows, there = f"{NOT_TEXT}.csv", graph.parent
    sweep = ("run", "--dataset", "./graph.csv", "--variant", "cpu_queue", "--repeats", "1", "--out", rows)
    bfsbench(*sweep, cwd=there)
    done = bfsbench(*sweep, "--resume", cwd=there)
    assert b"nothing left to do" in done.stderr
    for name in ("page.html", f"{NOT_TEXT}.md", f"{NOT_TEXT}.json"):
        bfsbench("report", rows, "--out", name, cwd=there)
        assert (there / name).stat().st_size > 0


def test_graphs_in_folders_whose_names_are_not_text_are_refused(graph: Path) -> None:
    folder = graph.parent / NOT_TEXT
    folder.mkdir()
    moved = graph.rename(folder / "graph.csv")
    line = b"bfsbench: graph file 'graph.csv': rename its folder '"
    words = ("run", "--variant", "cpu_queue", "--dataset", str(moved))
    assert bfsbench(*words, cwd=folder, code=2).stderr.startswith(line)
    named = moved.rename(graph.parent / f"{NOT_TEXT}.csv")
    done = bfsbench(*words[:-1], str(named), cwd=graph.parent, code=2)
    assert b"caf\\udce9.csv': rename it, its name has unprintable characters" in done.stderr
