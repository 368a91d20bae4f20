"""Trees instead of levels: the search of one launch leaves parents in each of its regimes."""

import pytest

import bfsbench
from bfsbench.backends.base import Device
from bfsbench.bench.options import Method
from bfsbench.bench.session import Session
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.parents import check_parents
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import Point
from bfsbench.variants.adaptive import Adaptive
from tests.parameters import some
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets
from tests.variants.adaptive_searches import CROWDED, LIKELY, MIXED, PULLED, PUSHED, TREE
from tests.variants.searching import prepared, shape

WAYS: list[dict[str, int]] = [{}, PUSHED, PULLED, CROWDED, MIXED, PULLED | LIKELY]


def expect_trees(
    device: Device, graph: Graph, sources: list[int], grid: int | None = None, **knobs: int
) -> None:
    """Search with the same memory again and again; every tree is one of true levels."""
    search = prepared(Adaptive, device, graph, grid, **TREE, **knobs)
    for source in [*sources, sources[0]]:
        search.poison()
        search.reset(source)
        search.traverse(source)
        levels = reference_levels(graph, source)
        assert search.levels().tolist() == levels.tolist()
        check_parents(graph, source, levels, search.level_array.download())


@pytest.mark.parametrize("way", some(range(len(WAYS)), 0, 4))
def test_every_regime_leaves_a_tree(device: Device, way: int) -> None:
    for name in SHAPES:
        expect_trees(device, shape(name), SOURCES[name], **WAYS[way])


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_wide_offsets_leave_one_too(device: Device, way: int) -> None:
    for name in ("kronecker", "random_257", "hub"):
        expect_trees(device, with_wide_offsets(shape(name)), SOURCES[name], **WAYS[way])


@pytest.mark.parametrize("grid", [1, 8])
def test_long_rows_know_their_parent(device: Device, grid: int) -> None:
    """Rows whose only neighbour in the tree comes last: for a lane, for its warp, for all blocks."""
    degrees = (3, 40, 300, 4000)
    source, first = max(degrees), max(degrees) + 1
    edges = [(source, source)] * 1000  # many enough for the first level to be pulled
    edges += [(u, v) for v, d in enumerate(degrees, first) for u in range(source - d + 1, source + 1)]
    graph = build_graph(edge_list(first + len(degrees), edges), "long rows")
    expect_trees(device, graph, [source], grid, **PULLED)


def test_the_tree_travels_to_rows_and_arrays() -> None:
    found = bfsbench.search(
        "kronecker(scale=6,edge_factor=4)", "adaptive", 1, backend="cpu", block=64, parents=True, TREE=1
    )
    assert found.parents is not None and found.parents[1] == 1
    reached = found.levels > 0
    assert (found.levels[reached] == found.levels[found.parents[reached]] + 1).all()
    assert found.parents_ms == 0


def test_a_wrong_tree_is_a_wrong_row(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = tuple(Adaptive.knob_values(TREE).items())
    point = Point("path(n=5):symmetrised", 0, "adaptive", "cpu", None, 64, knobs)
    session = Session("cpu")
    assert session.measure([point], Method(1, 60))[0]["status"] == "ok"
    finish = Adaptive.finish

    def damaged(search: Adaptive) -> None:
        finish(search)
        tree = search.level_array.download()
        tree[-1] = -1
        search.level_array.upload(tree)

    monkeypatch.setattr(Adaptive, "finish", damaged)
    row = session.measure([point], Method(1, 60))[0]
    assert row["status"] == "wrong" and "the parents break rule 4" in row["reason"]
    session.close()
