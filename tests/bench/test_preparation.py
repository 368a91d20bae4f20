"""Preparation: everything between the graph on disk and readiness, for every search, without compilation."""

import time
from pathlib import Path

import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.load import load
from bfsbench.programs import DeviceGraph
from bfsbench.reports.rows import configurations
from bfsbench.rows.results import read_results
from tests.commands import bfsbench

SLOW_MS = 30.0


def slow_part(graph: DeviceGraph) -> int:
    graph.row_offsets  # noqa: B018  what is uploaded here counts once
    time.sleep(SLOW_MS / 1e3)
    return 1


def test_what_searches_share_counts_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with CpuDevice() as device:
        graph = DeviceGraph(device, load("path(n=50)"))
        upload = device.upload

        def slowly(array: object) -> object:
            time.sleep(SLOW_MS / 1e3)
            return upload(array)  # type: ignore[arg-type]

        monkeypatch.setattr(device, "upload", slowly)

        def compiles() -> None:
            device.compile_ms += 5.0
            time.sleep(5e-3)
            graph.once(slow_part)

        for _ in range(2):
            prepare_ms, compile_ms = graph.preparation_ms(compiles, ("CSR",))
            assert compile_ms >= 5
            assert prepare_ms >= 2 * SLOW_MS, "the second time, too"


def test_rows_have_preparation_and_compilation_apart(tmp_path: Path) -> None:
    words = ("run", "--dataset", "path(n=50)", "--variant", "pull,adaptive", "--backend", "cpu")
    bfsbench(*words, "--repeats", "1", "--out", "r.csv", cwd=tmp_path)
    rows = read_results([tmp_path / "r.csv"])
    assert (rows["prepare_ms"] > 0).all() and (rows["compile_ms"] > 0).all()
    assert (configurations(rows)["prepare_ms"] > 0).all()
    old = rows.assign(compile_ms=float("nan"))
    assert configurations(old)["prepare_ms"].isna().all(), "older rows defined it otherwise"
