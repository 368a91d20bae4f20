"""The public functions, with the words of the command line."""

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bfsbench
from bfsbench.bench.runner import Measured
from bfsbench.bench.sweep import SweepProgress
from bfsbench.bench.worker import DeviceInfo
from bfsbench.support.errors import UsageError
from tests.bench.test_results import make_row, write


def test_a_notebook_session() -> None:
    graph = bfsbench.generate("kronecker", scale=7, edge_factor=4, seed=3)
    assert "virtual_warp" in bfsbench.list_variants()
    source = int(np.argmax(np.diff(graph.row_offsets)))
    result = bfsbench.search(graph, "hong", source, block=64, backend="cpu", repeats=3, W_SZ=8)
    assert result.backend == "cpu"
    assert len(result.search_ms) == len(result.wall_ms) == 3
    assert result.levels.dtype == np.int32 and result.levels[source] == 0
    same = bfsbench.search(graph, "cpu_queue", source)
    assert same.backend == "host"
    assert np.array_equal(result.levels, same.levels)
    assert result.edges_traversed == same.edges_traversed > 0


def test_generated_and_loaded_graphs_are_the_same_graph() -> None:
    drawn = bfsbench.generate("lattice", rows=6, columns=5)
    loaded = bfsbench.load(drawn.full_name)
    assert (drawn.full_name, drawn.checksum) == (loaded.full_name, loaded.checksum)


def test_symmetrising_a_generated_graph() -> None:
    graph = bfsbench.generate("pmpp", symmetrise=True)
    assert graph.full_name == "pmpp:symmetrised" and graph.num_edges == 30


@pytest.mark.parametrize(
    ("variant", "arguments", "says"),
    [
        ("pushh", {}, "did you mean push"),
        ("push", {"source": 9}, "source 9 is out of range"),
        ("push", {"W_SZ": 4}, "has no knob W_SZ"),
        ("hong", {"W_SZ": 5}, "knob W_SZ: 5 is out of range"),
        ("hong", {"W_SZ": float("inf")}, "knob W_SZ: 'inf' is not of type int"),
        ("hong", {"W_SZ": None}, "knob W_SZ: 'None' is not of type int"),
        ("cpu_parallel", {"ALPHA": float("nan")}, "knob ALPHA: nan is out of range"),
        ("push", {"source": 1.5}, "source must be a whole number, not 1.5"),
        ("push", {"grid": 1.5}, "grid must be a whole number, not 1.5"),
        ("push", {"block": 2.5}, "block must be a whole number, not 2.5"),
        ("push", {"block": -3}, "block must be at least 1, not -3"),
        ("push", {"repeats": 1.5}, "repeats must be a whole number, not 1.5"),
    ],
)
def test_mistakes_are_named(variant: str, arguments: dict[str, Any], says: str) -> None:
    graph = bfsbench.generate("pmpp")
    with pytest.raises(UsageError, match=says):
        bfsbench.search(graph, variant, backend="cpu", **arguments)


def test_searches_take_what_stands_for_a_graph(tmp_path: Path) -> None:
    edges = np.array([[0, 1], [1, 2], [2, 0], [0, 3]])
    (tmp_path / "g.csv").write_text("\n".join(f"{u},{v}" for u, v in edges))
    graph = bfsbench.Graph.from_edges(*edges.T)
    matrix = graph.to_scipy()
    for given in (
        graph,
        edges,
        tuple(edges.T),
        matrix,
        pd.DataFrame(edges),
        tmp_path / "g.csv",
        str(tmp_path / "g.csv"),
    ):
        assert bfsbench.search(given, "cpu_queue", 0).levels.tolist() == [0, 1, 2, 1]
    assert bfsbench.all_pairs(matrix, "cpu_floyd_warshall").distances[0].tolist() == [0, 1, 2, 1]
    with pytest.raises(UsageError, match="a list is not a graph: accepted are a Graph, a name or path"):
        bfsbench.search([1, 2], "cpu_queue")
    with pytest.raises(UsageError, match="has weights that were not read"):
        bfsbench.all_pairs(3 * matrix, "cpu_floyd_warshall")


