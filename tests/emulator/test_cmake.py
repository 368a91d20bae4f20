"""Tests of builds in which the host's C++ compiler links the objects of ``bfsbench nvcc``, as CMake does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bfsbench.emulator.nvcc import build, parse
from bfsbench.support.errors import UsageError
from bfsbench.support.toolchain import compiler

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def nvcc() -> Path:
    """The program that CMake takes as its compiler for CUDA."""
    command = [sys.executable, "-m", "bfsbench", "nvcc", "--path"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def checked(*command: object) -> str:
    """Returns the output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_cmake_accepts_the_compiler(tmp_path: Path, nvcc: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    chosen = [f"-DCMAKE_CUDA_COMPILER={nvcc}", "-DCMAKE_CUDA_FLAGS=--watched"]
    checked("cmake", "-S", PROGRAMS / "cmake", "-B", tmp_path, *chosen)
    checked("cmake", "--build", tmp_path)
    assert checked(tmp_path / "mixed") == "70 1\n"
    assert checked(tmp_path / "dynamic") == "45\n"


def test_another_compiler_links_the_objects(tmp_path: Path, nvcc: Path) -> None:
    objects = [tmp_path / f"{name}.o" for name in ("one", "two", "three")]
    for made in objects[:2]:
        checked(nvcc, "-DPLUS=5", "-dc", PROGRAMS / f"part_{made.stem}.cu", "-o", made)
    top = nvcc.parent.parent
    include, libraries = f"-I{top / 'include'}", f"-L{top / 'lib64'}"
    checked(*compiler(), "-std=c++17", include, "-c", PROGRAMS / "part_three.cpp", "-o", objects[2])
    checked(*compiler(), *objects, libraries, "-lcudadevrt", "-lcudart_static", "-o", tmp_path / "program")
    assert checked(tmp_path / "program") == "70 1\n"


def test_headers_for_another_compiler_name_the_standard_that_they_need(nvcc: Path) -> None:
    options = ["-std=c++14", f"-I{nvcc.parent.parent / 'include'}", "-fsyntax-only"]
    command = [*compiler(), *options, str(PROGRAMS / "part_three.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and "set CMAKE_CXX_STANDARD to 17" in done.stderr


def test_options_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "options").write_text('-I"/a folder" -DSIZE=5\n')
    request = parse(["--options-file", str(tmp_path / "options"), "a.cu"])
    assert request.preprocessor == ["-I", "/a folder", "-D", "SIZE=5"]
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        parse(["--options-file", str(tmp_path / "missing")])


def test_options_that_nvcc_does_not_know_reach_the_compiler_if_wanted() -> None:
    words = ["-fno-exceptions", "a.cu"]
    assert parse(["-forward-unknown-to-host-compiler", *words]).compiling == ["-fno-exceptions"]
    with pytest.raises(UsageError, match="unsupported option of nvcc: -fno-exceptions"):
        parse(words)
    assert parse(["-Xcompiler", ',"-g"', "a.cu"]).compiling == ["-g"]


def test_machine_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="makes no machine code for a GPU"):
        build(parse(["-ptx", str(PROGRAMS / "part_two.cu"), "-o", str(tmp_path / "a.ptx")]))
