"""Finds out what this installation can run. For each missing or broken part, it gives the command that
installs or repairs the part.

Each check examines one part of the installation, and returns a record. Checks change only a temporary folder,
and the cache of ziglang's compiler, which is filled at its first use.
"""

import ctypes
import importlib
import importlib.metadata
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bfsbench.support import toolchain
from bfsbench.support.errors import ToolchainError
from bfsbench.support.paths import PACKAGE, cache_dir

DRIVER_LIBRARY = toolchain.DRIVER_LIBRARY
DRIVER_VERSION = Path("/proc/driver/nvidia/version")
COMPILE_LIMIT = 120
"""Limit in seconds for compiling a test program."""

INSTALL_COMPILER = toolchain.pip_install("ziglang")
CHANGE_COMPILER = f'{INSTALL_COMPILER} && export CXX="{sys.executable} -m ziglang c++"'
INSTALL_DRIVER = "sudo ubuntu-drivers install (elsewhere: https://www.nvidia.com/drivers)"
SHOW_DEVICES = "unset CUDA_VISIBLE_DEVICES; nvidia-smi (in a container: start it with --gpus all)"
INSTALL_NVCC = toolchain.pip_install(toolchain.NVCC_PACKAGES)
REINSTALL_NVCC = toolchain.pip_install("--force-reinstall", toolchain.NVCC_PACKAGES)
INSTALL_CORE = toolchain.pip_install(toolchain.CORE_PACKAGES)
REINSTALL_CORE = toolchain.pip_install("--force-reinstall", toolchain.CORE_PACKAGES)
INSTALL_PYCUDA = toolchain.pip_install("pycuda")
REINSTALL_PYCUDA = toolchain.pip_install("--force-reinstall --no-cache-dir --no-deps pycuda")
WITHOUT_CURAND = "echo CUDA_ENABLE_CURAND = False >> ~/.aksetup-defaults.py"
"""A shell command that configures PyCUDA's installation without cuRAND, because NVIDIA's wheels of nvcc lack
this library of random numbers."""

_CPP = '#include <atomic>\nextern "C" int answer() { return std::atomic<int>(42).load(); }\n'
_CUDA = "__global__ void answer(int *result) { *result = 42; }\n"
_COMPUTE_CAPABILITY = (75, 76)
"""Values of the enum CUdevice_attribute for the major and the minor number of the compute capability."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    state: Literal["ok", "missing", "broken"]
    detail: str
    fix: str = ""
    """The command that installs or repairs the checked part. Empty if ``state`` is ok."""
    required: bool = True
    """True if the section's use of bfsbench is impossible without this part."""


@dataclass(frozen=True)
class Section:
    """The results of related checks: all checks for one backend, for GPUs, or for every use of bfsbench."""

    title: str
    checks: tuple[Check, ...]

    @property
    def works(self) -> bool:
        return all(check.state == "ok" for check in self.checks if check.required)


def examine() -> dict[str, Section]:
    """Run all checks of the installation. Returns the results in five sections. The section ``common`` has
    the checks that every backend needs. ``cpu`` and ``gpu`` are for kernels on the CPU and on a GPU. ``cuda``
    and ``cuda-core`` are for the two backends that use a GPU."""
    return {
        "common": Section("Any use", (python_packages(), cache_folder())),
        "cpu": Section("CPU backend", (cpp_compiler(),)),
        "gpu": Section("A GPU", (driver(), telemetry())),
        "cuda": Section("CUDA backend, with a toolkit", (nvcc(), pycuda())),
        "cuda-core": Section("CUDA backend, without a toolkit", (nvrtc(), cuda_core())),
    }


def usable_backends(sections: dict[str, Section]) -> dict[str, bool]:
    """Returns a dictionary that says for each of the backends ``cpu``, ``cuda`` and ``cuda-core`` whether it
    can run."""
    needed = {"cpu": ("common", "cpu"), **{name: ("common", "gpu", name) for name in ("cuda", "cuda-core")}}
    return {name: all(sections[part].works for part in parts) for name, parts in needed.items()}


def needed_packages() -> list[str]:
    """Returns the names of the packages that bfsbench always needs. They come from the metadata of the
    installed package, or from pyproject.toml in a source tree."""
    try:
        stated = importlib.metadata.requires("bfsbench") or []
    except importlib.metadata.PackageNotFoundError:
        project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        stated = project["dependencies"]
    always = (text for text in stated if "extra ==" not in text)
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in always]


def python_packages() -> Check:
    """Check the packages that bfsbench always needs. Returns the result, which lists their versions and the
    version of Python."""
    versions, absent = [f"Python {platform.python_version()}"], []
    for name in needed_packages():
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            absent.append(name)
    if absent:
        return Check("packages", "missing", ", ".join(absent), toolchain.pip_install(*absent))
    return Check("packages", "ok", ", ".join(versions))


