"""Tests the cache of converted graphs. Unfinished and foreign files are never trusted."""

import errno
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pytest

from bfsbench.graphs import store as store_module
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph, Orientation
from bfsbench.graphs.store import GraphStore
from bfsbench.rows.results import read_rows
from bfsbench.support.errors import BfsbenchError, InputError
from bfsbench.support.paths import cache_dir

NAME = "graph(a=1,b=2)"
RECIPE = Recipe()


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    return GraphStore(tmp_path / "graphs")


def draw(num_edges: int = 1000, orientation: Orientation = "directed") -> EdgeList:
    ends = np.random.default_rng(1).integers(0, 100, (2, num_edges), np.int32)
    return EdgeList(ends[0], ends[1], 100, orientation, np.arange(100) * 3)


def build(store: GraphStore, recipe: Recipe = RECIPE, source: str = "abc") -> Graph:
    return store.build(NAME, recipe, draw, source)


def opened(store: GraphStore, name: str = NAME, recipe: Recipe = RECIPE) -> Graph:
    """Returns a graph that must be in the cache."""
    graph = store.open(name, recipe, "abc")
    assert graph is not None
    return graph


def left_over(store: GraphStore) -> list[str]:
    """Returns the names of the folders that are not complete graphs."""
    return [path.name for path in store.root.glob("*") if not (path / "meta.json").exists() and path.is_dir()]


