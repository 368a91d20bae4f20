"""What a sweep tells a batch job: a missing GPU, and the points that are left when the time is over."""

import json
import os
from pathlib import Path

import pytest

from bfsbench.rows.results import read_rows
from tests.commands import bfsbench, bfsbench_with

LATTICE = "lattice(rows=5,columns=7)"


@pytest.mark.parametrize(
    ("given", "warns"),
    [
        ({"SLURM_JOB_GPUS": "0"}, True),
        ({"SLURM_GPUS_ON_NODE": "1"}, True),
        ({"SLURM_GPUS_ON_NODE": "0"}, False),
        ({"SLURM_JOB_GPUS": "0", "CUDA_VISIBLE_DEVICES": ""}, False),
    ],
)
def test_a_missing_gpu_that_a_batch_system_has_given_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], warns: bool
) -> None:
    """The worker process cannot import the packages for a GPU, so the test passes on a machine with a GPU."""
    for package in ("pycuda", "cuda"):
        (tmp_path / "broken" / package).mkdir(parents=True)
        (tmp_path / "broken" / package / "__init__.py").write_text("raise ImportError('broken')")
    path = os.pathsep.join(filter(None, (str(tmp_path / "broken"), os.environ.get("PYTHONPATH"))))
    for name, value in ({"PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "0"} | given).items():
        monkeypatch.setenv(name, value)
    if "CUDA_VISIBLE_DEVICES" not in given:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    words = ("run", "--dataset", LATTICE, "--variant", "push", "--quiet", "--out", "r.csv")
    said = bfsbench_with("", *words, cwd=tmp_path).stderr
    assert (said.count("\n"), "so kernels run in the emulator" in said) == (int(warns), warns)
    assert len(read_rows(tmp_path / "r.csv")) == 1


def test_a_sweep_without_time_names_the_points_that_are_left(tmp_path: Path) -> None:
    words = ("run", "--backend", "cpu", "--dataset", LATTICE, "--variant", "push,cpu_queue", "--out", "r.csv")
    done = bfsbench(*words, "--minutes", "1e-9", "--json", cwd=tmp_path, check=124)
    end = json.loads(done.stdout.splitlines()[-1])
    assert (end["how"], end["points"], end["left"]) == ("time over", 0, 2)
    assert (
        done.stderr == "bfsbench: the time is over with 2 points left: continue with --resume --out r.csv\n"
    )
    bfsbench(*words, "--resume", cwd=tmp_path)
    assert len(read_rows(tmp_path / "r.csv")) == 2
