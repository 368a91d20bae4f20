"""The public functions: graphs and searches in memory, sweeps, reports, comparisons and checks."""

import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import bfsbench
import bfsbench.reports.comparison.points
import bfsbench.reports.table
from bfsbench import UsageError
from bfsbench.bench.worker import DeviceInfo, Measured
from bfsbench.reports.plots import draw
from bfsbench.reports.rows import as_read
from bfsbench.support.errors import InputError
from tests.commands import invoke
from tests.kernel_folders import write_variant
from tests.report.result_rows import failed_row, host_row, row, write


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
        ("virtual_warp", {"WSZ": 8}, "unknown argument 'WSZ': did you mean W_SZ"),
        ("push", {"nonsense": 8}, r"unknown argument 'nonsense': see 'help\(bfsbench.search\)'"),
        (["push", "pull"], {}, r"a variant is one name, not \['push', 'pull'\]"),
        ("push", {"repeats": 1.5}, "repeats must be a whole number, not 1.5"),
    ],
)
def test_mistakes_are_named(variant: Any, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.search("pmpp", variant, backend="cpu", **arguments)


def test_searches_take_what_stands_for_a_graph(tmp_path: Path) -> None:
    edges = np.array([[0, 1], [1, 2], [2, 0], [0, 3]])
    (tmp_path / "g.csv").write_text("\n".join(f"{u},{v}" for u, v in edges))
    graph = bfsbench.Graph.from_edges(*edges.T)
    matrix = graph.to_scipy()
    files = (tmp_path / "g.csv", str(tmp_path / "g.csv"))
    for given in (graph, edges, tuple(edges.T), matrix, pd.DataFrame(edges), *files):
        assert bfsbench.search(given, "cpu_queue", 0).levels.tolist() == [0, 1, 2, 1]
    assert bfsbench.all_pairs(matrix, "cpu_floyd_warshall").distances[0].tolist() == [0, 1, 2, 1]
    assert bfsbench.search([(0, 1), (1, 2)], "cpu_queue").levels.tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match=r"an array of float64.* is not a SciPy sparse matrix"):
        bfsbench.Graph.from_scipy(matrix.toarray().astype(float))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a list is not a graph: accepted are a Graph, a name or path"):
        bfsbench.search([1, 2], "cpu_queue")
    with pytest.raises(UsageError, match="has weights that were not read"):
        bfsbench.all_pairs(3 * matrix, "cpu_floyd_warshall")


def test_weights_that_the_caller_names_are_read() -> None:
    table = pd.DataFrame({"from": [0, 1], "to": [1, 2], "km": [3, 4], "cost": [9, 9]})
    links = networkx.from_pandas_edgelist(table, "from", "to", ["km", "cost"], networkx.DiGraph)
    named = bfsbench.Graph.from_pandas(table, weight="km"), bfsbench.Graph.from_networkx(links, weight="km")
    for graph in named:
        assert bfsbench.all_pairs(graph, "cpu_floyd_warshall").distances[0].tolist() == [0, 3, 7]
    with pytest.raises(UsageError, match="no edge of the NetworkX graph has the attribute 'hours'"):
        bfsbench.Graph.from_networkx(links, weight="hours")


