"""Who is how far from the best, held against rows whose answer is known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from result_rows import drawings, emulated_row, failed_row, frame, host_row, only, records, row

from bfsbench.graphs.catalogue import Catalogue
from bfsbench.graphs.generators import GENERATORS
from bfsbench.graphs.kinds import UNKNOWN, family_of_graph
from bfsbench.report import Table, tables
from bfsbench.report.rows import short_names


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
        *on("kronecker(scale=9,edge_factor=16,seed=1):symmetrised", pull=1.0, luo=4.0),
        failed_row(graph="kronecker(scale=9,edge_factor=16,seed=1):symmetrised", variant="merrill"),
    ]
    return only(tables(frame(tmp_path, rows), ["ranking"]))


def test_means_are_geometric_and_over_the_graphs_that_count(three: Table) -> None:
    found = ranked(three)
    assert [*found] == ["luo", "pull", "merrill"]  # merrill lacks a graph, so it stands last
    assert found["luo"]["times_best"] == pytest.approx((2 * 1 * 4) ** (1 / 3))
    assert found["pull"]["times_best"] == pytest.approx((8 * 2 * 1) ** (1 / 3))
    assert found["merrill"]["times_best"] == pytest.approx(math.sqrt(1 * 4))
    assert [line["graphs"] for line in found.values()] == [3, 3, 2]
    assert [line["best_percent"] for line in found.values()] == pytest.approx([100 / 3, 100 / 3, 50])
    assert any("lack graphs stand last" in note for note in three.notes)


def test_the_worst_case_is_named(three: Table) -> None:
    found = ranked(three)
    assert (found["pull"]["worst_times_best"], found["pull"]["worst_graph"]) == (
        8,
        "USA-road-d.NY:symmetrised",
    )
    overall = records(drawings(three)[0])
    assert [line["worst_graph"] for line in overall] == ["kronecker", "USA-road-d.NY", "USA-road-d.FLA"]


def test_families_of_graphs_stand_side_by_side(three: Table) -> None:
    roads = ranked(three, "road")
    assert roads["luo"]["times_best"] == pytest.approx(math.sqrt(2))
    assert ranked(three, "kronecker")["luo"]["times_best"] == 4
    overall, by_family = drawings(three)
    assert overall.columns[:2] == ("variant", "graphs")
    assert by_family.columns == ("variant", "kronecker (1)", "road (2)")
    assert [line[0] for line in by_family.rows] == ["luo", "pull", "merrill"]
    assert by_family.rows[2][1] is None


def test_preparation_stands_beside_the_ratios(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, variant="reorder", preprocess_ms=12.5)]
    table = only(tables(frame(tmp_path, rows), ["ranking"]))
    assert {name: line["preprocess_ms"] for name, line in ranked(table).items()} == {
        "reorder": 12.5,
        "pull": None,
    }
    assert "preprocess_ms" in drawings(table)[0].columns
    assert len(drawings(table)) == 1  # one family of graphs


def test_a_search_from_fewer_sources_does_not_count(tmp_path: Path) -> None:
    rows = [row(3.0), row(3.0, source=1), row(1.0, variant="luo")]
    assert [*ranked(only(tables(frame(tmp_path, rows), ["ranking"])))] == ["pull"]


def test_devices_are_told_apart_and_hosts_are_not(tmp_path: Path) -> None:
    rows = [row(2.0), row(1.0, gpu="NVIDIA A100"), row(4.0, host_cpu="Epyc")]
    table = only(tables(frame(tmp_path, rows), ["ranking"]))
    assert {line["device"]: line["times_best"] for line in records(table) if line["family"] == "all"} == {
        "NVIDIA A100": 1,
        "NVIDIA H200": 2,
    }
    assert "device" in drawings(table)[0].columns


def test_cold_times_are_ranked_apart_and_emulated_ones_never(tmp_path: Path) -> None:
    rows = [row(1.0), row(9.0, method="cold"), host_row(2.0), emulated_row(0.1)]
    warm, cold = tables(frame(tmp_path, rows), ["ranking"])
    assert (warm.name, cold.name) == ("ranking", "ranking_cold")
    assert {line["backend"] for line in records(warm)} == {"cuda", "host"}
    alone = only(tables(frame(tmp_path / "more", [emulated_row()]), ["ranking"]))
    assert alone.notes == ("Times of emulated kernels are not ranked.",)
    failed = only(tables(frame(tmp_path / "failed", [failed_row()]), ["ranking"]))
    assert failed.notes == ("No point has a time.",)


def test_a_time_of_zero_ranks_nothing(tmp_path: Path) -> None:
    (line,) = ranked(only(tables(frame(tmp_path, [row(0.0)]), ["ranking"]))).values()
    assert (line["times_best"], line["worst_times_best"]) == (None, None)


def test_every_graph_has_a_family() -> None:
    assert family_of_graph("soc-Epinions1:self_loops=drop:symmetrised") == "social"
    assert family_of_graph("lattice(rows=6,columns=6,seed=1):symmetrised") == "lattice"
    assert family_of_graph("mine:directed") == family_of_graph("a(b:directed") == UNKNOWN
    generated = [dataset for dataset in Catalogue.load() if dataset.generator and dataset.family != "example"]
    assert generated
    for dataset in generated:
        assert GENERATORS[dataset.generator or ""].family == dataset.family, dataset.name


def test_short_names_still_tell_graphs_apart() -> None:
    names = ["a(n=1):directed", "a(n=2):directed", "a(n=2):symmetrised", "b(n=1):directed"]
    assert short_names(names) == {
        "a(n=1):directed": "a(n=1)",
        "a(n=2):directed": "a(n=2):directed",
        "a(n=2):symmetrised": "a(n=2):symmetrised",
        "b(n=1):directed": "b",
    }
