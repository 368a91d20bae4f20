"""The tables of failures, graphs and provenance, for rows with known results."""

from pathlib import Path
from typing import Any

import pytest
from result_rows import drawings, emulated_row, failed_row, frame, host_row, only, records, row, table_of

from bfsbench.reports import TABLES, select, tables, warnings
from bfsbench.support.errors import UsageError
from bfsbench.variants import all_families


def test_failures_are_counted_by_reason(tmp_path: Path) -> None:
    rows = [row(), failed_row(block=512), failed_row(block=1024), failed_row("timeout", "no end after 60 s")]
    table = table_of("failures", tmp_path, rows)
    assert [(line["points"], line["of"], line["status"], line["reason"]) for line in records(table)] == [
        (2, 4, "cannot launch", "too many threads"),
        (1, 4, "timeout", "no end after 60 s"),
    ]
    assert table.notes == ("3 of 4 points have no time.", "of: all points of the variant on the graph.")


@pytest.mark.parametrize("family", all_families())
def test_only_failures_leave_the_tables_of_times_empty(tmp_path: Path, family: str) -> None:
    rows = [failed_row(family=family), failed_row(family=family, block=1)]
    made = {table.name.removesuffix(f"_{family}"): table for table in tables(frame(tmp_path, rows))}
    assert list(made) == [
        name for name in TABLES if name not in ("ranking", "matrix", "settings", "levels", "history")
    ]
    assert made["best"].rows == made["heatmap"].rows == []
    assert made["best"].notes == ("No point has a time.",)
    assert len(made["datasets"].rows) == 1


def test_a_failure_before_the_graph_was_known_is_reported(tmp_path: Path) -> None:
    unknown = {"num_vertices": "", "num_edges": "", "graph_checksum": "", "gpu": "", "host": "", "block": ""}
    made = {table.name: table for table in tables(frame(tmp_path, [failed_row(**unknown)]))}
    assert made["datasets"].rows == []
    assert len(made["failures"].rows) == 1


def test_datasets_tell_apart_graphs_of_one_name(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(), row(), row(graph_checksum="d" * 64, num_edges=300)])
    table = only(tables(rows, ["datasets"]))
    assert table.rows == [
        ("grid:directed", 100, 250, 2.5, "c" * 12),
        ("grid:directed", 100, 300, 3.0, "d" * 12),
    ]
    assert any("grid:directed stands for different graphs" in note for note in table.notes)


def test_provenance_counts_rows_and_spans_their_time(tmp_path: Path) -> None:
    first, last = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    rows = frame(tmp_path, [row(taken_at=last), row(taken_at=first), host_row()])
    gpu, cpu = records(only(tables(rows, ["provenance"])))
    assert (gpu["rows"], gpu["first_taken"], gpu["last_taken"]) == (2, first, last)
    assert (cpu["backend"], cpu["rows"], cpu["gpu"]) == ("host", 1, "")
    assert warnings(rows) == []


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"gpu": "NVIDIA A100"}, "GPU times come from different devices: NVIDIA A100, NVIDIA H200"),
        ({"host": "node2"}, "rows come from different machines: Xeon on node1, Xeon on node2"),
        ({"commit": "def"}, "rows come from different commits: abc, def"),
        ({"commit": "abc+dirty"}, "1 of 2 rows were taken with uncommitted changes"),
        (
            {"code": "b", "taken_at": "2026-11-22T10:00:00Z"},
            "1 of 2 rows are left out, because later rows of the same configurations have other code: "
            "rows of pull",
        ),
        ({"throttle": "power cap"}, "1 of 2 rows had throttled clocks (power cap)"),
    ],
)
def test_what_speaks_against_a_comparison_is_said(
    tmp_path: Path, changes: dict[str, Any], warning: str
) -> None:
    rows = frame(tmp_path, [row(code="a"), row(**{"code": "a", **changes})])
    assert warnings(rows) == [warning]
    assert f"Warning: {warning}." in only(tables(rows, ["provenance"])).notes


def test_what_rows_say_of_their_samples_is_a_line_for_each_kind(tmp_path: Path) -> None:
    noisy, slow = "noisy: 40 % above", "slow start: 3.0 times as long"
    rows = [row(), row(block=64, warnings=noisy), row(block=32, warnings=f"{slow}; noisy: 20 % above")]
    found = warnings(frame(tmp_path, [*rows, emulated_row(warnings=noisy)]))
    assert found == [
        "noisy: 2 of 3 rows, such as pull on grid:directed: 40 % above",
        "slow start: 1 of 3 rows, such as pull on grid:directed: 3.0 times as long",
    ]


