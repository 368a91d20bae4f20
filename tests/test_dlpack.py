"""Tests of arrays that are shared with other libraries by DLPack: on the host, and on a made-up GPU."""

import ctypes
import gc
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import bfsbench
from bfsbench.backends import GPU_BACKENDS
from bfsbench.support.errors import InputError, UsageError
from tests import made_up_drivers
from tests.made_up_drivers import Kept

GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"
HOST, GPU = 1, 2
OFFSETS, TARGETS = [0, 0, 2, 4, 4], [0, 2, 0, 3]
"""A graph of four vertices, whose vertex 0 has no arc. The made-up driver does not run kernels, but levels of
a search from this vertex are right as soon as they are initialised."""
LEVELS = [0, -1, -1, -1]


class Tensor(ctypes.Structure):
    """The struct DLTensor of dlpack.h."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """The struct DLManagedTensor of dlpack.h."""

    _fields_: ClassVar = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    """The struct DLManagedTensorVersioned of dlpack.h."""

    _fields_: ClassVar = [
        *(("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)),
        *(("context", ctypes.c_void_p), ("deleter", Deleter), ("flags", ctypes.c_uint64)),
        ("tensor", Tensor),
    ]


FORMS: dict[bytes, Any] = {b"dltensor": Managed, b"dltensor_versioned": ManagedVersioned}
USED = {form: b"used_" + form for form in FORMS}
"""Names of capsules that were taken. A capsule points to its name, so the names must stay."""
python = ctypes.pythonapi
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", python)
)
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", python))
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", python)
)
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", python))


exported: list[object] = []
"""The objects to which capsules of ``OnGpu`` point, and which must outlive them."""


@dataclass
class OnGpu:
    """An array of a made-up library on the made-up GPU, whose memory is memory of the host."""

    values: npt.NDArray[Any]
    number: int = 0
    """The number of the GPU."""
    old: bool = False
    """True if the library only knows DLPack before version 1.0."""
    deleted_on: list[int] = field(default_factory=list)
    """The types of the devices that the capsules named when they were deleted."""
    streams: list[int | None] = field(default_factory=list)

    def __dlpack_device__(self) -> tuple[int, int]:
        return GPU, self.number

    def __dlpack__(self, *, stream: int | None = None, **words: Any) -> object:
        if self.old and words:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        form = b"dltensor_versioned" if words.get("max_version") else b"dltensor"
        managed, shape = FORMS[form](), (ctypes.c_int64 * 8)(*self.values.shape)
        strides = (ctypes.c_int64 * 8)(*(step // self.values.itemsize for step in self.values.strides))
        kind = {"i": 0, "u": 1, "f": 2}[self.values.dtype.kind]
        managed.tensor = Tensor(
            *(self.values.ctypes.data, GPU, self.number, self.values.ndim),
            *(kind, 8 * self.values.itemsize, 1, shape, strides, 0),
        )
        managed.deleter = Deleter(lambda _at: self.deleted_on.append(managed.tensor.device_type))
        if form == b"dltensor_versioned":
            managed.major = 1
        exported.append((managed, shape, strides, self))
        return new_capsule(ctypes.addressof(managed), form, None)


@dataclass
class Taken:
    """An array that a made-up library has taken from a DLPack capsule."""

    form: bytes
    tensor: Tensor
    delete: Callable[[], None]

    @property
    def values(self) -> list[int]:
        return list((ctypes.c_int32 * self.tensor.shape[0]).from_address(self.tensor.data))


def take(array: Any, **words: Any) -> Taken:
    """Take an array from a capsule, as the consumer of the protocol DLPack does."""
    capsule = array.__dlpack__(stream=1, **words)
    form = name_of(capsule)
    at = pointer_in(capsule, form)
    managed = FORMS[form].from_address(at)
    rename(capsule, USED[form])
    return Taken(form, managed.tensor, lambda: managed.deleter(at))


def aligned(values: Any, dtype: str = "int32") -> npt.NDArray[Any]:
    """Returns an array that begins at a multiple of 256 bytes, as memory of a GPU does."""
    wanted = np.asarray(values, dtype)
    room = np.zeros(wanted.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    room[start : start + wanted.nbytes].view(dtype)[:] = wanted.ravel()
    return room[start : start + wanted.nbytes].view(dtype).reshape(wanted.shape)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture(params=GPU_BACKENDS)
def backend(
    request: pytest.FixtureRequest, kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> str:
    """A GPU backend with a made-up driver."""
    made_up_drivers.install(request.param, kept, monkeypatch)
    monkeypatch.setattr("bfsbench.support.toolchain.find_nvcc", lambda: tmp_path / "nvcc")
    monkeypatch.setattr("bfsbench.backends.pycuda_driver.find_nvcc", lambda: tmp_path / "nvcc", raising=False)
    return str(request.param)


def given(**how: Any) -> tuple[OnGpu, OnGpu]:
    return OnGpu(aligned(OFFSETS), **how), OnGpu(aligned(TARGETS), **how)


def test_arrays_of_the_host_are_shared_and_levels_are_shared_back() -> None:
    offsets, targets = np.array([0, 2, 3, 3], np.int64), np.array([1, 2, 2], np.int32)
    graph = bfsbench.Graph.from_dlpack(offsets, targets)
    assert np.shares_memory(graph.row_offsets, offsets) and np.shares_memory(graph.column_indices, targets)
    assert offsets.flags.writeable and not graph.row_offsets.flags.writeable
    same = bfsbench.Graph.from_csr(offsets, targets)
    assert np.array_equal(graph.row_indices, same.row_indices) and graph.checksum == same.checksum
    assert graph.column_offsets.dtype == np.int64 and graph.edge_sources.tolist() == [0, 0, 1]
    for variant in ("simple", "pull", "edge_simple", "cpu_queue"):
        result = bfsbench.search(graph, variant, backend="cpu", on_device=True)
        assert np.from_dlpack(result.shared_levels).tolist() == [0, 1, 1]
        assert result.levels is result.shared_levels


def test_shared_graphs_are_swept() -> None:
    graph = bfsbench.Graph.from_dlpack(np.array([0, 2, 3, 3], np.int64), np.array([1, 2, 2], np.int32))
    rows = bfsbench.sweep(graph, ["cpu_queue"], sources=[0], repeats=1)
    assert rows[["status", "depth", "reached"]].values.tolist() == [["ok", 1, 3]]


def test_undirected_graphs_share_their_arrays_of_in_neighbours() -> None:
    offsets, targets = np.array([0, 1, 3, 4], np.int32), np.array([1, 0, 2, 1], np.int32)
    graph = bfsbench.Graph.from_dlpack(offsets, targets, directed=False)
    assert graph.direction == "symmetrised" and graph.row_indices is graph.column_indices
    assert graph.column_offsets is graph.row_offsets
    with pytest.raises(InputError, match="vertex 1 has an arc without its reverse"):
        bfsbench.Graph.from_dlpack(offsets, np.array([2, 0, 2, 1], np.int32), directed=False)


@pytest.mark.parametrize("old", [False, True])
def test_kernels_read_arrays_of_the_gpu_where_they_are(backend: str, kept: Kept, old: bool) -> None:
    offsets, targets = given(old=old)
    graph = bfsbench.Graph.from_dlpack(offsets, targets)
    places = [offsets.values.ctypes.data, targets.values.ctypes.data]
    assert [at for at, _ in kept.copies] == places  # to the host, for the reference
    assert offsets.streams == targets.streams == [1]
    kept.copies.clear()
    result = bfsbench.search(graph, "simple", backend=backend)
    assert result.levels.tolist() == LEVELS
    assert any(each.parameters.startswith(struct.pack("PP", *places)) for each in kept.launches)
    assert not {at for at, _ in kept.copies} & {*places}
    del graph
    gc.collect()
    assert offsets.deleted_on == targets.deleted_on == [GPU]
    assert kept.retained == 0


def test_arrays_of_the_gpu_are_searched_on_the_cpu_too(backend: str) -> None:
    graph = bfsbench.Graph.from_dlpack(*given())
    assert bfsbench.search(graph, "simple", 2, backend="cpu").levels.tolist() == [1, -1, 0, 1]


def test_levels_stay_on_the_gpu_until_the_last_library_frees_them(backend: str, kept: Kept) -> None:
    graph = bfsbench.Graph.from_dlpack(*given())
    result = bfsbench.search(graph, "simple", backend=backend, on_device=True)
    levels = result.shared_levels
    assert levels.__dlpack_device__() == (GPU, 0)
    interface = levels.__cuda_array_interface__  # type: ignore[union-attr]
    place = interface["data"][0]
    assert place in kept.blocks_of_memory and place not in {at for at, _ in kept.copies}
    assert {**kept.blocks_of_memory}.keys() - {*kept.freed} == {place}
    assert (interface["shape"], interface["typestr"]) == ((4,), "<i4")
    taken = [take(levels), take(levels, max_version=(1, 0))]
    assert [each.form for each in taken] == [*FORMS]
    for each in taken:
        tensor = each.tensor
        assert (tensor.data, tensor.device_type, tensor.device_id) == (place, GPU, 0)
        assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (1, 0, 32, 1)
        assert each.values == LEVELS
    assert result.levels.tolist() == LEVELS and result.levels is result.levels
    assert kept.copies[-1] == (place, 16) and [at for at, _ in kept.copies].count(place) == 1
    del result, levels
    taken[0].delete()
    gc.collect()
    assert place not in kept.freed and kept.retained == 1
    taken[1].delete()
    assert place in kept.freed and kept.retained == 0


def test_levels_that_a_search_leaves_in_another_order_are_put_in_order(backend: str) -> None:
    graph = bfsbench.Graph.from_dlpack(*given())
    result = bfsbench.search(graph, "reorder", backend=backend, on_device=True)
    assert take(result.shared_levels).values == LEVELS


def test_levels_on_a_gpu_are_refused_for_another_device_and_as_a_copy(backend: str) -> None:
    graph = bfsbench.Graph.from_dlpack(*given())
    levels = bfsbench.search(graph, "simple", backend=backend, on_device=True).shared_levels
    for words in ({"copy": True}, {"dl_device": (HOST, 0)}, {"dl_device": (GPU, 1)}):
        with pytest.raises(BufferError, match="on the first GPU only, without a copy"):
            take(levels, **words)
    with pytest.raises(ValueError, match="can only be copied"):
        np.asarray(levels, copy=False)
    assert take(levels, dl_device=(GPU, 0), copy=False).values == LEVELS


@pytest.mark.parametrize(
    ("offsets", "targets", "says"),
    [
        ([0, 1], aligned([0]), "row_offsets: an object of type list cannot be shared"),
        (aligned([0, 1], "int16"), aligned([0]), "row_offsets are int16, but int32 or int64 is wanted"),
        (aligned([0, 1]), aligned([0], "int64"), "column_indices are int64, but int32 is wanted"),
        (aligned([[0, 1]]), aligned([0]), "row_offsets: the array has 2 dimensions instead of 1"),
        (aligned([0, 0, 1])[::2], aligned([0]), "row_offsets: the elements do not lie one after the other"),
        (aligned([]), aligned([]), "row_offsets do not ascend from 0 to the 0 column_indices"),
        (aligned([0]), aligned([]), r"graph: 0 vertices are not within 1 \.\. "),
        (aligned([0, 2, 1]), aligned([0]), "row_offsets do not ascend from 0 to the 1 column_indices"),
        (aligned([0, 2]), aligned([0]), "row_offsets do not ascend from 0 to the 1 column_indices"),
        (aligned([1, 1]), aligned([0]), "row_offsets do not ascend from 0 to the 1 column_indices"),
        (aligned([0, 1]), aligned([-1]), r"an edge has a vertex outside 0 \.\. 0"),
        (aligned([0, 1]), aligned([1]), r"an edge has a vertex outside 0 \.\. 0"),
        (aligned([0, 1, 3]), aligned([1, 1, 0]), "column_indices of row 1 do not ascend"),
    ],
)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_arrays_that_cannot_be_used_are_one_line(
    offsets: Any, targets: Any, says: str, on_gpu: bool, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up_drivers.install("cuda-core", kept, monkeypatch)
    arrays = [OnGpu(one) if on_gpu and isinstance(one, np.ndarray) else one for one in (offsets, targets)]
    with pytest.raises(UsageError, match=says):
        bfsbench.Graph.from_dlpack(*arrays)


def test_arrays_on_another_gpu_or_at_odd_places_are_one_line() -> None:
    with pytest.raises(UsageError, match="row_offsets: the array is on GPU 1, but searches run on GPU 0"):
        bfsbench.Graph.from_dlpack(*given(number=1))
    odd = aligned([0, *OFFSETS])[1:]
    with pytest.raises(UsageError, match="row_offsets: the array does not begin at a multiple of 16 bytes"):
        bfsbench.Graph.from_dlpack(OnGpu(odd), OnGpu(aligned(TARGETS)))


def test_an_array_that_its_library_does_not_export_is_one_line() -> None:
    class Refusing(OnGpu):
        def __dlpack__(self, **_: Any) -> object:
            raise BufferError("it requires gradients")

    refusing = Refusing(aligned(OFFSETS))
    with pytest.raises(UsageError, match="row_offsets: the array cannot be shared: it requires gradients"):
        bfsbench.Graph.from_dlpack(refusing, aligned(TARGETS))


def test_the_example_of_the_guide_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy takes the place of CuPy, whose functions have equal names."""
    monkeypatch.setitem(sys.modules, "cupy", np)
    (example,) = re.findall(r"```python\n(import cupy\n.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"bfsbench": bfsbench}
    exec(example, names)
    assert names["levels"].tolist() == [0, 1, 1]
