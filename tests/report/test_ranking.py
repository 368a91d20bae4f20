"""Who is how far from the best, held against rows whose answer is known."""

import math
import pickle
from copy import deepcopy
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from result_rows import drawings, emulated_row, failed_row, frame, host_row, only, records, row, table_of

from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS
from bfsbench.graphs.load import UNKNOWN, kind_of_graph
from bfsbench.reports import Table, tables
from bfsbench.reports.ranking import ALL, rankings
from bfsbench.reports.rows import Results, short_names
from bfsbench.reports.table import Noted, render

KRONECKER = "kronecker(scale=9,edge_factor=16,seed=1):symmetrised"


def on(graph: str, **times: float) -> list[dict[str, object]]:
    """Rows of a graph: of each variant one time."""
    return [row(ms, graph=graph, graph_checksum=graph, variant=name) for name, ms in times.items()]


def ranked(table: Table, family: str = "all") -> dict[str, dict[str, object]]:
    return {str(line["variant"]): line for line in records(table) if line["family"] == family}


@pytest.fixture
def three(tmp_path: Path) -> Table:
    rows = [
        *on("USA-road-d.NY:symmetrised", pull=8.0, luo=2.0, merrill=1.0),
        *on("USA-road-d.FLA:duplicates=drop:symmetrised", pull=2.0, luo=1.0, merrill=4.0),
        *on(KRONECKER, pull=1.0, luo=4.0),
        failed_row(graph=KRONECKER, graph_checksum=KRONECKER, variant="merrill"),
    ]
    return table_of("ranking", tmp_path, rows)


def test_means_are_geometric_and_over_the_graphs_that_count(three: Table) -> None:
    found = ranked(three)
    assert [*found] == ["luo", "pull", "merrill"]  # merrill lacks a graph, so it stands last
    assert found["luo"]["times_best"] == pytest.approx((2 * 1 * 4) ** (1 / 3))
    assert found["pull"]["times_best"] == pytest.approx((8 * 2 * 1) ** (1 / 3))
    assert found["merrill"]["times_best"] == pytest.approx(math.sqrt(1 * 4))
    assert [line["graphs"] for line in found.values()] == [3, 3, 2]
    assert [line["best_percent"] for line in found.values()] == pytest.approx([100 / 3, 100 / 3, 50])
    assert found["merrill"]["times_first"] == pytest.approx(math.sqrt((1 / 2) * (4 / 1)))  # luo's graphs
    assert found["pull"]["times_first"] == pytest.approx((4 * 2 * 1 / 4) ** (1 / 3))
    assert [line["failed_graphs"] for line in found.values()] == [0, 0, 1]
    assert any(note.startswith("x luo is ") for note in three.notes)
    assert any(note.startswith("failed is ") for note in three.notes)


def test_the_matrix_has_ratios_and_geometric_means(tmp_path: Path) -> None:
    rows = [
        *on("a:directed", pull=8.0, luo=2.0),
        *on("b:directed", pull=1.0, luo=4.0),
        *on("c(n=1)", luo=1.0),
    ]
    (table,) = tables(frame(tmp_path, rows), ["matrix"])
    luo, pull = records(table)
    assert luo == {"variant": "luo", "a": 1.0, "b": 4.0, "geometric mean": pytest.approx(2.0)}
    assert pull == {"variant": "pull", "a": 4.0, "b": 1.0, "geometric mean": pytest.approx(2.0)}
    latex = render([table], "latex")
    assert "\\toprule" in latex and "geometric mean" in latex and "luo" in latex


def test_the_matrix_says_why_times_are_missing_and_how_many_graphs_a_mean_has(tmp_path: Path) -> None:
    rows = [
        *on("a", pull=2.0, luo=1.0, push=4.0),
        *on("b", pull=3.0, luo=1.0),
        failed_row(graph="b", graph_checksum="b", variant="push"),
        *on("c", pull=1.0, luo=1.0),
    ]
    (table,) = tables(frame(tmp_path, rows), ["matrix"])
    assert records(table)[-1] == {"variant": "push", "a": 4.0, "b": None, "c": None, "geometric mean": 4.0}
    text = render([table], "text").splitlines()
    assert text[-3].split() == ["luo", "(uiuc)", "1.00", "1.00", "1.00", "1.00", "(3)"]
    assert text[-1].split() == ["push", "4.00", "failed", "-", "4.00", "(1)"]
    caption = next(line for line in render([table], "latex").splitlines() if line.startswith("\\caption"))
    assert "The number in brackets after a geometric mean is the number of its graphs." in caption
    assert "failed: the search ran" in caption and "-: the search was not run" in caption


