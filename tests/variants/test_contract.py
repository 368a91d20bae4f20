"""Hosts and kernels that disagree: each mutation gives one clear line, or has no effect."""

import tomllib
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


DISAGREEMENTS = tomllib.loads(Path(__file__).with_name("disagreements.toml").read_text())["disagreement"]


@pytest.mark.parametrize("planted", DISAGREEMENTS, ids=lambda planted: planted["name"])
def test_a_disagreement_is_one_line(planted: dict[str, str]) -> None:
    refused = pytest.raises((ToolchainError, LaunchError), match=planted["message"])
    with mutated(planted["file"], planted["old"], planted["new"]) as device, refused as caught:
        prepared(find(planted["variant"]), device, shape("lattice"))
    assert "\n" not in str(caught.value)
    if caught.type is ToolchainError:
        assert planted["variant"] in str(caught.value)


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
    [("push_multilevel", "int *even_queue,", "int *odd_queue,"), ("pull", COLUMN_OFFSETS, ROW_INDICES)],
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
