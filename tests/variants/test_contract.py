"""Hosts and kernels that disagree: each mutation gives one clear line, or has no effect."""

import shutil
from ctypes import c_int
from pathlib import Path
from typing import ClassVar

import pytest

from bfsbench.backends.cpu import CpuDevice
from bfsbench.support.errors import LaunchError, ToolchainError
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants import find
from bfsbench.variants.base import KernelVariant
from bfsbench.variants.luo import Luo, SearchState
from tests.variants.searching import check_levels, prepared, shape


def mutated(variant: str, folder: Path, file: str, old: str, new: str) -> type[KernelVariant]:
    """The variant with its kernels' folder copied, and some text replaced in a file of ``cuda_src``."""
    original = find(variant)
    assert issubclass(original, KernelVariant)
    sources = original.source_files()
    for source in sources:
        if source.parent == CUDA_SRC:
            shutil.copy(source, folder)
        else:
            shutil.copytree(source.parent, folder, dirs_exist_ok=True)
    text = (CUDA_SRC / file).read_text()
    assert text.count(old) == 1, f"{file} has changed: mutate another place"
    (folder / Path(file).name).write_text(text.replace(old, new))

    class Mutated(original):  # type: ignore[misc, valid-type]
        @classmethod
        def source_files(cls) -> list[Path]:
            return [folder / source.name for source in sources]

    return Mutated


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
def test_a_disagreement_is_one_line(emulator: CpuDevice, tmp_path: Path, mutation: str) -> None:
    variant, file, old, new, message = MUTATIONS[mutation]
    with pytest.raises((ToolchainError, LaunchError), match=message) as caught:
        prepared(mutated(variant, tmp_path, file, old, new), emulator, shape("lattice"))
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


SWAPPED = {
    "queues": (
        *("push_multilevel", "push_multilevel.cu"),
        *("int *even_queue, int *odd_queue,", "int *odd_queue, int *even_queue,"),
    ),
    "arrays of the graph": (
        *(
            "pull",
            "pull.cu",
            "const offset_t *__restrict__ column_offsets, const int *__restrict__ row_indices,",
        ),
        "const int *__restrict__ row_indices, const offset_t *__restrict__ column_offsets,",
    ),
}


@pytest.mark.parametrize("what", SWAPPED)
def test_the_order_of_parameters_does_not_matter(emulator: CpuDevice, tmp_path: Path, what: str) -> None:
    graph = shape("kronecker")
    search = prepared(mutated(SWAPPED[what][0], tmp_path, *SWAPPED[what][1:]), emulator, graph)
    check_levels(search, 0)


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