def test_searches_that_lack_graphs_stand_apart(three: Table, tmp_path: Path) -> None:
    on_all, on_some = drawings(three)[:2]
    assert (on_all.title, [line["variant"] for line in records(on_all)]) == ("All graphs", ["luo", "pull"])
    first = ("x luo", "x luo typical")
    rest = ("best_percent", "worst_times_best", "worst_graph")
    assert on_all.columns == ("variant", "times_best", *first, *rest)
    (line,) = records(on_some)
    assert (line["variant"], line["graphs"], line["failed"]) == ("merrill", 2, 1)
    assert line["x luo"] == pytest.approx(math.sqrt(2))
    pairs = [*on("a", luo=1.0, pull=2.0), *on("b", luo=1.0, push=2.0), *on("c", pull=1.0, push=3.0)]
    table = table_of("ranking", tmp_path / "pairs", pairs)
    assert [drawn.title for drawn in drawings(table)] == ["Fewer graphs"]
    assert any("without times on some graphs" in note for note in table.notes)
    none_has_a_family = [
        *on("USA-road-d.NY:symmetrised", luo=1.0, pull=2.0),
        *on("USA-road-d.FLA:symmetrised", push=1.0, merrill=2.0),
        *on(KRONECKER, luo=1.0, pull=2.0),
        *on("kronecker(scale=8):symmetrised", push=1.0, merrill=2.0),
    ]
    table = table_of("ranking", tmp_path / "families", none_has_a_family)
    assert [drawn.title for drawn in drawings(table)] == ["Fewer graphs"]
    assert ranked(table)["push"]["times_first"] is None  # no graph in common with luo


def test_a_search_that_is_alone_on_a_graph_is_not_the_best_there(tmp_path: Path) -> None:
    rows = [*on("a", luo=1.0, pull=2.0), *on("alone", pull=9.0)]
    found = ranked(table_of("ranking", tmp_path, rows))
    shown = {name: (line["graphs"], line["times_best"]) for name, line in found.items()}
    assert shown == {"luo": (1, 1.0), "pull": (1, 2.0)}
    alone = table_of("ranking", tmp_path / "alone", [row(1.0)])
    assert alone.notes == ("No graph has times of two searches, so there is nothing to rank.",)


def test_sources_that_most_searches_lack_do_not_count(tmp_path: Path) -> None:
    """As where files with other sources are read together."""
    rows = [
        *(row(1.0, source=source, variant="luo") for source in (0, 1)),
        *(row(2.0, source=source, variant="pull") for source in (0, 1)),
        row(8.0, source=7, variant="luo"),
        row(0.1, source=7, variant="push"),
        row(0.1, source=8, variant="push"),
    ]
    found = ranked(table_of("ranking", tmp_path, rows))
    assert {name: line["times_best"] for name, line in found.items()} == {"luo": 1.0, "pull": 2.0}


def test_configurations_from_fewer_sources_do_not_count(tmp_path: Path) -> None:
    rows = [
        row(1.0, block=64),
        *(row(2.0, source=source, variant="pull") for source in (0, 1)),
        *(row(3.0, source=source, variant="luo") for source in (0, 1)),
    ]
    found = ranked(table_of("ranking", tmp_path, rows))
    assert {name: line["times_best"] for name, line in found.items()} == {"pull": 1.0, "luo": 1.5}


def test_the_worst_case_is_named(three: Table) -> None:
    found = ranked(three)
    pull = found["pull"]
    assert (pull["worst_times_best"], pull["worst_graph"]) == (8, "USA-road-d.NY:symmetrised")
    lines = [line for drawn in drawings(three)[:2] for line in records(drawn)]
    assert [line["worst_graph"] for line in lines] == ["kronecker", "USA-road-d.NY", "USA-road-d.FLA"]


def test_families_of_graphs_stand_side_by_side(three: Table) -> None:
    roads = ranked(three, "road")
    assert roads["luo"]["times_best"] == pytest.approx(math.sqrt(2))
    assert ranked(three, "kronecker")["luo"]["times_best"] == 4
    by_family = drawings(three)[-1]
    assert roads["merrill"]["times_first"] == pytest.approx(math.sqrt(2))  # luo's, in each family
    assert by_family.columns == ("variant", "kronecker (1)", "road (2)")
    assert [line[0] for line in by_family.rows] == ["luo", "pull", "merrill"]
    assert by_family.rows[2][1] is None
    assert [note[:13] for note in by_family.notes] == ["An empty cell"]


def test_marks_stand_at_the_families_with_changed_searches(tmp_path: Path) -> None:
    graphs = ("kronecker(scale=4)", "road(rows=4,columns=4)")
    rows = [line for graph in graphs for line in on(graph, luo=1.0, merrill=2.0)]
    rows[1]["knobs"] = "ATOMIC_CLAIM=1"
    by_family = drawings(table_of("ranking", tmp_path, rows))[-1]
    lines = {line[0]: line[1:] for line in by_family.rows}
    assert [getattr(cell, "remark", None) for cell in lines["merrill"]] == ["†", ""]


def test_the_headings_of_a_matrix_keep_the_underscores_of_graphs(tmp_path: Path) -> None:
    (table,) = tables(frame(tmp_path, on("delaunay_n16", luo=1.0, pull=2.0)), ["matrix"])
    for style, name in (("text", "delaunay_n16"), ("markdown", "delaunay_n16"), ("latex", "delaunay\\_")):
        assert name in render([table], style)


