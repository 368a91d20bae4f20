"""Finds compilers, builds native libraries, and keeps the libraries in a cache.

Each ``.cpp`` file in the folder ``native`` becomes one library. The file name of a library in the cache
contains a hash of the library file, so that a damaged file is recognised. The C++ compiler is ``$CXX``, or
``g++``, ``clang++`` or ``c++`` from the PATH. A machine without any of them can use the compiler in the PyPI
package ``ziglang`` (extra ``compiler``).
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
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from bfsbench.support import storage
from bfsbench.support.errors import ToolchainError
from bfsbench.support.interrupts import interruptible_pool
from bfsbench.support.machine import usable_cores
from bfsbench.support.paths import cache_dir

COMPILE = ("-std=c++17", "-O3", "-fPIC", "-pthread")
"""Compiler options for all C++ code."""
LINK = ("-shared", "-pthread")
"""Linker options for all libraries. The compiler of ziglang builds its own C++ library again for each
different set of options."""


def pip_install(*packages: str) -> str:
    """Returns the command that installs packages for the running Python interpreter. A plain ``pip`` could
    install them for another interpreter."""
    return " ".join((sys.executable, "-m pip install", *packages))


NVCC_PACKAGES = (
    "nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-crt nvidia-cuda-cccl "
    "nvidia-cuda-profiler-api"
)
"""PyPI packages with NVIDIA's compiler nvcc, and with the headers that building PyCUDA needs."""
CORE_PACKAGES = (
    "cuda-core cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvjitlink"
)
"""PyPI packages that the backend ``cuda-core`` needs, besides NVIDIA's driver."""
CORE_PACKAGES_12 = "'cuda-bindings==12.*' " + " ".join(
    f"{name}-cu12" for name in CORE_PACKAGES.split() if "nvidia" in name
)
"""PyPI packages that the backend ``cuda-core`` needs with a driver for CUDA 12, in addition to
``cuda-core``."""
DRIVER_LIBRARY = "libcuda.so.1"
"""File name of the library of NVIDIA's driver."""
NVCC_OPTIONS = ("-std=c++17", "-O3", "-lineinfo")
"""Options with which nvcc compiles all kernels."""
NVRTC_OPTIONS = {"std": "c++17", "lineinfo": True}
"""Options with which NVRTC compiles all kernels, by their names in cuda-core. NVRTC optimises by default."""
LOWEST_COMPUTE_CAPABILITY = (7, 5)
"""The lowest compute capability (major, minor) of GPUs that can run kernels. CUDA 13 does not compile for
lower ones."""


@cache
def compiler() -> tuple[str, ...]:
    """Returns the command that runs the C++ compiler. Raises ToolchainError if no compiler is found, or if
    ``CXX`` does not name a program."""
    if chosen := os.environ.get("CXX"):
        words = shlex.split(chosen)
        if not words or shutil.which(words[0]) is None:
            raise ToolchainError(f"CXX is set to '{chosen}', which is not a program on this machine")
        return tuple(words)
    for name in ("g++", "clang++", "c++"):
        if path := shutil.which(name):
            return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise ToolchainError(
        "no C++ compiler found: install g++ (Debian/Ubuntu: apt install g++) "
        f"or run '{pip_install('ziglang')}'"
    )


@cache
def compiler_version() -> str:
    """Returns the first line that the C++ compiler prints for ``--version``. Raises ToolchainError if there
    is no compiler."""
    return version_lines(*compiler())[0]


def version_lines(*command: str) -> list[str]:
    """Returns the lines that a program prints for ``--version``, without blank lines. If it prints nothing,
    returns the single line ``unknown``."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return [line for line in (done.stdout or done.stderr).splitlines() if line.strip()] or ["unknown"]


def prepare_compiler() -> None:
    """Run the compiler's one-time set-up, so that processes with a time limit need not wait for it. If there
    is no compiler, do nothing.

    Only the compiler of ziglang has a set-up: at its first use it builds its C++ library, which takes
    minutes. A line on stderr announces this. Raises ToolchainError if a test file cannot be compiled.
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
"""The type of functions that take assembly code and return changed assembly code."""


