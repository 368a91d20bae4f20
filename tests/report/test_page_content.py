"""Pages of many rows: they leave out the slowest, and say so."""

import sys
from pathlib import Path

import pytest

from bfsbench.reports.best import FILE
from bfsbench.reports.html import content, page
from bfsbench.reports.levels import read_levels
from bfsbench.reports.rows import SPEED_UP, STATISTIC, TYPICAL
from bfsbench.rows.results import read_results
from tests.report.level_rows import level, profiled
from tests.report.result_rows import emulated_row, failed_row, host_row, row, write


def test_the_fastest_points_of_each_search_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [5.0, 3.0, 4.0, 1.0]
    rows = [row(time, variant=name, source=i) for name in ("pull", "luo") for i, time in enumerate(times)]
    path = write(tmp_path / "rows.csv", [*rows, failed_row(variant="luo", source=9)])
    monkeypatch.setattr(sys.modules["bfsbench.reports.html"], "_MOST_POINTS", 5)
    tables = {table["name"]: table for table in content(read_results([path]), None)["tables"]}
    points = tables["points"]
    keys = [column["key"] for column in points["columns"]]
    shown = [dict(zip(keys, line, strict=True)) for line in points["rows"]]
    assert [(point["variant"].split()[0], point["search_ms"]) for point in shown] == [
        *(("pull", 3.0), ("pull", 1.0)),
        *(("luo", 3.0), ("luo", 1.0), ("luo", None)),
    ]
    assert points["title"] == "Fastest points"
    assert points["notes"][0].startswith("5 of 9 rows of the result files")


def test_a_page_has_times_of_kernels_only_if_they_were_taken(tmp_path: Path) -> None:
    for taken in ({}, {"kernel_ms": 0.25, "kernel_launches": 9}):
        rows = [row(1.0, source=0), row(1.0, source=1, **taken)]
        frame = read_results([write(tmp_path / "rows.csv", rows)])
        points = next(table for table in content(frame, None)["tables"] if table["name"] == "points")
        keys = [column["key"] for column in points["columns"]]
        assert {"kernel_ms", "kernel_launches"}.intersection(keys) == {*taken}
        last = dict(zip(keys, points["rows"][1], strict=True))
        assert {name: last[name] for name in taken} == taken


def test_profiles_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1.0, source=source) for source in range(3)]
    levels = [level(number, source=source) for source in range(3) for number in range(4)]
    path = profiled(tmp_path, rows, levels)
    monkeypatch.setattr("bfsbench.reports.html._MOST_LEVELS", 9)
    made = content(read_results([path]), read_levels([path]))
    assert len(made["profiles"]) == 2
    assert made["warnings"] == [
        "2 of 3 level profiles are on this page, the first of the files; --graph, --variant and --backend "
        "choose others"
    ]
    monkeypatch.undo()
    made = content(read_results([path]), read_levels([path]))
    assert (len(made["profiles"]), made["warnings"]) == (3, [])


def test_only_times_that_are_compared_count_in_the_matrix(tmp_path: Path) -> None:
    rows = [
        *(row(time, graph="a", source=source) for source, time in enumerate((2.0, 4.0))),
        *(row(1.0, graph="a", source=source, variant="push") for source in range(2)),
        row(0.1, graph="a", variant="luo"),  # from one of the two sources
        failed_row(graph="a", variant="luo", source=1),
        row(5.0, graph="alone"),
        failed_row(graph="alone", variant="push"),
        *(row(8.0, graph="b", source=source) for source in range(2)),
        *(host_row(2.0, graph="b", source=source) for source in range(2)),
        *(row(9.0, graph="another sweep", variant=name) for name in ("pull", "luo")),  # from one source
    ]
    (kind,) = content(read_results([write(tmp_path / "rows.csv", rows)]), None)["kinds"]
    compared = {graph["title"]: graph["compared"] for graph in kind["graphs"]}
    assert compared == {"a": True, "alone": False, "b": True, "another sweep": False}
    found = {search["label"]: search for search in kind["searches"]}
    assert list(found) == ["pull", "push", "cpu_queue", "luo"]  # those with most graphs first
    assert found["push"]["against_first"] == pytest.approx(1 / 3) and found["luo"]["against_first"] is None
    pull = found["pull"]
    assert (pull["graphs"], pull["best"], pull["worst"]) == (2, 0, 4.0)
    assert pull["mean"] == pytest.approx((3 * 4) ** 0.5)
    assert [cell["ratio"] for cell in pull["cells"]] == [3.0, None, 4.0, None]
    assert found["luo"]["mean"] is None and found["luo"]["cells"][0] == "failed"
    assert [found["push"]["cells"][place] for place in (1, 2)] == ["failed", None]


