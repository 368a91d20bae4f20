"""Find the C++ compiler, and cache the shared libraries that it builds.

A library's name in the cache has a hash of its content. Helpers of the host side are compiled in this way,
each from one ``.cpp`` file of ``native``. The compiler is ``$CXX``, or ``g++``, ``clang++`` or ``c++`` from
the PATH. A machine without any uses the compiler in the PyPI wheel ``ziglang`` (extra ``compiler``).
"""

import ctypes
import hashlib
import importlib.util
import inspect
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

from bfsbench.support import storage
from bfsbench.support.errors import ToolchainError
from bfsbench.support.machine import usable_cores
from bfsbench.support.paths import cache_dir

COMPILE = ("-std=c++17", "-O3", "-fPIC", "-pthread")
"""Options of every compilation of C++."""
LINK = ("-shared", "-pthread")
"""Options of every link. The compiler of ziglang builds a library at the first use of each set of options."""


def pip_install(*packages: str) -> str:
    """Return the command that installs packages for this interpreter.

    Another pip could install them elsewhere.
    """
    return " ".join((sys.executable, "-m pip install", *packages))


NVCC_PACKAGES = (
    "nvidia-cuda-nvcc",
    "nvidia-cuda-runtime",
    "nvidia-nvvm",
    "nvidia-cuda-crt",
    "nvidia-cuda-cccl",
    "nvidia-cuda-profiler-api",
)
"""NVIDIA's compiler from PyPI, with the headers that PyCUDA is built with."""
CORE_PACKAGES = (
    "cuda-core",
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-nvjitlink",
)
"""The packages that the backend ``cuda-core`` needs beside NVIDIA's driver."""
CORE_PACKAGES_12 = ("'cuda-bindings==12.*'", *(f"{name}-cu12" for name in CORE_PACKAGES if "nvidia" in name))
"""The packages that the backend ``cuda-core`` needs beside cuda-core and a driver for CUDA 12."""
NO_COMPILER = (
    f"no C++ compiler found: install g++ (Debian/Ubuntu: apt install g++) or run '{pip_install('ziglang')}'"
)
NO_NVCC = f"no nvcc found: install the CUDA toolkit, or run '{pip_install(*NVCC_PACKAGES)}'"
NO_NVRTC = f"no NVRTC found: run '{pip_install(*CORE_PACKAGES)}'"


DRIVER_LIBRARY = "libcuda.so.1"
"""The file name of NVIDIA's driver library."""
NVCC_OPTIONS = ("-std=c++17", "-O3", "-lineinfo")
"""Options of every compilation of kernels by nvcc."""
NVRTC_OPTIONS = {"std": "c++17", "lineinfo": True}
"""Options of every compilation of kernels by NVRTC, in cuda-core's spelling. NVRTC optimises by default."""
LOWEST_COMPUTE_CAPABILITY = (7, 5)
"""The lowest compute capability of GPUs that kernels run on. CUDA 13 compiles for none lower."""


@cache
def compiler() -> tuple[str, ...]:
    """Return the command that runs the C++ compiler. Raises ToolchainError if there is none."""
    chosen = os.environ.get("CXX")
    if chosen:
        words = shlex.split(chosen)
        if not words or shutil.which(words[0]) is None:
            raise ToolchainError(f"CXX is set to '{chosen}', which is not a program on this machine")
        return tuple(words)
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        if path:
            return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise ToolchainError(NO_COMPILER)


