"""Pages of the site of docs/: the gallery follows declarations and rows, and the example kernel works."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bfsbench.paths import CUDA_SRC
from bfsbench.variants import all_variants
from tests.report.result_rows import emulated_row, frame, host_row, row

ROOT = CUDA_SRC.parent


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """The module that makes the gallery; it is part of the site, not of the package."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "site" / "gallery.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ratios_are_to_the_best_other_published_kernel(gallery: ModuleType, tmp_path: Path) -> None:
    rows = [row(variant=name, search_ms=ms) for name, ms in (("pull", 2), ("luo", 3), ("adaptive", 1))]
    others = [host_row(search_ms=0.5), emulated_row(variant="push_frontier", search_ms=0.1)]
    found = gallery.ratios(frame(tmp_path, [*rows, *others]))
    assert found["adaptive"] == {"grid:directed": 2}  # host programs and emulated kernels are no rivals
    assert found["pull"] == {"grid:directed": 1.5}  # nor is a search of our own
    assert found["cpu_queue"] == {"grid:directed": 4}


def test_the_gallery_has_every_search_with_its_figure_and_kernel(gallery: ModuleType) -> None:
    variants = list(all_variants().values())
    page = gallery.render(variants, {"pull": {"lattice(rows=3,columns=4):symmetrised": 1.5}}, "`rows.csv`")
    sections = {part.split()[0]: part for part in page.split("\n## ")[1:]}
    assert list(sections) == [variant.name for variant in variants]
    for variant in variants:
        section = sections[variant.name]
        assert all(origin in section for origin in variant.origin)
        file = section.split("| kernel | `" if not variant.host else "| program | `")[1].split("`")[0]
        assert (ROOT / file).exists()
    assert "| lattice(rows=3,columns=4) | 1.50 |" in sections["pull"]
    assert "Not among the rows." in sections["luo"]


def test_the_example_of_ones_own_kernel_is_right(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "kernel.md").read_text()
    folder = tmp_path / "mine"
    folder.mkdir()
    for kind, name in (("cpp", "mine.cu"), ("python", "mine.py")):
        (folder / name).write_text(text.split(f"```{kind}\n")[1].split("```")[0])
    command = [sys.executable, "-m", "bfsbench", "check", str(folder), "--seeds", "2", "--dataset", "pmpp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout) == (0, "mine: nothing found in 2 runs, 2 declared benign\n"), done