def test_the_matrix_has_means_by_medians_and_no_time_that_lacks_a_source(tmp_path: Path) -> None:
    rows = [
        *(row(2.0, source=source, search_ms_median=3.0) for source in range(2)),
        *(row(1.0, source=source, search_ms_median=6.0, variant="push") for source in range(2)),
        row(0.1, variant="luo"),  # was not run from the second source
    ]
    (kind,) = content(read_results([write(tmp_path / "rows.csv", rows)]), None)["kinds"]
    found = {search["label"]: search for search in kind["searches"]}
    assert (found["pull"]["mean"], found["pull"]["typical"]) == (2.0, 1.0)
    assert (found["push"]["mean"], found["push"]["typical"]) == (1.0, 2.0)
    assert found["luo"]["cells"] == ["other sources"]
    assert kind["typical"] == "the median over sources of the median repeat"


def test_emulated_rows_have_counts_and_no_times(tmp_path: Path) -> None:
    path = profiled(tmp_path, [emulated_row(5.0)], [level(0, backend="cpu", gpu="")])
    made = content(read_results([path]), read_levels([path]))
    (kind,) = made["kinds"]
    assert kind["emulated"]
    (profile,) = made["profiles"]
    assert (profile["search"], profile["edges_inspected"]) == ("pull (emulated)", [7])
    assert profile["time_us"] == [None]
    tables = {table["name"]: [column["key"] for column in table["columns"]] for table in made["tables"]}
    assert "edges_inspected" in tables["best_emulated"]
    timed = {"search_ms", "search_ms_median", "search_ms_samples", "median_ms", "mteps", "wall_ms"}
    assert not timed.intersection(tables["best_emulated"] + tables["points"])


def test_the_page_has_our_times_beside_emulated_rows(tmp_path: Path) -> None:
    known = read_results([FILE]).query("variant == 'pull' and graph == 'soc-Epinions1:directed'")
    sources = known["source"].unique()
    like = {"graph_checksum": known["graph_checksum"].iloc[0], "graph": known["graph"].iloc[0]}
    rows = [
        emulated_row(5.0, source=int(source), prepare_ms=9.0, compile_ms=1.0, **like) for source in sources
    ]
    made = content(read_results([write(tmp_path / "rows.csv", rows)]), None)
    (best,) = (table for table in made["tables"] if table["name"] == "best_emulated")
    assert "h200_ms" in [column["key"] for column in best["columns"]]
    (note,) = (note for note in best["notes"] if note.startswith("NVIDIA H200 ms: not measured here"))
    assert STATISTIC in note
    assert not any("prepare" in note for note in best["notes"]), "the table has no such column"


def test_notes_name_columns_as_the_page_does(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [row(2.0), host_row(8.0)])
    (best,) = (table for table in content(read_results([path]), None)["tables"] if table["name"] == "best")
    labels = [column["label"] for column in best["columns"]]
    for heading in ("times as fast as one CPU core", "time (ms)", "median time (ms)", "slowest / fastest"):
        assert heading in labels
        assert sum(note.startswith(f"{heading}: ") for note in best["notes"]) == 1


def test_every_table_and_picture_of_times_names_its_statistic(tmp_path: Path) -> None:
    launches = [(grid, block) for grid in ("16", "64") for block in (64, 256)]
    rows = [row(2.0 + block, grid=grid, block=block) for grid, block in launches]
    made = content(read_results([write(tmp_path / "rows.csv", [*rows, host_row(8.0)])]), None)
    tables = {table["name"]: " ".join(table["notes"]) for table in made["tables"]}
    assert f"time (ms): {STATISTIC}" in tables["best"]
    assert f"median time (ms): {TYPICAL}" in tables["best"]
    assert SPEED_UP in tables["best"]
    assert "A time is that of the fastest repeat from one source" in tables["points"]
    assert [one["statistic"] for one in (*made["maps"], *made["kinds"])] == [STATISTIC] * 2


def test_a_note_says_that_the_authors_of_a_program_state_no_licence(tmp_path: Path) -> None:
    entry = {"variant": "atos", "program": "atos, commit e11b (none stated)", "clock": "ours", "covers": ""}
    path = write(tmp_path / "rows.csv", [row(2.0), host_row(8.0, **entry)])
    (note,) = content(read_results([path]), None)["kinds"][0]["notes"]
    assert note.startswith(
        "atos is a program by other authors (atos, commit e11b, without a stated licence)."
    )


def test_the_matrix_says_what_the_clock_of_another_program_covers(tmp_path: Path) -> None:
    entry = {"variant": "scipy", "program": "SciPy 1.11", "clock": "ours", "covers": "initialisation=yes"}
    path = write(tmp_path / "rows.csv", [row(2.0), host_row(8.0, **entry)])
    (kind,) = content(read_results([path]), None)["kinds"]
    (note,) = kind["notes"]
    assert note.startswith(
        "scipy is a program by other authors (SciPy 1.11). The times of scipy come from the host's clock"
    )


def test_options_that_all_graphs_share_are_stated_once(tmp_path: Path) -> None:
    other = {"graph": "wave:directed:self_loops=drop", "graph_checksum": "w"}
    path = profiled(tmp_path, [row(1.0), row(2.0, **other)], [level(0)])
    made = page(read_results([path]), read_levels([path]))
    assert ":directed" not in made and "were read with: directed (arcs as in the file)" in made
    assert "wave:self_loops=drop" in made and '"graph":"grid"' in made
