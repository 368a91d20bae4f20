"""Tables for rows with known results."""

import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from result_rows import (
    EDGES_TRAVERSED,
    drawings,
    emulated_row,
    failed_row,
    frame,
    host_row,
    only,
    records,
    row,
    table_of,
)

from bfsbench.reports import summary, tables
from bfsbench.reports.rows import kinds
from bfsbench.rows.results import typed


def test_best_picks_the_fastest_configuration(tmp_path: Path) -> None:
    rows = [
        row(3.0, grid="auto", block=64, knobs="W_SZ=4"),
        row(2.0, grid=128, block=512, knobs="W_SZ=8"),
        row(2.5, grid="auto", block=64, knobs="W_SZ=8"),
        failed_row(block=1024, knobs="W_SZ=8"),
    ]
    (best,) = records(table_of("best", tmp_path, rows))
    assert (best["grid"], best["block"], best["knobs"]) == ("128", 512, "W_SZ=8")
    assert best["search_ms"] == 2.0
    assert best["median_ms"] == pytest.approx(2.2)
    assert best["spread"] == pytest.approx(1.5)
    assert best["mteps"] == pytest.approx(EDGES_TRAVERSED / 2.0 / 1000)


def test_settings_lists_every_setting_with_its_ratio_to_the_best_of_its_search(tmp_path: Path) -> None:
    rows = [
        row(3.0, grid="auto", block=64),
        row(2.0, grid=128, block=512),
        row(1.0, variant="bfs4k", knobs="K1=4 K2=0.5"),
        row(4.0, variant="bfs4k", knobs="K1=8 K2=0.5"),
        failed_row(block=1024),
    ]
    table = table_of("settings", tmp_path, rows)
    found = [(line["variant"], line["search_ms"], line["times_best"]) for line in records(table)]
    assert found == [("bfs4k", 1.0, 1.0), ("bfs4k", 4.0, 4.0), ("pull", 2.0, 1.0), ("pull", 3.0, 1.5)]
    (drawn,) = drawings(table)
    place = drawn.columns.index("knobs")
    assert "K1=8" in str(drawn.rows[1][place])


def test_variants_and_graphs_each_have_a_best(tmp_path: Path) -> None:
    road = row(1.0, graph="road:symmetrised", graph_checksum="r")
    table = table_of("best", tmp_path, [row(3.0), road, row(2.0, variant="simple")])
    found = {(line["graph"], line["variant"]): line["search_ms"] for line in records(table)}
    grid, other = "grid:directed", "road:symmetrised"
    assert found == {(grid, "pull"): 3, (grid, "simple"): 2, (other, "pull"): 1}
    assert [drawing.rows[0][0] for drawing in drawings(table)] == ["simple", "pull"]


def test_times_of_emulated_kernels_stand_apart(tmp_path: Path) -> None:
    kernels = [row(5.0), row(6.0, block=64), emulated_row(1.0), emulated_row(2.0, block=64)]
    rows = frame(tmp_path, [*kernels, host_row(9.0)])
    for name in ("best", "heatmap"):
        measured, emulated = tables(rows, [name])
        assert {line["backend"] for line in records(measured)} <= {"cuda", "host"}
        assert {line["backend"] for line in records(emulated)} == {"cpu"}
        assert "emulated on the CPU: shows that it works, never how fast it is" in emulated.title
        assert "emulated" not in measured.title
    assert min(line["search_ms"] for line in records(tables(rows, ["best"])[0])) == 5.0


def test_rows_of_one_kind_make_one_table(tmp_path: Path) -> None:
    assert table_of("best", tmp_path, [emulated_row()]).name == "best_emulated"
    assert table_of("best", tmp_path / "more", [row()]).name == "best"


def test_speedup_is_over_the_best_sequential_row_of_that_graph_and_source(tmp_path: Path) -> None:
    rows = [
        row(2.0),
        host_row(10.0),
        host_row(8.0),
        host_row(1.0, source=7),
        host_row(4.0, variant="cpu_parallel"),
    ]
    found = {line["variant"]: line["speedup"] for line in records(table_of("best", tmp_path, rows))}
    assert found["pull"] == pytest.approx(4.0)
    assert found["cpu_parallel"] == pytest.approx(2.0)
    assert found["cpu_queue"] == pytest.approx(1.0)


