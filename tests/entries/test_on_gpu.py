"""Python entries over CuPy arrays are timed by events of the device. Without a GPU, a module over NumPy
replaces CuPy."""

import os
import re
from pathlib import Path

import pytest

from bfsbench.entries.find import SHIPPED, SKELETONS
from bfsbench.graphs.load import load
from bfsbench.support.errors import WrongResultError
from tests.entries.toy_entries import LINE, TOYS, timed, write_entry


@pytest.fixture(autouse=True)
def stands_in(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let the programs that tests start import CuPy. Returns whether a module over NumPy replaces it, because
    there is no CuPy or no GPU."""
    try:
        import cupy

        cupy.cuda.Device(0).compute_capability  # noqa: B018
        return False
    except Exception:  # CuPy has errors of its own for what is missing
        paths = [str(TOYS / "stand_in"), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        return True


def declared(folder: Path, how: str, held_by: str = "events") -> Path:
    """Declare a toy on the GPU, whose module is beside the TOML file. Returns the TOML file."""
    (folder / "skeleton.py").write_bytes((SKELETONS / "python_gpu" / "NAME.py").read_bytes())
    (folder / "on_gpu.py").write_bytes((TOYS / "on_gpu.py").read_bytes())
    return write_entry(folder, f"toy_{how}", f'python = "on_gpu:{how}"\narrays = "cupy"', held_by)


@pytest.mark.parametrize("how", ["honest", "returned"])
@pytest.mark.parametrize("held_by", ["events", "ours"])
def test_a_right_search(tmp_path: Path, how: str, held_by: str) -> None:
    timing = timed(declared(tmp_path, how, held_by), load("kronecker(scale=6,edge_factor=4)"))
    assert all(0 < ms <= wall for ms, wall in zip(timing.search_ms, timing.wall_ms, strict=True))
    assert timing.preprocess_ms > 0


@pytest.mark.parametrize("graph", ["kronecker(scale=6,edge_factor=4)", "uniform(n=300,m=700,directed=1)"])
def test_cugraph(tmp_path: Path, stands_in: bool, graph: str) -> None:
    """The entry calls pylibcugraph with the right names of arguments. Only a GPU can run pylibcugraph
    itself."""
    if not stands_in:
        pytest.importorskip("pylibcugraph")
    declared = (SHIPPED / "cugraph.toml").read_text()
    file = tmp_path / "cugraph.toml"
    file.write_text(re.sub("(?m)^(packages|device) = .*$", "", declared))
    assert min(timed(file, load(graph)).search_ms) > 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("wrong", "1 of 40 levels differ"),
        ("stale", "left 40 of 40 answers unwritten"),
        ("returned_again", "40 of 40 levels differ"),
        ("past_end", "wrote outside its array"),
    ],
)
def test_a_wrong_search(tmp_path: Path, how: str, message: str) -> None:
    with pytest.raises(WrongResultError, match=message):
        timed(declared(tmp_path, how), load(LINE))
