"""The progress display of graphs that take long to load, and of sweeps on terminals of several widths."""

import io
import re
import time
from pathlib import Path

import pytest
from rich.console import Console

from bfsbench.bench.worker import Measured
from bfsbench.cli import progress as displays
from bfsbench.cli.progress import SweepDisplay, load_with_progress
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import GraphName, Progress, load_parsed, resolve
from bfsbench.support.errors import UsageError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """An empty cache that shares compiled code with the session's."""
    (cache / "native").mkdir(exist_ok=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "native").symlink_to(cache / "native")
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path / "home"))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading always takes longer than the delay of the display."""

    def load_slowly(named: GraphName, progress: Progress | None = None) -> Graph:
        assert progress is not None
        progress(1, 2)
        time.sleep(0.3)
        return load_parsed(named, progress)

    monkeypatch.setattr(displays, "MOMENT_S", 0.05)
    monkeypatch.setattr(displays.load, "load_parsed", load_slowly)


def shown(text: str, *, terminal: bool) -> str:
    screen = io.StringIO()
    graph = load_with_progress(resolve(text), Console(file=screen, force_terminal=terminal, width=80))
    assert graph.num_vertices == 5
    return screen.getvalue()


@pytest.mark.usefixtures("slow")
def test_one_plain_line_where_there_is_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "g[1].txt"
    path.write_text("0 1\n1 2\n2 3\n3 4\n")
    assert shown(str(path), terminal=False) == f"converting {path}\n"
    assert shown("path(n=5)", terminal=False) == "generating path(n=5)\n"


@pytest.mark.usefixtures("slow")
def test_a_bar_on_a_terminal() -> None:
    output = shown("path(n=5)", terminal=True)
    assert "generating path(n=5)" in output
    assert "━" in output


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_for_a_graph_that_is_made_at_once(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displays, "MOMENT_S", 60.0)
    started = time.monotonic()
    assert "path" not in shown("path(n=5)", terminal=terminal)
    assert time.monotonic() - started < 30, "the display is not waited for"


def test_errors_pass() -> None:
    with pytest.raises(UsageError, match="unknown dataset"):
        load_with_progress(resolve("no-such-graph"))


@pytest.mark.parametrize(("width", "whole"), [(60, False), (80, False), (240, True)])
def test_the_count_is_never_cut_off_and_wide_terminals_are_used(width: int, whole: bool) -> None:
    file = io.StringIO()
    knobs = "W_FRONTIERS=8 B_FRONTIER_SIZE=0 BLOCK_LIMIT=0 RESIDENT_LIMIT=0"
    row = {"graph": "lattice(rows=60,columns=60,seed=1):symmetrised", "variant": "luo", "grid": "auto"}
    row |= {"block": "256", "knobs": knobs, "status": "ok", "reason": "", "backend": "cuda"}
    row |= {"search_ms": "1.5"}
    with SweepDisplay(None, Console(file=file, width=width, force_terminal=True)) as display:
        display.begin(None, 1228)
        for _ in range(3):
            display.done(Measured(row))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    (line,) = {line for line in re.split(r"[\r\n]", shown) if " 3/1228 " in line}
    assert len(line) == width
    assert "1.500 ms" in line or width == 60
    assert (knobs in line) == whole


def test_emulated_times_are_marked() -> None:
    file = io.StringIO()
    row = {"graph": "path(n=9)", "variant": "pull", "grid": "auto", "block": "32", "knobs": "", "reason": ""}
    row |= {"status": "ok", "search_ms": "1.5", "backend": "cpu"}
    with SweepDisplay(None, Console(file=file, width=200)) as display:
        display.begin(None, 1)
        display.done(Measured(row))
    assert "1.500 ms emulated" in file.getvalue()
