"""Provides a server, a catalogue of small graphs on the server, and an empty cache for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fetch_server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """Provide an empty cache. It shares only compiled code with other tests."""
    folder = tmp_path / "home"
    folder.mkdir()
    (cache / "native").mkdir(exist_ok=True)
    (folder / "native").symlink_to(cache / "native")
    monkeypatch.setenv("BFSBENCH_CACHE", str(folder))
    monkeypatch.delenv("BFSBENCH_DATASETS", raising=False)
    monkeypatch.delenv("BFSBENCH_CHECKSUMS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return folder


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Provide a function that writes a text as the user's catalogue. It returns the file's path."""

    def write(text: str) -> Path:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        monkeypatch.setenv("BFSBENCH_DATASETS", str(path))
        return path

    return write
