"""Malicious rows: every command and format reports the error, or escapes the text."""

import csv
import io
import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest
from click.testing import Result

from bfsbench.rows import reading
from bfsbench.rows.columns import COLUMNS
from bfsbench.rows.results import read_results, read_rows
from tests.commands import invoke
from tests.report.result_rows import failed_row, host_row, row
from tests.report.test_roofline import ceilings

COMMANDS = {
    "text": ("report", "{rows}"),
    "markdown": ("report", "--format", "markdown", "{rows}"),
    "csv": ("report", "--format", "csv", "--table", "best", "{rows}"),
    "json": ("report", "--format", "json", "{rows}"),
    "html": ("report", "--format", "html", "{rows}"),
    "svg": ("report", "--format", "svg", "--out", "{folder}", "{rows}"),
    "roofline": ("roofline", "{rows}"),
    "compare": ("compare", "{rows}", "{rows}"),
}
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e"


def written(folder: Path, *rows: dict[str, object]) -> Path:
    """A result file written without ResultWriter."""
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def told(name: str, rows: Path) -> Result:
    ceilings(rows.parent)
    words = [word.format(rows=rows, folder=rows.parent / "pictures") for word in COMMANDS[name]]
    result = invoke(*words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "compare"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"family": "sort"}, "unknown family 'sort'"),
        ({"schema": "2"}, "rows.csv: row 2 has schema '2', not 1"),
        (
            {"search_ms": "-1"},
            "rows.csv: row 2: column search_ms has -1, which is not a finite number, 0 or more",
        ),
        ({"energy_j": "-0.5"}, "column energy_j has -0.5, which is not"),
        ({"block": "32.5"}, "column block has 32.5, which is not a count"),
        ({"source": "-1"}, "column source has -1, which is not a count"),
        ({"num_edges": "inf"}, "column num_edges has inf, which is not a count"),
        ({"num_vertices": "9" * 400}, "column num_vertices has inf, which is not a count"),
        ({"block": "9" * 30}, "column block has 1e+30, which is not a count"),
        ({"search_ms": "inf"}, "column search_ms has inf, which is not a finite number"),
    ],
)
def test_values_that_no_row_has_are_one_line(
    tmp_path: Path, name: str, change: dict[str, str], says: str
) -> None:
    result = told(name, written(tmp_path, row(), {**row(), **change}))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("bfsbench: ") and says in line
    assert result.stdout == ""


@pytest.mark.parametrize("change", [{"kernel_ms": "-2"}, {"kernel_launches": "1.5"}])
def test_a_page_checks_columns_that_no_table_of_a_terminal_reads(
    tmp_path: Path, change: dict[str, str]
) -> None:
    result = told("html", written(tmp_path, row(), {**row(), **change}))
    assert result.exit_code == 2
    assert f"column {next(iter(change))} has" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_is_not_told_what_to_do(tmp_path: Path, name: str) -> None:
    """Escape sequences in a graph's name, a reason, a device and a commit."""
    evil = {"graph": f"{EVIL}g:directed", "gpu": f"{EVIL}H200", "commit": f"{EVIL}c"}
    times = [{**row(block=block), **evil} for block in (64, 128)]
    path = written(tmp_path, *times, {**failed_row(reason=f"{EVIL}reason"), **evil}, host_row(3.0))
    result = told(name, path)
    said = result.stdout + result.stderr
    pictures = [file.read_text() for file in tmp_path.glob("pictures/*.svg")]
    assert bool(pictures) == (name == "svg")
    for text in (said, *pictures):
        assert all(one.isprintable() or one == "\n" for one in text)
    assert r"\x1b]0;owned\x07" in said.replace("\\\\", "\\") or name in ("svg", "roofline", "compare")
    for text in pictures:
        xml.etree.ElementTree.fromstring(text)


def test_csv_holds_no_formulas(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)"]
    path = written(tmp_path, *(row(graph=f"{name}:directed") for name in names), row(graph="good:directed"))
    shown = [line["graph"] for line in csv.DictReader(io.StringIO(told("csv", path).stdout))]
    assert sorted(shown) == sorted([*(f"'{name}:directed" for name in names), "good:directed"])
    known = json.loads(told("json", path).stdout)["best"]["rows"]
    assert {line["graph"] for line in known} == {f"{name}:directed" for name in (*names, "good")}


def test_a_dollar_is_no_formula_in_pictures(tmp_path: Path) -> None:
    path = written(tmp_path, *(row(graph=r"$\frac{:directed", block=block) for block in (64, 128)))
    result = told("svg", path)
    assert result.exit_code == 0
    assert any(r"$\frac{" in file.read_text() for file in tmp_path.glob("pictures/*.svg"))


def test_a_graph_file_whose_name_is_a_formula_is_a_path_in_rows(tmp_path: Path) -> None:
    (tmp_path / "=1+1").write_text("0 1\n1 2\n")
    words = ["--dataset", "=1+1", "--variant", "cpu_queue", "--repeats", "1", "--out", "r.csv"]
    subprocess.run([sys.executable, "-m", "bfsbench", "run", *words], cwd=tmp_path, check=True)
    (found,) = read_rows(tmp_path / "r.csv")
    assert found["graph"] == "./=1+1:directed"


@pytest.mark.parametrize("name", ["\x1b[2Jg.txt", "a\nb.txt", "\udcff.txt"])
def test_a_graph_file_that_no_row_could_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("0 1\n")
    result = invoke("run", "--dataset", tmp_path / name, "--variant", "cpu_queue")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "its name has unprintable characters" in line and line.isprintable()


def test_whole_files_are_read_by_the_fast_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow one takes minutes and gigabytes for a million rows; it is for files that may be damaged."""
    path = written(tmp_path, row(), row(block=64), host_row(3.0))
    monkeypatch.setattr(reading, "read_rows", lambda *_: pytest.fail("read by the slow parser"))
    assert len(read_results([path])) == 3
    texts = reading.read_texts(path, COLUMNS, ["graph", "status"])
    assert texts["status"] == ["ok"] * 3


@pytest.mark.parametrize("more", [",1", ",", ',"1'])
@pytest.mark.parametrize("place", [1, 2])
def test_rows_that_are_too_long_are_one_line(tmp_path: Path, more: str, place: int) -> None:
    path = written(tmp_path, row(), row(block=64))
    lines = path.read_text().splitlines()
    lines[place] += more
    path.write_text("\n".join(lines) + "\n")
    assert "columns" in told("csv", path).stderr
