"""The rules of ``--knobs auto``: legal values, right answers, and the choice for each class of graphs."""

import pytest

import bfsbench
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.statistics import describe
from bfsbench.variants import all_variants, find

WITH_RULES = [
    name
    for name, variant in all_variants().items()
    if variant.auto_knobs.__func__ is not variant.__base__.auto_knobs.__func__
]
GRAPHS = {
    "road": ("lattice", {"rows": 600, "columns": 2, "keep": 1}),
    "hubs": ("star", {"n": 3000}),
    "long rows": ("complete", {"n": 40}),
    "short rows": ("uniform", {"n": 300, "m": 900}),
}


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    return {name: bfsbench.generate(generator, **given) for name, (generator, given) in GRAPHS.items()}


def test_there_are_rules() -> None:
    assert {"bfs4k", "merrill", "luo", "linear_work", "virtual_warp"} <= {*WITH_RULES}


@pytest.mark.parametrize("variant", WITH_RULES)
def test_rules_give_legal_values_and_right_searches(variant: str, graphs: dict[str, Graph]) -> None:
    declared = find(variant)
    for graph in graphs.values():
        chosen = declared.preset("auto", describe(graph))
        declared.knob_values(chosen)
        if declared.family == "bfs":
            bfsbench.search(graph, variant, backend="cpu", block=64, **chosen)  # checks the levels
        assert declared.preset("default", describe(graph)) == {}


@pytest.mark.parametrize(
    ("variant", "knob", "values"),
    [
        ("virtual_warp", "W_SZ", {"road": 2, "hubs": 32, "long rows": 32, "short rows": 2}),
        ("linear_work", "GATHERING", {"road": None, "hubs": "fine-grained", "short rows": None}),
        ("merrill", "ORGANISATION", {"road": "contract-expand", "hubs": "expand-contract"}),
        ("luo", "SPLIT_DEGREE", {"road": None, "hubs": 16, "long rows": None}),
    ],
)
def test_rules_follow_the_class_of_the_graph(
    variant: str, knob: str, values: dict[str, object], graphs: dict[str, Graph]
) -> None:
    chosen = {name: find(variant).preset("auto", describe(graphs[name])).get(knob) for name in values}
    assert chosen == values
