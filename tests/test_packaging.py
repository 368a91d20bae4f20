"""Wheels and sdists name their commit, are small, and have all that a sweep and its pages of help need."""

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bfsbench.cli import main
from bfsbench.rows import provenance
from bfsbench.support.paths import PACKAGE
from bfsbench.variants import all_variants

ROOT = Path(__file__).parent.parent
RECORD = "bfsbench/data/commit.txt"
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *AUTHOR, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build(folder: Path, kind: str, to: str | Path = "made") -> Path:
    """Build the sdist or the wheel of a project. Returns its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (made,) = (folder / to).glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


def unpacked(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist. Returns the project's folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (project,) = folder.iterdir()
    return project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with as much of this project as building needs."""
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    folder = tmp_path / "project"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    (folder / "bfsbench" / "data").mkdir(parents=True)
    (folder / "cuda_src").mkdir()
    (folder / "cuda_src" / "a.cu").touch()
    needed = ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "bfsbench/__init__.py"]
    for name in (
        *needed,
        *(name for name in settings["targets"]["wheel"]["force-include"] if (ROOT / name).is_file()),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "all")
    return folder


def test_an_sdist_and_the_wheel_made_of_it_carry_the_commit(project: Path, tmp_path: Path) -> None:
    head = git(project, "rev-parse", "--short=12", "HEAD")
    again = unpacked(build(project, "sdist"), tmp_path / "unpacked")
    assert (again / RECORD).read_text().strip() == head
    assert zipfile.ZipFile(build(again, "wheel")).read(RECORD).decode().strip() == head


def test_a_wheel_of_changed_code_says_so(project: Path) -> None:
    (project / "cuda_src" / "a.cu").write_text("// changed\n")
    record = zipfile.ZipFile(build(project, "wheel")).read(RECORD).decode()
    assert record.strip().endswith("+dirty")
    assert git(project, "status", "--porcelain", "--untracked-files=no").split() == ["M", "cuda_src/a.cu"]


def test_an_installed_package_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "site-packages" / PACKAGE.name)
    monkeypatch.setattr(provenance, "RECORD", tmp_path / "commit.txt")
    assert provenance.commit.__wrapped__() == ""
    (tmp_path / "commit.txt").write_text("0123456789ab\n")
    assert provenance.commit.__wrapped__() == "0123456789ab"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def test_an_sdist_is_small_and_the_wheel_made_of_it_is_that_of_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    sdist = build(ROOT, "sdist", tmp_path / "sdist")
    assert wheel.stat().st_size <= 3_000_000 and sdist.stat().st_size <= 4_000_000
    again = build(unpacked(sdist, tmp_path / "unpacked"), "wheel")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


@pytest.mark.exhaustive  # downloads what the package needs
def test_a_wheel_in_an_environment_of_its_own_sweeps_and_reports(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "fresh", with_pip=True)
    programs = tmp_path / "fresh" / "bin"
    environment = os.environ | {"BFSBENCH_CACHE": str(tmp_path / "cache")}
    for name in ("PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)

    def run(program: str, *words: str | Path) -> str:
        command = [programs / program, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    graphs = "soc-Epinions1,lattice(rows=9,columns=7)"
    words = ("--variant", "push,cpu_parallel", "--backend", "cpu", "--out", "r.csv")
    run("bfsbench", "run", "--dataset", graphs, *words)
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["ok"] * 4
    assert {row["commit"] for row in rows} == {zipfile.ZipFile(wheel).read(RECORD).decode().strip()}
    assert "cpu_parallel" in run("bfsbench", "report", "r.csv")
    predicted = run("bfsbench", "explain", "push", "--dataset", "path(n=9)")
    assert "Prediction" in predicted, "the ceilings are there"


def told(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of a command and of its subcommands."""
    yield command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        inner = command.get_command(context, name)
        assert inner is not None
        yield from told(inner, click.Context(inner, context, name))


def messages() -> Iterator[str]:
    """The strings of the package's code besides docstrings, and the files that a user gets to fill in."""
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        bare = {node.value for node in nodes if isinstance(node, ast.Expr)}
        strings = (node for node in nodes if isinstance(node, ast.Constant) and node not in bare)
        yield from (node.value for node in strings if isinstance(node.value, str))
    skeletons = [path for path in (PACKAGE / "entries" / "skeletons").rglob("*.*") if path.suffix != ".pyc"]
    yield from (path.read_text(encoding="utf-8") for path in skeletons)


def test_pages_that_help_and_messages_name_are_installed_or_said_to_be_in_the_repository(wheel: Path) -> None:
    installed = zipfile.ZipFile(wheel).namelist()
    texts = [*told(main, click.Context(main, info_name="bfsbench")), *messages()]
    texts += [variant.__doc__ or "" for variant in all_variants().values()]
    named = [(page, " ".join(text.split())) for text in texts for page in re.findall(r"[\w./-]+\.md\b", text)]
    pages = [(page, text) for page, text in named if (ROOT / page).is_file() or "/" in page]
    assert {"docs/entries.md", "docs/graphs.md", "cuda_src/adaptive/adaptive.md"} <= {
        page for page, _ in pages
    }
    for page, text in pages:
        assert f"bfsbench/{page}" in installed or f"{page} in the repository" in text, f"{page}: {text}"


def test_asking_for_the_commit_writes_nothing_into_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "bfsbench"
    package.mkdir()
    (package / "code.py").write_text("x = 1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "c"]):
        git(tmp_path, *words)
    os.utime(package / "code.py", (1, 1))  # which git status would record, under a lock
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    monkeypatch.setattr(provenance, "PACKAGE", package)
    monkeypatch.delenv("BFSBENCH_COMMIT", raising=False)
    clean = provenance.commit.__wrapped__()
    assert len(clean) == 12
    assert index.read_bytes() == before
    git(tmp_path, "status")
    assert index.read_bytes() != before  # so there was something to write
    (package / "code.py").write_text("x = 2\n")
    assert provenance.commit.__wrapped__() == f"{clean}+dirty"