def build_library(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    link_flags: Sequence[str] = (),
    rewrite: Rewrite | None = None,
) -> Path:
    """Compile C++ sources and link them into a shared library, or find this library in the cache. Returns the
    path of the library.

    ``sources`` may also contain libraries, which are linked. ``flags`` are for the compiler, and
    ``link_flags`` for the linker. ``rewrite`` may change the assembly code of each source.

    The cache has a record for each combination of sources, flags, compiler and module of ``rewrite``. The
    record names the library, and the headers from which it was built. The library is built again if any of
    these has changed. If several processes need one library, one builds it and the others wait. Files of
    killed processes are removed. Raises ToolchainError, with the compiler's first error message, if a source
    cannot be compiled.
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
    with writing(record.parent), storage.locked(record):
        _remove_abandoned(record.parent)
        return _recorded(record) or _build(name, sources, flags, link_flags, rewrite, record)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Context manager for writing into a folder of the cache. Creates the folder if it does not exist. Raises
    ToolchainError if this fails, or if the ``with`` block raises OSError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        where = f"cannot write {folder}: {error.strerror or error}"
        raise ToolchainError(f"{where}; {storage.cache_remedy(error)}") from error


def _recorded(record: Path) -> Path | None:
    """Returns the path of the library that a record in the cache names. Returns None if the library is
    missing, or if the library or a header has changed since the build."""
    # the record may be missing or damaged
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        found = json.loads(record.read_bytes())
        library = record.parent / str(found["library"])
        same = all(_digest(Path(header)) == digest for header, digest in found["headers"].items())
        if same and library.stem.endswith(_digest(library)):
            return library
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:20]


def _remove_abandoned(folder: Path) -> None:
    """Remove the work folders that were left behind by killed processes. The folders of running builds are
    kept: the process of a running build holds the lock of the build's record."""
    for work in folder.glob("*.work"):
        with suppress(BlockingIOError), storage.locked(work.with_suffix(".json"), wait=False):
            shutil.rmtree(work, ignore_errors=True)


def _build(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str],
    link_flags: Sequence[str],
    rewrite: Rewrite | None,
    record: Path,
) -> Path:
    """Build a library and write its record. Returns the path of the library. The caller must hold the lock of
    the record."""
    with storage.unfinished(record.with_suffix(".work")) as work:
        shutil.rmtree(work, ignore_errors=True)  # a killed process may have left this folder
        work.mkdir()
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

        with interruptible_pool(usable_cores()) as pool:
            objects = list(map(str, pool.map(compile_one, sources)))
        made = work / "library.so"
        # programs that link to this library find it by this name, in any folder
        command = [*compiler(), *LINK, f"-Wl,-soname,{record.stem}.so", *objects, *link_flags]
        _run([*command, "-o", str(made)], name, work)
        library = record.parent / f"{name}-{_digest(made)}.so"
        storage.publish(made, library)
        storage.write(record, json.dumps({"library": library.name, "headers": headers}).encode())
        return library


def _headers(rule: Path, source: Path, started: float) -> dict[str, str]:
    """Returns a dictionary that maps the headers in a compiler's dependency file to their digests. System
    headers are left out.

    A header that was changed after the compiler ``started`` gets an empty digest, because the compiler may
    have read the older text.
    """
    text = os.fsdecode(rule.read_bytes()).replace("\\\n", " ").partition(": ")[2]
    names = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in re.findall(r"(?:\\.|\S)+", text))
    headers = {Path(name).resolve() for name in names} - {source.resolve()}
    return {str(path): _digest(path) if path.stat().st_mtime < started else "" for path in sorted(headers)}


def _run(command: Sequence[str], name: str, work: Path) -> None:
    """Run the compiler, which keeps its temporary files in the folder ``work``. Raises ToolchainError, with
    the compiler's first error message, if the compiler fails."""
    environment = os.environ | {"TMPDIR": str(work)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="backslashreplace", check=False
    )
    if done.returncode != 0:
        raise ToolchainError(f"cannot compile {name}: {first_error(done.stderr)}")


