"""Loads graphs by name, by path, and by a generator's specification."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fetch_server import MATRIX, SNAP, gzipped

from bfsbench.graphs import files
from bfsbench.graphs.load import load, resolve
from bfsbench.support.errors import InputError, UsageError

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("epinions", ("soc-Epinions1:directed", 75_879, 508_837)),
        ("New-York", ("USA-road-d.NY:symmetrised", 264_346, 730_100)),
        ("pmpp:symmetrised", ("pmpp-example:symmetrised", 9, 30)),
        ("g.txt:orientation=each_once", ("g.txt:orientation=each_once:symmetrised", 5, 12)),
    ],
)
def test_bundled_graphs_and_files_of_the_working_folder_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: tuple[str, int, int]
) -> None:
    (tmp_path / "g.txt").write_bytes(SNAP)
    monkeypatch.chdir(tmp_path)
    graph = load(name)
    assert (graph.full_name, graph.num_vertices, graph.num_edges) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pmpp:colour=red", "unknown option 'colour'"),
        ("pmpp:direction=directed", "unknown option 'direction'"),
        ("pmpp:ids=some", "option ids: 'some' is not one of compact, keep"),
        ("pmpp:ids=keep:sideways", "'sideways' in '.*:sideways' is not a direction: choose from directed"),
        ("USA-road-d.NY:directed", r"USA-road-d\.NY is undirected"),
        ("soc-Epinion", "unknown dataset 'soc-Epinion': did you mean soc-Epinions1"),
        ("kroneker(scale=4)", "unknown generator 'kroneker': did you mean kronecker"),
        ("kronecker(scal=4)", "unknown parameter 'scal'"),
        ("kronecker(scale=four)", "scale must be an integer"),
        ("kronecker(scale=4", "does not name a generated graph"),
        ("./none.txt", r"cannot read none\.txt: No such file"),
        ("./g.txt:format=snapp", "option format: 'snapp' is not one of snap, dimacs9"),
        ("pmpp:directed:symmetrised", "has two values of its"),
        ("pmpp:ids=keep:directed:ids=keep", "has two values of its"),
        ("pmpp:shrink=0.5:shrink=0.4", "has two values of its"),
    ],
)
def test_a_mistake_in_a_name_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    (tmp_path / "g.txt").write_bytes(SNAP)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says) as caught:
        resolve(text)
    assert "\n" not in str(caught.value)


def test_symmetrising_what_is_undirected_makes_no_second_copy(home: Path) -> None:
    first, second = load("pmpp-maze"), load("pmpp-maze:symmetrised")
    assert first.full_name == second.full_name
    assert len([path for path in (home / "graphs").iterdir() if path.is_dir()]) == 1


def test_options_are_part_of_the_name() -> None:
    graph = load("pmpp:self_loops=drop:duplicates=drop:symmetrised")
    assert graph.full_name == "pmpp-example:self_loops=drop:duplicates=drop:symmetrised"
    assert load(graph.locator).checksum == graph.checksum


def test_a_graph_that_is_not_here_says_how_to_get_it() -> None:
    assert resolve("wikitalk").full_name == "wiki-Talk:directed"
    with pytest.raises(UsageError) as caught:
        load("wikitalk")
    assert str(caught.value) == "dataset wiki-Talk is not here yet: run 'bfsbench fetch wiki-Talk'"


def test_a_specification_is_canonical_and_leads_back_to_the_same_graph() -> None:
    request = resolve("kronecker( seed=3, scale=5, edge_factor=16 )")
    assert request.full_name == "kronecker(scale=5,seed=3):symmetrised"
    assert load(request.full_name).checksum == load("kronecker(scale=5,seed=3)").checksum


@pytest.mark.parametrize(
    ("spec", "direction"),
    [
        ("path(n=4)", "symmetrised"),
        ("path(n=4,directed=1)", "directed"),
        ("star(n=4,arcs=in)", "directed"),
        ("star(n=4)", "symmetrised"),
        ("dense(nodes=8)", "directed"),
    ],
)
def test_the_direction_of_generated_graphs_is_known_beforehand(spec: str, direction: str) -> None:
    assert resolve(spec).direction == direction == load(spec).direction


@pytest.mark.parametrize(
    ("name", "content"),
    [("g.txt", SNAP), ("g.txt.gz", gzipped(SNAP)), ("g.mtx", MATRIX)],
    ids=["text", "packed", "matrix"],
)
def test_a_path_stands_for_its_graph(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    graph = load(str(path))
    assert (graph.full_name, graph.locator) == (f"{path.name}:directed", f"{path}:directed")
    assert graph.row_offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert graph.column_indices.tolist() == [1, 2, 3, 3, 4, 0]
    assert load(graph.locator).checksum == graph.checksum


@pytest.mark.parametrize("name", ["path(n=5)", "uniform(n=9,m=30,directed=1)"])
def test_a_graph_with_64_bit_offsets(name: str) -> None:
    narrow, wide = load(name), load(f"{name}:offsets=int64")
    assert wide.full_name == f"{narrow.name}:offsets=int64:{narrow.direction}"
    assert (wide.row_offsets.dtype, wide.column_offsets.dtype) == ("int64", "int64")
    assert (wide.row_offsets is wide.column_offsets) == (narrow.direction == "symmetrised")
    assert wide.row_offsets.tolist() == narrow.row_offsets.tolist()
    assert wide.column_offsets.tolist() == narrow.column_offsets.tolist()
    assert load(wide.locator).row_offsets.dtype == "int64" and wide.checksum == narrow.checksum
    with pytest.raises(UsageError, match="option offsets: 'int32' is not int64"):
        load(f"{name}:offsets=int32")


def test_the_header_tells_that_a_matrix_is_undirected(tmp_path: Path) -> None:
    path = tmp_path / "g.mtx"
    path.write_bytes(MATRIX.replace(b"general", b"symmetric"))
    assert resolve(str(path)).direction == "symmetrised"
    with pytest.raises(UsageError, match="is undirected"):
        resolve(f"{path}:directed")


def test_a_changed_file_is_converted_again(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_bytes(b"0\t1\n")
    before = load(str(path))
    path.write_bytes(b"0\t1\n1\t0\n")
    assert load(str(path)).num_edges == before.num_edges + 1


def test_a_file_is_read_once_for_its_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.txt"
    path.write_bytes(SNAP)
    checksum = files.checksum_of(path)

    def unexpected(path: Path) -> str:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(files, "sha256_of", unexpected)
    assert files.checksum_of(path) == checksum
    os.utime(path, ns=(0, 0))
    with pytest.raises(AssertionError, match="was read again"):
        files.checksum_of(path)


def test_published_counts_are_checked(tmp_path: Path, entries: Callable[[str], Path]) -> None:
    entries(
        '[wrong]\nfamily = "x"\ndescription = "x"\ndirected = true\nnum_vertices = 10\n'
        'generator = "path"\nparameters = { n = 9, directed = 1 }\n'
    )
    with pytest.raises(InputError, match="wrong: 10 vertices are published, the source has 9"):
        load("wrong")


def test_ids_kept_are_not_counted_against_the_publisher() -> None:
    graph = load("soc-Epinions1:ids=keep")
    assert graph.num_vertices > 75_879
    assert np.diff(graph.row_offsets).sum() == 508_837


@pytest.mark.parametrize(
    "suffixes", list(itertools.permutations(["symmetrised", "self_loops=drop", "shrink=0.9"]))
)
def test_what_follows_a_name_may_stand_in_any_order(tmp_path: Path, suffixes: tuple[str, ...]) -> None:
    path = tmp_path / "g.txt"
    path.write_text("0 1\n1 1\n1 2\n")
    name = resolve(":".join([str(path), *suffixes])).full_name
    assert name == "g.txt:self_loops=drop:shrink=0.9:symmetrised"
