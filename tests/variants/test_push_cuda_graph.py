"""The search whose host loop runs as a CUDA graph: its levels, and what the host launches and reads."""

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bfsbench.backends import GPU_BACKENDS
from bfsbench.backends.base import Device
from bfsbench.backends.cpu import CpuDevice
from bfsbench.variants.push_cuda_graph import PushCudaGraph
from tests import made_up_drivers
from tests.made_up_drivers import Kept, Launched
from tests.shapes import SHAPES, SOURCES
from tests.variants.searching import built, check_levels, launches_of, layers_of, prepared, shape


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture(params=GPU_BACKENDS)
def gpu(
    request: pytest.FixtureRequest, kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Device]:
    """Yields a device of each GPU backend. It has a made-up driver, which runs no kernels."""
    device = made_up_drivers.opened(request.param, kept, monkeypatch, tmp_path)
    yield device
    device.close()


def levels_until(depth: int, ran: list[int]) -> Callable[[Launched], None]:
    """Returns a function that does what the kernel does to ``progress`` if the last level with a vertex is
    ``depth``. The function adds the level of each launch that does not return at once to ``ran``."""

    def run(launched: Launched) -> None:
        first_level, progress, place = struct.unpack_from("PPi", launched.parameters, 32)
        found = ctypes.c_int32.from_address(progress)
        level = ctypes.c_int32.from_address(first_level).value + place
        if found.value >= level:
            ran.append(level)
            found.value = level + (level < depth)

    return run


@pytest.mark.parametrize("name", SHAPES)
def test_levels_equal_the_reference_for_each_length_of_a_graph(device: Device, name: str) -> None:
    for levels_per_launch in (0, 1, 2, 5, 64):
        search = prepared(PushCudaGraph, device, shape(name), LEVELS_PER_LAUNCH=levels_per_launch)
        check_levels(search, *SOURCES[name])


@pytest.mark.parametrize("levels_per_launch", [1, 4, 32])
@pytest.mark.parametrize("depth", [0, 3, 4, 9])
def test_the_host_launches_one_graph_for_several_levels(
    gpu: Device, kept: Kept, depth: int, levels_per_launch: int
) -> None:
    search = prepared(PushCudaGraph, gpu, shape("pmpp"), LEVELS_PER_LAUNCH=levels_per_launch)
    assert [len(graph) for graph in kept.graphs] == [levels_per_launch]
    kept.launches.clear()  # checksums of the graph
    for _ in range(2):
        ran: list[int] = []
        kept.run = levels_until(depth, ran)
        kept.calls.clear()
        search.reset(0)
        search.traverse(0)
        assert ran == [*range(depth + 1)]
        assert kept.calls == ["launch graph"] * (depth // levels_per_launch + 1)
    assert not kept.launches


def test_without_a_graph_each_level_is_a_launch(gpu: Device, kept: Kept) -> None:
    search = prepared(PushCudaGraph, gpu, shape("pmpp"), LEVELS_PER_LAUNCH=0)
    kept.launches.clear()  # checksums of the graph
    ran: list[int] = []
    kept.run = levels_until(6, ran)
    search.reset(0)
    search.traverse(0)
    assert ran == [*range(7)]
    assert (len(kept.launches), kept.graphs, kept.calls) == (7, [], [])


def test_launches_beyond_the_last_level_read_no_levels() -> None:
    with closing(CpuDevice(watched=True)) as device:
        search = prepared(PushCudaGraph, device, shape("duplicate_edges"), LEVELS_PER_LAUNCH=8)
        search.reset(0)
        with device.traced() as accesses:
            search.traverse(0)
        levels = search.level_array.pointer.value  # type: ignore[attr-defined]
        assert {access.launch for access in accesses} == {*range(8)}
        assert {access.launch for access in accesses if access.buffer == levels} == {0, 1, 2}


def test_a_profile_has_every_level(device: Device) -> None:
    search = built(PushCudaGraph, device, shape("path_directed"))
    assert layers_of(search) == " ".join(["push_cuda_graph"] * 130)


def test_the_first_level_of_each_graph_is_marked(device: Device) -> None:
    search = prepared(PushCudaGraph, device, shape("path_directed"), LEVELS_PER_LAUNCH=50)
    assert launches_of(search) == [(level, "push_cuda_graph") for level in (0, 50, 100)]
