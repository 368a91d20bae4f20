"""Pages of many rows: they leave out the slowest, and say so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bfsbench.bench.results import read_results
from bfsbench.report.html.content import content
from bfsbench.report.levels import read_levels
from tests.report.level_rows import level, profiled
from tests.report.result_rows import failed_row, row, write


def test_the_fastest_points_of_each_search_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [5.0, 3.0, 4.0, 1.0]
    rows = [row(time, variant=name, source=i) for name in ("pull", "luo") for i, time in enumerate(times)]
    path = write(tmp_path / "rows.csv", [*rows, failed_row(variant="luo", source=9)])
    monkeypatch.setattr(sys.modules[content.__module__], "_MOST_POINTS", 5)
    (points,) = (
        table for table in content(read_results([path]), None)["tables"] if table["name"] == "points"
    )
    keys = [column["key"] for column in points["columns"]]
    shown = [dict(zip(keys, line, strict=True)) for line in points["rows"]]
    assert [(point["variant"].split()[0], point["search_ms"]) for point in shown] == [
        *(("pull", 3.0), ("pull", 1.0)),
        *(("luo", 3.0), ("luo", 1.0), ("luo", None)),
    ]
    assert points["title"] == "Fastest points"
    assert points["notes"][0].startswith("5 of 9 rows of the result files")


def test_profiles_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1.0, source=source) for source in range(3)]
    levels = [level(number, source=source) for source in range(3) for number in range(4)]
    path = profiled(tmp_path, rows, levels)
    monkeypatch.setattr(sys.modules[content.__module__], "_MOST_LEVELS", 9)
    made = content(read_results([path]), read_levels([path]))
    assert len(made["profiles"]) == 2
    assert made["warnings"] == [
        "2 of 3 level profiles are on this page, the first of the files; --graph, --variant and --backend "
        "choose others"
    ]
    monkeypatch.undo()
    made = content(read_results([path]), read_levels([path]))
    assert (len(made["profiles"]), made["warnings"]) == (3, [])
