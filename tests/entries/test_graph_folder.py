"""Programs of other authors get a graph as copies of its arrays, or as a file in a format that they read."""

import gc
import platform
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from bfsbench.entries.folder import ARRAYS, INDEX, GraphFolder, read as read_folder, write_export
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs.families.bfs.search import reference_levels
from tests.entries.toy_entries import made, write_entry
from tests.shapes import with_wide_offsets

GRAPHS = ("uniform(n=60,m=200,directed=1)", "kronecker(scale=6,edge_factor=4)", "path(n=1)")


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> Graph:
    return load(str(request.param))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("where", ["cache", "memory", "wide"])
def test_arrays(name: str, where: str) -> None:
    load(name)
    graph = load(name)  # the first call wrote the arrays that this call maps
    if where == "memory":
        graph = Graph.from_scipy(graph.to_scipy(), weights="ignore")
    if where == "wide":
        graph = with_wide_offsets(graph)
    folder = GraphFolder(graph)
    found = read_folder(folder.path)
    assert (found.num_vertices, found.num_edges) == (graph.num_vertices, graph.num_edges)
    assert found.directed == (graph.direction == "directed")
    for array in ARRAYS:
        ours, theirs = getattr(graph, array), getattr(found, array)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    assert np.array_equal(found.edge_sources, graph.edge_sources)
    for line in (folder.path / INDEX).read_text().splitlines()[3:]:
        array, file, dtype, length, start = line.split()
        elements = np.frombuffer(
            (folder.path / file).read_bytes()[int(start) :], f"<i{np.dtype(dtype).itemsize}"
        )
        assert len(elements) == int(length) and np.array_equal(elements, getattr(graph, array))
    assert not any(file.is_symlink() for file in folder.path.glob("*.npy")) and not folder.written()
    path = folder.path
    left = path.with_name(f"4194305@{platform.node()}-left")  # no process can have this number
    others = path.with_name("4194305@elsewhere-left")
    left.mkdir()
    others.mkdir(exist_ok=True)
    GraphFolder(graph)
    assert not left.exists() and others.exists()
    del folder, found
    gc.collect()
    assert not path.exists()


def test_matrix_market(graph: Graph, tmp_path: Path) -> None:
    write_export(graph, tmp_path / "g.mtx")
    found = scipy.sparse.coo_array(scipy.io.mmread(tmp_path / "g.mtx"))
    assert found.shape == (graph.num_vertices,) * 2
    assert np.array_equal(found.row, graph.edge_sources) and np.array_equal(found.col, graph.column_indices)


def test_edge_list(graph: Graph, tmp_path: Path) -> None:
    write_export(graph, tmp_path / "g.el")
    pairs = [tuple(map(int, line.split())) for line in (tmp_path / "g.el").read_text().splitlines()]
    assert pairs == [*zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True)]


def test_serialised_graph(graph: Graph, tmp_path: Path) -> None:
    write_export(graph, tmp_path / "g.sg")
    data = (tmp_path / "g.sg").read_bytes()
    directed, v, e = data[0], graph.num_vertices, graph.num_edges
    assert directed == (graph.direction == "directed") and [*np.frombuffer(data, "<i8", 2, 1)] == [e, v]
    at = 17
    pairs = [(graph.row_offsets, graph.column_indices), (graph.column_offsets, graph.row_indices)]
    for offsets, neighbours in pairs[: 1 + directed]:
        assert np.array_equal(np.frombuffer(data, "<i8", v + 1, at), offsets)
        at += 8 * (v + 1)
        assert np.array_equal(np.frombuffer(data, "<i4", e, at), neighbours)
        at += 4 * e
    assert at == len(data)


PROGRAM = """
import sys, collections, time
mtx, source, answer = sys.argv[1], int(sys.argv[2]) + 1, sys.argv[3]
lines = open(mtx).read().splitlines()[1:]
count = int(lines[0].split()[0])
near = collections.defaultdict(list)
for line in lines[1:]:
    a, b = map(int, line.split()); near[a].append(b)
levels, queue = {source: 0}, collections.deque([source])
while queue:
    v = queue.popleft()
    for w in near[v]:
        if w not in levels: levels[w] = levels[v] + 1; queue.append(w)
import array
array.array("i", [levels.get(v, 2**31 - 1) for v in range(1, count + 1)]).tofile(open(answer, "wb"))
print("Trial Time: 0.0002 seconds")
"""


def test_a_program_that_cannot_be_changed(tmp_path: Path) -> None:
    """The program starts for each search, reads Matrix Market, has its own level for unreached vertices, and
    prints the time in a line of its own form."""
    (tmp_path / "program.py").write_text(PROGRAM)
    words = '["python3", "{here}/program.py", "{graph.mtx}", "{source}", "{answer}"]'
    more = 'time = "Trial Time: ([0-9.]+)"\nunit = "s"\nunreached = 2147483647\n'
    file = write_entry(tmp_path, "fixed", f"command = {words}\n{more}", "theirs")
    graph = load(GRAPHS[0])
    search = made(file, graph)
    search.prepare()
    for source in (0, 59):
        search.poison()
        search.traverse(source)
        assert np.array_equal(search.levels(), reference_levels(graph, source))
        assert search.clock().stop() == pytest.approx(0.2)
    assert float(search.measured()["host_mib"]) > 1