@cache
def compiler_version() -> str:
    """Return the first line of the C++ compiler's ``--version``."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0] if (done.stdout or done.stderr) else "unknown"


def prepare_compiler() -> None:
    """Run the compiler's one-time set-up, so that no process with a time limit has to wait for it.

    Only the compiler of ziglang needs it: it builds its C++ library at its first use, which takes minutes. A
    line on stderr says so. Raises ToolchainError if a test file cannot be compiled.
    """
    try:
        command = compiler()
    except ToolchainError:
        return
    if command[1:3] != ("-m", "ziglang"):
        return
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_dir() / "zig"))
    cold = Path(os.environ["ZIG_GLOBAL_CACHE_DIR"]) / "prepared"
    if cold.exists():
        return
    print("preparing the C++ compiler of ziglang, once: this takes some minutes", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "empty.cpp"
        source.write_text("#include <string>\nstd::string empty() { return {}; }\n", encoding="utf-8")
        made = ["-o", str(source.with_suffix(".so"))]
        _run([*command, *COMPILE, *LINK, str(source), *made], "a first file", Path(work))
    cold.parent.mkdir(parents=True, exist_ok=True)
    cold.touch()


Rewrite = Callable[[str], str]
"""A function that takes assembly and returns changed assembly."""


def build_library(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    link_flags: Sequence[str] = (),
    rewrite: Rewrite | None = None,
) -> Path:
    """Compile C++ sources and link them into a shared library, or find the library in the cache.

    ``sources`` may contain libraries, which are linked. ``flags`` are for the compiler, and ``link_flags``
    for the linker. ``rewrite`` changes the assembly that is made of each source.

    In the cache a library is named by a hash of its content. A record for each request names the library and
    the headers that it was built from. A request consists of the sources, the flags, the compiler and the
    module of ``rewrite``. The library is built again if any of these or a header has changed. Builders of one
    library wait for one another, and files of killed builders are removed. Raises ToolchainError with the
    compiler's first error.
    """
    request = hashlib.sha256()
    for part in (*compiler(), compiler_version(), platform.machine(), *flags, "", *link_flags):
        request.update(part.encode() + b"\0")
    for file in sources:
        request.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    if rewrite:
        request.update(Path(inspect.getfile(rewrite)).read_bytes())
    record = cache_dir() / "native" / f"{name}-{request.hexdigest()[:20]}.json"
    if library := _recorded(record):
        return library
    prepare_compiler()
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        with storage.locked(record):
            _remove_abandoned(record.parent, mine=record)
            return _recorded(record) or _build(name, sources, flags, link_flags, rewrite, record)
    except OSError as error:
        where = f"cannot write {record.parent}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error


def _recorded(record: Path) -> Path | None:
    """Return the library that a record names, or None if the library or its headers have changed since it was
    built.
    """
    try:
        found = json.loads(record.read_bytes())
        library = record.parent / str(found["library"])
        if library.stem.endswith(_digest(library)) and all(
            _digest(Path(header)) == digest for header, digest in found["headers"].items()
        ):
            return library
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # no record, or an unreadable one
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:20]


def _remove_abandoned(folder: Path, mine: Path) -> None:
    """Remove the work folders of killed builders. Their records are not locked by another process."""
    for work in folder.glob("*.work"):
        record = work.with_suffix(".json")
        with (
            suppress(BlockingIOError),
            nullcontext() if record == mine else storage.locked(record, wait=False),
        ):
            shutil.rmtree(work, ignore_errors=True)


def _build(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    link_flags: Sequence[str],
    rewrite: Rewrite | None,
    record: Path,
) -> Path:
    """Build a library and its record. The caller holds the record's lock."""
    work = record.with_suffix(".work")
    work.mkdir()
    try:
        headers: dict[str, str] = {}

        def compile_one(source: Path) -> Path:
            if source.suffix != ".cpp":
                return source
            rule, started = work / f"{source.stem}.d", time.time()
            made = rule.with_suffix(".s" if rewrite else ".o")
            files = ["-MMD", "-MF", str(rule), "-S" if rewrite else "-c", str(source), "-o", str(made)]
            _run([*compiler(), *COMPILE, *flags, *files], name, work)
            headers.update(_headers(rule, source, started))
            if rewrite:
                made.write_text(rewrite(made.read_text()))
            return made

        with ThreadPoolExecutor(usable_cores()) as pool:
            objects = list(map(str, pool.map(compile_one, sources)))
        made = work / "library.so"
        command = [*compiler(), *LINK, *_soname(f"{record.stem}.so"), *objects, *link_flags]
        _run([*command, "-o", str(made)], name, work)
        library = record.parent / f"{name}-{_digest(made)}.so"
        storage.publish(made, library)
        storage.write(record, json.dumps({"library": library.name, "headers": headers}).encode())
        return library
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _soname(name: str) -> list[str]:
    """Return linker options that name a library without its folder.

    Libraries that link to it can then find it in any folder.
    """
    return [f"-Wl,-soname,{name}"] if sys.platform == "linux" else []


def _headers(rule: Path, source: Path, started: float) -> dict[str, str]:
    """Return the headers that a compiler's dependency file names, except system headers, and their digests.

    A header that was written after the compiler ``started`` gets no digest, because the compiler may have
    read its older text.
    """
    text = os.fsdecode(rule.read_bytes()).replace("\\\n", " ").partition(": ")[2]
    names = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in re.findall(r"(?:\\.|\S)+", text))
    headers = {Path(name).resolve() for name in names} - {source.resolve()}
    return {str(path): _digest(path) if path.stat().st_mtime < started else "" for path in sorted(headers)}


