"""The notebooks of docs/notebooks run from their first to their last cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfsbench.paths import CUDA_SRC

ROOT = CUDA_SRC.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = jupytext.read(path)
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(ROOT)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 4 and "assert" in code[-1].source
    assert all(cell.execution_count and cell.outputs for cell in code[:-1])