def first_error(text: str) -> str:
    """Returns the first line of a compiler's output that contains "error". If no line does, returns the first
    line."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")


def find_nvcc() -> Path:
    """Returns the path of nvcc. This function looks for it on the PATH, under ``CUDA_HOME`` and
    ``CUDA_ROOT``, in /usr/local/cuda, and in the packages from PyPI. Raises ToolchainError if nvcc is not
    found."""
    if on_path := shutil.which("nvcc"):
        return Path(on_path)
    roots = [Path(value) for name in ("CUDA_HOME", "CUDA_ROOT") if (value := os.environ.get(name))]
    roots.append(Path("/usr/local/cuda"))
    wheels = importlib.util.find_spec("nvidia")
    for folder in (wheels and wheels.submodule_search_locations) or ():
        roots += Path(folder).glob("cu*")
    for root in roots:
        if (root / "bin" / "nvcc").exists():
            return root / "bin" / "nvcc"
    raise ToolchainError(f"no nvcc found: install the CUDA toolkit, or run '{pip_install(NVCC_PACKAGES)}'")


@cache
def nvcc_version() -> str:
    """Returns the last line that nvcc prints for ``--version``, which names the build of nvcc. Raises
    ToolchainError if there is no nvcc."""
    return version_lines(str(find_nvcc()))[-1]


@cache
def nvrtc_version() -> str:
    """Returns the CUDA version of NVRTC, such as ``13.0``. Raises ToolchainError if NVRTC or the package
    cuda-bindings is missing."""
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    # cuda-bindings raises RuntimeError if it does not find the library
    except (ImportError, RuntimeError) as error:
        raise ToolchainError(f"no NVRTC found: run '{pip_install(CORE_PACKAGES)}'") from error
    if status:
        raise ToolchainError(f"NVRTC cannot be used: {status}")
    return f"{major}.{minor}"


def too_new(nvrtc: str, driver: int) -> str:
    """Returns the reason why a driver cannot load code that NVRTC compiles. Returns an empty string if it
    can.

    ``nvrtc`` is the CUDA version of NVRTC. ``driver`` is the CUDA version of the driver as a number, such as
    12040 for CUDA 12.4. A driver can load code of compilers whose major version is not higher than its own.
    """
    major = driver // 1000
    if int(nvrtc.partition(".")[0]) <= major:
        return ""
    given = f"{major}.{driver % 1000 // 10}"
    fix = f"take a newer driver, or run {pip_install(CORE_PACKAGES_12)}"
    return f"NVRTC {nvrtc} makes code for newer drivers than this one, which is for CUDA {given}: {fix}"


def unsupported(compute_capability: tuple[int, int]) -> str:
    """Returns the reason why kernels cannot run on a GPU with this compute capability. Returns an empty
    string if they can."""
    if compute_capability >= LOWEST_COMPUTE_CAPABILITY:
        return ""
    given, lowest = (".".join(map(str, one)) for one in (compute_capability, LOWEST_COMPUTE_CAPABILITY))
    return f"compute capability {given}, but kernels need {lowest} or later"


HERE = Path(__file__).resolve().parent.parent / "native"
HELPERS = ("convert", "parse", "statistics", "renumber", "cpu_queue")
"""Native libraries that bfsbench needs to load a graph and to check a search. The library that takes longest
to compile comes first."""


@cache
def library(name: str) -> ctypes.CDLL:
    """Load the native library ``name``, and build it if necessary. Returns the library. The library's
    functions release Python's interpreter lock while they run."""
    return ctypes.CDLL(str(_built(name)))


@contextmanager
def building(names: Iterable[str]) -> Iterator[None]:
    """Build native libraries on all cores while the ``with`` block runs. The block does not end before all
    builds have ended.

    Names without a source file are ignored. If a build fails, the first use of the library reports the error.
    """
    known = [name for name in dict.fromkeys(names) if (HERE / f"{name}.cpp").exists()]
    if known:
        prepare_compiler()
    with interruptible_pool(usable_cores()) as pool:
        for name in known:
            pool.submit(_built, name)
        yield


def _built(name: str) -> Path:
    return build_library(name, [HERE / f"{name}.cpp"])
