"""Compiling ``.cu`` files with NVRTC, NVIDIA's compiler as a library, and caching the cubins.

It needs no CUDA toolkit and no C++ compiler: the libraries and NVIDIA's headers come from PyPI, or from a
toolkit where there is one. Importing this module needs cuda-core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from cuda.core import Linker, LinkerOptions, ObjectCode, Program, ProgramOptions
from cuda.pathfinder import (
    DynamicLibNotFoundError,
    StaticLibNotFoundError,
    find_nvidia_header_directory,
    find_static_lib,
    load_nvidia_dynamic_lib,
)

from bfsbench import storage
from bfsbench.backends.base import Define
from bfsbench.emulator import source_files
from bfsbench.errors import ToolchainError
from bfsbench.paths import KERNEL_HEADERS, cache_dir
from bfsbench.toolchain import NVRTC_OPTIONS, first_error, nvrtc_version, pip_install


def compile_source(
    source: Path, defines: Mapping[str, Define], appended: str, arch: str, *, child_kernels: bool
) -> bytes:
    """The cubin of a ``.cu`` file with some C++ behind it, for an architecture such as ``sm_90``.

    It is taken from the cache if the file and its headers, macros and the compiler are the same. Raises
    ToolchainError with the compiler's first error, or where a library or a header is missing.
    """
    files = [*source_files(source, KERNEL_HEADERS)]
    parts = (nvrtc_version(), repr(NVRTC_OPTIONS), arch, str(child_kernels), repr(sorted(defines.items())))
    digest = hashlib.sha256()
    for part in (*map(str.encode, (*parts, appended, str(source))), *(file.read_bytes() for file in files)):
        digest.update(hashlib.sha256(part).digest())
    cached = cache_dir() / "nvrtc" / f"{source.stem}-{digest.hexdigest()[:20]}.cubin"
    if cached.exists():
        return cached.read_bytes()
    cubin = _linked if child_kernels else _compiled
    made = cubin(source, defines, appended, arch)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        storage.write(cached, made)
    except OSError as error:
        where = f"cannot write {cached.parent}: {error.strerror or error}"
        raise ToolchainError(f"{where}; set BFSBENCH_CACHE to a folder that can be written") from error
    return made


def _compiled(source: Path, defines: Mapping[str, Define], appended: str, arch: str) -> bytes:
    return bytes(_program(source, defines, appended, arch, relocatable=False).code)


def _linked(source: Path, defines: Mapping[str, Define], appended: str, arch: str) -> bytes:
    """Kernels that launch kernels, linked with the part of CUDA's runtime that runs on the device."""
    try:
        load_nvidia_dynamic_lib("nvJitLink")
        runtime = find_static_lib("cudadevrt")
    except (DynamicLibNotFoundError, StaticLibNotFoundError) as error:
        fix = pip_install("nvidia-nvjitlink", "nvidia-cuda-runtime")
        raise ToolchainError(
            f"{source.name} launches kernels from kernels, which needs NVIDIA's linker and libcudadevrt.a: "
            f"run '{fix}'"
        ) from error
    program = _program(source, defines, appended, arch, relocatable=True)
    options = LinkerOptions(arch=arch, lineinfo=True)
    return bytes(Linker(program, ObjectCode.from_library(runtime), options=options).link("cubin").code)


def _program(
    source: Path, defines: Mapping[str, Define], appended: str, arch: str, *, relocatable: bool
) -> ObjectCode:
    options = ProgramOptions(
        name=str(source),  # in messages and line numbers
        arch=arch,
        define_macro=[(name, str(value)) for name, value in defines.items()] or None,
        include_path=[str(folder) for folder in (source.parent, *KERNEL_HEADERS, *_cuda_headers())],
        relocatable_device_code=relocatable,
        **NVRTC_OPTIONS,
    )
    try:
        return Program(f"{source.read_text()}\n{appended}", "c++", options).compile("cubin")
    except Exception as error:  # cuda-core has no public name for its own
        said, found, log = str(error).partition("compilation log:")
        if not found:
            raise
        raise ToolchainError(f"cannot compile {source.name}: {first_error(log) or said}") from error


def _cuda_headers() -> list[str]:
    """Folders of NVIDIA's headers: those of the runtime, and the C++ library that these include."""
    folders = [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    if None in folders:
        fix = pip_install("nvidia-cuda-runtime", "nvidia-cuda-cccl")
        raise ToolchainError(f"CUDA's headers are missing: run '{fix}'")
    return [str(folder) for folder in folders]