def cache_folder() -> Check:
    """Check whether the cache folder can be written. If the folder does not exist, check the closest folder
    above it. Returns the result."""
    try:
        folder = cache_dir()
    except ImportError as error:
        fix = toolchain.pip_install("platformdirs")
        return Check("cache folder", "broken", f"its place is unknown: {error}", fix)
    try:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=existing):
            free = shutil.disk_usage(existing).free
    except OSError as error:
        fix = "export BFSBENCH_CACHE=/path/to/a/writable/folder"
        return Check("cache folder", "broken", f"cannot write to {folder}: {error.strerror}", fix)
    return Check("cache folder", "ok", f"{folder}, {free / 2**30:.1f} GiB free")


def cpp_compiler() -> Check:
    """Check whether there is a C++ compiler, and whether a library that it compiles can be loaded. Returns
    the result."""
    name = "C++ compiler"
    try:
        command = toolchain.compiler()
    except ToolchainError as error:
        fix = "unset CXX" if "CXX" in str(error) else INSTALL_COMPILER
        return Check(name, "missing", str(error).partition(":")[0], fix)
    what = f"{' '.join(command)}: {toolchain.compiler_version()}"
    try:
        toolchain.prepare_compiler()
    except ToolchainError as error:
        return Check(name, "broken", f"{what}; {error}", CHANGE_COMPILER)
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "answer.so"
        source = library.with_suffix(".cpp")
        source.write_text(_CPP)
        words = [*command, *toolchain.COMPILE, *toolchain.LINK, str(source), "-o", str(library)]
        complaint = _run(words) or _load(library)
    if complaint:
        return Check(name, "broken", f"{what}; a test program fails: {complaint}", CHANGE_COMPILER)
    return Check(name, "ok", what)


def _load(library: Path) -> str:
    """Load the compiled test library and call it. Returns the reason why it cannot be used, or an empty
    string."""
    try:
        answer = ctypes.CDLL(str(library)).answer()
    except OSError as error:
        return str(error)
    return "" if answer == 42 else f"it answers {answer} instead of 42"


def _run(command: Sequence[str]) -> str:
    """Run a compiler. If it fails, returns its first error message. Otherwise returns an empty string."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else toolchain.first_error(done.stderr or done.stdout)


def driver() -> Check:
    """Check NVIDIA's driver, and the GPUs that it offers. Returns the result."""
    name = "NVIDIA driver"
    try:
        cuda = ctypes.CDLL(DRIVER_LIBRARY)
    except OSError:
        return Check(name, "missing", f"{DRIVER_LIBRARY} cannot be loaded", INSTALL_DRIVER)
    status = cuda.cuInit(0)
    if status != 0:
        message = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(message))
        text = (message.value or b"unknown error").decode()
        return Check(name, "broken", f"cuInit fails: {text} ({status})", SHOW_DEVICES)
    count, version = _number(cuda.cuDeviceGetCount), _number(cuda.cuDriverGetVersion)
    if count == 0:
        return Check(name, "broken", "no GPU is visible", SHOW_DEVICES)
    release = f"for CUDA {version // 1000}.{version % 1000 // 10}"
    found = [_describe(cuda, index) for index in range(count)]
    first, capability = found[0]  # searches always run on the first GPU
    if reason := toolchain.unsupported(capability):
        return Check(name, "broken", f"{first} has {reason}", SHOW_DEVICES)
    gpus = ", ".join(f"{gpu} (compute capability {major}.{minor})" for gpu, (major, minor) in found)
    least = "kernels need compute capability {}.{}".format(*toolchain.LOWEST_COMPUTE_CAPABILITY)
    return Check(name, "ok", f"{' '.join(filter(None, (_driver_release(), release)))}; {gpus}; {least}")


def _describe(cuda: ctypes.CDLL, index: int) -> tuple[str, tuple[int, int]]:
    """Returns the name and the compute capability of the GPU with a given index."""
    device, name = ctypes.c_int(_number(cuda.cuDeviceGet, index)), ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), device)
    major, minor = (_number(cuda.cuDeviceGetAttribute, number, device) for number in _COMPUTE_CAPABILITY)
    return name.value.decode(), (major, minor)


def _number(function: Callable[..., object], *arguments: object) -> int:
    """Call a function of NVIDIA's driver that writes a number through its first argument. Returns the
    number."""
    number = ctypes.c_int()
    function(ctypes.byref(number), *arguments)
    return number.value


def _driver_release() -> str:
    """Returns the version of the driver's kernel module, such as 580.95.05. Returns an empty string if it is
    unknown."""
    try:
        found = re.search(r"\b\d{3,}\.[\d.]+", DRIVER_VERSION.read_text(encoding="utf-8"))
    except OSError:
        return ""
    return found[0] if found else ""


