"""Small graphs of a kind: cut out of a file's graph, or drawn by the same generator; and their marks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsbench.errors import UsageError
from bfsbench.graphs.ball import ball
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.generators import GENERATORS, generate
from bfsbench.graphs.load import load, resolve
from bfsbench.graphs.marks import UNMARKED, Marks, split_marks
from bfsbench.graphs.recipe import Recipe
from bfsbench.paths import cache_dir


def test_marks_travel_in_the_name_and_come_back() -> None:
    name, marks = split_marks("soc-Epinions1:ids=keep:shrink=0.05:stands_for=wiki-Talk")
    assert (name, marks) == ("soc-Epinions1:ids=keep", Marks(0.05, "wiki-Talk"))
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
