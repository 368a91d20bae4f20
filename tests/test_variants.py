"""Every variant against the sequential search: shapes, knobs, schedules, full queues, rules for knobs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

import bfsbench
from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.graphs.statistics import describe
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import KernelError, LaunchError
from bfsbench.support.paths import PACKAGE
from bfsbench.variants import all_families, all_variants, find
from bfsbench.variants.base import DeviceGraph, KernelVariant
from tests.parameters import covering, one_in, some
from tests.shapes import SHAPES, SOURCES, with_wide_offsets
from tests.variants.adaptive_searches import USUAL_CLUSTERS, WAYS
from tests.variants.searching import built, check_levels, layered, levels_of, prepared, shape

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelVariant)]
LAUNCHES = [(None, 64), (3, 96), (1, 32), (500, 256)]
SCHEDULES = range(1, 9)
SCHEDULED = {name: SOURCES[name] for name in ("kronecker", "duplicate_edges", "pmpp")} | {"hub": [0, 7]}
"""Shapes and sources. Vertices 0 and 2500 of the hub's ring are alike."""
ORGANISATIONS = ("hybrid", "expand-contract", "contract-expand", "two-phase")
"""Values of a knob of ``merrill``."""


def oracle(graph: Graph, source: int) -> list[int]:
    """Returns the levels that a search with sets finds. It shares no code with the package."""
    levels = [-1] * graph.num_vertices
    frontier, level = {source}, 0
    rows = np.split(graph.column_indices, graph.row_offsets[1:-1])
    while frontier:
        for v in frontier:
            levels[v] = level
        reached = {u for v in frontier for u in rows[v].tolist()}
        frontier, level = {u for u in reached if levels[u] < 0}, level + 1
    return levels


def knob_corners() -> Iterator[ParameterSet]:
    """Yields each knob of each variant with all of its choices, or with both ends of its range. A default run
    takes the last value of each knob."""
    for variant in KERNEL_VARIANTS:
        for knob in variant.knobs:
            values = [
                value for value in knob.choices or (knob.minimum, knob.maximum) if value != knob.default
            ]
            for value in values:
                others = pytest.mark.exhaustive if value != values[-1] else ()
                yield pytest.param(
                    variant, {knob.name: value}, id=f"{variant.name}-{knob.name}-{value}", marks=others
                )


def name_or_number(parameter: type[KernelVariant] | int) -> str:
    return str(parameter) if isinstance(parameter, int) else parameter.name


@pytest.mark.parametrize("name", SHAPES)
def test_the_sequential_search_agrees_with_an_independent_one(name: str) -> None:
    graph = shape(name)
    for source in SOURCES[name]:
        assert reference_levels(graph, source).tolist() == oracle(graph, source)


@pytest.mark.parametrize("launches", some([LAUNCHES[:2], LAUNCHES[2:]], LAUNCHES[:2]), ids=str)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_levels_equal_the_reference(
    device: Device, variant: type[KernelVariant], name: str, launches: Sequence[tuple[int | None, int]]
) -> None:
    graph = DeviceGraph(device, shape(name))  # one for all launches, as in a sweep
    for grid, block in launches:
        check_levels(prepared(variant, device, graph, grid, block), *SOURCES[name])


@pytest.mark.parametrize("names", some([("kronecker",), ("lattice", "pmpp")], ("kronecker",)), ids="-".join)
@pytest.mark.parametrize(("variant", "knobs"), list(knob_corners()))
def test_levels_do_not_depend_on_knobs(
    device: Device, variant: type[KernelVariant], knobs: dict[str, int], names: Sequence[str]
) -> None:
    for name in names:
        search = built(variant, device, shape(name), **knobs)
        memory = search.shared_memory() if hasattr(search, "shared_memory") else 0
        too_large = memory > device.limits.shared_memory_per_block_optin
        try:
            search.prepare()
        except LaunchError as refusal:
            named = any(f"{knob}={value}" in str(refusal) for knob, value in knobs.items())
            assert too_large or named, refusal
            if not too_large:  # the value suits other graphs
                check_levels(prepared(variant, device, shape("path"), **knobs), 0)
        else:
            assert not too_large
            check_levels(search, *SOURCES[name])


@pytest.mark.parametrize(("variant", "seed"), covering(KERNEL_VARIANTS, SCHEDULES), ids=name_or_number)
def test_levels_do_not_depend_on_the_schedule(variant: type[KernelVariant], seed: int) -> None:
    with closing(open_device("cpu", seed)) as device:
        for name, sources in SCHEDULED.items():
            check_levels(prepared(variant, device, shape(name), 3), *sources)