def test_vertices_are_named_and_knobs_written_in_lower_case() -> None:
    edges = pd.DataFrame({"source": ["adam", "eve"], "target": ["eve", "kain"]})
    assert bfsbench.search(edges, "cpu_queue", "eve").levels.tolist() == [-1, 0, 1]
    with pytest.raises(UsageError, match="vertex able is not in"):
        bfsbench.search(edges, "cpu_queue", "able")
    found = bfsbench.sweep("pmpp", "virtual_warp", w_sz=[4, 8], repeats=1, backend="cpu")
    assert found["knobs"].tolist() == ["W_SZ=4", "W_SZ=8"]
    bfsbench.search("pmpp", "virtual_warp", w_sz=8, backend="cpu")


def test_vertices_that_no_path_reaches_are_masked() -> None:
    distances = bfsbench.all_pairs(np.array([[0, 1]]), "cpu_floyd_warshall").distances
    assert distances.tolist() == [[0, 1], [None, 0]] and distances.sum() == 1


SCRIPT = """
import bfsbench
rows = bfsbench.sweep("pmpp", ["push", "cpu_queue"], backend="cpu", repeats=1)
print(rows.status.tolist(), len(bfsbench.check("push", ["path(n=3)"], seeds=1).query("not benign")))
"""


def test_a_plain_script_needs_no_guard(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("['ok', 'ok'] 0\n", 0), done.stderr


def test_results_are_a_data_frame(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", make_row())
    write(tmp_path / "b.csv", make_row(), make_row())
    assert len(bfsbench.read_results(tmp_path / "a.csv", [tmp_path / "b.csv"])) == 3
    assert not hasattr(bfsbench, "no_such_function")


def test_a_sweep_is_a_data_frame(tmp_path: Path) -> None:
    graph = bfsbench.generate("lattice", rows=9, columns=7, seed=1)
    out = tmp_path / "r.csv"
    what = {"block": [32, 64], "W_SZ": "4:8:x2", "sources": [3], "repeats": 2, "backend": "cpu"}
    rows = bfsbench.sweep([graph, "pmpp"], ["virtual_warp", "cpu_queue"], out=out, **what)
    assert len(rows) == 2 * (2 * 2 + 1) and set(rows["status"]) == {"ok"}
    assert list(dict.fromkeys(rows["graph"])) == [graph.full_name, "pmpp-example:directed"]
    counts = rows[["source", "depth", "reached", "edges_traversed", "num_vertices", "num_edges", "block"]]
    assert {str(kind) for kind in counts.dtypes} == {"Int64"}
    assert set(rows["source"]) == {3} and set(rows["block"].dropna()) == {32, 64}
    assert rows["block"].isna().sum() == 2, "host programs have no blocks"
    for samples, best in zip(rows["search_ms_samples"], rows["search_ms"], strict=True):
        assert len(samples) == 2 and min(samples) == pytest.approx(best)
    again = bfsbench.sweep([graph, "pmpp"], ["virtual_warp", "cpu_queue"], out=out, resume=True, **what)
    pd.testing.assert_frame_equal(rows, again)
    assert len(bfsbench.read_results(out)) == len(rows)


class Heard(SweepProgress):
    """Records the callbacks of a sweep."""

    def __init__(self) -> None:
        self.words: list[object] = []

    def begin(self, device: DeviceInfo | None, total: int) -> None:
        self.words.append((device, total))

    def batch(self, size: int, held: Sequence[Mapping[str, str]]) -> None:
        self.words.append((size, len(held)))

    def done(self, measured: Measured) -> None:
        self.words.append(measured.row["status"])


def test_a_sweep_is_heard_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heard = Heard()
    rows = bfsbench.sweep("pmpp", "cpu_queue", sources=2, repeats=1, progress=heard)
    assert heard.words == [(None, 2), (2, 0), "ok", "ok"]
    assert len(set(rows["source"])) == 2 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"variants": "pushh"}, "did you mean push"),
        ({"graphs": "soc-Epinion1"}, "did you mean soc-Epinions1"),
        ({"sources": [9]}, "source 9 is out of range"),
        ({"sources": 0}, "sources must be at least 1"),
        ({"sources": 2.5}, "sources must be a whole number, not 2.5"),
        ({"sources": []}, "no source is given"),
        ({"sources": [1.7]}, "a source must be a whole number, not 1.7"),
        ({"sources": [math.nan]}, "a source must be a whole number, not nan"),
        ({"sources": ["a"]}, "a source must be a whole number, not 'a'"),
        ({"sources": "0,1"}, "sources are given in a list, not as '0,1'"),
        ({"source_ids": []}, "no source is given"),
        ({"source_ids": [1.5]}, "a source must be a whole number, not 1.5"),
        ({"source_ids": 3}, "sources are given in a list, not as 3"),
        ({"seed": 1.5}, "seed must be a whole number, not 1.5"),
        ({"block": None}, "block: 'None' is not a whole number"),
        ({"timeout": math.inf}, "timeout must be a positive number, not inf"),
        ({"repeats": 1.5}, "repeats must be a whole number, not 1.5"),
        ({"out": "x" * 300 + ".csv"}, "File name too long"),
        ({"out": "a\0.csv"}, "embedded null byte"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"preset": "best"}, "'best' is no preset of knobs"),
        ({"W_SZ": 5}, "knob W_SZ belongs to none"),
        ({"block": "64:32:x2"}, "does not reach its last value from its first"),
        ({"resume": True}, "resume needs the"),
        ({"profile": True}, "level profiles go beside a result file"),
        ({"mixed_devices": True}, "goes with cluster"),
    ],
)
def test_mistakes_of_a_sweep_are_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.sweep(**{"graphs": "pmpp", "variants": "cpu_queue", **arguments})


