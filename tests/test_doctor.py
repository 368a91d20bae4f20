"""``bfsbench doctor`` on machines that lack a compiler, a driver, the CUDA toolkit or a Python package."""

import ctypes
import importlib.metadata
import importlib.util
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bfsbench.support import doctor, toolchain
from bfsbench.support.doctor import Check, Section
from bfsbench.support.errors import ToolchainError
from tests.commands import invoke

PIP = f"{sys.executable} -m pip install"
NVCC = (
    "nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-crt nvidia-cuda-cccl "
    "nvidia-cuda-profiler-api"
)
CORE = "cuda-core cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvjitlink"


@pytest.fixture(autouse=True)
def forget_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test find the compiler and NVRTC of its own environment."""
    monkeypatch.delenv("CXX", raising=False)
    functions = (toolchain.compiler, toolchain.compiler_version, toolchain.nvrtc_version)
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine whose PATH is only the returned folder, which the test fills."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    found = importlib.util.find_spec
    hidden = ("ziglang", "nvidia", "pycuda")
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name in hidden else found(name, *more)
    )
    return folder


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def libcuda(
    *, status: int = 0, gpus: tuple[str, ...] = ("NVIDIA H200",), capability: tuple[int, int] = (9, 0)
) -> SimpleNamespace:
    """Replaces the driver: one function per call that the check makes."""

    def put(reference: Any, value: object) -> None:
        reference._obj.value = value

    return SimpleNamespace(
        cuInit=lambda _flags: status,
        cuGetErrorString=lambda _status, text: put(text, b"no CUDA-capable device is detected"),
        cuDeviceGetCount=lambda count: put(count, len(gpus)),
        cuDriverGetVersion=lambda version: put(version, 13010),
        cuDeviceGet=put,
        cuDeviceGetName=lambda name, _size, device: setattr(name, "value", gpus[device.value].encode()),
        cuDeviceGetAttribute=lambda value, attribute, _device: put(value, capability[attribute - 75]),
    )


def with_driver(monkeypatch: pytest.MonkeyPatch, library: SimpleNamespace | None) -> None:
    def load(name: str) -> SimpleNamespace:
        if library is None:
            raise OSError(f"{name}: cannot open shared object file")
        return library

    monkeypatch.setattr(ctypes, "CDLL", load)


def test_a_working_compiler() -> None:
    detail = f"{' '.join(toolchain.compiler())}: {toolchain.compiler_version()}"
    assert doctor.cpp_compiler() == Check("C++ compiler", "ok", detail)


def test_no_compiler(bare: Path) -> None:
    fix = f"{PIP} ziglang"
    assert doctor.cpp_compiler() == Check("C++ compiler", "missing", "no C++ compiler found", fix)


def test_cxx_names_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    detail = "CXX is set to 'no-such-compiler', which is not a program on this machine"
    assert doctor.cpp_compiler() == Check("C++ compiler", "missing", detail, "unset CXX")


def test_a_compiler_that_fails(bare: Path) -> None:
    program(
        bare / "g++",
        'if [ "$1" = --version ]; then echo "g++ 0.1"; else echo "fatal error: no headers" >&2; exit 1; fi',
    )
    fix = f'{PIP} ziglang && export CXX="{sys.executable} -m ziglang c++"'
    detail = f"{bare / 'g++'}: g++ 0.1; a test program fails: fatal error: no headers"
    assert doctor.cpp_compiler() == Check("C++ compiler", "broken", detail, fix)


def test_a_compiler_that_cannot_be_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ToolchainError("cannot compile a first file: error: no space left")

    monkeypatch.setattr(toolchain, "prepare_compiler", fail)
    check = doctor.cpp_compiler()
    found = (check.state, check.detail.partition("; ")[2])
    assert found == ("broken", "cannot compile a first file: error: no space left")


def test_a_compiler_that_writes_nothing(bare: Path) -> None:
    program(bare / "g++", "exit 0")
    check = doctor.cpp_compiler()
    assert check.state == "broken"
    assert "cannot open shared object file" in check.detail


def test_a_compiler_that_hangs(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bare / "g++", 'if [ "$1" != --version ]; then exec /bin/sleep 60; fi')
    monkeypatch.setattr(doctor, "COMPILE_LIMIT", 0.2)
    check = doctor.cpp_compiler()
    assert check.state == "broken"
    assert "timed out after 0.2 seconds" in check.detail


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, None)
    fix = "sudo ubuntu-drivers install (elsewhere: https://www.nvidia.com/drivers)"
    assert doctor.driver() == Check("NVIDIA driver", "missing", "libcuda.so.1 cannot be loaded", fix)


def test_a_driver_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, libcuda(status=100))
    fix = "unset CUDA_VISIBLE_DEVICES; nvidia-smi (in a container: start it with --gpus all)"
    detail = "cuInit fails: no CUDA-capable device is detected (100)"
    assert doctor.driver() == Check("NVIDIA driver", "broken", detail, fix)
    with_driver(monkeypatch, libcuda(gpus=()))
    assert doctor.driver() == Check("NVIDIA driver", "broken", "no GPU is visible", fix)


def test_a_driver_with_two_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    version = tmp_path / "version"
    module = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"
    version.write_text(f"{module}\nGCC 15.3.0\n")
    monkeypatch.setattr(doctor, "DRIVER_VERSION", version)
    with_driver(monkeypatch, libcuda(gpus=("NVIDIA H200", "NVIDIA H100")))
    gpus = "NVIDIA H200 (compute capability 9.0), NVIDIA H100 (compute capability 9.0)"
    least = "kernels need compute capability 7.5"
    assert doctor.driver() == Check("NVIDIA driver", "ok", f"580.95.05 for CUDA 13.1; {gpus}; {least}")


def test_a_gpu_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, libcuda(gpus=("Tesla V100",), capability=(7, 0)))
    detail = "Tesla V100 has compute capability 7.0, but kernels need 7.5 or later"
    found = doctor.driver()
    assert (found.state, found.detail) == ("broken", detail)


def no_nvcc() -> Path:
    raise ToolchainError("no nvcc found")


def test_no_nvcc(monkeypatch: pytest.MonkeyPatch, bare: Path) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", no_nvcc)
    detail = "not on the PATH, in CUDA_HOME, /usr/local/cuda or a wheel"
    assert doctor.nvcc() == Check("nvcc", "missing", detail, f"{PIP} {NVCC}")
    fix = f"{PIP} {NVCC} && bfsbench doctor"
    assert doctor.pycuda() == Check("PyCUDA", "missing", "not installed", fix)


def test_nvcc_without_a_host_compiler(bare: Path) -> None:
    program(bare / "nvcc", 'echo "gcc: No such file or directory" >&2; exit 1')
    detail = f"{bare / 'nvcc'}: a test kernel fails: gcc: No such file or directory"
    assert doctor.nvcc() == Check("nvcc", "broken", detail, "sudo apt install g++")


def test_a_broken_nvcc(bare: Path) -> None:
    program(bare / "g++", "exit 0")
    program(bare / "nvcc", 'echo "fatal error: crt/host_config.h: no such file" >&2; exit 1')
    check = doctor.nvcc()
    assert (check.state, check.fix) == ("broken", f"{PIP} --force-reinstall {NVCC}")


def test_a_working_nvcc(bare: Path) -> None:
    program(
        bare / "nvcc",
        'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; fi',
    )
    assert doctor.nvcc() == Check("nvcc", "ok", f"{bare / 'nvcc'}, release 13.0")
    assert doctor.pycuda().fix == f"{PIP} pycuda"


def test_pycuda_is_told_where_the_toolkit_is(
    bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path.resolve() / "cuda"
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: root / "bin" / "nvcc")
    fix = f"CUDA_ROOT={root} PATH={root}/bin:$PATH {PIP} pycuda"
    without = "echo CUDA_ENABLE_CURAND = False >> ~/.aksetup-defaults.py"
    assert doctor.pycuda() == Check("PyCUDA", "missing", "not installed", f"{without} && {fix}")
    (root / "include").mkdir(parents=True)
    (root / "include" / "curand.h").touch()
    assert doctor.pycuda() == Check("PyCUDA", "missing", "not installed", fix)


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("libcuda.so.1: cannot open shared object file", doctor.INSTALL_DRIVER),
        ("undefined symbol: cuCtxCreate", doctor.REINSTALL_PYCUDA),
    ],
)
def test_a_pycuda_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, reason: str, fix: str) -> None:
    def fail(_name: str) -> ModuleType:
        raise ImportError(reason)

    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    monkeypatch.setattr("importlib.import_module", fail)
    assert doctor.pycuda() == Check("PyCUDA", "broken", f"cannot be imported: {reason}", fix)


def test_a_working_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "2026.1")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    monkeypatch.setattr("importlib.import_module", ModuleType)
    assert doctor.pycuda() == Check("PyCUDA", "ok", "2026.1")
    assert doctor.telemetry() == Check("nvidia-ml-py", "ok", "2026.1", required=False)


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet" / "there"
    monkeypatch.setenv("BFSBENCH_CACHE", str(folder))
    assert doctor.cache_folder().state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_folder_that_is_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    monkeypatch.setenv("BFSBENCH_CACHE", str(place))
    fix = "export BFSBENCH_CACHE=/path/to/a/writable/folder"
    detail = f"cannot write to {place}: Not a directory"
    assert doctor.cache_folder() == Check("cache folder", "broken", detail, fix)


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "needed_packages", lambda: ["numpy", "no-such-package", "nor-this"])
    fix = f"{PIP} no-such-package nor-this"
    assert doctor.python_packages() == Check("packages", "missing", "no-such-package, nor-this", fix)


PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("installed", [True, False])
def test_the_packages_are_those_of_the_project(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    def requires(name: str) -> list[str]:
        if not installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return ["click>=8.1", "types.x_y[z]>=2 ; python_version < '4'", "scipy>=1; extra == 'test'"]

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    declared = [text.partition(">")[0] for text in PROJECT["dependencies"]]
    assert doctor.needed_packages() == (["click", "types.x_y"] if installed else declared)


def test_the_fixes_install_what_the_extras_do() -> None:
    extras = PROJECT["optional-dependencies"]
    assert [text.partition(">")[0] for text in extras["compiler"]] == ["ziglang"]
    assert [text.partition(">")[0] for text in extras["cuda"]] == ["pycuda", "nvidia-ml-py"]
    assert extras["nvcc"] == NVCC.split()
    named = [text.partition(">")[0] for text in extras["cuda-core"]]
    assert named == [*CORE.split(), "nvidia-ml-py"]


OK, BAD = Check("a", "ok", "fine"), Check("b", "missing", "gone", "get it")


SECTIONS = ("common", "cpu", "gpu", "cuda", "cuda-core")


@pytest.mark.parametrize(
    ("broken", "usable"),
    [
        ("", ["cpu", "cuda", "cuda-core"]),
        ("cpu", ["cuda", "cuda-core"]),
        ("gpu", ["cpu"]),
        ("cuda", ["cpu", "cuda-core"]),
        ("cuda-core", ["cpu", "cuda"]),
        ("cpu gpu", []),
        ("common", []),
    ],
)
def test_the_exit_code_tells_whether_anything_can_run(
    monkeypatch: pytest.MonkeyPatch, broken: str, usable: list[str]
) -> None:
    found = {name: Section(name, (BAD if name in broken.split() else OK,)) for name in SECTIONS}
    code = 0 if usable else 1
    monkeypatch.setattr("bfsbench.cli.machines.examine", lambda: found)
    result = invoke("doctor", "--format", "json")
    assert result.exit_code == code
    read = json.loads(result.stdout)
    assert read["usable"] == {name: name in usable for name in ("cpu", "cuda", "cuda-core")}
    assert read["gpu"]["checks"][0]["state"] == ("missing" if "gpu" in broken else "ok")
    text = invoke("doctor")
    assert text.exit_code == code
    for backend, able in read["usable"].items():
        assert invoke("doctor", "--backend", backend).exit_code == (0 if able else 1)
        assert f"Backend {backend} {'can run' if able else 'cannot run yet'}." in text.stdout


def test_what_is_optional_does_not_matter() -> None:
    extra = Check("clocks", "missing", "gone", "get it", required=False)
    assert Section("GPU", (OK, extra)).works


def test_every_fix_stands_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Check("nvcc", "missing", "a long detail " * 20, "a long command " * 20)
    monkeypatch.setattr(
        "bfsbench.cli.machines.examine", lambda: dict.fromkeys(SECTIONS, Section("S", (long,)))
    )
    shown = invoke("doctor").stdout
    assert shown.count(long.fix) == len(SECTIONS)
    assert all(len(line) <= 100 for line in shown.splitlines() if long.fix not in line)


def test_the_doctor_of_this_machine_finds_its_compiler() -> None:
    result = invoke("doctor", "--format", "json")
    assert json.loads(result.stdout)["cpu"]["works"]
    assert result.exit_code == 0


def with_core(
    monkeypatch: pytest.MonkeyPatch, nvrtc: tuple[int, int] | None = (13, 5), headers: bool = True
) -> None:
    """Replaces NVIDIA's Python packages; without NVRTC's library if ``nvrtc`` is None."""

    def version() -> tuple[int, int, int]:
        if nvrtc is None:
            raise RuntimeError("no libnvrtc.so")
        return 0, *nvrtc

    bindings = SimpleNamespace(nvrtc=SimpleNamespace(nvrtcVersion=version))
    pathfinder = SimpleNamespace(find_nvidia_header_directory=lambda _name: "/somewhere" if headers else None)
    for name, module in (("bindings", bindings), ("core", SimpleNamespace()), ("pathfinder", pathfinder)):
        monkeypatch.setitem(sys.modules, f"cuda.{name}", module)
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace(bindings=bindings))
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "13.5.0")
    toolchain.nvrtc_version.cache_clear()


@pytest.fixture
def no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without NVIDIA's Python packages, which a test may then replace."""
    for name in ("cuda", "cuda.bindings", "cuda.core", "cuda.pathfinder"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("no_core")
def test_a_machine_without_nvidias_packages() -> None:
    fix = f"{PIP} {CORE}"
    assert doctor.nvrtc() == Check("NVRTC", "missing", "no NVRTC found", fix)
    assert doctor.cuda_core() == Check("cuda-core", "missing", "no module cuda.core", fix)


@pytest.mark.usefixtures("no_core")
def test_a_machine_that_needs_no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    with_core(monkeypatch)
    with_driver(monkeypatch, libcuda())
    assert doctor.nvrtc() == Check("NVRTC", "ok", "release 13.5")
    assert doctor.cuda_core() == Check("cuda-core", "ok", "cuda-core 13.5.0, cuda-bindings 13.5.0")
    with_core(monkeypatch, nvrtc=None)
    assert doctor.nvrtc().state == "missing"
    with_core(monkeypatch, headers=False)
    detail = "headers of cudart and cccl"
    assert doctor.cuda_core() == Check("cuda-core", "missing", detail, f"{PIP} {CORE}")


@pytest.mark.usefixtures("no_core")
def test_an_nvrtc_that_the_driver_is_too_old_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with_core(monkeypatch, nvrtc=(14, 0))
    with_driver(monkeypatch, libcuda())
    detail = "NVRTC 14.0 makes code for newer drivers than this one, which is for CUDA 13.1"
    old = " ".join(f"{name}-cu12" for name in CORE.split()[2:])
    fix = f"{PIP} 'cuda-bindings==12.*' {old}"
    assert doctor.nvrtc() == Check("NVRTC", "broken", detail, fix)