def test_preparation_stands_beside_the_ratios(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, variant="reorder", prepare_ms=12.5, compile_ms=900)]
    table = table_of("ranking", tmp_path, rows)
    found = {name: line["prepare_ms"] for name, line in ranked(table).items()}
    assert found == {"reorder": 12.5, "pull": None}
    assert "prepare_ms" in drawings(table)[0].columns
    assert len(drawings(table)) == 1  # one family of graphs


def test_a_search_from_fewer_sources_does_not_count(tmp_path: Path) -> None:
    pairs = [row(3.0 + i, source=n, variant=name) for i, name in enumerate(("pull", "push")) for n in (0, 1)]
    failed = failed_row(source=1, variant="luo")
    table = table_of("ranking", tmp_path, [*pairs, row(1.0, variant="luo"), failed])
    assert [*ranked(table)] == ["pull", "push"]
    assert "These searches ran, but have no time that can be compared: luo." in table.notes


def test_devices_are_told_apart_and_hosts_are_not(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, gpu="NVIDIA A100"), row(4.0, host_cpu="Epyc")]
    table = table_of("ranking", tmp_path, rows)
    found = {line["device"]: line["times_best"] for line in records(table) if line["family"] == "all"}
    assert found == {"NVIDIA A100": 1, "NVIDIA H200": 2}
    assert "device" in drawings(table)[0].columns


def test_cold_times_are_ranked_apart_and_emulated_ones_never(tmp_path: Path) -> None:
    rows = [row(1.0), row(9.0, method="cold"), host_row(2.0), emulated_row(0.1)]
    warm, cold = tables(frame(tmp_path, rows), ["ranking"])
    assert (warm.name, cold.name) == ("ranking", "ranking_cold")
    assert {line["backend"] for line in records(warm)} == {"cuda", "host"}
    alone = table_of("ranking", tmp_path / "more", [emulated_row()])
    assert alone.notes == ("Times of emulated kernels are not ranked.",)
    failed = table_of("ranking", tmp_path / "failed", [failed_row()])
    assert failed.notes == ("No point has a time.",)


def test_a_time_of_zero_ranks_nothing(tmp_path: Path) -> None:
    rows = [row(0.0), row(1.0, variant="luo")]
    for line in ranked(table_of("ranking", tmp_path, rows)).values():
        assert (line["times_best"], line["worst_times_best"], line["times_first"]) == (None, None, None)


def test_every_graph_has_a_family() -> None:
    assert kind_of_graph("soc-Epinions1:self_loops=drop:symmetrised") == "social"
    assert kind_of_graph("lattice(rows=6,columns=6,seed=1):symmetrised") == "lattice"
    assert kind_of_graph("mine:directed") == kind_of_graph("a(b:directed") == UNKNOWN
    generated = [dataset for dataset in Catalogue.load() if dataset.generator and dataset.kind != "example"]
    assert generated
    for dataset in generated:
        assert GENERATORS[dataset.generator or ""].kind == dataset.kind, dataset.name


def test_short_names_still_tell_graphs_apart() -> None:
    names = ["a(n=1):directed", "a(n=2):directed", "a(n=2):symmetrised", "b(n=1):directed"]
    assert short_names(names) == {
        "a(n=1):directed": "a(n=1)",
        "a(n=2):directed": "a(n=2):directed",
        "a(n=2):symmetrised": "a(n=2):symmetrised",
        "b(n=1):directed": "b",
    }


def repeated(*samples: float, **changes: Any) -> dict[str, Any]:
    """A row of these repeats."""
    found = sorted(samples)
    times = {"search_ms": found[0], "search_ms_median": median(found), "search_ms_max": found[-1]}
    return row(**{**times, "search_ms_samples": ";".join(map(str, samples)), **changes})


def test_compared_searches_have_equally_many_repeats(tmp_path: Path) -> None:
    rows = [repeated(3.0, 4.0, 1.0, variant="pull"), repeated(2.0, 5.0, variant="luo")]
    found = {line["variant"]: line for line in records(only(rankings(Results.of(frame(tmp_path, rows)))))}
    assert found["luo"]["times_best"] == 1, "the third repeat of the other does not count"
    assert found["pull"]["times_first"] == pytest.approx(3 / 2)
    assert found["pull"]["median_times_first"] == pytest.approx(3.5 / 3.5)


def test_graphs_from_another_number_of_sources_are_not_in_the_ranking(tmp_path: Path) -> None:
    rows = [
        row(graph=f"g{graph}", source=s, variant=v) for graph in (1, 2) for s in (0, 1) for v in ("a", "b")
    ]
    rows += [row(graph="g3", variant=name) for name in ("a", "b")]
    found = only(rankings(Results.of(frame(tmp_path, rows))))
    assert {line["graphs"] for line in records(found) if line["family"] == ALL} == {2}
    assert found.notes[0] == "Measured on NVIDIA H200, from 2 sources of each graph."
    assert "the median over sources of the fastest repeat" in found.notes[1]


def test_copies_of_a_table_keep_the_remarks_of_numbers() -> None:
    table = Table("t", "T", ("x",), [(Noted(1.5, "†"),)])
    for copied in (deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert render([copied], "text") == render([table], "text") and "1.50†" in render([table], "text")
