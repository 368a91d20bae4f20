"""Vertices that have names in their file keep them in rows and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bfsbench.bench.columns import COLUMNS
from bfsbench.bench.results import read_results, read_rows
from bfsbench.cli import main
from tests.report.result_rows import row, write


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path, out = tmp_path / "friends.csv", tmp_path / "rows.csv"
    path.write_text("from,to\nann,=bob\n=bob,cleo\n")
    for name in ("ann", "=bob"):
        words = ("run", "--dataset", str(path), "--variant", "cpu_queue", "--repeats", "1", "--out", str(out))
        more = ("--resume",) if out.exists() else ()
        result = CliRunner().invoke(main, [*words, *more, "--source-id", name])
        assert result.exit_code == 0, result.stderr
    return out


def test_rows_have_the_name_of_the_source_as_no_formula(rows: Path) -> None:
    found = {row["source"]: row["source_id"] for row in read_rows(rows)}
    assert sorted(found.values()) == ["'=bob", "ann"]


def test_reports_name_the_one_source(rows: Path, tmp_path: Path) -> None:
    (ann,) = [one for one in read_rows(rows) if one["source_id"] == "ann"]
    alone = write(tmp_path / "one.csv", [ann])
    shown = CliRunner().invoke(main, ["report", str(alone), "--table", "best"]).stdout
    assert f"friends.csv:directed, source ann ({ann['source']})" in shown
    both = CliRunner().invoke(main, ["report", str(rows), "--table", "best"]).stdout
    assert "friends.csv:directed, 2 sources" in both


def test_rows_of_before_have_no_name(tmp_path: Path) -> None:
    path = write(tmp_path / "new.csv", [row()])
    lines = [line.split(",") for line in path.read_text().splitlines()]
    place = COLUMNS.index("source_id")
    old = tmp_path / "old.csv"
    old.write_text("".join(",".join([*line[:place], *line[place + 1 :]]) + "\n" for line in lines))
    assert read_results([old])["source_id"].tolist() == [""]
    shown = CliRunner().invoke(main, ["report", str(old), "--table", "best", "--format", "json"])
    assert json.loads(shown.stdout)["best"]["rows"][0]["search_ms"] == 1.0
