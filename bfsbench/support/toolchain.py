"""C++ compiler discovery and a content-addressed cache of the shared libraries built with it.

Among these are the compiled helpers of the host side, each one ``.cpp`` file of ``native``.

The compiler is ``$CXX``, ``g++``, ``clang++`` or ``c++`` from the PATH, or, on a machine without any, the one
in the PyPI wheel ``ziglang`` (extra ``compiler``).
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
"""Options of every link. For each set of options the compiler of ziglang builds a library at first use."""


def pip_install(*packages: str) -> str:
    """The command that installs packages for this interpreter: another pip installs elsewhere."""
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
"""What the backend ``cuda-core`` needs beside NVIDIA's driver."""
CORE_PACKAGES_12 = ("'cuda-bindings==12.*'", *(f"{name}-cu12" for name in CORE_PACKAGES if "nvidia" in name))
"""The same for a driver for CUDA 12, beside cuda-core."""
NO_COMPILER = (
    f"no C++ compiler found: install g++ (Debian/Ubuntu: apt install g++) or run '{pip_install('ziglang')}'"
)
NO_NVCC = f"no nvcc found: install the CUDA toolkit, or run '{pip_install(*NVCC_PACKAGES)}'"
NO_NVRTC = f"no NVRTC found: run '{pip_install(*CORE_PACKAGES)}'"


DRIVER_LIBRARY = "libcuda.so.1"
"""NVIDIA's driver."""
NVCC_OPTIONS = ("-std=c++17", "-O3", "-lineinfo")
"""Options of every compilation of kernels by nvcc."""
NVRTC_OPTIONS = {"std": "c++17", "lineinfo": True}
"""The same for NVRTC, which optimises by default; as cuda-core names them."""
LOWEST_COMPUTE_CAPABILITY = (7, 5)
"""The lowest compute capability of GPUs that kernels run on: the lowest that CUDA 13 compiles for."""


@cache
def compiler() -> tuple[str, ...]:
    """The command that runs the C++ compiler. Raises ToolchainError when there is none."""
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
    """First line of the compiler's ``--version``."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0] if (done.stdout or done.stderr) else "unknown"


def prepare_compiler() -> None:
    """Run the compiler's one-time set-up, so that no process with a time limit has to wait for it. The
    compiler of ziglang builds its C++ library at its first use, which takes minutes; it is cached. A line on
    stderr says what the program waits for. Other compilers need no set-up. Raises ToolchainError.
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
"""From assembly to assembly."""


def build_library(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    link_flags: Sequence[str] = (),
    rewrite: Rewrite | None = None,
) -> Path:
    """Compile C++ sources and link them into a shared library, or find it in the cache.

    ``sources`` may contain libraries, which are linked; ``flags`` are for the compiler, ``link_flags`` for
    the linker; ``rewrite`` changes the assembly that is made of each source. In the cache a library is named
    by a hash of its content. For every request (sources, flags, compiler, the module of ``rewrite``) a record
    names the library and the headers it was built from. It is built again if any of these has changed.
    Builders of the same library wait for one another, and files of killed builders are removed. Raises
    ToolchainError with the compiler's first error.
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
    """The library that a record names, if it and its headers are unchanged since it was built."""
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
    """Remove the work folders of killed builders: those whose records are not locked by another process."""
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
    """Build a library and its record; the caller holds the record's lock."""
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
    """Give a library a name without a folder, so that libraries linked to it find it in any folder."""
    return [f"-Wl,-soname,{name}"] if sys.platform == "linux" else []


def _headers(rule: Path, source: Path, started: float) -> dict[str, str]:
    """The headers that a compiler's dependency file names, without the system's, and their digests.

    A header written after the compiler ``started`` gets no digest, since the compiler may have read older
    text.
    """
    text = os.fsdecode(rule.read_bytes()).replace("\\\n", " ").partition(": ")[2]
    names = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in re.findall(r"(?:\\.|\S)+", text))
    headers = {Path(name).resolve() for name in names} - {source.resolve()}
    return {str(path): _digest(path) if path.stat().st_mtime < started else "" for path in sorted(headers)}


def _run(command: Sequence[str], name: str, work: Path) -> None:
    """Run the compiler with its temporary files in ``work``. Raises ToolchainError with its first error."""
    environment = os.environ | {"TMPDIR": str(work)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="backslashreplace", check=False
    )
    if done.returncode != 0:
        raise ToolchainError(f"cannot compile {name}: {first_error(done.stderr)}")


def first_error(text: str) -> str:
    """The first error in a compiler's output, in one line."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")


def find_nvcc() -> Path:
    """NVIDIA's compiler: on the PATH, under ``CUDA_HOME`` or /usr/local/cuda, or from the PyPI wheels.

    Raises ToolchainError when there is none.
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
    """The last line of nvcc's ``--version``, which names its build. Raises ToolchainError without one."""
    done = subprocess.run([str(find_nvcc()), "--version"], capture_output=True, text=True, check=False)
    return next((line for line in reversed(done.stdout.splitlines()) if line), "unknown")


@cache
def nvrtc_version() -> str:
    """The CUDA version of NVRTC: ``13.0``. Raises ToolchainError where it or cuda-bindings is missing."""
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no such library
        raise ToolchainError(NO_NVRTC) from error
    if status:
        raise ToolchainError(f"NVRTC cannot be used: {status}")
    return f"{major}.{minor}"


def too_new(nvrtc: str, driver: int) -> str:
    """Why a driver, for CUDA 12.4 if it is 12040, cannot load what NVRTC compiles; empty if it can.

    A driver loads machine code of any compiler for its major version of CUDA, and of earlier ones.
    """
    major = driver // 1000
    if int(nvrtc.partition(".")[0]) <= major:
        return ""
    given = f"{major}.{driver % 1000 // 10}"
    fix = f"take a newer driver, or run {pip_install(*CORE_PACKAGES_12)}"
    return f"NVRTC {nvrtc} makes code for newer drivers than this one, which is for CUDA {given}: {fix}"


def unsupported(compute_capability: tuple[int, int]) -> str:
    """Why kernels cannot run on a GPU of this compute capability; empty if they can."""
    if compute_capability >= LOWEST_COMPUTE_CAPABILITY:
        return ""
    given, lowest = (".".join(map(str, one)) for one in (compute_capability, LOWEST_COMPUTE_CAPABILITY))
    return f"compute capability {given}, but kernels need {lowest} or later"


HERE = Path(__file__).resolve().parent.parent / "native"
HELPERS = ("convert", "parse", "statistics", "renumber", "cpu_queue")
"""What loading a graph and checking a search take, the one that takes longest to compile first."""


@cache
def library(name: str) -> ctypes.CDLL:
    """Load the native library ``name``; its functions release the interpreter lock while they run."""
    return ctypes.CDLL(str(_built(name)))


@contextmanager
def building(names: Iterable[str]) -> Iterator[None]:
    """Build libraries on all cores beside the block, and wait for them at its end.

    Names without a source are passed over. A failure is reported when the library is used.
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
