"""The cache of compiled libraries works if it is moved, copied, outdated, damaged or shared. It also works
after a process that builds a library was killed."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bfsbench.bench.worker import Worker
from bfsbench.emulator import Emulator
from bfsbench.support import toolchain
from bfsbench.support.errors import ToolchainError
from bfsbench.support.toolchain import build_library, compiler
from tests.emulator.conftest import KERNELS
from tests.waiting import wait_until

USE_A_KERNEL = f"""
import os, numpy
from pathlib import Path
from bfsbench.emulator import Emulator
device = Emulator()
out = device.upload(numpy.zeros(100, numpy.int32))
device.module(Path({str(KERNELS / "block.cu")!r}), {{}}).kernel("counts").bind(out, block=128)(1)
assert (out.download() == 5050).all()
"""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BFSBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "native"


@pytest.fixture
def fresh_compiler() -> Iterator[Callable[[], None]]:
    """Returns a function that forgets which compiler there is. It is also called before and after the
    test."""

    def forget() -> None:
        toolchain.compiler.cache_clear()
        toolchain.compiler_version.cache_clear()

    forget()
    yield forget
    forget()


def answer_source(folder: Path, value: str) -> Path:
    """Write a source, and the header from which it takes a value. Returns the path of the source."""
    source = folder / "answer.cpp"
    source.write_text('#include "the answer.inc"\nextern "C" int answer() { return ANSWER; }\n')
    (folder / "the answer.inc").write_text(f"#define ANSWER {value}\n")
    return source


def answer(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return answer_source(tmp_path, "42")


@pytest.mark.exhaustive
def test_a_cache_works_where_it_is_moved_or_copied_to(cache: Path, tmp_path: Path) -> None:
    Emulator().module(KERNELS / "block.cu", {})
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for path in (cache / "native").iterdir():
        if path.is_file() and path.name.startswith(("cuda-on-cpu", "cpu-block")):
            (first / "native").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, first / "native")
    files = {path.name: path.stat().st_mtime_ns for path in (first / "native").iterdir()}
    shutil.copytree(first, second)
    shutil.copytree(first, third)
    for place in (first.rename(tmp_path / "moved"), second, third.rename(first)):
        environment = os.environ | {"BFSBENCH_CACHE": str(place)}
        subprocess.run([sys.executable, "-c", USE_A_KERNEL], env=environment, check=True, timeout=100)
        # The runtime's soname has the cache's path, so the runtime is built again in another folder.
        assert {path.name for path in (place / "native").iterdir()} >= set(files)


def test_an_edited_header_makes_a_new_library(empty_cache: Path, source: Path, tmp_path: Path) -> None:
    first = build_library("answer", [source])
    assert build_library("answer", [source]) == first
    answer_source(tmp_path, "43")
    second = build_library("answer", [source])
    assert (answer(first), answer(second)) == (42, 43)
    (tmp_path / "the answer.inc").unlink()
    with pytest.raises(ToolchainError, match=r"the answer\.inc"):
        build_library("answer", [source])


def test_a_header_in_angle_brackets_is_one_too(tmp_path: Path) -> None:
    """The translator leaves such a header to the compiler, which must notice the change."""
    source, header = tmp_path / "get.cu", tmp_path / "value.inc"
    source.write_text('#include <value.inc>\nextern "C" __global__ void get(int* out) { *out = VALUE; }\n')
    for value in (3, 4):
        header.write_text(f"#define VALUE {value}\n")
        with Emulator() as device:
            out = device.signal()
            device.module(source, {}).kernel("get").bind(out, block=1)(1)
            assert out.read() == value


def test_a_damaged_library_is_made_again(empty_cache: Path, source: Path) -> None:
    library = build_library("answer", [source])
    good = library.read_bytes()
    for place in range(0, len(good), len(good) // 7):
        library.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        assert build_library("answer", [source]).read_bytes() == good
    library.write_bytes(good[:1000])
    assert answer(build_library("answer", [source])) == 42


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"{}", b'{"library": 3, "headers": []}'])
def test_a_damaged_record_is_made_again(empty_cache: Path, source: Path, junk: bytes) -> None:
    library = build_library("answer", [source])
    (record,) = empty_cache.glob("*.json")
    record.write_bytes(junk)
    assert build_library("answer", [source]) == library
    assert record.read_bytes() != junk


def wrapped_compiler(folder: Path, first: str) -> str:
    """Returns the path of a compiler that runs the shell command ``first`` before each compilation."""
    script = folder / "compiler"
    skip = f'case "$*" in *--version*) ;; *) {first} ;; esac'
    script.write_text(f'#!/bin/sh\n{skip}\nexec {compiler()[0]} "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_a_killed_builder_leaves_nothing_behind(empty_cache: Path, tmp_path: Path, source: Path) -> None:
    slow = os.environ | {"CXX": wrapped_compiler(tmp_path, 'touch "$TMPDIR/scratch"; sleep 30')}
    code = (
        f"import pathlib, bfsbench.support.toolchain as t; "
        f"t.build_library('slow', [pathlib.Path({str(source)!r})])"
    )
    builder = subprocess.Popen([sys.executable, "-c", code], env=slow, start_new_session=True)
    wait_until(lambda: any(empty_cache.glob("*.work/scratch")), 60)
    build_library("answer", [source])
    assert list(empty_cache.glob("*.work/scratch")), "the files of a running process stay"
    os.killpg(builder.pid, signal.SIGKILL)
    builder.wait()
    source.write_text(source.read_text() + "// changed\n")
    build_library("answer", [source])
    assert not list(empty_cache.glob("*.work"))


def test_builders_of_the_same_library_wait_for_one_another(
    empty_cache: Path,
    tmp_path: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    fresh_compiler: Callable[[], None],
) -> None:
    monkeypatch.setenv("CXX", wrapped_compiler(tmp_path, f"echo >> {tmp_path}/calls; sleep 0.2"))
    fresh_compiler()
    with ThreadPoolExecutor(4) as pool:
        libraries = set(pool.map(lambda _: build_library("answer", [source]), range(4)))
    assert len(libraries) == 1
    assert len((tmp_path / "calls").read_text()) == 2, "one source compiled, one library linked"


def test_zigs_first_compilation_is_not_the_workers(
    empty_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fresh_compiler: Callable[[], None],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The first compilation takes longer than a worker may take to start. So the parent process runs it
    before, and prints a line on stderr."""
    real = compiler()[0]
    package = tmp_path / "modules" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    calls = tmp_path / "calls"
    (package / "__main__.py").write_text(
        "import os, sys\n"
        f"open({str(calls)!r}, 'a').write(f'{{os.getppid()}} ')\n"
        f"os.execv({real!r}, [{real!r}, *sys.argv[2:]])\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PYTHONPATH", str(package.parent), prepend=os.pathsep)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", "restored after the test")
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR")
    fresh_compiler()
    worker = Worker(None)
    for times in (1, 1):
        worker.start()
        worker.close()
        assert calls.read_text() == f"{os.getpid()} " * times
    assert "preparing the C++ compiler of ziglang" in capfd.readouterr().err
    assert Path(os.environ["ZIG_GLOBAL_CACHE_DIR"]).parent == empty_cache.parent