def _run(command: Sequence[str], name: str, work: Path) -> None:
    """Run the compiler with its temporary files in ``work``.

    Raises ToolchainError with the compiler's first error.
    """
    environment = os.environ | {"TMPDIR": str(work)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="backslashreplace", check=False
    )
    if done.returncode != 0:
        raise ToolchainError(f"cannot compile {name}: {first_error(done.stderr)}")


def first_error(text: str) -> str:
    """Return the first error in a compiler's output, as one line."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")


def find_nvcc() -> Path:
    """Return the path of nvcc: on the PATH, under ``CUDA_HOME``, in /usr/local/cuda, or from the PyPI wheels.

    Raises ToolchainError if there is none.
    """
    on_path = shutil.which("nvcc")
    if on_path:
        return Path(on_path)
    roots = [Path(os.environ.get(name, "")) for name in ("CUDA_HOME", "CUDA_ROOT") if os.environ.get(name)]
    spec = importlib.util.find_spec("nvidia")
    wheels = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []
    for root in (
        *roots,
        Path("/usr/local/cuda"),
        *(found for place in wheels for found in place.glob("cu*")),
    ):
        if (root / "bin" / "nvcc").exists():
            return root / "bin" / "nvcc"
    raise ToolchainError(NO_NVCC)


@cache
def nvcc_version() -> str:
    """Return the last line of nvcc's ``--version``, which names its build.

    Raises ToolchainError without nvcc.
    """
    done = subprocess.run([str(find_nvcc()), "--version"], capture_output=True, text=True, check=False)
    return next((line for line in reversed(done.stdout.splitlines()) if line), "unknown")


@cache
def nvrtc_version() -> str:
    """Return the CUDA version of NVRTC, such as ``13.0``.

    Raises ToolchainError without NVRTC or cuda-bindings.
    """
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no such library
        raise ToolchainError(NO_NVRTC) from error
    if status:
        raise ToolchainError(f"NVRTC cannot be used: {status}")
    return f"{major}.{minor}"


def too_new(nvrtc: str, driver: int) -> str:
    """Return the reason why a driver cannot load code that NVRTC compiles; empty if it can.

    ``driver`` is a number, as 12040 for CUDA 12.4. A driver loads machine code of any compiler for its own or
    an earlier major version of CUDA.
    """
    major = driver // 1000
    if int(nvrtc.partition(".")[0]) <= major:
        return ""
    given = f"{major}.{driver % 1000 // 10}"
    fix = f"take a newer driver, or run {pip_install(*CORE_PACKAGES_12)}"
    return f"NVRTC {nvrtc} makes code for newer drivers than this one, which is for CUDA {given}: {fix}"


def unsupported(compute_capability: tuple[int, int]) -> str:
    """Return the reason why kernels cannot run on a GPU of this compute capability; empty if they can."""
    if compute_capability >= LOWEST_COMPUTE_CAPABILITY:
        return ""
    given, lowest = (".".join(map(str, one)) for one in (compute_capability, LOWEST_COMPUTE_CAPABILITY))
    return f"compute capability {given}, but kernels need {lowest} or later"


HERE = Path(__file__).resolve().parent.parent / "native"
HELPERS = ("convert", "parse", "statistics", "renumber", "cpu_queue")
"""Libraries that loading a graph and checking a search need. The library that compiles longest comes
first."""


@cache
def library(name: str) -> ctypes.CDLL:
    """Load the native library ``name``. Its functions release the interpreter lock while they run."""
    return ctypes.CDLL(str(_built(name)))


@contextmanager
def building(names: Iterable[str]) -> Iterator[None]:
    """Build libraries on all cores while the code in this context runs, and wait for them at its end.

    Names without a source file are ignored. A failure is reported when the library is used.
    """
    known = [name for name in dict.fromkeys(names) if (HERE / f"{name}.cpp").exists()]
    if known:
        prepare_compiler()
    with ThreadPoolExecutor(usable_cores()) as pool:
        for name in known:
            pool.submit(_built, name)
        try:
            yield
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _built(name: str) -> Path:
    return build_library(name, [HERE / f"{name}.cpp"])
