"""README and results page are correct: the example runs, and the numbers are those of the rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.texts import fill_in

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "README.md.j2",
    "results/README.md": "results.md.j2",
    "results/h200/limits.md": "limits.md.j2",
    "results/h200/entry-clocks.md": "entry-clocks.md.j2",
}


def python(folder: Path, *words: str) -> str:
    """Python's stderr, with the folder's variants."""
    environment = os.environ | {"BFSBENCH_VARIANTS": str(folder), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_XDIST_WORKER", None)  # what is started is nobody's worker
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with the README's example as it stands, and the kernel that it names."""
    (example,) = re.findall(
        r"```python\n([^`]*?class Mine.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    kernel = (ROOT / "cuda_src" / "frontier_numbers.cu").read_text()
    (tmp_path / "mine.py").write_text(example)
    (tmp_path / "mine.cu").write_text(kernel.replace("frontier_numbers", "mine"))
    return tmp_path


def test_the_example_passes_the_tests_of_variants(mine: Path, cache: Path) -> None:
    (mine / "pytest" / "d").mkdir(parents=True)
    (mine / "pytest" / "d" / "compiled").symlink_to((cache / "native").resolve())
    words = ("-n", "0", "-q", "-k", "mine", "-o", f"cache_dir={mine / 'pytest'}", "--rootdir", str(ROOT))
    python(mine, "-m", "pytest", *words, str(ROOT / "tests" / "test_variants.py"))


def test_the_example_is_swept_like_the_others(mine: Path) -> None:
    words = "run --variant mine --dataset path(n=9) --backend cpu --block 32,64 --repeats 1 --out r.csv"
    assert "2 points: 2 ok" in python(mine, "-m", "bfsbench", *words.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize(("page", "template"), PAGES.items())
def test_pages_say_what_the_rows_say(page: str, template: str) -> None:
    text = fill_in(ROOT / "docs" / "text" / template, ROOT / "results")
    assert (ROOT / page).read_text() == text, f"bfsbench text docs/text/{template} --out {page}"
