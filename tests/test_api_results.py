"""Reports, comparisons and checks from Python do what the commands do; sweeps take graphs in memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import bfsbench
import bfsbench.reports.comparison.points
import bfsbench.reports.table
from bfsbench.support.errors import InputError, UsageError
from tests.commands import invoke
from tests.report.result_rows import failed_row, host_row, row, write


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    made = [row(2.0), row(1.0, block=512), host_row(9.0), failed_row(block=1024), row(3.0, graph="other")]
    return write(tmp_path / "rows.csv", made)


def test_a_report_has_the_tables_of_the_command(rows: Path) -> None:
    told = invoke("report", rows, "--format", "json")
    wanted = json.loads(told.stdout)
    made = bfsbench.report(rows)
    assert list(made) == list(wanted)
    for name, table in made.items():
        assert len(table) == len(wanted[name]["rows"])
        assert not len(table) or list(table) == list(wanted[name]["rows"][0])
    (best,) = bfsbench.report([rows], tables="best", graphs=["grid"], variants=["bottom_up"]).values()
    assert best["search_ms"].tolist() == [1.0]


def test_rows_in_memory_are_reported_as_those_of_a_file(rows: Path) -> None:
    here = bfsbench.report(bfsbench.read_results(rows))
    there = bfsbench.report(rows)
    assert all(here[name].equals(there[name]) for name in there)


@pytest.mark.parametrize("name", ["x.html", "x.tex", "x.csv", "x.svg"])
def test_a_report_writes_what_the_name_means(name: str, rows: Path, tmp_path: Path) -> None:
    bfsbench.report(rows, tables="best", backends=["cuda"], out=tmp_path / name)
    beginning = {"x.html": "<!DOCTYPE", "x.tex": "% In the", "x.csv": "graph,", "x.svg": "<?xml"}[name]
    assert (tmp_path / name).read_text(encoding="utf-8").lstrip().startswith(beginning)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tables": "bets"}, "unknown table 'bets': there are datasets, ranking"),
        ({"out": "x.docx"}, r"means no format: it has to end in one of .html, .txt"),
        ({"variants": ["luo"]}, "no rows of variant 'luo'"),
    ],
)
def test_mistakes_of_reports_are_named(options: dict[str, str], says: str, rows: Path) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.report(rows, **options)


def test_files_and_rows_are_compared(rows: Path, tmp_path: Path) -> None:
    samples = {"search_ms_samples": "2.0;2.01;2.02;2.0;2.01;2.0", "search_ms": 2.0}
    slow = {"search_ms_samples": "9.0;9.01;9.02;9.0;9.01;9.0", "search_ms": 9.0}
    old = write(tmp_path / "old.csv", [{**row(), **samples}, {**row(block=64), **samples}])
    new = write(tmp_path / "new.csv", [{**row(), **slow}, {**row(block=64), **samples}])
    told = invoke("compare", old, new)
    found = bfsbench.compare(old, new)
    assert found.is_worse and told.exit_code == 1
    points = found.frame()
    assert dict(zip(points["block"], points["verdict"], strict=True)) == {"256": "slower", "64": "same"}
    assert points["b_ms"].tolist() == [9.0, 2.0]
    again = bfsbench.compare(bfsbench.read_results(old), bfsbench.read_results(new)).frame()
    assert again.equals(points)
    with pytest.raises(UsageError, match="no point is both in"):
        bfsbench.compare(old, host_file(tmp_path))
    with pytest.raises(UsageError, match="side A has no result rows: it lacks graph"):
        bfsbench.compare(pd.DataFrame({"a": [1]}), new)


def host_file(folder: Path) -> Path:
    return write(folder / "host.csv", [host_row(1.0)])


def test_packages_are_called_and_imported() -> None:
    """Whatever is imported first."""
    code = "import bfsbench; from bfsbench.reports.table import render; bfsbench.report('none.csv')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError: cannot read none.csv" in done.stderr
    assert callable(bfsbench.reports.comparison.points.compare) and bfsbench.reports.table.FORMATS


def test_checks_find_what_the_command_finds() -> None:
    found = bfsbench.check("push", ["path(n=9)"], seeds=1, block=32)
    assert list(found)[:3] == ["variant", "fault", "kernel"]
    assert found["benign"].all() and set(found["variant"]) <= {"frontier_numbers"}
    assert found["line"].str.match(r"[a-z_]+\.cuh?:[0-9]+").all()
    with pytest.raises(UsageError, match="cpu_queue has no kernels"):
        bfsbench.check("cpu_queue")
    with pytest.raises(UsageError, match="seeds must be at least 1"):
        bfsbench.check("push", seeds=0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"grid": 0}, "grid must be at least 1, not 0"),
        ({"block": -3}, "block must be at least 1, not -3"),
        ({"block": 2.5}, "block must be a whole number, not 2.5"),
        ({"seeds": 1.5}, "seeds must be a whole number, not 1.5"),
    ],
)
def test_numbers_of_checks_are_whole_and_positive(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.check("push", ["path(n=9)"], **options)


@pytest.mark.parametrize(("name", "says"), [("x" * 300, "File name too long"), ("a\0", "embedded null byte")])
def test_names_that_no_result_file_can_have(name: str, says: str) -> None:
    with pytest.raises(InputError, match=f"cannot read .*{says}"):
        bfsbench.read_results(f"{name}.csv")


def test_graphs_in_memory_are_swept(tmp_path: Path) -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 3], [1, 2]])
    undirected = bfsbench.Graph.from_edges(pairs[:, 0], pairs[:, 1], directed=False, name="my graph")
    matrix = scipy.sparse.eye_array(5, k=1, format="csr")
    table = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    swept = bfsbench.sweep([undirected, matrix, table], "cpu_queue", repeats=1, sources=[0])
    assert swept["status"].tolist() == ["ok"] * 3
    assert swept["num_edges"].tolist() == [8, 4, 2]
    assert swept["graph_checksum"][0] == undirected.checksum
    assert swept["graph"].tolist() == ["my_graph:symmetrised", "graph:directed", "graph:directed"]
    again = bfsbench.sweep(undirected, "cpu_queue", repeats=1, sources=[0])
    assert again["graph"][0] == swept["graph"][0]


def test_what_is_no_graph_is_named() -> None:
    with pytest.raises(UsageError, match=r"a dict is not a graph: accepted are a Graph, a name or path"):
        bfsbench.sweep([{"a": 1}], "cpu_queue")  # type: ignore[list-item]
