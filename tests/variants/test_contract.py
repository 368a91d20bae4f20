"""Hosts and kernels that disagree: each mutation gives one clear line, or has no effect."""

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_int
from pathlib import Path
from typing import ClassVar

import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.support.errors import LaunchError, ToolchainError
from bfsbench.variants import find
from bfsbench.variants.luo import Luo, SearchState
from tests.emulator.planted import copy_of_kernels
from tests.variants.searching import check_levels, prepared, shape


@contextmanager
def mutated(file: str, old: str, new: str) -> Iterator[CpuDevice]:
    """Returns a device for kernels of which some text in a file of ``cuda_src`` is replaced."""
    with copy_of_kernels() as kernels:
        text = (kernels / file).read_text()
        assert text.count(old) == 1, f"{file} has changed: mutate another place"
        (kernels / file).write_text(text.replace(old, new))
        with CpuDevice() as device:
            yield device


MUTATIONS = {
    "a member added": (
        *("luo", "luo.cu", "    int failed;", "    int passed, failed;"),
        "search_state::failed is at byte 16",
    ),
    "a member added where there was padding": (
        *("direction_optimized", "common/counts.cuh", "unsigned vertices;", "unsigned vertices, more;"),
        "structured binding|decompose",
    ),
    "a member of another size": (
        *("luo", "common/profile.cuh", "    int layer;", "    char layer;"),
        "level_record::layer has 4 bytes",
    ),
    "fewer arcs for a part": (
        *("adaptive", "adaptive/search.cuh", "PART = 4 * WINDOW", "PART = 2 * WINDOW"),
        "PART is 32",
    ),
    "a constant of the host's": (
        *("merrill", "merrill/culling.cuh", "WARP_TABLE_SIZE = 128", "WARP_TABLE_SIZE = 64"),
        "WARP_TABLE_SIZE is 128",
    ),
    "a constant of both": (
        *("simple", "common/graph.cuh", "#define UNREACHED (-1)", "#define UNREACHED (-2)"),
        "UNREACHED is -1",
    ),
    "layers in another order": (
        *("luo", "luo.cu", "enum { luo_block, luo_resident };", "enum { luo_resident, luo_block };"),
        "layers::luo_block is 0",
    ),
    "counters in another order": (
        *("bfs4k", "bfs4k/search.cuh", "    detected,\n    conflicts,", "    conflicts,\n    detected,"),
        "counted::detected is 1",
    ),
    "a parameter added": (
        *("simple", "simple.cu", "int num_vertices,", "int num_edges, int num_vertices,"),
        "kernel 'simple' of simple.cu has a parameter 'num_edges' that the host does not give",
    ),
    "a parameter dropped": (
        *("redirect", "redirect.cu", f"int *levels,\n{'':36}int *progress, int level) {{"),
        "int *progress, int level) {\n    int *levels = nullptr;",
        "kernel 'redirect' of redirect.cu has no parameter 'levels', which the host gives",
    ),
    "a parameter of another type": (
        *("spmv", "spmv.cu", "unsigned char *y", "unsigned *y"),
        r"parameter 'y' is 'unsigned \*', but was given elements of type uint8",
    ),
    "a parameter of a standard type": (
        *("spmv", "spmv.cu", "unsigned char *y", "std::size_t *y"),
        r"parameter 'y' is 'size_t \*', but was given elements of type uint8",
    ),
    "launches' parameters swapped": (
        *("luo", "luo.cu", "int capacity, int level, int size)", "int capacity, int size, int level)"),
        "'luo_level' of luo.cu: launches give level, size, but the last parameters are size, level",
    ),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_disagreement_is_one_line(mutation: str) -> None:
    variant, file, old, new, message = MUTATIONS[mutation]
    refused = pytest.raises((ToolchainError, LaunchError), match=message)
    with mutated(file, old, new) as device, refused as caught:
        prepared(find(variant), device, shape("lattice"))
    assert "\n" not in str(caught.value)
    if caught.type is ToolchainError:
        assert variant in str(caught.value)


def test_a_member_that_only_the_host_has_is_one_line(emulator: CpuDevice) -> None:
    class More(SearchState):
        _fields_: ClassVar = [("more", c_int)]

        @classmethod
        def c_name(cls) -> str:
            return "search_state"

    class Mutated(Luo):
        structs = (More,)

    with pytest.raises(ToolchainError, match=r"test_contract\.py.*\bmore\b"):
        prepared(Mutated, emulator, shape("lattice"))


COLUMN_OFFSETS = "const offset_t *__restrict__ column_offsets,"
ROW_INDICES = "const int *__restrict__ row_indices,"


@pytest.mark.parametrize(
    ("variant", "first", "second"),
    [
        ("push_multilevel", "int *even_queue,", "int *odd_queue,"),
        ("pull", COLUMN_OFFSETS, ROW_INDICES),
    ],
)
def test_the_order_of_parameters_does_not_matter(variant: str, first: str, second: str) -> None:
    with mutated(f"{variant}.cu", f"{first} {second}", f"{second} {first}") as device:
        check_levels(prepared(find(variant), device, shape("kronecker")), 0)


def test_shared_headers_are_found_from_a_folder_of_ones_own(emulator: CpuDevice, tmp_path: Path) -> None:
    source = tmp_path / "mine.cu"
    source.write_text(
        '#include "prefix_sum.cuh"\n'
        'extern "C" __global__ void sums(int *values) {\n'
        "    int total;\n"
        "    values[threadIdx.x] = exclusive_sum_of_block(values[threadIdx.x], total);\n"
        "}\n"
    )
    values = emulator.signal(40)
    values.fill(2)
    emulator.module(source, {"WIDE_OFFSETS": 0}).kernel("sums").bind(values=values, block=40)(1)
    assert [values.read(i) for i in range(40)] == [2 * i for i in range(40)]