def assert_same(left: Graph, right: Graph) -> None:
    for field in fields(Graph):
        a, b = getattr(left, field.name), getattr(right, field.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@pytest.mark.parametrize("recipe", [Recipe(), Recipe(symmetrise=True), Recipe(self_loops="drop")])
def test_what_was_built_is_opened_mapped_and_read_only(store: GraphStore, recipe: Recipe) -> None:
    assert store.open(NAME, recipe, "abc") is None
    built = build(store, recipe)
    graph = opened(store, recipe=recipe)
    assert_same(built, graph)
    assert graph.source_checksum == "abc"
    assert graph.statistics["vertices"] == 100
    for array in (graph.row_offsets, graph.column_indices, graph.edge_sources):
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable
    assert (graph.row_indices is graph.column_indices) == recipe.symmetrise
    assert left_over(store) == []


def test_symmetrised_graphs_are_stored_once(store: GraphStore) -> None:
    build(store, Recipe(symmetrise=True))
    names = {file.name for file in store.folder(NAME, Recipe(symmetrise=True)).iterdir()}
    arrays = ("row_offsets", "column_indices", "edge_sources", "original_ids")
    assert names == {"meta.json", *(f"{array}.npy" for array in arrays)}


def test_wide_offsets_stay_wide(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    convert = store_module.build_graph
    monkeypatch.setattr(store_module, "build_graph", lambda *given: convert(*given, wide_above=10))
    build(store)
    graph = opened(store)
    assert graph.row_offsets.dtype == graph.column_offsets.dtype == np.int64


def test_graphs_without_arcs(store: GraphStore) -> None:
    nothing = np.empty(0, np.int32)
    store.build("empty", RECIPE, lambda: EdgeList(nothing, nothing, 5), "abc")
    graph = opened(store, "empty")
    assert (graph.num_vertices, graph.num_edges) == (5, 0)


def test_names_and_recipes_do_not_collide(store: GraphStore) -> None:
    names = ["a/b", "a_b", "a b", "../a", "a" * 300, "a" * 301, "ä", "."]
    folders = {store.folder(name, recipe) for name in names for recipe in (RECIPE, Recipe(symmetrise=True))}
    assert len(folders) == 2 * len(names)
    assert all(folder.parent == store.root and len(folder.name) < 100 for folder in folders)


def test_published_counts_are_checked(store: GraphStore) -> None:
    store.build(NAME, RECIPE, draw, "abc", expect=(100, 1000))
    with pytest.raises(InputError, match=r"1,001 edges are published, the source has 1,000"):
        store.build("other", RECIPE, draw, "abc", expect=(None, 1001))
    with pytest.raises(InputError, match=r"99 vertices are published, the source has 100"):
        store.build("other", RECIPE, draw, "abc", expect=(99, None))
    assert store.open("other", RECIPE, "abc") is None


def edit_meta(folder: Path, old: str, new: str) -> None:
    text = (folder / "meta.json").read_text()
    assert old in text
    (folder / "meta.json").write_text(text.replace(old, new, 1))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda folder: os.truncate(folder / "column_indices.npy", 1000),
    "grown": lambda folder: os.truncate(folder / "row_offsets.npy", 1 << 20),
    "missing": lambda folder: (folder / "edge_sources.npy").unlink(),
    "no meta": lambda folder: (folder / "meta.json").unlink(),
    "meta cut": lambda folder: os.truncate(folder / "meta.json", 100),
    "meta edited": lambda folder: edit_meta(folder, '"arcs": 1000', '"arcs": 1001'),
    "meta of something else": lambda folder: (folder / "meta.json").write_text(json.dumps({"version": 1})),
    "meta empty": lambda folder: os.truncate(folder / "meta.json", 0),
    "array empty": lambda folder: os.truncate(folder / "column_indices.npy", 0),
    "not an array": lambda folder: (folder / "column_indices.npy").write_bytes(b"x" * (128 + 4000)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_and_rebuilt(
    store: GraphStore, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    build(store)
    folder = store.folder(NAME, RECIPE)
    DAMAGES[damage](folder)
    assert store.open(NAME, RECIPE, "abc") is None
    assert not folder.exists()
    (line,) = caplog.messages
    assert line.startswith(f"bfsbench: graph {NAME} in the cache is damaged: ")
    assert line.endswith("; making it again")
    build(store)
    assert np.array_equal(opened(store).column_indices, build_graph(draw(), NAME).column_indices)


def flipped(path: Path, bits: Iterable[int]) -> Iterator[int]:
    """Yield each bit. While a bit is yielded, it is flipped in the file."""
    with path.open("r+b", buffering=0) as file:
        for bit in bits:
            file.seek(bit // 8)
            (byte,) = file.read(1)
            for value in (byte ^ 1 << bit % 8, byte):
                file.seek(bit // 8)
                file.write(bytes([value]))
                if value != byte:
                    yield bit


def assert_flips_are_noticed(store: GraphStore, sample: int | None) -> None:
    """Flip single bits of every file of a graph: ``sample`` bits per file, or all bits if it is None."""
    folder = store.folder(NAME, RECIPE)
    wanted = (store_module.FORMAT_VERSION, NAME, asdict(RECIPE), "abc")
    for path in sorted(folder.iterdir()):
        bits: Iterable[int] = range(path.stat().st_size * 8)
        if sample is not None:
            bits = random.Random(path.name).sample(bits, sample)
        for bit in flipped(path, bits):
            with pytest.raises(store_module._UnusableError) as caught:
                store_module._load(folder, wanted, check=True)
            assert not isinstance(caught.value, store_module._OutdatedError), f"bit {bit} of {path.name}"
    assert store.open(NAME, RECIPE, "abc") is not None


def test_single_bit_flips_are_noticed(store: GraphStore) -> None:
    build(store)
    assert_flips_are_noticed(store, sample=300)


@pytest.mark.exhaustive
def test_every_single_bit_flip_is_noticed(store: GraphStore) -> None:
    build(store)
    assert_flips_are_noticed(store, sample=None)


@pytest.mark.exhaustive
def test_a_flipped_bit_gives_no_wrong_row(tmp_path: Path) -> None:
    """Without the check of digests, a flipped bit in the arcs gives a wrong depth and the old checksum."""
    command = [sys.executable, "-m", "bfsbench", "run", "--dataset", "path(n=103)", "--variant", "cpu_queue"]
    said = []
    for attempt in range(2):
        out = tmp_path / f"{attempt}.csv"
        words = ["--source", "0", "--repeats", "1", "--out", str(out)]
        done = subprocess.run([*command, *words], check=True, capture_output=True, text=True)
        assert [(row["status"], row["depth"]) for row in read_rows(out)] == [("ok", "102")]
        said.append("column_indices.npy is not what was written; making it again" in done.stderr)
        (path,) = (cache_dir() / "graphs").glob("path*n=103*/column_indices.npy")
        data = bytearray(path.read_bytes())
        data[-400] ^= 1 << 5
        path.write_bytes(data)
    assert said == [False, True]


def test_another_source_or_version_is_not_trusted(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    build(store)
    assert store.open(NAME, RECIPE, "other") is None
    build(store)
    monkeypatch.setattr(store_module, "FORMAT_VERSION", store_module.FORMAT_VERSION + 1)
    assert store.open(NAME, RECIPE, "abc") is None
    build(store)
    assert store.open(NAME, RECIPE, "abc") is not None
    assert caplog.messages == []


def test_a_graph_in_use_survives_its_replacement(store: GraphStore) -> None:
    held = build(store)
    columns = held.column_indices.copy()
    build(store, source="new")
    assert np.array_equal(held.column_indices, columns)


def write_little(root: Path) -> None:
    """Build a graph while files are limited to 2,000 bytes. Writes then fail as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        build(GraphStore(root))
    except BfsbenchError as error:
        sys.exit(0 if "File too large; free some space there or set BFSBENCH" in str(error) else 1)
    sys.exit(2)


def test_a_read_only_cache_gives_one_line_without_the_advice_to_free_space(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **_facts: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(BfsbenchError, match="Read-only file system; set BFSBENCH_CACHE to a folder that can"):
        build(store)


def test_a_full_disk_gives_one_line_and_leaves_nothing(store: GraphStore) -> None:
    build(store)  # compiles before the limit applies
    small = GraphStore(store.root / "small")
    process = multiprocessing.get_context("fork").Process(target=write_little, args=(small.root,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert left_over(small) == [] and small.open(NAME, RECIPE, "abc") is None
    build(small)


def test_an_unwritable_cache_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BfsbenchError, match=r"cannot store graph .*: (Not a directory|File exists)"):
        build(GraphStore(tmp_path / "file"))


BUILDER = """
import sys
from pathlib import Path
import numpy as np
from bfsbench.graphs.graph import EdgeList
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.store import GraphStore
from bfsbench.support.paths import cache_dir

ends = np.random.default_rng(1).integers(0, 1000, (2, 3_000_000), np.int32)
while True:
    print("building", flush=True)
    GraphStore(Path(sys.argv[1])).build("big", Recipe(), lambda: EdgeList(ends[0], ends[1], 1000), "abc")
"""


BIG_SUM = int(np.random.default_rng(1).integers(0, 1000, (2, 3_000_000), np.int32)[1].sum(dtype=np.int64))


def test_killed_builders_leave_nothing_that_is_trusted(store: GraphStore) -> None:
    caught = 0
    for attempt in range(40):
        with subprocess.Popen(
            [sys.executable, "-c", BUILDER, str(store.root)], stdout=subprocess.PIPE
        ) as builder:
            assert builder.stdout is not None
            builder.stdout.readline()
            deadline = time.monotonic() + 60
            while not left_over(store) and time.monotonic() < deadline:
                time.sleep(0.0005)
            time.sleep(0.002 * (attempt % 5))
            builder.send_signal(signal.SIGKILL)
        partial = left_over(store)
        caught += bool(partial)
        graph = store.open("big", RECIPE, "abc")
        assert graph is None or int(graph.column_indices.sum()) == BIG_SUM
        build(store)
        assert left_over(store) == []
        if caught == 3:
            return
    pytest.fail("no builder was caught at work")


def build_often(root: Path) -> None:
    for _ in range(20):
        build(GraphStore(root))


def test_concurrent_builders_are_harmless(store: GraphStore) -> None:
    whole = build(store)
    context = multiprocessing.get_context("fork")
    builders = [context.Process(target=build_often, args=(store.root,)) for _ in range(3)]
    for builder in builders:
        builder.start()
    while any(builder.is_alive() for builder in builders):
        graph = store.open(NAME, RECIPE, "abc")
        if graph is not None:
            assert_same(graph, whole)
    assert [builder.exitcode for builder in builders] == [0, 0, 0]
    assert left_over(store) == []
    assert store.open(NAME, RECIPE, "abc") is not None


def test_builders_at_work_are_left_alone(store: GraphStore) -> None:
    with store._building() as theirs:
        build(store)
        assert theirs.is_dir()
    assert left_over(store) == []
