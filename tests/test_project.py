"""Checks of the whole project: style, types, start-up time, the README's commands."""

import re
import resource
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint(*command: str) -> None:
    """Run a checker in a process of its own, as some change the logging of theirs."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    lint("-m", "ruff", "check", ".")


def test_the_code_is_formatted() -> None:
    lint("-m", "ruff", "format", "--check", ".")


@pytest.mark.exhaustive  # a first time takes longer than all else in this file
def test_types_hold() -> None:
    lint("-m", "mypy")


def test_imports_run_one_way() -> None:
    lint("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))")


def test_the_drawing_has_every_package_in_the_order_of_imports() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [name for layer in reversed(contract["layers"]) for name in layer.split(" | ")]
    drawing = (ROOT / "docs" / "architecture.md").read_text().split("```")[1].splitlines()
    drawn = [word for line in drawing if line for word in re.split(r" {4,}", line[18:])[0].split()]
    assert sorted(drawn) == sorted(set(layers) - {"__main__"})
    places = {name: place for place, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    assert [places[name] for name in drawn] == sorted((places[name] for name in drawn), reverse=True)


@pytest.mark.parametrize("folder", ["bfsbench", "cuda_src", "tests"])
def test_no_file_has_outgrown_its_job(folder: str) -> None:
    suffixes = {".py", ".cu", ".cuh", ".cpp", ".h", ".js", ".css", ".html"}
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    assert files
    long = {str(path): n for path in files if (n := len(path.read_text().splitlines())) > 600}
    assert not long


def test_the_command_line_starts_quickly() -> None:
    """In processor time, which other load affects little."""
    times = []
    for _ in range(5):
        before = children_s()
        subprocess.run(
            [sys.executable, "-m", "bfsbench", "--help"], check=True, capture_output=True, cwd=ROOT
        )
        times.append(children_s() - before)
    assert min(times) < 0.3


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_heavy_packages_wait_until_they_are_needed() -> None:
    code = "import sys, bfsbench.cli; print({'numpy', 'pandas', 'rich', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    first, second = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if "pytest" in line]
    assert first in (ROOT / "README.md").read_text().splitlines()
    assert second == ".venv/bin/pytest -m exhaustive"


def test_the_first_command_of_the_readme_measures_every_point(tmp_path: Path) -> None:
    line = next(line for line in (ROOT / "README.md").read_text().splitlines() if " run --dataset " in line)
    words = shlex.split(line.split("/bfsbench ")[1])
    command = [sys.executable, "-m", "bfsbench", *words, "--out", str(tmp_path / "r.csv")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "18 points: 18 ok" in done.stderr