def test_advice_about_weights_can_be_followed(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_array(([3, 4], ([0, 1], [1, 2])), shape=(3, 3))
    for call in (bfsbench.all_pairs, bfsbench.sweep):
        with pytest.raises(UsageError, match="weights that were not read: give weights='read'"):
            call(matrix, "cpu_floyd_warshall")
    read = bfsbench.all_pairs(matrix, "cpu_floyd_warshall", weights="read")
    assert read.distances[0].tolist() == [0, 3, 7]
    ignored = bfsbench.all_pairs(matrix, "cpu_floyd_warshall", weights="ignore")
    assert ignored.distances[0].tolist() == [0, 1, 2]
    (tmp_path / "g.txt").write_text("0 1 3\n1 2 4\n")
    for given, options in (
        (f"{tmp_path / 'g.txt'}:weights=read", {}),
        (tmp_path / "g.txt", {"weights": "read"}),
    ):
        found = bfsbench.all_pairs(given, "cpu_floyd_warshall", **options)
        assert found.distances[0].tolist() == [0, 3, 7]
    with pytest.raises(UsageError, match="give it to the function that makes the Graph"):
        bfsbench.all_pairs(bfsbench.Graph.from_scipy(matrix), "cpu_floyd_warshall", weights="read")
    with pytest.raises(UsageError, match="variant push is of family bfs, not apsp"):
        bfsbench.all_pairs(matrix, "push")


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        ("sweep", {}, "sweep: missing a required argument: 'graphs'"),
        ("compare", {"a": "x.csv", "tresh": 3}, "unknown argument 'tresh': did you mean threshold"),
        ("sweep", {"graphs": "pmpp", "variant": "push"}, r"did you mean variants\?$"),
        ("tune_search", {"graphs": "pmpp", "variants": "push", "order": 3}, r"'order': see 'help"),
        ("load", {}, "load: missing a required argument: 'text'"),
    ],
)
def test_wrong_calls_are_errors_of_this_package(function: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        getattr(bfsbench, function)(**arguments)


def test_errors_that_docstrings_name_can_be_caught_by_name() -> None:
    texts = [inspect.getdoc(getattr(bfsbench, name)) or "" for name in bfsbench.__all__]
    texts += [inspect.getdoc(method) or "" for method in vars(bfsbench.Graph).values()]
    named = {name for text in texts for name in re.findall(r"\b\w+Error\b", text)}
    assert {"InputError", "ToolchainError", "WrongLevelsError"} <= named
    for name in named:
        assert issubclass(getattr(bfsbench, name), bfsbench.BfsbenchError)


def test_results_have_a_short_text() -> None:
    found = bfsbench.search("pmpp", "cpu_queue", parents=True)
    time = f"{min(found.search_ms):.4g} ms"
    assert repr(found) == f"<SearchResult of cpu_queue on pmpp-example:directed: {time}, reached 9, depth 3>"
    assert "ms, emulated, reached 9" in repr(bfsbench.search("pmpp", "push", backend="cpu"))


class Name:
    """A path of a type other than pathlib's."""

    def __init__(self, text: Path) -> None:
        self.text = str(text)

    def __fspath__(self) -> str:
        return self.text


@pytest.mark.parametrize("of", [Path, Name])
def test_a_path_names_a_graph(tmp_path: Path, of: Callable[[Path], Path | Name]) -> None:
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    graph = of(tmp_path / "g.txt")
    assert bfsbench.load(graph).num_edges == 2
    assert bfsbench.search(graph, "cpu_queue").levels.tolist() == [0, 1, 2]
    for number, graphs in enumerate((graph, [graph], (graph,))):
        out = of(tmp_path / f"{number}.csv")
        rows = bfsbench.sweep(graphs, "cpu_queue", source_ids=[1], repeats=1, out=out)
        assert rows[["graph", "source"]].to_numpy().tolist() == [["g.txt:directed", 1]]
    assert len(bfsbench.read_results(out)) == len(bfsbench.report(out, tables="best")["best"]) == 1
    assert bfsbench.compare(out, out).points


def test_vertices_are_named_and_knobs_written_in_lower_case() -> None:
    edges = pd.DataFrame({"source": ["adam", "eve"], "target": ["eve", "kain"]})
    assert bfsbench.search(edges, "cpu_queue", "eve").levels.tolist() == [-1, 0, 1]
    with pytest.raises(UsageError, match="vertex able is not in"):
        bfsbench.search(edges, "cpu_queue", "able")
    found = bfsbench.sweep("pmpp", "virtual_warp", w_sz=[4, 8], repeats=1, backend="cpu")
    assert found["knobs"].tolist() == ["W_SZ=4", "W_SZ=8"]
    bfsbench.search("pmpp", "virtual_warp", w_sz=8, backend="cpu")


def test_searches_from_many_sources_say_which() -> None:
    graph = bfsbench.generate("pmpp")
    some = bfsbench.solve(graph, "cpu_many", sources=3)
    assert some.sources is not None and len(set(some.sources.tolist())) == len(some.answer) == 3
    every = bfsbench.solve(graph, "cpu_many")
    assert every.sources is not None and every.sources.tolist() == [*range(graph.num_vertices)]
    assert bfsbench.solve(graph, "cpu_queue", 1).sources is None
    with pytest.raises(
        UsageError,
        match="variant cpu_many does not search from a single source: give a number of random vertices",
    ):
        bfsbench.solve(graph, "cpu_many", source=2)
    with pytest.raises(
        UsageError, match="sources is only for searches from many vertices: variant cpu_queue takes source"
    ):
        bfsbench.solve(graph, "cpu_queue", sources=2)


def test_vertices_of_networkx_graphs_have_their_names(tmp_path: Path) -> None:
    letters, grid = networkx.Graph([("a", "b"), ("b", "c")]), networkx.grid_2d_graph(3, 3)
    rows = bfsbench.sweep(letters, "cpu_queue", source_ids=["c"], repeats=1)
    assert rows[["source", "source_id"]].to_numpy().tolist() == [[2, "c"]]
    bfsbench.report(rows, tables="best", out=tmp_path / "best.txt")
    assert "source c (2)" in (tmp_path / "best.txt").read_text()
    (picture,) = draw("bars", as_read(rows))
    assert "source c (2)" in picture.figure.axes[0].get_title()
    people = networkx.relabel_nodes(letters, {"a": "ann", "b": "bob", "c": "zoë"})
    people.add_node("nobody")
    pair = bfsbench.sweep([people, letters], "cpu_queue", sources=[2], repeats=1)
    assert pair["source_id"].tolist() == ["nobody", "c"]
    same_arcs = networkx.relabel_nodes(letters, {"a": "k", "b": "l", "c": "m"})
    assert bfsbench.sweep(same_arcs, "cpu_queue", sources=[2], repeats=1)["source_id"].tolist() == ["m"]
    numbers = networkx.Graph([(10, 20), (20, 30)])
    assert bfsbench.sweep(numbers, "cpu_queue", source_ids=[20], repeats=1)["source"].tolist() == [1]
    assert bfsbench.Graph.from_networkx(grid).vertex((0, 2)) == 2
    assert bfsbench.search(grid, "cpu_queue", (2, 2)).levels[0] == 4
    assert bfsbench.sweep(grid, "cpu_queue", source_ids=[(0, 1)], repeats=1)["source"].tolist() == [1]
    with pytest.raises(UsageError, match="source_ids go with one graph"):
        bfsbench.sweep([letters, grid], "cpu_queue", source_ids=["a"])
    graph = bfsbench.Graph.from_networkx(letters)
    assert graph.published_ids([0, 2]).tolist() == ["a", "c"]
    for wrong, says in ((np.array([0.5]), "whole numbers, not float64"), ([3], "vertex 3 is out of range")):
        with pytest.raises(UsageError, match=says):
            graph.published_ids(wrong)
    with pytest.raises(UsageError, match="target must be a whole number, not 'c'"):
        bfsbench.path(bfsbench.search(graph, "cpu_queue", parents=True).parents, target="c")  # type: ignore[arg-type]


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
    write(tmp_path / "a.csv", [row()])
    write(tmp_path / "b.csv", [row(), row()])
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
    read = bfsbench.read_results(out).drop(columns="file")
    pd.testing.assert_frame_equal(read, rows, check_dtype=False)
    assert read.dtypes[["source", "block", "search_ms"]].equals(rows.dtypes[["source", "block", "search_ms"]])
    emulated = bfsbench.report(rows, tables="best_emulated")
    assert list(emulated) == ["best_emulated"] and {*bfsbench.report(rows, tables="best")} > {*emulated}


class Heard(bfsbench.SweepProgress):
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
        ({"preset": "best"}, "'best' is not a preset of knobs"),
        ({"W_SZ": 5}, "knob W_SZ belongs to none"),
        ({"repeat": 3}, "unknown argument 'repeat': did you mean repeats"),
        ({"source": 3}, "unknown argument 'source': did you mean sources"),
        ({"variant": ["push"]}, "unknown argument 'variant': did you mean variants"),
        ({"variants": 3}, "a name or a list of names is wanted, not 3"),
        ({"progress": True}, "progress must be an object of a class derived from SweepProgress, not True"),
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
    more: dict[str, Any] = {name: np.int64(1) for name in ("seed", "repeats")}
    more |= {"sources": np.int64(2), "timeout": 1e300}
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
    with pytest.raises(UsageError, match="pmpp:directed cannot be passed to other processes"):
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


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    made = [row(2.0), row(1.0, block=512), host_row(9.0), failed_row(block=1024), row(3.0, graph="other")]
    return write(tmp_path / "rows.csv", made)


def test_a_report_has_the_tables_of_the_command(rows: Path) -> None:
    told = invoke("report", rows, "--format", "json")
    wanted = json.loads(told.stdout)
    made = bfsbench.report(rows)
    assert list(made) == list(wanted)
    for name, table in made.items():
        assert len(table) == len(wanted[name]["rows"])
        assert not len(table) or list(table) == list(wanted[name]["rows"][0])
    (best,) = bfsbench.report([rows], tables="best", graphs=["grid"], variants=["bottom_up"]).values()
    assert best["search_ms"].tolist() == [1.0]


def test_rows_in_memory_are_reported_as_those_of_a_file(rows: Path) -> None:
    here = bfsbench.report(bfsbench.read_results(rows))
    there = bfsbench.report(rows)
    assert all(here[name].equals(there[name]) for name in there)


def test_names_need_no_list(rows: Path) -> None:
    as_list = bfsbench.report(rows, variants=["bottom_up"], graphs=["grid"])
    as_text = bfsbench.report(str(rows), variants="bottom_up", graphs="grid")
    assert all(as_list[name].equals(as_text[name]) for name in as_list)
    assert len(bfsbench.check("push", "path(n=9)", seeds=1, block=32)) > 0
    assert len(bfsbench.check("push", [bfsbench.generate("path", n=9)], seeds=1, block=32)) > 0


def test_a_folder_of_kernels_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_variant(folder, "mine")
    code = "import bfsbench; print(*set(bfsbench.check('mine', 'path(n=9)', seeds=1, block=32).variant))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "mine\n", done.stderr


def test_frames_that_are_not_result_rows_are_refused(rows: Path, tmp_path: Path) -> None:
    frame = bfsbench.read_results(rows)
    with pytest.raises(UsageError, match=r"rows for a report lack the columns .*backend"):
        bfsbench.report(frame[["graph", "variant", "search_ms"]])
    frame.to_csv(tmp_path / "again.csv", index=False)
    with pytest.raises(InputError, match="has the column file, which read_results adds"):
        bfsbench.report(tmp_path / "again.csv")


@pytest.mark.parametrize("name", ["x.html", "x.tex", "x.csv", "x.svg"])
def test_a_report_writes_what_the_name_means(name: str, rows: Path, tmp_path: Path) -> None:
    bfsbench.report(rows, tables="best", backends=["cuda"], out=tmp_path / name)
    beginning = {"x.html": "<!DOCTYPE", "x.tex": "% In the", "x.csv": "graph,", "x.svg": "<?xml"}[name]
    assert (tmp_path / name).read_text(encoding="utf-8").lstrip().startswith(beginning)


def test_a_report_sizes_pictures_and_lists_them(rows: Path, tmp_path: Path) -> None:
    found = bfsbench.report(rows, out=tmp_path / "p.svg", width="3.3in", no_title=True)
    assert found.files == [tmp_path / "p.svg"]
    assert f'width="{3.3 * 72:g}pt"' in found.files[0].read_text()
    several = bfsbench.report(rows, plots=["bars", "spread"], out=tmp_path / "q.png").files
    assert len(several) > 1 and all(path.is_file() for path in several)
    assert bfsbench.report(rows, out=tmp_path / "t.md").files == [tmp_path / "t.md"]
    (narrow,) = bfsbench.report(rows, out=tmp_path / "t.tex", width="3.3in").files
    invoke("report", rows, "--out", tmp_path / "c.tex", "--width", "3.3in")
    assert narrow.read_text().replace("tables=NAME", "--backend") == (tmp_path / "c.tex").read_text()
    assert "at most 3.3 in wide" in narrow.read_text()
    assert bfsbench.report(rows).files == []


def test_a_report_warns_as_the_command_does(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", [row(commit="a" * 12), row(block=512, commit="b" * 12)])
    told = invoke("report", path, "--table", "best").stderr
    with pytest.warns(UserWarning, match="rows come from different commits") as caught:
        bfsbench.report(path)
    assert [f"bfsbench: warning: {one.message}" for one in caught] == told.splitlines()
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"width": "3in"}, r"width goes with out, the name of a file \(.png"),
        ({"plots": "bars", "out": "x.html"}, "plots goes with out"),
        ({"width": "3", "out": "x.png"}, "3 is not a length from 2in to 100in"),
        ({"witdh": "3in"}, "unknown argument 'witdh': did you mean width"),
        ({"tables": "bets"}, "unknown table 'bets': there are datasets, ranking"),
        ({"out": "x.docx"}, r"means no format: it has to end in one of .html, .txt"),
        ({"variants": ["luo"]}, "no rows of variant 'luo'"),
    ],
)
def test_mistakes_of_reports_are_named(options: dict[str, str], says: str, rows: Path) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.report(rows, **options)


