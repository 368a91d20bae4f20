"""Offsets of more than 32 bits: kernels never truncate them, and arcs past the 2^32nd are found."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Buffer
from bfsbench.graphs.convert import build_graph
from bfsbench.graphs.graph import Graph
from bfsbench.programs.check import GuardedArrays
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import KnobValue
from bfsbench.support.paths import KERNEL_HEADERS
from bfsbench.variants import all_variants
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelSetup, KernelVariant
from bfsbench.variants.prepared_rows import RECORD
from bfsbench.variants.reorder import Reorder
from tests.conversions import diagnose
from tests.parameters import one_in
from tests.shapes import SHAPES, SOURCES, edge_list, with_wide_offsets
from tests.variants.searching import levels_of

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelVariant)]
WARNINGS = ["-Wconversion", "-Wno-sign-conversion"]


@pytest.fixture(scope="module")
def emulator() -> Iterator[CpuDevice]:
    """A device whose buffers can be arrays of the host."""
    device = CpuDevice()
    yield device
    device.close()


FarRoom = np.memmap[int, np.dtype[np.int32]]

BY_OFFSETS = [v for v in KERNEL_VARIANTS if "COO" not in v.layout and v is not Reorder]
"""Variants that find arcs by a graph's own offsets."""
WAYS: dict[str, list[dict[str, KnobValue]]] = {
    "adaptive": [{"SMALL_PARTS": 0, "PUSHED_EDGE": 1024, **look} for look in ({}, {"LIKELY_FIRST": 1})],
    "bfs4k": [{"K5": 0}, {"K5": 0, "K4": 0}, {"K5": 0, "K4": 0, "K1": 32}, {"K2": 0}],
    "linear_work": [
        {"SEQUENTIAL_THRESHOLD": 0, "GATHERING": "fine-grained"},
        {"SEQUENTIAL_THRESHOLD": 0, "GATHERING": "fine-grained", "START_INDEX": "search"},
    ],
    "luo": [{"BLOCK_LIMIT": -1}, {"BLOCK_LIMIT": -1, "RESIDENT_LIMIT": -1}],
    "merrill": [{"ORGANISATION": name} for name in ("expand-contract", "contract-expand", "two-phase")],
    "push_multilevel": [{"SMALL_FRONTIER": 1}],
}
"""Knobs that lead through other kernels, or other parts of them, than the defaults."""
OF_PREPARING = {
    "LONG_ROW": 1024,
    "TABLE_BITS": 13,
    "TABLE": 8192,
    "MAX_GHOSTS": 6144,
    "RECORD": RECORD,
    "RECORDS": 2,
}
"""Macros of kernels that prepare a search."""


def check_conversions(source: Path, defines: Mapping[str, KnobValue]) -> None:
    assert diagnose(source, {**defines, "WIDE_OFFSETS": 1}, WARNINGS, KERNEL_HEADERS) == ""


@pytest.mark.parametrize(
    "variant", one_in(6, [[variant] for variant in KERNEL_VARIANTS]), ids=lambda variant: variant.name
)
def test_kernels_keep_no_offset_in_fewer_bits(emulator: CpuDevice, variant: type[KernelVariant]) -> None:
    graph = DeviceGraph(emulator, with_wide_offsets(build_graph(SHAPES["kronecker"], "kronecker")))
    knobs = variant.knob_values({})
    macros = variant(KernelSetup(graph, None, 64, knobs)).defines() | {"CHILD_KERNELS": 1, "COUNTERS": 1}
    for file in variant.source_files():
        check_conversions(file, {**OF_PREPARING, **macros})


def far_room(tmp_path_factory: pytest.TempPathFactory) -> FarRoom:
    """Room for 2^32 + 2^20 arcs: a file of holes, all zeros, that takes no space where nobody writes."""
    path = tmp_path_factory.mktemp("far") / "arcs"
    return np.memmap(path, np.int32, "w+", shape=(2**32 + 2**20,))


far_arcs = pytest.fixture(scope="module", name="far_arcs")(far_room)
far_order = pytest.fixture(scope="module", name="far_order")(far_room)
"""For arcs that a variant puts in order."""


@pytest.mark.parametrize("variant", BY_OFFSETS, ids=lambda variant: variant.name)
def test_arcs_past_the_2_to_the_32nd_are_found(
    emulator: CpuDevice,
    far_arcs: FarRoom,
    far_order: FarRoom,
    variant: type[KernelVariant],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An offset truncated to 32 bits would point to the zeros at the file's beginning."""
    near = build_graph(SHAPES["kronecker"], "kronecker")
    arcs, begin = near.num_edges, 2**32
    far_arcs[begin : begin + arcs] = near.column_indices
    far_arcs[begin + arcs : begin + 2 * arcs] = near.row_indices
    far = Graph(
        near.name,
        near.direction,
        near.row_offsets.astype(np.int64) + begin,
        near.column_indices,
        near.column_offsets.astype(np.int64) + begin + arcs,
        near.row_indices,
        near.edge_sources,
        near.checksum,
    )

    def empty(size: int, dtype: npt.DTypeLike) -> Buffer:
        if size > begin:
            return emulator.adopt(far_order[:size])
        return CpuDevice.empty(emulator, size, dtype)

    monkeypatch.setattr(emulator, "empty", empty)
    monkeypatch.setattr(GuardedArrays, "add", lambda *_: None)  # a sum over all the zeros takes minutes
    on_device = DeviceGraph(emulator, far)
    on_device.column_indices = on_device.row_indices = emulator.adopt(far_arcs)
    for knobs in ({}, *WAYS.get(variant.name, [])):
        search = variant(KernelSetup(on_device, None, 64, variant.knob_values(knobs)))
        search.prepare()
        for source in SOURCES["kronecker"]:
            assert levels_of(search, source) == reference_levels(near, source).tolist(), knobs


def test_a_row_of_2_to_the_32nd_arcs_is_searched(emulator: CpuDevice, far_arcs: FarRoom) -> None:
    """All are zeros, so they lead to the source. In 32 bits the row would be empty."""
    near = with_wide_offsets(build_graph(edge_list(2, [(0, 1)]), "arc"))
    far = replace(near, column_offsets=np.array([0, 0, 2**32]))
    on_device = DeviceGraph(emulator, far)
    on_device.row_indices = emulator.adopt(far_arcs)
    knobs = Adaptive.knob_values({"SMALL_PARTS": 0, "PUSHED_EDGE": 1024})
    search = Adaptive(KernelSetup(on_device, None, 64, knobs))
    search.prepare()
    assert levels_of(search, 0) == [0, 1]
