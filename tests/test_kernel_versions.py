"""The script that times versions of kernels beside each other."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bfsbench.backends.base import Device
from bfsbench.errors import WrongResultError
from bfsbench.paths import CUDA_SRC
from tests.benchmarks.kernel_versions import SharedBuffers, main

GRAPH = "lattice(rows=6,columns=5)"


def changed_copy(folder: Path, file: str, old: str, new: str) -> Path:
    """The kernels with a change."""
    kernels = folder / "cuda_src"
    shutil.copytree(CUDA_SRC, kernels)
    text = (kernels / file).read_text()
    assert old in text
    (kernels / file).write_text(text.replace(old, new))
    return kernels


def beside(out: Path, *versions: str) -> Result:
    words = (str(out), *versions, "--graph", GRAPH, "--variant", "push_frontier", "--backend", "cpu")
    return CliRunner().invoke(main, [*words, "--repeats", "2", "--sources", "2"])


def test_each_version_has_rows_of_all_sources(tmp_path: Path) -> None:
    other = changed_copy(tmp_path, "push_frontier.cu", "__global__", "/* another */ __global__")
    done = beside(tmp_path / "rows.csv", f"one={CUDA_SRC}", f"other={other}")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("lattice(rows=6,columns=5,seed=1):symmetrised: one ")
    rows = [*csv.DictReader((tmp_path / "rows.csv").open())]
    assert sorted(row["version"] for row in rows) == ["one", "one", "other", "other"]
    assert len({row["source"] for row in rows}) == 2
    assert all(len(row["search_ms_samples"].split(";")) == 2 for row in rows)


def test_a_version_that_is_wrong_ends_it(tmp_path: Path) -> None:
    wrong = changed_copy(tmp_path, "push_frontier.cu", "level + 1", "level + 2")
    assert isinstance(beside(tmp_path / "rows.csv", f"wrong={wrong}").exception, WrongResultError)


@pytest.mark.parametrize("version", ["old", "=HEAD", "old=HEAD,KNOB", f"old={CUDA_SRC},KNOB=1"])
def test_what_is_no_version_is_refused(tmp_path: Path, version: str) -> None:
    done = beside(tmp_path / "rows.csv", version)
    assert done.exit_code != 0


def test_versions_of_one_name_are_refused(tmp_path: Path) -> None:
    """Of two commits, one would be unpacked over the other."""
    done = beside(tmp_path / "rows.csv", "old=HEAD~1", "old=HEAD")
    assert done.exit_code == 2
    assert "names of their own" in done.output
    assert not (tmp_path / "rows.csv").exists()


def test_buffers_of_one_size_and_type_are_given_once(device: Device) -> None:
    shared = SharedBuffers(device)
    with shared.given():
        one, other, signal = device.empty(5, "int32"), device.empty(5, "int32"), device.signal(2)
    with shared.given():
        again = [device.signal(2), *(device.empty(5, "int32") for _ in range(3))]
    assert again[:3] == [signal, one, other]
    assert again[3] not in (one, other)
    assert device.empty(5, "int32") not in (one, other)