def test_files_and_rows_are_compared(rows: Path, tmp_path: Path) -> None:
    samples = {"search_ms_samples": "2.0;2.01;2.02;2.0;2.01;2.0", "search_ms": 2.0}
    slow = {"search_ms_samples": "9.0;9.01;9.02;9.0;9.01;9.0", "search_ms": 9.0}
    old = write(tmp_path / "old.csv", [{**row(), **samples}, {**row(block=64), **samples}])
    new = write(tmp_path / "new.csv", [{**row(), **slow}, {**row(block=64), **samples}])
    told = invoke("compare", old, new)
    found = bfsbench.compare(old, new)
    assert found.is_worse and told.exit_code == 1
    points = found.frame()
    assert dict(zip(points["block"], points["verdict"], strict=True)) == {256: "slower", 64: "same"}
    assert points["ratio"].tolist() == pytest.approx([4.49, 1], rel=0.01)
    assert (points["ratio_low"] <= points["ratio"]).all() and (points["ratio"] <= points["ratio_high"]).all()
    merged = points.merge(bfsbench.read_results(new), on=["graph", "source", "variant", "block", "knobs"])
    assert merged["search_ms"].tolist() == merged["b_ms"].tolist() == [9.0, 2.0]
    assert points["b_ms"].tolist() == [9.0, 2.0]
    again = bfsbench.compare(bfsbench.read_results(old), bfsbench.read_results(new)).frame()
    assert again.equals(points)
    assert repr(found) == f"<Comparison of {old} and {new}: 1 slower, 1 same; frame() lists them>"
    more = write(tmp_path / "more.csv", [{**row(), **samples}, row(backend="cpu", driver="9")])
    left_out = r"1 slower \(1 emulated row left out\); frame\(\)"
    assert re.search(left_out, repr(bfsbench.compare(more, new)))
    with pytest.raises(UsageError, match="side B must be rows or the name of a file, not 5"):
        bfsbench.compare(old, 5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no point is both in"):
        bfsbench.compare(old, write(tmp_path / "host.csv", [host_row(1.0)]))
    with pytest.raises(UsageError, match="side A has no result rows: it lacks graph"):
        bfsbench.compare(pd.DataFrame({"a": [1]}), new)


def test_packages_are_called_and_imported() -> None:
    """Whatever is imported first."""
    code = "import bfsbench; from bfsbench.reports.table import render; bfsbench.report('none.csv')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError: cannot read none.csv" in done.stderr
    assert callable(bfsbench.reports.comparison.points.compare) and bfsbench.reports.table.FORMATS


def test_checks_find_what_the_command_finds() -> None:
    found = bfsbench.check("push", ["path(n=9)"], seeds=1, block=32)
    assert list(found)[:3] == ["variant", "fault", "kernel"]
    assert found["benign"].all() and set(found["variant"]) <= {"frontier_numbers"}
    assert found["line"].str.match(r"[a-z_]+\.cuh?:[0-9]+").all()
    with pytest.raises(UsageError, match="cpu_queue has no kernels"):
        bfsbench.check("cpu_queue")
    with pytest.raises(UsageError, match=r"'bfsbench check race\.cu' checks programs"):
        bfsbench.check("race.cu")
    with pytest.raises(UsageError, match="seeds must be at least 1"):
        bfsbench.check("push", seeds=0)


def test_a_check_that_finds_nothing_has_a_table_with_the_usual_types() -> None:
    found = bfsbench.check("apsp_fw", ["path(n=3)"], seeds=1)
    assert found.empty and list(found[~found["benign"]]["fault"]) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"grid": 0}, "grid must be at least 1, not 0"),
        ({"block": -3}, "block must be at least 1, not -3"),
        ({"block": 2.5}, "block must be a whole number, not 2.5"),
        ({"seeds": 1.5}, "seeds must be a whole number, not 1.5"),
    ],
)
def test_numbers_of_checks_are_whole_and_positive(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bfsbench.check("push", ["path(n=9)"], **options)


@pytest.mark.parametrize(("name", "says"), [("x" * 300, "File name too long"), ("a\0", "embedded null byte")])
def test_names_that_no_result_file_can_have(name: str, says: str) -> None:
    with pytest.raises(InputError, match=f"cannot read .*{says}"):
        bfsbench.read_results(f"{name}.csv")


def test_graphs_in_memory_are_swept(tmp_path: Path) -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 3], [1, 2]])
    undirected = bfsbench.Graph.from_edges(pairs[:, 0], pairs[:, 1], directed=False, name="my graph")
    matrix = scipy.sparse.eye_array(5, k=1, format="csr")
    table = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    swept = bfsbench.sweep([undirected, matrix, table], "cpu_queue", repeats=1, sources=[0])
    assert swept["status"].tolist() == ["ok"] * 3
    assert swept["num_edges"].tolist() == [8, 4, 2]
    assert swept["graph_checksum"][0] == undirected.checksum
    unnamed = [f"graph-{checksum[:8]}:directed" for checksum in swept["graph_checksum"][1:]]
    assert swept["graph"].tolist() == ["my_graph:symmetrised", *unnamed]
    again = bfsbench.sweep(undirected, "cpu_queue", repeats=1, sources=[0])
    assert again["graph"][0] == swept["graph"][0]


def test_what_is_no_graph_is_named() -> None:
    with pytest.raises(UsageError, match=r"a dict is not a graph: accepted are a Graph, a name or path"):
        bfsbench.sweep([{"a": 1}], "cpu_queue")  # type: ignore[list-item]
