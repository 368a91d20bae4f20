"""Levels of several searches side by side, and what they add up to."""

from pathlib import Path

import pytest
from level_rows import level, profiled
from result_rows import drawings, emulated_row, only, records, row

from bfsbench.reports import Table, summary, tables
from bfsbench.reports.html import profiles as profiles_of_page
from bfsbench.reports.levels import read_levels
from bfsbench.reports.measured import TimedRows
from bfsbench.reports.plots.profile import profiles
from bfsbench.reports.rows import kinds
from bfsbench.rows.results import read_results
from bfsbench.support.errors import InputError


def test_level_profiles_of_a_missing_file_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_levels([tmp_path / "rows.csv"])


def made(path: Path, *names: str) -> list[Table]:
    return tables(read_results([path]), names, read_levels([path]))


def test_levels_stand_down_and_searches_across(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, variant="luo"), row(1.0, variant="luo", block=64)]
    levels = [level(number) for number in range(3)]
    levels += [level(0, variant="luo", kernel="luo_block", edges_inspected="", time_us=3.5)]
    levels += [level(0, variant="luo", kernel="luo_block", edges_inspected=9, block=64)]
    table = only(made(profiled(tmp_path, rows, levels), "levels"))
    assert len(table.rows) == 5
    assert {line["kernel"] for line in records(table)} == {"pull", "luo_block"}
    shown = only(list(drawings(table)))
    assert shown.title == "grid:directed, source 0"
    assert [(line["level"], line["frontier"]) for line in records(shown)] == [(0, 1), (1, 2), (2, 4)]
    assert [line["pull: arcs"] for line in records(shown)] == [7, 7, 7]
    assert [line["luo block 64: arcs"] for line in records(shown)] == [9, None, None]
    assert [line["luo block 256: us"] for line in records(shown)] == [3.5, None, None]


def test_levels_of_emulated_kernels_have_no_times(tmp_path: Path) -> None:
    path = profiled(tmp_path, [emulated_row()], [level(0, backend="cpu", gpu="")])
    table = only(made(path, "levels"))
    assert "emulated" in table.title
    assert drawings(table)[0].columns == ("level", "frontier", "pull: arcs")


def test_sources_go_by_their_names(tmp_path: Path) -> None:
    rows = [row(source_id="ann"), row(source=1, source_id="bob")]
    path = profiled(tmp_path, rows, [level(0), level(0, source=1)])
    titles = [drawing.title for drawing in drawings(only(made(path, "levels")))]
    assert titles == ["grid:directed, source ann (0)", "grid:directed, source bob (1)"]
    (measured,) = [TimedRows.of(kind, read_levels([path])) for kind in kinds(read_results([path]))]
    pictures = [one.title.rpartition(", ")[2] for one in profiles(measured)]
    assert pictures == ["source ann (0)", "source bob (1)"]
    assert [one["source"] for one in profiles_of_page(measured)] == ["ann (0)", "bob (1)"]


def test_rows_without_profiles_say_how_to_get_some(tmp_path: Path) -> None:
    path = profiled(tmp_path, [row()], [level(0, variant="luo")])
    assert "bfsbench run --profile" in only(made(path, "levels")).notes[0]
    assert "levels" not in {table.name for table in tables(read_results([path]))}


def test_arcs_read_are_added_up_over_the_levels(tmp_path: Path) -> None:
    rows = [row(2.0), row(2.0, source=1), row(1.0, variant="luo")]
    sources = (0, 1)
    levels = [level(n, source=source, edges_inspected=10 + source) for n in (0, 1) for source in sources]
    levels += [level(0, variant="luo", edges_inspected=5), level(1, variant="luo", edges_inspected="")]
    (best,) = made(profiled(tmp_path, rows, levels), "best")
    found = {line["variant"]: line["edges_inspected"] for line in records(best)}
    assert found == {"pull": 21, "luo": None}  # of one level of luo nobody knows


def test_a_sweep_ends_with_counts_of_emulated_searches_and_no_times(tmp_path: Path) -> None:
    levels = [level(number, backend="cpu", gpu="") for number in range(3)]
    path = profiled(tmp_path, [emulated_row(5.0), emulated_row(6.0, block=64)], levels)
    table = only(summary(read_results([path]), read_levels([path])))
    assert records(drawings(table)[0]) == [{"variant": "pull", "points": 2, "edges_inspected": 21}]
