"""Tests of tests/benchmarks/kernel_builds.py, which lists the builds that scripts compare between commits."""

import shutil
from pathlib import Path

from bfsbench.support.paths import CUDA_SRC
from tests.benchmarks.kernel_builds import PACKAGE, all_builds
from tests.benchmarks.machine_code import builds_of


def test_every_kernel_file_is_among_the_builds() -> None:
    assert {build.file for build in all_builds()} == {file.stem for file in CUDA_SRC.rglob("*.cu")}


def test_macros_are_those_of_the_package_whose_builds_are_listed(tmp_path: Path) -> None:
    package = tmp_path / "bfsbench"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CUDA_SRC, tmp_path / "cuda_src")
    (declaring,) = (file for file in package.rglob("*.py") if "_LONG_ROW = 1024" in file.read_text())
    moved = declaring.with_name("moved_elsewhere.py")
    moved.write_text(declaring.read_text().replace("_LONG_ROW = 1024", "_LONG_ROW = 512"))
    declaring.unlink()
    for file in package.rglob("*.py"):
        text = file.read_text()
        if f".{declaring.stem} import" in text:
            file.write_text(text.replace(f".{declaring.stem} import", ".moved_elsewhere import"))

    listed, here = builds_of(tmp_path), {(one.file, one.setting): one for one in all_builds()}
    assert dict(listed["likely_parents", ""].macros)["LONG_ROW"] == 512
    assert dict(here["likely_parents", ""].macros)["LONG_ROW"] == 1024
    assert here["luo", "W_FRONTIERS=32"] == listed["luo", "W_FRONTIERS=32"]