@pytest.mark.parametrize("changes", [{"host": "node2"}, {"host_cpu": "EPYC"}, {"graph_checksum": "other"}])
def test_no_speedup_across_machines_or_graphs(tmp_path: Path, changes: dict[str, str]) -> None:
    rows = [row(2.0), host_row(8.0, **changes)]
    found = {line["variant"]: line["speedup"] for line in records(table_of("best", tmp_path, rows))}
    assert found["pull"] is None


def test_two_devices_are_not_mixed_into_one_best(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, gpu="NVIDIA A100", host="node2")]
    table = table_of("best", tmp_path, rows)
    found = {line["device"]: line["search_ms"] for line in records(table)}
    assert found == {"NVIDIA H200": 2, "NVIDIA A100": 1}
    assert "device" in drawings(table)[0].columns


def test_several_sources_are_put_together(tmp_path: Path) -> None:
    times = {"64": [1.0, 2.0, 9.0, 4.0], "128": [3.5, 3.0, 3.2, 3.1]}
    rows = [row(ms, source=i, block=block) for block, values in times.items() for i, ms in enumerate(values)]
    rows += [host_row(12.0, source=i) for i in range(4)]
    pull = next(line for line in records(table_of("best", tmp_path, rows)) if line["variant"] == "pull")
    assert pull["block"] == 64  # median 3.0 against 3.15
    assert pull["sources"] == 4
    assert pull["search_ms"] == statistics.median(times["64"])
    rates = [EDGES_TRAVERSED / ms / 1000 for ms in times["64"]]
    assert pull["mteps"] == pytest.approx(statistics.harmonic_mean(rates))
    quartiles = [pull[name] for name in ("mteps_q1", "mteps_median", "mteps_q3")]
    assert quartiles == pytest.approx(statistics.quantiles(rates, n=4, method="inclusive"))
    assert pull["speedup"] == pytest.approx(statistics.median(12 / ms for ms in times["64"]))


def test_the_median_stands_beside_a_mean_that_one_short_search_rules(tmp_path: Path) -> None:
    rows = [row(1.0, source=i) for i in range(9)]
    rows.append(row(1.0, source=9, reached=1, num_vertices=1000, edges_traversed=1, mteps=0.001))
    rows = [{**values, "num_vertices": 1000} for values in rows]
    table = table_of("best", tmp_path, rows)
    (best,) = records(table)
    assert best["mteps"] < 0.01 < 1.0 == best["mteps_median"]
    assert table.notes[-1] == (
        "Warning: grid:directed: 1 of 10 sources reached less than 1 % of the vertices; "
        "the harmonic mean is theirs, look at the median."
    )
    shown = drawings(table)[0].columns
    assert shown.index("mteps_median") == shown.index("mteps") + 1


def test_one_short_search_is_told(tmp_path: Path) -> None:
    table = table_of("best", tmp_path, [row(reached=1, num_vertices=101), host_row()])
    assert table.notes[-1] == "Warning: grid:directed: the source reached less than 1 % of the vertices."


def test_the_graph500_rate_is_kept_apart(tmp_path: Path) -> None:
    rows = [row(1.0, mteps=8, mteps_graph500=4), row(1.0, mteps=2, mteps_graph500=1, source=1)]
    (best,) = records(table_of("best", tmp_path, rows))
    assert (best["mteps"], best["mteps_graph500"]) == (pytest.approx(3.2), pytest.approx(1.6))


def test_a_configuration_that_failed_from_a_source_does_not_win_by_the_others(tmp_path: Path) -> None:
    rows = [row(5.0, source=i, block=64) for i in range(3)]
    rows += [row(1.0, source=0, block=128), failed_row(source=1, block=128), failed_row(source=2, block=128)]
    (best,) = records(table_of("best", tmp_path, rows))
    assert best["block"] == 64


def test_a_point_measured_twice_counts_once(tmp_path: Path) -> None:
    rows = [row(4.0), row(2.0), row(10.0, source=1)]
    (best,) = records(table_of("best", tmp_path, rows))
    assert (best["sources"], best["search_ms"]) == (2, 6.0)


def test_rows_of_code_that_is_no_more_do_not_count(tmp_path: Path) -> None:
    late = "2026-11-22T10:00:00Z"
    rows = [
        row(1.0, code="a" * 16),
        row(3.0, code="b" * 16, taken_at=late),
        row(2.0, code="b" * 16, taken_at=late, knobs="K=1"),
        row(9.0, code="a" * 16, knobs="K=2"),  # this point has no row of the other code
    ]
    (kind,) = kinds(frame(tmp_path, rows))
    assert sorted(kind.rows["search_ms"]) == [2.0, 3.0, 9.0]


