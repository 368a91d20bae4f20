"""The shapes are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.shapes import AROUND_WARPS_AND_BLOCKS, SHAPES, SOURCES


def degrees(name: str) -> np.ndarray:
    edges = SHAPES[name]
    ends = np.concatenate((edges.sources, edges.targets))
    return np.bincount(ends, minlength=edges.num_vertices)


def test_every_shape_has_sources_and_no_other_name_does() -> None:
    assert set(SOURCES) == set(SHAPES)
    assert all(SOURCES.values())


@pytest.mark.parametrize("name", SHAPES)
def test_ids_are_in_range(name: str) -> None:
    edges = SHAPES[name]
    for ids in (edges.sources, edges.targets, np.array(SOURCES[name])):
        assert np.all((ids >= 0) & (ids < edges.num_vertices))
    assert edges.sources.dtype == edges.targets.dtype == np.int32
    assert len(edges.sources) == len(edges.targets)


def test_shapes_are_built_once() -> None:
    assert SHAPES["kronecker"] is SHAPES["kronecker"]


def test_the_isolated_source_is_isolated() -> None:
    assert degrees("isolated_source")[SOURCES["isolated_source"][0]] == 0


def test_the_hub_has_5000_neighbours() -> None:
    hub = degrees("hub")
    assert hub[7] == 5000
    assert set(np.delete(hub, 7)) == {3}


def test_the_pmpp_graph_has_both_roots_of_the_figure() -> None:
    assert SHAPES["pmpp"].num_vertices == 9
    assert len(SHAPES["pmpp"].sources) == 15
    assert SOURCES["pmpp"] == [0, 2]


def test_random_graphs_have_sizes_around_warps_and_blocks() -> None:
    assert [SHAPES[f"random_{n}"].num_vertices for n in AROUND_WARPS_AND_BLOCKS] == list(
        AROUND_WARPS_AND_BLOCKS
    )