def test_numbers_of_numpy_are_numbers() -> None:
    graph, eight = bfsbench.generate("pmpp"), np.int64(8)
    more: dict[str, Any] = {
        "sources": np.int64(2),
        "seed": np.int64(1),
        "repeats": np.int64(1),
        "timeout": 1e300,
    }
    rows = bfsbench.sweep(graph, "virtual_warp", block=np.int64(64), W_SZ=eight, backend="cpu", **more)
    assert rows["status"].tolist() == ["ok"] * 2 and set(rows["block"]) == {64}
    listed = bfsbench.sweep(graph, "cpu_queue", source_ids=["1", np.int64(2)], repeats=1)
    assert listed["source"].tolist() == [1, 2]
    found = bfsbench.search(
        graph, "push", np.int64(1), block=np.int64(64), repeats=np.int64(2), backend="cpu"
    )
    assert len(found.search_ms) == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 300, "unknown dataset 'xxx"),
        ("./" + "x" * 300, "cannot read xxx.*File name too long"),
        ("~nobody_is_called_so/x.txt", "Could not determine home directory"),
    ],
)
def test_names_that_no_graph_file_can_have(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.load(name)


@pytest.mark.parametrize("vertex", [1.5, math.nan, None])
def test_vertices_are_whole_numbers(vertex: Any) -> None:
    named = bfsbench.Graph.from_pandas(pd.DataFrame({"source": ["1.5", "nan"], "target": ["nan", "None"]}))
    for graph in (bfsbench.generate("pmpp"), named):
        with pytest.raises(UsageError, match="a vertex must be a whole number"):
            graph.vertex(vertex)
    assert named.vertex("1.5") == 0


def test_a_graph_that_is_not_what_it_says_is_not_swept() -> None:
    graph = replace(bfsbench.generate("pmpp"), checksum="0")
    with pytest.raises(UsageError, match="pmpp:directed cannot be kept for other processes"):
        bfsbench.sweep(graph, "cpu_queue")


@pytest.mark.parametrize(
    ("started", "end"), [("-c", "ImportError: bfsbench needs"), ("-m", "bfsbench needs")]
)
def test_other_systems_are_refused_in_one_line(started: str, end: str) -> None:
    script = "import sys; sys.platform = 'darwin'; sys.argv = [sys.argv[1]]; import bfsbench"
    done = subprocess.run([sys.executable, "-c", script, started], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith(f"{end} Linux, this is darwin: use a Linux container")
    assert (done.stderr.count("\n") == 1) == (started == "-m")
