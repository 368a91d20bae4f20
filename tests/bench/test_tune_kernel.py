"""Tuning of a kernel in a file of the user's own, from Python."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import bfsbench
from bfsbench.support.errors import UsageError

SAXPY = """
#ifndef UNROLL
#define UNROLL 1
#endif
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i] + (UNROLL == 3);
}
"""
X = np.linspace(0, 1, 300, dtype=np.float32)
ARGUMENTS: dict[str, Any] = {"n": len(X), "a": 2.0, "x": X, "y": np.ones_like(X)}


def expected(n: int, a: float, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    return {"y": a * x + y}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY)
    return path


def tune(source: Path, **changes: Any) -> pd.DataFrame:
    options = {"work": len(X), "block": [32, 64], "backend": "cpu", "repeats": 2, **changes}
    return bfsbench.tune(source, options.pop("arguments", ARGUMENTS), expected, **options)


def test_every_configuration_is_measured_and_checked(source: Path) -> None:
    rows = tune(source, grid="auto,1", block=[32, 4096], UNROLL=[1, 3])
    status = {(row.grid, row.block, row.UNROLL): row.status for row in rows.itertuples()}
    assert len(rows) == 8 and set(rows["grid"]) == {"auto", 1}
    assert {status[key] for key in status if key[1] == 4096} == {"failed"}
    assert {status[key] for key in status if key[1] == 32 and key[2] == 1} == {"ok"}
    assert {status[key] for key in status if key[1] == 32 and key[2] == 3} == {"wrong"}
    (reason,) = {*rows.loc[rows["status"] == "wrong", "reason"]}
    assert reason == "y[0] is 2.0, not 1.0"


def test_emulated_times_do_not_look_like_times_of_a_gpu(source: Path) -> None:
    rows = tune(source)
    assert (rows["emulated_fastest_ms"] <= rows["emulated_median_ms"]).all()
    assert "fastest_ms" not in rows


def test_points_limit_the_tuning_and_nothing_is_measured_twice(source: Path) -> None:
    rows = tune(source, block="32:1024:x2", UNROLL=[1, 2], points=5)
    assert len(rows) == 5
    assert not rows.duplicated(["grid", "block", "UNROLL"]).any()


def test_a_macro_that_the_file_always_defines_is_refused(source: Path) -> None:
    source.write_text("#define TIMES 2\n" + SAXPY.replace("; i < n;", "; i < n * TIMES / 2;"))
    with pytest.raises(UsageError, match="put the definition between #ifndef TIMES and #endif"):
        tune(source, TIMES=[1, 2])
    source.write_text("#ifndef TIMES\n#define TIMES 2\n#endif\n" + source.read_text().partition("\n")[2])
    assert {*tune(source, TIMES=[2])["status"]} == {"ok"}
    source.write_text(source.read_text().replace("#ifndef TIMES", "#if !defined(TIMES)"))
    assert {*tune(source, TIMES=[2])["status"]} == {"ok"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "daxpy"}, "no kernel 'daxpy': choose from saxpy"),
        ({"arguments": {**ARGUMENTS, "z": X}}, "takes n, a, x, y: check z"),
        ({"arguments": {name: ARGUMENTS[name] for name in ("n", "x", "y")} | {"a": 1}}, None),
        ({"block": "auto"}, "block must be a number of threads"),
        ({"work": 0}, "work"),
        ({"UNROL": [1, 2]}, "saxpy.cu does not use UNROL"),
    ],
)
def test_wrong_requests_are_refused(source: Path, changes: dict[str, Any], message: str | None) -> None:
    if message is None:  # an integer does not become the float that the kernel takes
        assert {*tune(source, **changes)["status"]} == {"failed"}
    else:
        with pytest.raises(UsageError, match=message):
            tune(source, **changes)


def test_a_kernel_that_overruns_its_arrays_fails_alone(source: Path) -> None:
    source.write_text(SAXPY.replace("; i < n;", "; i < n * TIMES;"))
    rows = tune(source, repeats=1, block=[1024], TIMES=[4, 1, 400])
    assert dict(zip(rows["TIMES"], rows["status"], strict=True)) == {4: "failed", 1: "ok", 400: "failed"}


def test_a_kernel_that_does_not_end_fails_alone(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bfsbench.bench.tune_kernel.EMULATED_S", 2)
    endless = 'while (TIMES == 4) asm volatile("");'
    source.write_text(SAXPY.replace("for (", endless + " for (", 1))
    rows = tune(source, repeats=1, block=[32], TIMES=[4, 1])
    assert dict(zip(rows["TIMES"], rows["status"], strict=True)) == {4: "failed", 1: "ok"}


def test_a_reference_names_arrays_of_the_kernel(source: Path) -> None:
    with pytest.raises(UsageError, match="must return a dictionary of arrays, not ndarray"):
        bfsbench.tune(source, ARGUMENTS, lambda n, a, x, y: a * x, len(X), backend="cpu")  # type: ignore[arg-type,return-value]
    for output in ({}, {"z": X}, {"y": X[:5]}):
        with pytest.raises(UsageError, match="reference"):
            bfsbench.tune(source, ARGUMENTS, lambda n, a, x, y, output=output: output, len(X), backend="cpu")


def test_a_file_without_the_kernels_name_must_have_one_kernel(tmp_path: Path) -> None:
    path = tmp_path / "two.cu"
    path.write_text(SAXPY + SAXPY.replace("saxpy", "other"))
    with pytest.raises(UsageError, match="2 kernels: choose from other, saxpy"):
        tune(path)
    assert {*tune(path, kernel="other")["status"]} == {"ok"}
