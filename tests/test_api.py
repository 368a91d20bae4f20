"""The public functions, with the words of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bfsbench
from bfsbench.errors import UsageError
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
    ],
)
def test_mistakes_are_named(variant: str, arguments: dict[str, int], says: str) -> None:
    graph = bfsbench.generate("pmpp")
    with pytest.raises(UsageError, match=says):
        bfsbench.search(graph, variant, backend="cpu", **arguments)


def test_results_are_a_data_frame(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", make_row())
    write(tmp_path / "b.csv", make_row(), make_row())
    assert len(bfsbench.read_results(tmp_path / "a.csv", [tmp_path / "b.csv"])) == 3
    assert not hasattr(bfsbench, "no_such_function")
