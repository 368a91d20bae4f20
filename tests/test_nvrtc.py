"""Tests of compiling kernels with NVRTC. They need NVIDIA's wheels (extra ``cuda-core``), but no GPU."""

import io
from collections.abc import Mapping
from contextlib import nullcontext
from ctypes import c_int
from pathlib import Path
from typing import Any, ClassVar

import pytest
from elftools.elf.elffile import ELFFile

from bfsbench.backends.base import Define, Struct
from bfsbench.backends.cpu import CpuDevice
from bfsbench.graphs.load import load
from bfsbench.kernels import Contract
from bfsbench.programs import DeviceGraph, KernelProgram, KernelSetup
from bfsbench.support.errors import ToolchainError
from bfsbench.support.paths import CUDA_SRC, KERNEL_HEADERS
from bfsbench.variants import all_variants, find
from tests.benchmarks.kernel_builds import Build, all_builds

pytestmark = pytest.mark.exhaustive  # the usual packages for tests do not include these wheels
pytest.importorskip("cuda.core")
compiling = pytest.importorskip("bfsbench.backends.cuda_core_driver")

ARCH = "sm_90"
BUILDS = list(all_builds())
SEARCHES = [name for name, variant in all_variants().items() if issubclass(variant, KernelProgram)]
PLAIN = 'extern "C" __global__ void plain(int *values) { values[threadIdx.x] = VALUE; }\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "plain.cu"
    path.write_text(PLAIN)
    return path


def kernels(cubin: bytes) -> set[str]:
    sections = [section.name for section in ELFFile(io.BytesIO(cubin)).iter_sections()]
    return {name.removeprefix(".text.") for name in sections if name.startswith(".text.")}


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_every_kernel_compiles_with_every_value_of_its_macros(build: Build) -> None:
    source = next(CUDA_SRC.rglob(f"{build.file}.cu"))
    macros = dict(build.macros)
    cubin = compiling.compile_source(source, macros, "", ARCH, child_kernels=build.child_kernels)
    compiled = " ".join(kernels(cubin))  # the name of a template is part of a longer name
    left_out = {"bfs4k_child"} if macros.get("CHILD_KERNELS") == 0 else set()
    missing = {name for name in Contract("").signatures(source, KERNEL_HEADERS) if name not in compiled}
    assert missing <= left_out


class RecordingDevice(CpuDevice):
    """A device that records the requests for modules."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Path, Mapping[str, Define], bool, Contract]] = []

    def module(
        self,
        source: Path,
        defines: Mapping[str, Define],
        *,
        child_kernels: bool = False,
        contract: Contract | None = None,
    ) -> Any:
        self.asked.append((source, dict(defines), child_kernels, contract or Contract("")))
        return super().module(source, defines, child_kernels=child_kernels, contract=contract)


@pytest.mark.parametrize("name", SEARCHES)
def test_what_a_search_asks_for_compiles_with_its_contract(name: str) -> None:
    variant, graph = find(name), load("uniform(n=30,m=60)")
    assert issubclass(variant, KernelProgram)
    with RecordingDevice() as device:
        setup = KernelSetup(DeviceGraph(device, graph), None, 256, variant.knob_values({}))
        variant(setup).prepare()
    assert device.asked
    for source, defines, child_kernels, contract in device.asked:
        assertions = contract.assertions(source, KERNEL_HEADERS, defines)
        compiling.compile_source(source, defines, assertions, ARCH, child_kernels=child_kernels)


class State(Struct):
    _fields_: ClassVar = [("level", c_int), ("sizes", c_int * 2), ("last", c_int)]


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ("int level, sizes[2], last;", ""),
        ("int last, sizes[2], level;", "State::sizes is behind level"),
        ("int level, sizes[3], last;", "State::sizes has 8 bytes"),
        ("int level, sizes[2];", "State"),
    ],
)
def test_structs_that_differ_from_the_hosts_are_refused(tmp_path: Path, members: str, complaint: str) -> None:
    source = tmp_path / "state.cu"
    kernel = 'extern "C" __global__ void state(State *all) { all->level = 1; }\n'
    source.write_text(f"struct State {{ {members} }};\n{kernel}")
    assertions = Contract("host.py", {"State": State}).assertions(source, (), {})
    with pytest.raises(ToolchainError, match=complaint) if complaint else nullcontext():
        compiling.compile_source(source, {}, assertions, ARCH, child_kernels=False)


def test_kernels_that_launch_kernels_are_linked(tmp_path: Path) -> None:
    source = tmp_path / "parent.cu"
    source.write_text(
        f'{PLAIN}extern "C" __global__ void parent(int *values) {{ plain<<<1, 32>>>(values); }}\n'
    )
    cubin = compiling.compile_source(source, {"VALUE": 1}, "", ARCH, child_kernels=True)
    assert {"plain", "parent"} <= kernels(cubin)


def test_a_mistake_is_one_line_with_its_place(source: Path) -> None:
    with pytest.raises(ToolchainError, match=r'cannot compile plain.cu: .*plain.cu\(1\): .*"VALUE" is undef'):
        compiling.compile_source(source, {}, "", ARCH, child_kernels=False)
    with pytest.raises(ToolchainError, match="int has 4 bytes"):
        wrong = 'static_assert(sizeof(int) == 8, "int has 4 bytes");'
        compiling.compile_source(source, {"VALUE": 1}, wrong, ARCH, child_kernels=False)


def test_a_file_is_compiled_again_only_when_something_has_changed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "value.cuh"
    source.write_text(f'#include "value.cuh"\n{PLAIN}')
    header.write_text("#define VALUE 1\n")
    made = [compiling.compile_source(source, {}, "", ARCH, child_kernels=False)]
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "Program", None)
        assert compiling.compile_source(source, {}, "", ARCH, child_kernels=False) == made[0]
    header.write_text("#define VALUE 2\n")
    assert compiling.compile_source(source, {}, "", ARCH, child_kernels=False) != made[0]


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "find_nvidia_header_directory", lambda _name: None)
    with pytest.raises(ToolchainError, match=r"CUDA's headers are missing: run .* nvidia-cuda-cccl"):
        compiling.compile_source(source, {"VALUE": 1}, "", ARCH, child_kernels=False)

    def not_found(name: str) -> None:
        raise compiling.DynamicLibNotFoundError(name)

    monkeypatch.setattr(compiling, "load_nvidia_dynamic_lib", not_found)
    with pytest.raises(ToolchainError, match=r"launches kernels from kernels.* nvidia-nvjitlink"):
        compiling.compile_source(source, {"VALUE": 1}, "", ARCH, child_kernels=True)


def test_a_cache_that_cannot_be_written_is_one_line(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(ToolchainError, match=r"cannot write .*: Not a directory; set BFSBENCH_CACHE"):
        compiling.compile_source(source, {"VALUE": 1}, "", ARCH, child_kernels=False)
