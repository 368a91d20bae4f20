"""Tests the Python functions that measure in worker processes, and the files of their rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bfsbench
from bfsbench import UsageError
from bfsbench.backends.cuda import Driver
from bfsbench.bench.worker import DeviceInfo, Measured
from bfsbench.support.errors import DeviceError

LATTICE = "lattice(rows=5,columns=4)"


class Counted(bfsbench.SweepProgress):
    """Counts the calls of its methods."""

    def __init__(self) -> None:
        self.total, self.count = 0, 0

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        self.total = total

    def done(self, measured: Measured) -> None:
        self.count += 1


def test_a_tuning_measures_no_more_points_than_allowed() -> None:
    progress = Counted()
    rows = bfsbench.tune_search(
        LATTICE, "hong", W_SZ=[8, 16], method="axes", points=4, backend="cpu", repeats=1, progress=progress
    )
    assert len(rows) == progress.count == progress.total == 4
    assert len(rows[["grid", "block", "knobs"]].drop_duplicates()) == 4
    assert {*rows.variant} == {"virtual_warp"} and (rows.search_ms > 0).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "tune needs points or minutes"),
        ({"method": "axis"}, "unknown method 'axis': choose from"),
        ({"minutes": 0}, "minutes must be a number above 0, not 0"),
        ({"minutes": "5"}, "minutes must be a number above 0, not '5'"),
        ({"points": 0}, "points must be at least 1"),
        ({"order": "interleaved", "points": 1}, "unknown argument 'order'"),
        ({"W_SZ": 5, "method": "axes"}, "knob W_SZ: 5 is out of range"),
    ],
)
def test_mistakes_of_a_tuning_are_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(bfsbench.BfsbenchError, match=says):
        bfsbench.tune_search(LATTICE, "hong", backend="cpu", **arguments)


def test_a_sweep_ends_at_its_limit_of_time() -> None:
    progress = Counted()
    rows = bfsbench.sweep(LATTICE, "cpu_queue", sources=3, minutes=1e-9, progress=progress)
    assert rows.empty and (progress.count, progress.total) == (0, 3)
    with pytest.raises(UsageError, match="minutes must be a number above 0"):
        bfsbench.sweep(LATTICE, "cpu_queue", minutes=-1)
    with pytest.raises(UsageError, match=r"^out r\.levels\.csv: the names of other files"):
        bfsbench.sweep(LATTICE, "cpu_queue", out="r.levels.csv")


def test_graphs_without_names_are_told_apart_by_their_checksums() -> None:
    pairs = [np.array([[0, 1], [1, 2]]), np.array([[0, 1], [1, 0]])]
    rows = bfsbench.sweep(pairs, "cpu_queue", repeats=1)
    assert rows.graph.tolist() == [f"graph-{checksum[:8]}:directed" for checksum in rows.graph_checksum]
    assert rows.graph.nunique() == 2


def test_written_rows_are_read_back_for_reports(tmp_path: Path) -> None:
    rows = bfsbench.sweep(LATTICE, ["cpu_queue", "push"], backend="cpu", repeats=2)
    chosen = rows[rows.variant == "cpu_queue"]
    bfsbench.write_results(chosen, tmp_path / "r.csv")
    read = bfsbench.read_results(tmp_path / "r.csv")
    known = [name for name in rows if name in read]
    pd.testing.assert_frame_equal(
        read[known], chosen[known].reset_index(drop=True), check_dtype=False, check_names=False
    )
    (mine,), (best,) = (bfsbench.report(one, tables="best")["best"].values for one in (chosen, read))
    assert [str(cell) for cell in mine] == [str(cell) for cell in best]
    bfsbench.write_results(read, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "r.csv").read_bytes()
    with pytest.raises(UsageError, match="cannot have the columns remark: drop them first"):
        bfsbench.write_results(rows.assign(remark="mine"), tmp_path / "s.csv")
    with pytest.raises(UsageError, match="need the columns graph,"):
        bfsbench.write_results(rows.drop(columns="graph").drop(columns="source"), tmp_path / "s.csv")


@pytest.mark.parametrize("index", [True, False])
def test_files_of_to_csv_are_named_with_a_hint(index: bool, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    bfsbench.sweep(LATTICE, "cpu_queue", repeats=2).to_csv(path, index=index)
    for read in (bfsbench.read_results, lambda path: bfsbench.compare(path, path)):
        with pytest.raises(bfsbench.InputError, match=r"r\.csv.*bfsbench\.write_results writes result files"):
            read(path)


def test_all_pairs_without_a_gpu_run_on_the_host(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(_backend: str) -> Driver:
        raise DeviceError("no driver")

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr("bfsbench.backends._driver", missing)
    graph = bfsbench.generate("weighted_random", n=12)
    assert bfsbench.all_pairs(graph).backend == "host"
    (warning,) = caplog.messages
    assert "no GPU can be used" in warning and "so cpu_floyd_warshall runs on the CPU" in warning
    assert bfsbench.all_pairs(graph, backend="cpu", TILE_SIZE=32).backend == "cpu"
