"""``bfsbench cache`` shows and removes the folders of the cache."""

import json
from pathlib import Path

import pytest

import bfsbench
from bfsbench.support.paths import CACHE_PARTS
from tests.commands import invoke, refused


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BFSBENCH_CACHE", str(folder))
    return folder


def test_an_absent_cache_has_no_folders(cache: Path) -> None:
    assert "The cache is empty." in invoke("cache").stdout
    assert invoke("cache", "--clean", "all").exit_code == 0
    assert not cache.exists()


def test_only_the_named_folders_are_removed(cache: Path) -> None:
    for name in ("graphs/a", "graphs/b", "native/x", "entries/mine/bin/y"):
        file = cache / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(1024))
    lines = [line.split() for line in invoke("cache").stdout.splitlines()]
    assert ["graphs", "2", "2.0", "KiB"] in [line[:4] for line in lines]
    folders = json.loads(invoke("cache", "--format", "json").stdout)["cache"]["rows"]
    assert {row["folder"]: row["bytes"] for row in folders}["graphs"] == 2048
    done = invoke("cache", "--clean", "graphs,native")
    assert [path.name for path in cache.iterdir()] == ["entries"]
    assert "entries" in done.stdout and "graphs" not in done.stdout
    assert refused(invoke("cache", "--clean", "grphs")).startswith("unknown folder 'grphs': there are ")


def test_single_graphs_are_removed(cache: Path) -> None:
    made = "kronecker(scale=4,edge_factor=2)"
    for graph in ("path(n=2)", "path(n=2):self_loops=drop", "path(n=21)", made):
        bfsbench.load(graph)
    (cache / "downloads" / "mine").mkdir(parents=True)
    done = invoke("cache", "--clean", "graphs/path(n=2),downloads/mine")
    assert done.stderr.count("removed ") == 3
    left = sorted(path.name.split("_")[0] for path in (cache / "graphs").glob("[!.]*"))
    assert left == ["kronecker", "path"] and not [*(cache / "downloads").iterdir()]
    assert refused(invoke("cache", "--clean", "graphs/path(n=2)")).startswith(
        "unknown name in graphs 'path(n=2)'"
    )
    for other in ("graphs/../native", "graphs/kronecker"):
        assert refused(invoke("cache", "--clean", other)).startswith("unknown name in graphs")
    assert refused(invoke("cache", "--clean", "graphs/")) == "graphs/ names no graph"
    assert invoke("cache", "--clean", f"graphs/{made}").exit_code == 0


def test_the_page_about_graphs_lists_all_folders() -> None:
    page = (Path(__file__).parents[1] / "docs" / "graphs.md").read_text()
    table = page.partition("## The cache folder")[2].partition("## In Python")[0]
    names = [cell for line in table.splitlines() if line.startswith("| `") for cell in line.split("`")[1::2]]
    assert {*names} == {*CACHE_PARTS}
