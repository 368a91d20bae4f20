"""Wheels and sdists name the commit that they are made of."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from bfsbench.bench import provenance
from bfsbench.paths import PACKAGE

ROOT = Path(__file__).parent.parent
RECORD = "bfsbench/data/commit.txt"
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *AUTHOR, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build(folder: Path, kind: str) -> Path:
    """The sdist or wheel of a project's folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", "made"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (made,) = (folder / "made").glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with as much of this project as building needs."""
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    folder = tmp_path / "project"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    (folder / "bfsbench" / "data").mkdir(parents=True)
    (folder / "cuda_src").mkdir()
    (folder / "cuda_src" / "a.cu").touch()
    needed = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "bfsbench/__init__.py"]
    for name in (*needed, *(name for name in settings["force-include"] if (ROOT / name).is_file())):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "all")
    return folder


def test_an_sdist_and_the_wheel_made_of_it_carry_the_commit(project: Path, tmp_path: Path) -> None:
    head = git(project, "rev-parse", "--short=12", "HEAD")
    with tarfile.open(build(project, "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / RECORD).read_text().strip() == head
    assert zipfile.ZipFile(build(unpacked, "wheel")).read(RECORD).decode().strip() == head


def test_a_wheel_of_changed_code_says_so(project: Path) -> None:
    (project / "cuda_src" / "a.cu").write_text("// changed\n")
    record = zipfile.ZipFile(build(project, "wheel")).read(RECORD).decode()
    assert record.strip().endswith("+dirty")
    assert git(project, "status", "--porcelain", "--untracked-files=no").split() == ["M", "cuda_src/a.cu"]


def test_an_installed_package_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "site-packages" / PACKAGE.name)
    monkeypatch.setattr(provenance, "RECORD", tmp_path / "commit.txt")
    provenance.commit.cache_clear()
    try:
        assert provenance.commit() == ""
        provenance.commit.cache_clear()
        (tmp_path / "commit.txt").write_text("0123456789ab\n")
        assert provenance.commit() == "0123456789ab"
    finally:
        provenance.commit.cache_clear()
