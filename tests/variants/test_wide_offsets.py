"""Offsets of more than 32 bits: kernels never truncate them, and arcs past the 2^32nd are found."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.emulator import Buffer
from bfsbench.programs.check import GuardedArrays
from bfsbench.programs.families.bfs.search import reference_levels
from bfsbench.rows.point import KnobValue
from bfsbench.support.paths import KERNEL_HEADERS
from bfsbench.variants import all_variants
from bfsbench.variants.adaptive import Adaptive
from bfsbench.variants.base import DeviceGraph, KernelVariant
from bfsbench.variants.prepared_rows import RECORD
from bfsbench.variants.reorder import Reorder
from tests.conversions import diagnose
from tests.parameters import one_in
from tests.shapes import SOURCES, with_wide_offsets
from tests.variants.searching import built, graph_of, levels_of, prepared, shape

KERNEL_VARIANTS = [variant for variant in all_variants().values() if issubclass(variant, KernelVariant)]
WARNINGS = ["-Wconversion", "-Wno-sign-conversion"]
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
    **{"LONG_ROW": 1024, "TABLE_BITS": 13, "TABLE": 8192, "MAX_GHOSTS": 6144},
    **{"RECORD": RECORD, "RECORDS": 2, "WIDE_OFFSETS": 1, "CHILD_KERNELS": 1, "COUNTERS": 1},
}
"""Macros of kernels that prepare a search, and of parts that the defaults leave out."""


@pytest.mark.parametrize(
    "variant", one_in(6, [[variant] for variant in KERNEL_VARIANTS]), ids=lambda variant: variant.name
)
def test_kernels_keep_no_offset_in_fewer_bits(emulator: CpuDevice, variant: type[KernelVariant]) -> None:
    macros = built(variant, emulator, with_wide_offsets(shape("kronecker"))).defines() | OF_PREPARING
    for file in variant.source_files():
        assert diagnose(file, macros, WARNINGS, KERNEL_HEADERS) == ""


def far_room(tmp_path_factory: pytest.TempPathFactory) -> FarRoom:
    """Returns room for 2^32 + 2^20 arcs, all zeros. It is a file of holes, which takes no space where nobody
    writes."""
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
    near = with_wide_offsets(shape("kronecker"))
    arcs, begin = near.num_edges, 2**32
    far_arcs[begin : begin + arcs] = near.column_indices
    far_arcs[begin + arcs : begin + 2 * arcs] = near.row_indices
    offsets = {"row_offsets": near.row_offsets + begin, "column_offsets": near.column_offsets + begin + arcs}
    far = replace(near, **offsets)

    def empty(size: int, dtype: npt.DTypeLike) -> Buffer:
        if size > begin:
            return emulator.adopt(far_order[:size])
        return CpuDevice.empty(emulator, size, dtype)

    monkeypatch.setattr(emulator, "empty", empty)
    monkeypatch.setattr(GuardedArrays, "add", lambda *_: None)  # a sum over all the zeros takes minutes
    on_device = DeviceGraph(emulator, far)
    on_device.column_indices = on_device.row_indices = emulator.adopt(far_arcs)
    levels = [reference_levels(near, source).tolist() for source in SOURCES["kronecker"]]
    for knobs in ({}, *WAYS.get(variant.name, [])):
        search = prepared(variant, emulator, on_device, **knobs)
        assert [levels_of(search, source) for source in SOURCES["kronecker"]] == levels, knobs


def test_a_row_of_2_to_the_32nd_arcs_is_searched(emulator: CpuDevice, far_arcs: FarRoom) -> None:
    """All arcs are zeros, so they lead to the source. In 32 bits the row would be empty."""
    far = replace(with_wide_offsets(graph_of(2, [(0, 1)])), column_offsets=np.array([0, 0, 2**32]))
    on_device = DeviceGraph(emulator, far)
    on_device.row_indices = emulator.adopt(far_arcs)
    assert levels_of(prepared(Adaptive, emulator, on_device, SMALL_PARTS=0, PUSHED_EDGE=1024), 0) == [0, 1]
