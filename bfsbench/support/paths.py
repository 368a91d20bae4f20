"""Defines the paths of files that come with the package, and of the user's cache."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def _shipped(name: str) -> Path:
    """Returns the path of a file or folder that comes with the package. In a source tree, it is in the top
    folder. In an installed package, it is in the package's folder."""
    installed = PACKAGE / name
    return installed if installed.exists() else PACKAGE.parent / name


CUDA_SRC = _shipped("cuda_src")
KERNEL_HEADERS = (CUDA_SRC / "common", CUDA_SRC)
"""Folders that compilers search for a kernel's headers, after the folder of the kernel."""
CATALOGUE = _shipped("datasets.toml")
H200_CEILINGS = _shipped("results/h200/ceilings.csv")
"""A file with the highest rates of an H200, as ``bfsbench probe`` measured them for the project's results."""
BUNDLED = PACKAGE / "data"
CACHE_PARTS = {
    "downloads": "downloaded files of graphs",
    "checksums": "checksums of the user's own files",
    "graphs": "converted and generated graphs",
    "given": "graphs that Python programs passed as arrays",
    "native": "compiled CPU programs, and compiled kernels of the emulator",
    "nvrtc": "kernels that NVRTC compiled",
    "pycuda": "kernels that PyCUDA compiled",
    "zig": "what the compiler Zig keeps",
    "entries": "built programs of other authors, and their records",
}
"""Maps the name of each folder in the cache to its content."""


def cache_dir() -> Path:
    """Returns the folder for downloads, converted graphs and compiled code. The environment variable
    ``BFSBENCH_CACHE`` names it. By default, it is a folder where the operating system keeps caches."""
    if override := os.environ.get("BFSBENCH_CACHE"):
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("bfsbench"))