OTHER_WAYS = [
    ("frontier_numbers_defer", 2, 96, {"DEFER_MAX": 2, "D_BLOCK_QUEUE_SIZE": 7}),
    ("frontier_scan", 2, 40, {"TILE_SIZE": 64}),
    ("luo", None, 32, {"BLOCK_LIMIT": 6, "RESIDENT_LIMIT": 20, "B_FRONTIER_SIZE": 16}),
    ("luo", None, 32, {"SPLIT_DEGREE": 4}),
    *(("push_private", 2, 40, {"LOCAL_FRONTIER_CAPACITY": size}) for size in (1, 6)),
    *(
        ("push_multilevel", 2, 40, {"SMALL_FRONTIER": 2 * size, "LOCAL_FRONTIER_CAPACITY": size})
        for size in (1, 6)
    ),
    *(("bfs4k", None, 64, {"HASH": method}) for method in ("hash64", "hash_warp")),
    # Hash tables of 64 bytes for a thread, of 1 KiB for a warp, and of 4 KiB for three warps.
    *(
        ("bfs4k", 3, 64, {"K5": 0, "K6": k6, "HASH": method})
        for k6, method in product((1, 32, 96), ("hash64", "hash_warp"))
    ),
    *one_in(
        5,
        [
            ("merrill", 3, block, {"ORGANISATION": name, "RESIDENT_LIMIT": limit})
            for name, limit, block in product(ORGANISATIONS, (-1, 0, 3), (31, 64))
        ],
    ),
    *(
        pytest.param("adaptive", 9, 64, knobs | {"CLUSTER_SIZE": cluster}, marks=pytest.mark.exhaustive)
        for knobs, cluster in product(WAYS, USUAL_CLUSTERS)
    ),
]
"""Variants, grids, blocks, and knobs that lead through other kernels than the defaults do."""


@pytest.mark.parametrize("seed", some(SCHEDULES, 1, 2, 3))
@pytest.mark.parametrize(("name", "grid", "block", "knobs"), OTHER_WAYS)
def test_levels_do_not_depend_on_the_schedule_in_other_ways(
    name: str, grid: int | None, block: int, knobs: dict[str, int | str], seed: int
) -> None:
    with closing(open_device("cpu", seed)) as device:
        for graph in ("kronecker", "duplicate_edges", "complete", "lattice"):
            check_levels(prepared(find(name), device, shape(graph), grid, block, **knobs), 0)
        up_and_down = layered([1, 9, 60, 40, 2, 90, 1, 1, 25, 10, 1])
        check_levels(prepared(find(name), device, up_and_down, grid, block, **knobs), 0)


OVERFLOWING = [
    *(("frontier_queue", knobs) for knobs in ({}, {"BLOCK_QUEUE_SIZE": 5})),
    *(
        ("bfs4k", knobs)
        for knobs in ({"K5": 0, "K2": 0}, {"K5": 0, "HASH": "none"}, {"K5": 1}, {"K5": 8, "K2": 50.0})
    ),
    *(
        ("merrill", {"ORGANISATION": name, "RESIDENT_LIMIT": limit, "ATOMIC_CLAIM": 1})
        for name, limit in product(ORGANISATIONS, (-1, 0))
    ),
]


