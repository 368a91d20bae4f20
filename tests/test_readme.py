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
PAGES = {"README.md": "README.md.j2", "results/README.md": "results.md.j2"}
SEARCH_ALL_SHAPES = """
import bfsbench
from bfsbench.graphs.convert import build_graph
from tests.shapes import SHAPES, SOURCES

for name, edges in SHAPES.items():
    for source in SOURCES[name]:
        bfsbench.search(build_graph(edges, name), "mine", source, backend="cpu", block=64, repeats=2)
"""


def python(folder: Path, *words: str) -> str:
    """Python's stderr, with the folder's variants."""
    environment = os.environ | {"BFSBENCH_VARIANTS": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
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


def test_the_example_searches_every_shape_right(mine: Path) -> None:
    python(mine, "-c", SEARCH_ALL_SHAPES)  # every search is checked


def test_the_example_is_swept_like_the_others(mine: Path) -> None:
    words = "run --variant mine --dataset path(n=9) --backend cpu --block 32,64 --repeats 1 --out r.csv"
    assert "2 points: 2 ok" in python(mine, "-m", "bfsbench", *words.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize(("page", "template"), PAGES.items())
def test_pages_say_what_the_rows_say(page: str, template: str) -> None:
    text = fill_in(ROOT / "docs" / "text" / template, ROOT / "results")
    assert (ROOT / page).read_text() == text, f"bfsbench text docs/text/{template} --out {page}"
