"""Tests statistics of graphs, the growth of their levels, and shrunk graphs."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import connected_components, shortest_path

from bfsbench.graphs.ball import ball, neighbours
from bfsbench.graphs.catalogue import Recipe
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import GENERATORS, generate
from bfsbench.graphs.graph import EdgeList, Graph, Orientation
from bfsbench.graphs.load import load, resolve
from bfsbench.graphs.marks import UNMARKED, Marks, split_marks
from bfsbench.graphs.statistics import describe
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import UsageError
from bfsbench.support.paths import cache_dir
from bfsbench.variants import adaptive
from bfsbench.variants.adaptive import levels_to_thousands
from tests.graphs.texts import matrix
from tests.shapes import edge_list

V = 150
vertex = st.integers(0, V - 1)


@given(
    pairs=st.lists(st.tuples(vertex, vertex), max_size=400),
    orientation=st.sampled_from(["directed", "each_once"]),
)
def test_figures_agree_with_scipy(pairs: list[tuple[int, int]], orientation: Orientation) -> None:
    edges = edge_list(V, pairs, orientation)
    graph = build_graph(edges, "random")
    figures = describe(graph)
    degrees = np.bincount(graph.edge_sources, minlength=V)
    arcs = list(zip(graph.edge_sources.tolist(), graph.column_indices.tolist(), strict=True))
    components, labels = connected_components(matrix(edges), directed=False)
    distances = shortest_path(matrix(edges), directed=False, unweighted=True)
    diameter = distances[np.isfinite(distances)].max()
    assert figures["edges_listed"] == len(pairs)
    assert (figures["vertices"], figures["arcs"]) == (V, len(arcs))
    assert figures["degree_mean"] == pytest.approx(degrees.mean())
    assert figures["degree_std"] == pytest.approx(degrees.std())
    assert (figures["degree_median"], figures["degree_max"]) == (np.median(degrees), degrees.max())
    assert figures["self_loops"] == sum(u == v for u, v in arcs)
    assert figures["duplicates"] == len(arcs) - len(set(arcs))
    assert figures["isolated"] == V - len({vertex for arc in arcs for vertex in arc})
    assert figures["components"] == components
    assert figures["largest_component"] == np.bincount(labels).max()
    # A double sweep meets at least half the diameter of the component it searches.
    largest = labels == np.bincount(labels).argmax()
    assert distances[largest][:, largest].max() / 2 <= figures["diameter_at_least"] <= diameter


@pytest.mark.parametrize("orientation", ["directed", "each_once"])
def test_sweeps_find_the_ends_of_a_path(orientation: Orientation) -> None:
    length = 5000
    order = np.random.default_rng(3).permutation(length).tolist()
    path = edge_list(length, list(pairwise(order)), orientation)
    assert describe(build_graph(path, "path"))["diameter_at_least"] == length - 1


def test_large_levels_are_searched_by_several_workers() -> None:
    random = np.random.default_rng(5)
    num_vertices = 200_000
    ends = random.integers(0, num_vertices - 1000, (2, 900_000), np.int32)
    edges = EdgeList(ends[0], ends[1], num_vertices)
    figures = describe(build_graph(edges, "random", Recipe(symmetrise=True)))
    components, labels = connected_components(matrix(edges), directed=False)
    assert figures["components"] == components
    assert figures["largest_component"] == np.bincount(labels).max()


def made(kind: str, **parameters: float) -> Graph:
    return build_graph(generate(kind, **parameters), kind, Recipe())


def star(leaves: int) -> Graph:
    """Returns a star whose middle is the last vertex, with arcs both ways."""
    ends = np.arange(leaves, dtype=np.int32)
    middle = np.full_like(ends, leaves)
    tails, heads = np.concatenate((ends, middle)), np.concatenate((middle, ends))
    return build_graph(EdgeList(tails, heads, leaves + 1, "directed"), "star")


@pytest.mark.parametrize(
    ("make", "parameters", "levels"),
    [
        (made, {"kind": "uniform", "n": 20_000, "m": 100_000}, 4),  # 10 arcs a vertex: 10^3 < 4,096 < 10^4
        (made, {"kind": "lattice", "rows": 150, "columns": 150, "keep": 1}, 7),  # 2 k^2 vertices in k levels
        (star, {"leaves": 4095}, 2),
        (star, {"leaves": 4094}, 7),  # no search reaches so many vertices
    ],
)
def test_graphs_that_grow_quickly_and_others(
    make: Callable[..., Graph], parameters: dict[str, Any], levels: int
) -> None:
    assert levels_to_thousands(make(**parameters), 6) == levels


def test_of_long_rows_only_the_first_arcs_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star(9000)
    assert levels_to_thousands(graph, 6) == 2
    monkeypatch.setattr(adaptive, "_ARCS", 4094)  # besides the middle and the leaf from which it began
    assert levels_to_thousands(graph, 6) == 2
    monkeypatch.setattr(adaptive, "_ARCS", 4093)
    assert levels_to_thousands(graph, 6) == 7


def test_the_first_arcs_of_rows() -> None:
    tails, heads = np.repeat(np.arange(3, dtype=np.int32), (4, 0, 2)), np.arange(6, dtype=np.int32)
    graph = build_graph(EdgeList(tails, heads, 6, "directed"), "rows")
    some, rows = np.array([2, 0, 1], np.int32), (graph.row_offsets, graph.column_indices)
    assert neighbours(*rows, some).tolist() == [4, 5, 0, 1, 2, 3]
    assert neighbours(*rows, some, 3).tolist() == [4, 5, 0, 1, 2]
    assert neighbours(*rows, some, 1).tolist() == [4, 0]


def test_searches_that_end_early_do_not_count() -> None:
    """Three of the nine start vertices lead to half of all vertices. The other six lead nowhere."""
    tails = np.repeat(np.array([500, 1500, 2500], np.int32), 4500)
    heads = np.tile(np.arange(4500, 9000, dtype=np.int32), 3)
    assert levels_to_thousands(build_graph(EdgeList(tails, heads, 9000, "directed"), "three"), 6) == 1


@given(seed=st.integers(0, 10**6), arcs=st.integers(0, 60), wanted=st.integers(2, 25), most=st.integers(1, 8))
def test_it_is_the_median_of_nine_searches(seed: int, arcs: int, wanted: int, most: int) -> None:
    graph = build_graph(generate("uniform", n=40, m=arcs, directed=1, seed=seed), "g", Recipe())
    took = []
    for start in (np.arange(9) * 2 + 1) * graph.num_vertices // 18:
        levels = reference_levels(graph, int(start))
        reached = [int(np.count_nonzero((levels >= 0) & (levels <= level))) for level in range(most + 1)]
        enough = [level for level, vertices in enumerate(reached) if vertices >= wanted]
        if enough or levels.max() >= most:  # it did not end before
            took.append(enough[0] if enough else most + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive, "_VERTICES", wanted)
        assert levels_to_thousands(graph, most) == (sorted(took)[len(took) // 2] if took else most + 1)


def test_marks_travel_in_the_name_and_come_back() -> None:
    name, marks = split_marks("soc-Epinions1:ids=keep:shrink=0.05:stands_for=wiki-Talk")
    assert (name, marks) == ("soc-Epinions1:ids=keep", Marks(0.05, stands_for="wiki-Talk"))
    assert name + marks.suffix == "soc-Epinions1:ids=keep:shrink=0.05:stands_for=wiki-Talk"
    assert split_marks("wave") == ("wave", UNMARKED)
    assert UNMARKED.suffix == ""


@pytest.mark.parametrize("text", ["wave:shrink=0", "wave:shrink=2", "wave:shrink=x", "wave:stands_for="])
def test_marks_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"option (shrink|stands_for)"):
        resolve(text)


def test_a_part_of_a_real_graph_is_connected_and_named_so() -> None:
    whole, part = load("USA-road-d.NY"), load("USA-road-d.NY:shrink=0.002")
    assert part.full_name == "USA-road-d.NY:shrink=0.002:symmetrised"
    assert part.num_vertices == round(whole.num_vertices * 0.002)
    assert part.statistics["components"] == 1
    assert part.checksum != whole.checksum
    assert load(part.full_name).checksum == part.checksum


def test_directions_are_parts_of_their_own() -> None:
    directed, symmetrised = (load(f"soc-Epinions1:shrink=0.01:{way}") for way in ("directed", "symmetrised"))
    assert directed.num_vertices == symmetrised.num_vertices
    assert directed.num_edges < symmetrised.num_edges <= 2 * directed.num_edges


def test_a_stand_in_is_the_same_graph_under_a_marked_name() -> None:
    itself, marked = load("kronecker(scale=5)"), load("kronecker(scale=5):stands_for=kron_g500-logn20")
    assert marked.checksum == itself.checksum
    assert marked.full_name == "kronecker(scale=5,seed=1):stands_for=kron_g500-logn20:symmetrised"
    assert not list((cache_dir() / "graphs").glob("*stands_for*"))  # stored once


@given(seed=st.integers(0, 10**6), directed=st.booleans(), share=st.floats(0.01, 1))
def test_a_ball_is_an_induced_subgraph_of_the_wanted_size(seed: int, directed: bool, share: float) -> None:
    edges = generate("uniform", n=60, m=90, directed=int(directed), seed=seed)
    graph = build_graph(edges, "g", Recipe())
    part = ball(graph, share)
    assert 1 <= part.num_vertices <= max(1, round(60 * share))
    ids = part.original_ids
    assert ids is not None
    kept = np.isin(graph.edge_sources, ids) & np.isin(graph.column_indices, ids)
    expected = sorted(zip(graph.edge_sources[kept], graph.column_indices[kept], strict=True))
    assert sorted(zip(ids[part.sources], ids[part.targets], strict=True)) == expected


@pytest.mark.parametrize(
    ("name", "given", "shrunk"),
    [
        ("kronecker", {"scale": 20}, {"scale": 10, "edge_factor": 16}),
        ("rmat", {"n": 10**6, "m": 10**7}, {"n": 977, "m": 9766}),
        ("lattice", {"rows": 1024, "columns": 1024}, {"rows": 32, "columns": 32, "depth": 1}),
        ("lattice", {"rows": 64, "columns": 64, "depth": 64}, {"rows": 6, "columns": 6, "depth": 6}),
        ("luo_scale_free", {"n": 10**6}, {"n": 2000}),
        ("pmpp", {}, {}),
    ],
)
def test_generators_draw_about_the_share_of_vertices(
    name: str, given: dict[str, int], shrunk: dict[str, int]
) -> None:
    values = GENERATORS[name].shrunk(given, 1 / 1024)
    assert {key: values[key] for key in shrunk} == shrunk


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_shrinking_gives_parameters_that_the_generator_takes(name: str) -> None:
    generator = GENERATORS[name]
    needed = {p.name: min(10_000, p.maximum) for p in generator.parameters if p.default is None}
    whole = generator.complete(needed)
    small = generator.shrunk(whole, 0.01)
    assert generator.complete(small) == small
    sizes = [p.name for p in generator.parameters if p.growth != "fixed" and whole[p.name] != 1]
    for key, value in whole.items():
        if key in sizes:
            assert float(small[key]) < float(value)
        else:
            assert small[key] == value