def test_warm_and_cold_caches_are_in_no_table_together(tmp_path: Path) -> None:
    rows = [row(1.0, block=64), row(3.0, method="cold warmup=2"), row(2.0, method="warmup=2")]
    best = tables(frame(tmp_path, rows), ["best"])
    assert [table.name for table in best] == ["best", "best_cold"]
    assert [[line["search_ms"] for line in records(table)] for table in best] == [[1.0], [3.0]]
    assert "caches flushed before every run" in best[1].title


def test_cpu_and_gpu_of_two_machines_are_told_apart(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(), host_row(host="node2", host_cpu="EPYC")])
    assert warnings(rows) == ["rows come from different machines: EPYC on node2, Xeon on node1"]
    assert "host_cpu" in drawings(only(tables(rows, ["best"])))[0].columns


def test_nodes_that_are_alike_share_a_sweep(tmp_path: Path) -> None:
    one, two = {"host": "node1", "gpu_bus_id": "0000:1"}, {"host": "node2", "gpu_bus_id": "0000:2"}
    rows = [
        row(ms, source=i, block=b, **(one if i else two)) for b, ms in ((64, 3.0), (128, 2.0)) for i in (0, 1)
    ]
    (best,) = records(table_of("best", tmp_path, rows))
    assert (best["block"], best["sources"], best["search_ms"]) == (128, 2, 2.0)


def test_different_gpus_of_a_sweep_are_in_no_table_together(tmp_path: Path) -> None:
    gpus = ("NVIDIA H200", "NVIDIA H100")
    rows = frame(tmp_path, [row(1.0, block=b, gpu=gpu) for gpu in gpus for b in (64, 128)])
    best, heat = (only(tables(rows, [name])) for name in ("best", "heatmap"))
    assert sorted(line["device"] for line in records(best)) == sorted(gpus)
    assert len(drawings(heat)) == 2
    assert all(sum(gpu in drawing.title for gpu in gpus) == 1 for drawing in drawings(heat))


def test_rows_of_an_unknown_device_raise_no_warnings(tmp_path: Path) -> None:
    assert warnings(frame(tmp_path, [row(), failed_row(gpu="", host="", commit="")])) == []


def test_emulated_rows_raise_no_warnings(tmp_path: Path) -> None:
    assert warnings(frame(tmp_path, [row(), emulated_row(commit="def+dirty", host="node2")])) == []


def test_a_grid_that_is_no_number_does_no_harm(tmp_path: Path) -> None:
    rows = [row(grid="many"), row(grid=9), row(grid="auto"), failed_row(grid="", block="")]
    (matrix,) = drawings(table_of("heatmap", tmp_path, rows))
    assert [line[0] for line in matrix.rows] == ["auto", "9", "many"]


def test_filters(tmp_path: Path) -> None:
    kernels = [row(), row(graph="grid:symmetrised"), row(variant="virtual_warp")]
    rows = frame(tmp_path, [*kernels, host_row(graph="road:directed")])
    assert len(select(rows)) == 4
    assert set(select(rows, graphs=["grid"])["graph"]) == {"grid:directed", "grid:symmetrised"}
    assert set(select(rows, graphs=["grid:directed", "road"])["graph"]) == {"grid:directed", "road:directed"}
    assert set(select(rows, variants=["hong"])["variant"]) == {"virtual_warp"}
    assert set(select(rows, backends=["host"])["variant"]) == {"cpu_queue"}


def test_filters_name_what_there_is(tmp_path: Path) -> None:
    rows = frame(tmp_path, [row(), row(graph="road:directed")])
    for column, name, complaint in (
        ("graphs", "gird", "no rows of graph 'gird': there are grid:directed, road:directed"),
        ("variants", "simple", "no rows of variant 'simple': there are pull"),
        ("variants", "pul", "unknown variant 'pul': did you mean pull"),
        ("backends", "cpu", "no rows of backend 'cpu': there are cuda"),
    ):
        with pytest.raises(UsageError, match=complaint):
            select(rows, **{column: [name]})


def test_a_table_becomes_a_frame(tmp_path: Path) -> None:
    table = table_of("best", tmp_path, [row(2.0), row(3.0, variant="simple")])
    assert table.frame()["search_ms"].tolist() == [2.0, 3.0]