def test_a_time_of_zero_has_no_rate(tmp_path: Path) -> None:
    (best,) = records(table_of("best", tmp_path, [row(0.0)]))
    assert (best["search_ms"], best["mteps"], best["spread"]) == (0.0, None, None)


@settings(max_examples=30)
@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=12))
def test_best_is_the_minimum_whatever_the_times(times: list[float]) -> None:
    import pandas as pd

    from bfsbench.rows.columns import COLUMNS, NUMERIC

    made = pd.DataFrame([row(ms, block=32 * i) for i, ms in enumerate(times, 1)], columns=list(COLUMNS))
    texts = {"grid": "auto", "method": "", "program": "", "clock": "", "covers": ""}
    made = made.astype(dict.fromkeys(NUMERIC, "float64")).assign(**texts)
    (best,) = records(only(tables(made, ["best"])))
    assert best["search_ms"] == min(times)
    heat = records(only(tables(made, ["heatmap"])))
    fastest = [32 * i for i, ms in enumerate(times, 1) if ms == min(times)]
    assert [line["block"] for line in heat if line["times_best"] == 1] == fastest


def test_heat_map_has_a_cell_for_every_shape_with_its_best_knobs(tmp_path: Path) -> None:
    rows = [
        row(4.0, grid="auto", block=64, knobs="W_SZ=2"),
        row(2.0, grid="auto", block=64, knobs="W_SZ=4"),
        row(1.0, grid=100, block=64, knobs="W_SZ=2"),
        row(8.0, grid=20, block=128, knobs="W_SZ=2"),
        failed_row(grid=20, block=1024),
        host_row(1.0),
    ]
    table = table_of("heatmap", tmp_path, rows)
    cells = {(line["grid"], line["block"]): line for line in records(table)}
    assert set(cells) == {("auto", 64), ("20", 128), ("100", 64)}
    assert cells["auto", 64]["knobs"] == "W_SZ=4"
    assert [cells[key]["times_best"] for key in (("100", 64), ("auto", 64), ("20", 128))] == [1, 2, 8]
    matrix = only(list(drawings(table)))
    assert matrix.columns == ("grid \\ block", "64", "128", "1024")
    assert matrix.rows == [("auto", 2.0, None, None), ("20", None, 8.0, "fail"), ("100", 1.0, None, None)]


def test_a_map_of_one_cell_is_not_drawn(tmp_path: Path) -> None:
    assert drawings(table_of("heatmap", tmp_path, [row()])) == ()


def test_in_brief_the_fastest_search_of_each_graph_is_drawn(tmp_path: Path) -> None:
    rows = [row(2.0), row(3.0, block=64), row(1.0, variant="luo"), row(4.0, variant="spmv", block=64)]
    rows += [row(5.0, variant="spmv"), row(9.0, graph="other"), row(8.0, graph="other", block=64)]
    whole = frame(tmp_path, rows)
    (brief,) = (table for table in tables(whole) if table.name == "heatmap")
    assert [drawing.title.split(",")[0] for drawing in drawings(brief)] == [
        "pull (bottom_up) on grid:directed",  # luo is faster, but has only one cell
        "pull (bottom_up) on other",
    ]
    asked = only(tables(whole, ["heatmap"]))
    assert len(drawings(asked)) == 3
    assert asked.rows == brief.rows


def test_preprocessing_is_told_where_there_was_some(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, variant="reorder", prepare_ms=12.5, compile_ms=900)]
    table = table_of("best", tmp_path, rows)
    assert any("prepare ms" in note for note in table.notes)
    (drawn,) = drawings(table)
    assert {line["variant"]: line["prepare_ms"] for line in records(drawn)} == {"reorder": 12.5, "pull": None}


def test_without_preprocessing_nothing_is_told_of_it(tmp_path: Path) -> None:
    table = table_of("best", tmp_path, [row(2.0, prepare_ms=12.5)])
    assert not any("prepare ms" in note for note in table.notes)
    assert "prepare_ms" not in drawings(table)[0].columns


def test_knobs_are_told_unless_they_have_their_default(tmp_path: Path) -> None:
    rows = [
        row(1.0, variant="virtual_warp", knobs="W_SZ=16"),
        row(2.0, variant="direction_optimized", knobs="ALPHA=14 BETA=9"),
        row(3.0, variant="forgotten", knobs="SIZE=7"),
    ]
    table = table_of("best", tmp_path, rows)
    assert [line["knobs"] for line in records(table)] == ["W_SZ=16", "ALPHA=14 BETA=9", "SIZE=7"]
    assert [line["knobs"] for line in records(drawings(table)[0])] == ["", "BETA=9", "SIZE=7"]
    assert "Knobs are shown where they differ from their variant's default." in table.legend
    assert table.notes == ()  # a reader of CSV and JSON has all of them


