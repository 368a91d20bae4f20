"""The progress display of graphs that take long to load."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from bfsbench.cli import progress as displays
from bfsbench.cli.progress import load_with_progress
from bfsbench.errors import UsageError
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import Progress, load


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

    def load_slowly(text: str, progress: Progress | None = None) -> Graph:
        assert progress is not None
        progress(1, 2)
        time.sleep(0.3)
        return load(text, progress)

    monkeypatch.setattr(displays, "MOMENT_S", 0.05)
    monkeypatch.setattr(displays.load, "load", load_slowly)


def shown(text: str, *, terminal: bool) -> str:
    screen = io.StringIO()
    graph = load_with_progress(text, Console(file=screen, force_terminal=terminal, width=80))
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
        load_with_progress("no-such-graph")
