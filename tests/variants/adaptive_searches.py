"""What the tests of ``adaptive`` share: knobs that lead through its layers, and checks of its levels."""

import pytest

from bfsbench.backends.base import Device
from bfsbench.graphs.graph import Graph
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import SOURCES
from tests.variants import searching
from tests.variants.searching import built, check_levels, prepared, shape

CLUSTERS = (1, 2, 4, 8, 16)
USUAL_CLUSTERS = (1, 2, 8)
"""Sizes of clusters in a default run. Each size is a build of its own. Small graphs have clusters of 16."""
PUSHED = {"SMALL_PARTS": 0, "MAY_PULL": 0}
PULLED = {"SMALL_PARTS": 0, "PUSHED_EDGE": 1024}
CROWDED = {"SMALL_PARTS": 16384}
MIXED = {"SMALL_PARTS": 20, "PUSHED_EDGE": 2}
LISTED = {"SMALL_PARTS": 0, "PUSHED_EDGE": 6, "LISTED_VERTICES": 0}
LIKELY = {"LIKELY_FIRST": 1}
MANY = {"MANY_VERTICES": 0}
TREE = {"TREE": 1}
WAYS = (
    *({}, PUSHED, PULLED, CROWDED, {"SMALL_PARTS": 8}, MIXED, LISTED),
    *(PULLED | LIKELY, MIXED | LIKELY, LISTED | LIKELY),
    *(PULLED | MANY, LISTED | MANY, PULLED | LIKELY | MANY),
)
"""Knobs that lead through each layer, and through all layers in turn."""

USUAL_WAYS = ({}, CROWDED, PULLED, MIXED | LIKELY, LISTED | MANY)
"""A selection of WAYS that leads through each layer."""


def steps_modulo_3(search: Adaptive) -> int:
    """Returns the number of steps of the first search, modulo 3. The next search begins with the frontier of
    this number, because three frontiers take turns."""
    return int(search.state.read_struct().first_step)


def compile_with(monkeypatch: pytest.MonkeyPatch, **macros: int) -> None:
    """Have kernels compiled with other values of their macros."""
    defines = Adaptive.defines
    monkeypatch.setattr(Adaptive, "defines", lambda search: {**defines(search), **macros})


def expect_levels(
    device: Device, graph: Graph, source: int = 0, grid: int | None = None, block: int = 64, **knobs: int
) -> None:
    """Search twice, because the second search finds the memory as the first one has left it."""
    check_levels(prepared(Adaptive, device, graph, grid, block, **knobs), source, source)


def layers_of(device: Device, graph: Graph, source: int = 0, grid: int | None = None, **knobs: int) -> str:
    """Check the levels of a search. Returns the layers that ran its levels, separated by blanks."""
    return searching.layers_of(built(Adaptive, device, graph, grid, **knobs), source)


def check_shapes(device: Device, names: list[str], grid: int | None = None, **knobs: int) -> None:
    for name in names:
        check_levels(prepared(Adaptive, device, shape(name), grid, **knobs), *SOURCES[name])