def nvcc() -> Check:
    """Check nvcc, and everything that it needs to compile a kernel. Returns the result."""
    name = "nvcc"
    try:
        program = toolchain.find_nvcc()
    except ToolchainError:
        detail = "not on the PATH, in CUDA_HOME, /usr/local/cuda or a wheel"
        return Check(name, "missing", detail, INSTALL_NVCC)
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "answer.cu"
        source.write_text(_CUDA)
        complaint = _run([str(program), "-cubin", str(source), "-o", str(source.with_suffix(".cubin"))])
    if complaint:
        fix = REINSTALL_NVCC if shutil.which("g++") else "sudo apt install g++"
        return Check(name, "broken", f"{program}: a test kernel fails: {complaint}", fix)
    release = re.search(r"release ([\d.]+)", " ".join(toolchain.version_lines(str(program))))
    return Check(name, "ok", f"{program}, release {release[1] if release else 'unknown'}")


def pycuda() -> Check:
    """Check whether PyCUDA can be imported, which also loads NVIDIA's driver. Returns the result."""
    name = "PyCUDA"
    if importlib.util.find_spec("pycuda") is None:
        return Check(name, "missing", "not installed", _install_pycuda())
    try:
        importlib.import_module("pycuda.driver")
        importlib.import_module("pycuda.compiler")
    except ImportError as error:
        fix = INSTALL_DRIVER if DRIVER_LIBRARY in str(error) else REINSTALL_PYCUDA
        return Check(name, "broken", f"cannot be imported: {str(error).splitlines()[0]}", fix)
    return Check(name, "ok", importlib.metadata.version("pycuda"))


def _install_pycuda() -> str:
    """Returns the command that installs PyCUDA, compiled with the CUDA toolkit of the nvcc that was found."""
    try:
        root = toolchain.find_nvcc().resolve().parent.parent
    except ToolchainError:
        return f"{INSTALL_NVCC} && bfsbench doctor"
    if shutil.which("nvcc") is not None:
        return INSTALL_PYCUDA
    install = f"CUDA_ROOT={root} PATH={root / 'bin'}:$PATH {INSTALL_PYCUDA}"
    return install if (root / "include" / "curand.h").exists() else f"{WITHOUT_CURAND} && {install}"


def nvrtc() -> Check:
    """Check NVRTC (NVIDIA's compiler as a library), and whether the driver can load the code that it
    generates. Returns the result."""
    name = "NVRTC"
    try:
        version = toolchain.nvrtc_version()
    except ToolchainError as error:
        return Check(name, "missing", str(error).partition(":")[0], INSTALL_CORE)
    try:
        release = _number(ctypes.CDLL(DRIVER_LIBRARY).cuDriverGetVersion)
    except OSError:  # without a driver, NVRTC's version cannot be compared
        return Check(name, "ok", f"release {version}")
    if reason := toolchain.too_new(version, release):
        fix = toolchain.pip_install(toolchain.CORE_PACKAGES_12)
        return Check(name, "broken", reason.partition(":")[0], fix)
    return Check(name, "ok", f"release {version}")


def cuda_core() -> Check:
    """Check the packages cuda-core and cuda-bindings, and the headers that kernels need. Returns the
    result."""
    name = "cuda-core"
    try:
        importlib.import_module("cuda.core")
        packages = ("cuda-core", "cuda-bindings")
        versions = [f"{package} {importlib.metadata.version(package)}" for package in packages]
        pathfinder = importlib.import_module("cuda.pathfinder")
    except importlib.metadata.PackageNotFoundError as error:
        return Check(name, "missing", f"{error.name} is not installed", INSTALL_CORE)
    except ModuleNotFoundError as error:
        return Check(name, "missing", f"no module {error.name}", INSTALL_CORE)
    except ImportError as error:
        return Check(name, "broken", f"cannot be imported: {str(error).splitlines()[0]}", REINSTALL_CORE)
    absent = [part for part in ("cudart", "cccl") if pathfinder.find_nvidia_header_directory(part) is None]
    if absent:
        return Check(name, "missing", f"headers of {' and '.join(absent)}", INSTALL_CORE)
    return Check(name, "ok", ", ".join(versions))


def telemetry() -> Check:
    """Check the Python package of NVML, NVIDIA's library that reports the state of GPUs. Returns the
    result."""
    name = "nvidia-ml-py"
    try:
        return Check(name, "ok", importlib.metadata.version(name), required=False)
    except importlib.metadata.PackageNotFoundError:
        detail = "not installed: rows will not record clocks and throttling"
        return Check(name, "missing", detail, toolchain.pip_install(name), required=False)
