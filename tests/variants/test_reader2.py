"""Examples of what a review of the records of short rows has found."""

from __future__ import annotations

from typing import Any

import pytest

from bfsbench.backends.base import Device
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.variants.adaptive import Adaptive
from tests.shapes import edge_list
from tests.variants.adaptive_searches import layers_of
from tests.variants.searching import layered, prepared


def tree(children: int, depth: int, each: str = "each_once") -> Graph:
    """Each vertex above the last level has as many children."""
    edges: list[tuple[int, int]] = []
    level = [0]
    for _ in range(depth):
        parents, level = level, []
        for parent in parents:
            for _ in range(children):
                level.append(len(edges) + 1)
                edges.append((parent, level[-1]))
    return build_graph(edge_list(len(edges) + 1, edges, each), "tree")  # type: ignore[arg-type]


@pytest.mark.parametrize("knobs", [{"SHORT_ROWS": 1}, {"SHORT_ROWS": 1, "MAY_PULL": 0}])
def test_a_last_level_that_nothing_leads_on_from_has_a_record(device: Device, knobs: dict[str, int]) -> None:
    """The third level outgrows the cluster, so it hands the leaves on; but none of them is in a queue, as
    their rows lead back alone. `layers_of` asserts that each level has been noted."""
    assert len(layers_of(device, tree(7, 3), 0, SMALL_PARTS=30, **knobs)) == 4


def test_the_same_without_records(device: Device) -> None:
    assert len(layers_of(device, tree(7, 3, "directed"), 0, SMALL_PARTS=30, MAY_PULL=0)) == 4


def test_blocks_known_to_be_resident_are_of_the_same_shared_memory(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many blocks meet depends on the bitmap, whose size is none of the macros."""
    small, large = layered([1, 2, 3]), layered([1, 2, 4])
    knobs = {"SHORT_ROWS": 1, "CLUSTER_SIZE": 4}
    monkeypatch.setattr(Adaptive, "probe_polls", 20_000)
    of_small = prepared(Adaptive, device, small, **knobs)
    expected, kernel = of_small.num_blocks, type(of_small.kernel("adaptive"))
    room: Any = kernel.resident_blocks
    own = Adaptive._bitmap_bytes

    def bitmap(search: Adaptive) -> int:
        return 100 << 10 if search.num_vertices == large.num_vertices else own(search)

    monkeypatch.setattr(Adaptive, "_bitmap_bytes", bitmap)
    monkeypatch.setattr(
        kernel, "resident_blocks", lambda kernel, block, shared=0: room(kernel, block, shared) + 4
    )
    fewer = prepared(Adaptive, device, large, **knobs).num_blocks
    assert fewer < expected
    assert prepared(Adaptive, device, small, **knobs).num_blocks == expected