@pytest.mark.parametrize("capacity", [1, 3, 40])
@pytest.mark.parametrize(("name", "knobs"), OVERFLOWING)
def test_overflowing_queues_are_rebuilt(
    emulator: Device, name: str, knobs: dict[str, int | str], capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find(name), "queue_capacity", capacity)
    for graph in ("kronecker", "lattice", "star_out", "hub"):
        check_levels(prepared(find(name), emulator, shape(graph), **knobs), *SOURCES[graph])


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("adaptive", {"SMALL_PARTS": 0, "MAY_PULL": 0}),
        ("luo", {"BLOCK_LIMIT": -1}),
        *(("merrill", {"ORGANISATION": name}) for name in ORGANISATIONS[:3]),
        ("resident_parts", {"PART_VERTICES": 32}),
    ],
)
def test_blocks_that_wait_in_vain_are_an_error(
    device: Device, name: str, knobs: dict[str, int | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = find(name)
    monkeypatch.setattr(variant, "max_polls", 0)
    search = prepared(variant, device, shape("lattice"), **knobs)
    for _ in range(3):  # no search goes on with what a failed search has left
        with pytest.raises(KernelError, match=r"\d+ blocks did not all meet"):
            levels_of(search, 0)
    monkeypatch.undo()
    check_levels(prepared(variant, device, shape("lattice"), **knobs), 0)


@pytest.mark.parametrize(
    "variant", one_in(3, [[variant] for variant in KERNEL_VARIANTS]), ids=lambda variant: variant.name
)
def test_wide_offsets_give_the_same_levels(device: Device, variant: type[KernelVariant]) -> None:
    wide = with_wide_offsets(shape("kronecker"))
    check_levels(prepared(variant, device, wide, block=128), *SOURCES["kronecker"])


def test_the_sequential_search_takes_wide_offsets() -> None:
    narrow = shape("kronecker")
    for source in SOURCES["kronecker"]:
        expected = reference_levels(narrow, source).tolist()
        assert reference_levels(with_wide_offsets(narrow), source).tolist() == expected


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_partial_warps_are_refused_where_that_is_declared(
    device: Device, variant: type[KernelVariant]
) -> None:
    if variant.whole_warps:
        with pytest.raises(LaunchError, match="whole warps of 32 threads, not 33"):
            prepared(variant, device, shape("pmpp"), block=33)
    else:
        check_levels(prepared(variant, device, shape("pmpp"), block=33), 0)


@given(
    edges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=200),
    source=st.integers(0, 40),
    symmetrise=st.booleans(),
    grid=st.sampled_from([None, 1, 2]),
    block=st.sampled_from([1, 31, 32, 33, 64]),
)
def test_random_multigraphs(
    device: Device, edges: list[tuple[int, int]], source: int, symmetrise: bool, grid: int | None, block: int
) -> None:
    pairs = np.array(edges, np.int32).reshape(-1, 2)
    orientation = "each_once" if symmetrise else "directed"
    graph = build_graph(EdgeList(pairs[:, 0].copy(), pairs[:, 1].copy(), 41, orientation), "random")
    expected = oracle(graph, source)
    for variant in KERNEL_VARIANTS:
        threads = -(-block // 32) * 32 if variant.whole_warps else block
        assert levels_of(prepared(variant, device, graph, grid, threads), source) == expected, variant.name


@pytest.mark.parametrize("name", all_variants())
def test_declarations_say_what_a_reader_needs(name: str) -> None:
    variant = find(name)
    assert variant.summary and variant.family in all_families()
    if Path(inspect.getfile(variant)).is_relative_to(PACKAGE):  # a user's need no more
        assert variant.__doc__ and variant.frontier and variant.parallel_unit and variant.work
        assert variant.origin and variant.layout
    assert set(variant.layout) <= {"CSR", "CSC", "COO", "matrix"}
    for knob in variant.knobs:
        assert knob.check(knob.default) == knob.default
        assert knob.choices or (knob.minimum is not None and knob.maximum is not None)
    if issubclass(variant, KernelVariant):
        for file in variant.source_files():
            assert file.read_text().startswith(f"// {file.stem}:")
    assert variant.name == name
    assert all(find(alias) is variant for alias in variant.aliases)


GRAPHS = {
    "road": ("lattice", {"rows": 600, "columns": 2, "keep": 1}),
    "hubs": ("star", {"n": 3000}),
    "long rows": ("complete", {"n": 40}),
    "short rows": ("uniform", {"n": 300, "m": 900}),
}
WITH_RULES = [name for name, variant in all_variants().items() if "auto_knobs" in vars(variant)]


@pytest.fixture(scope="module")
def classes() -> dict[str, Graph]:
    """Returns a graph of each class that the rules for ``--knobs auto`` know."""
    return {name: bfsbench.generate(generator, **given) for name, (generator, given) in GRAPHS.items()}


def test_there_are_rules() -> None:
    assert {"bfs4k", "merrill", "luo", "linear_work", "virtual_warp"} <= {*WITH_RULES}


@pytest.mark.parametrize("variant", WITH_RULES)
def test_rules_give_legal_values_and_right_searches(variant: str, classes: dict[str, Graph]) -> None:
    declared = find(variant)
    for graph in classes.values():
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
    variant: str, knob: str, values: dict[str, object], classes: dict[str, Graph]
) -> None:
    chosen = {name: find(variant).preset("auto", describe(classes[name])).get(knob) for name in values}
    assert chosen == values
