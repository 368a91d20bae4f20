"""Every variant against the sequential search, on every backend present, over difficult shapes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bfsbench.backends import open_device
from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import EdgeList, Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import LaunchError
from bfsbench.support.paths import PACKAGE
from bfsbench.variants import all_families, all_variants, find
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant
from tests.parameters import covering, one_in, some
from tests.shapes import SHAPES, SOURCES, with_wide_offsets
from tests.variants import searching
from tests.variants.searching import shape

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelVariant)]
LAUNCHES = [(None, 64), (3, 96), (1, 32), (500, 256)]
SCHEDULES = range(1, 9)
SCHEDULED = {name: SOURCES[name] for name in ("kronecker", "duplicate_edges", "pmpp")} | {"hub": [0, 7]}
"""Shapes and sources; vertices 0 and 2500 of the hub's ring are alike."""


def oracle(graph: Graph, source: int) -> list[int]:
    """Levels by a set-based search that shares nothing with the code under test."""
    levels = [-1] * graph.num_vertices
    frontier, level = {source}, 0
    while frontier:
        for v in frontier:
            levels[v] = level
        reached = set()
        for v in frontier:
            reached.update(graph.column_indices[graph.row_offsets[v] : graph.row_offsets[v + 1]].tolist())
        frontier, level = {u for u in reached if levels[u] < 0}, level + 1
    return levels


def levels_of(
    variant: type[KernelVariant],
    device: Device,
    graph: Graph | DeviceGraph,
    sources: list[int],
    grid: int | None,
    block: int,
    **knobs: int,
) -> list[list[int]]:
    """Levels from each source, all by one prepared search, as a benchmark runs them."""
    search = searching.prepared(variant, device, graph, grid, block, **knobs)
    return [searching.levels_of(search, source) for source in sources]


def knob_corners() -> Iterator[ParameterSet]:
    """Of every variant each knob at each of its choices or at both ends of its range. All but the last are
    left to exhaustive runs."""
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


def shared_memory_of(
    variant: type[KernelVariant], device: Device, graph: Graph, knobs: dict[str, int]
) -> int:
    """Bytes of dynamic shared memory that a block of 64 threads asks for."""
    search = variant(KernelSetup(DeviceGraph(device, graph), None, 64, variant.knob_values(knobs)))
    return int(search.shared_memory()) if hasattr(search, "shared_memory") else 0


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
    graph = shape(name)
    sources = list(SOURCES[name])
    expected = [reference_levels(graph, source).tolist() for source in sources]
    on_device = DeviceGraph(device, graph)  # one for all launches, as in a sweep
    for grid, block in launches:
        assert levels_of(variant, device, on_device, sources, grid, block) == expected, (grid, block)


@pytest.mark.parametrize("names", some([("kronecker",), ("lattice", "pmpp")], ("kronecker",)), ids="-".join)
@pytest.mark.parametrize(("variant", "knobs"), list(knob_corners()))
def test_levels_do_not_depend_on_knobs(
    device: Device, variant: type[KernelVariant], knobs: dict[str, int], names: Sequence[str]
) -> None:
    for name in names:
        graph = shape(name)
        sources = list(SOURCES[name])
        expected = [reference_levels(graph, source).tolist() for source in sources]
        too_large = (
            shared_memory_of(variant, device, graph, knobs) > device.limits.shared_memory_per_block_optin
        )
        try:
            levels = levels_of(variant, device, graph, sources, None, 64, **knobs)
        except LaunchError as refusal:
            named = any(f"{knob}={value}" in str(refusal) for knob, value in knobs.items())
            assert too_large or named, refusal
            if not too_large:  # the graph does not suit the value, but another one does
                levels = levels_of(variant, device, shape("path"), [0], None, 64, **knobs)
                assert levels == [reference_levels(shape("path"), 0).tolist()]
        else:
            assert levels == expected
            assert not too_large


@pytest.mark.parametrize(("variant", "seed"), covering(KERNEL_VARIANTS, SCHEDULES), ids=name_or_number)
def test_levels_do_not_depend_on_the_schedule(variant: type[KernelVariant], seed: int) -> None:
    device = open_device("cpu", seed)
    for name, sources in SCHEDULED.items():
        graph = shape(name)
        expected = [reference_levels(graph, source).tolist() for source in sources]
        assert levels_of(variant, device, graph, sources, 3, 64) == expected, name
    device.close()


@pytest.mark.parametrize(
    "variant", one_in(3, [[variant] for variant in KERNEL_VARIANTS]), ids=lambda variant: variant.name
)
def test_wide_offsets_give_the_same_levels(device: Device, variant: type[KernelVariant]) -> None:
    narrow = shape("kronecker")
    wide = with_wide_offsets(narrow)
    expected = [reference_levels(narrow, source).tolist() for source in SOURCES["kronecker"]]
    assert levels_of(variant, device, wide, list(SOURCES["kronecker"]), None, 128) == expected
    assert [reference_levels(wide, source).tolist() for source in SOURCES["kronecker"]] == expected


@pytest.mark.parametrize("variant", KERNEL_VARIANTS, ids=lambda variant: variant.name)
def test_partial_warps_are_refused_where_that_is_declared(
    device: Device, variant: type[KernelVariant]
) -> None:
    graph = shape("pmpp")
    if variant.whole_warps:
        with pytest.raises(LaunchError, match="whole warps of 32 threads, not 33"):
            levels_of(variant, device, graph, [0], None, 33)
    else:
        assert levels_of(variant, device, graph, [0], None, 33) == [reference_levels(graph, 0).tolist()]


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
        assert levels_of(variant, device, graph, [source], grid, threads) == [expected], variant.name


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
