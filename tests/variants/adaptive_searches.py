"""Shared by tests of the search of one launch: knobs that lead through its regimes, and what ran a level."""

import pytest

from bfsbench.backends.base import Device, Launch
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.support.errors import LaunchError
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup
from tests.shapes import SOURCES
from tests.variants.searching import check_levels, levels_of, no_records, prepared, shape

CLUSTERS = (1, 2, 4, 8, 16)
USUAL_CLUSTERS = (1, 2, 8)
"""Each size is compiled by itself, so that others are left to exhaustive runs. Small graphs have 16."""
PUSHED = {"SMALL_PARTS": 0, "MAY_PULL": 0}
PULLED = {"SMALL_PARTS": 0, "PUSHED_EDGE": 1024}
CROWDED = {"SMALL_PARTS": 16384}
MIXED = {"SMALL_PARTS": 20, "PUSHED_EDGE": 2}
LISTED = {"SMALL_PARTS": 0, "PUSHED_EDGE": 6, "LISTED_VERTICES": 0}
LIKELY = {"LIKELY_FIRST": 1}
MANY = {"MANY_VERTICES": 0}
TREE = {"TREE": 1}
WAYS = (
    {},
    PUSHED,
    PULLED,
    CROWDED,
    {"SMALL_PARTS": 8},
    MIXED,
    LISTED,
    PULLED | LIKELY,
    MIXED | LIKELY,
    LISTED | LIKELY,
    PULLED | MANY,
    LISTED | MANY,
    PULLED | LIKELY | MANY,
)
"""Knobs that lead through each of the regimes, and through all of them in turn."""

USUAL_WAYS = ({}, CROWDED, PULLED, MIXED | LIKELY, LISTED | MANY)
"""Some of these, with each regime among them."""


def took_steps(search: Adaptive, steps: int) -> bool:
    """Whether the first search took as many steps, modulo three: so many frontiers take turns."""
    return int(search.state.read_struct().first_step) == steps % 3


def compile_with(monkeypatch: pytest.MonkeyPatch, **macros: int) -> None:
    """Have kernels compiled with other values of their macros."""
    defines = Adaptive.defines
    monkeypatch.setattr(Adaptive, "defines", lambda search: {**defines(search), **macros})


def leave_room(monkeypatch: pytest.MonkeyPatch, most_blocks: int) -> None:
    """Have no room for clusters of more blocks."""
    find_room = Adaptive._resident_blocks

    def cramped(search: Adaptive, probe: Launch, most: int) -> int:
        if search.cluster_size() > most_blocks:
            raise LaunchError("no room")
        return find_room(search, probe, most)

    monkeypatch.setattr(Adaptive, "_resident_blocks", cramped)


def expect_levels(
    device: Device, graph: Graph, source: int = 0, grid: int | None = None, block: int = 64, **knobs: int
) -> None:
    """Search twice, since a search leaves to the next what it has in memory."""
    check_levels(prepared(Adaptive, device, graph, grid, block, **knobs), source, source)


def layers_of(
    device: Device, graph: Graph, source: int = 0, grid: int | None = None, **knobs: int
) -> list[str]:
    """The regime that ran each level. The levels are checked, too."""
    search = Adaptive(KernelSetup(DeviceGraph(device, graph), grid, 64, Adaptive.knob_values(knobs)))
    search.records = device.upload(no_records(graph.num_vertices + 2))
    search.prepare()
    expected = reference_levels(graph, source)
    assert levels_of(search, source) == expected.tolist()
    layers = search.records.download()["layer"]
    depth = int(expected.max())
    assert (layers[: depth + 1] >= 0).all()
    assert (layers[depth + 2 :] < 0).all(), "at most one level finds nothing, as a frontier proves empty"
    return [search.layers[layer] for layer in layers[: depth + 1]]


def check_shapes(device: Device, names: list[str], grid: int | None = None, **knobs: int) -> None:
    for name in names:
        check_levels(prepared(Adaptive, device, shape(name), grid, **knobs), *SOURCES[name])