def test_only_what_is_shown_is_explained(tmp_path: Path) -> None:
    one = table_of("best", tmp_path, [row(2.0), row(3.0, variant="luo")])
    assert "median ms: the median over sources of the median repeat." in one.legend
    assert not any("Knobs" in line for line in one.legend)
    two = [row(2.0, source=source) for source in (0, 1)]
    several = table_of("best", tmp_path / "several", two)
    assert "median_ms" in drawings(several)[0].columns, "the fastest and the median repeat stand side by side"
    assert any("median ms" in line for line in several.legend)


def test_the_ratio_to_the_best_of_each_graph(tmp_path: Path) -> None:
    rows = [row(3.0), row(2.0, variant="luo"), row(5.0, graph="other"), emulated_row(1.0)]
    measured, emulated = tables(frame(tmp_path, rows), ["best"])
    assert [line["times_best"] for line in records(measured)] == [1.0, 1.5, 1.0]
    assert [line["times_best"] for line in records(emulated)] == [None]


def test_a_sweep_ends_with_the_best_and_what_failed(tmp_path: Path) -> None:
    rows = [row(3.0), row(2.0, variant="luo"), failed_row(block=64), failed_row(variant="simple")]
    best, failures = summary(frame(tmp_path, rows))
    shown = ("variant", "grid", "block", "search_ms", "median_ms", "mteps", "times_best", "failed")
    luo = ("luo", "auto", 256, 2.0, pytest.approx(2.2), 0.5, 1.0, 0)
    pull = ("pull", "auto", 256, 3.0, pytest.approx(3.3), pytest.approx(1 / 3, 0.01), 1.5, 1)
    assert records(drawings(best)[0]) == [dict(zip(shown, line, strict=True)) for line in (luo, pull)]
    assert {line["variant"] for line in records(failures)} == {"pull", "simple"}
    assert best.notes == ()


def test_rows_of_a_sweep_are_cut_to_equally_many_repeats_like_rows_of_a_file(tmp_path: Path) -> None:
    few = row(2.0, search_ms_samples="2.5;2.0")
    read = frame(tmp_path, [few, row(1.0, variant="luo", search_ms_samples="4.0;3.0;1.0")])
    for rows in (read, typed(read)):
        found = {line["variant"]: line for line in records(drawings(only(summary(rows)))[0])}
        assert {name: line["repeats"] for name, line in found.items()} == {"pull": 2, "luo": 3}
        assert {name: line["times_best"] for name, line in found.items()} == {"pull": 1.0, "luo": 1.5}


def test_after_a_large_sweep_the_best_few_of_each_graph_are_shown(tmp_path: Path) -> None:
    rows = [row(1.0 + i, variant=f"v{i}", graph=f"graph{k}") for i in range(9) for k in range(5)]
    best = only(summary(frame(tmp_path, rows)))
    assert len(best.rows) == 45
    shown = drawings(best)
    assert [len(one.rows) for one in shown] == [5] * 5
    assert shown[0].title == "graph0, source 0, the best 5 of 9"


def test_sources_are_counted_where_some_failed(tmp_path: Path) -> None:
    rows = [row(1.0), row(9.0, source=1), row(2.0, variant="luo")]
    table = table_of("best", tmp_path, rows)
    assert [line["sources"] for line in records(drawings(table)[0])] == [1, 2]
    found = {line["variant"]: line["times_best"] for line in records(table)}
    assert found == {"pull": 1.0, "luo": 2.0}, "from the source of both"


def test_a_setting_that_lacks_a_source_of_its_search_has_no_cell(tmp_path: Path) -> None:
    rows = [row(2.0, source=source, block=block) for source in range(2) for block in (64, 128)]
    rows.append(row(1.0, block=256))  # was not run from the second source
    (table,) = tables(frame(tmp_path, rows), ["heatmap"])
    assert {line["block"] for line in records(table)} == {64, 128}


def test_host_programs_have_no_heat_map(tmp_path: Path) -> None:
    table = table_of("heatmap", tmp_path, [host_row()])
    assert (table.name, table.rows, table.notes) == ("heatmap", [], ("No kernel has a time.",))
    assert table_of("heatmap", tmp_path / "more", [host_row(), emulated_row()]).rows
