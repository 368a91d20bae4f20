"""Locate the kernels and the catalogue that come with the package, and the user's cache."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def _shipped(name: str) -> Path:
    """Return a top-level file or folder of the source tree.

    An installed package has it inside the package's folder.
    """
    installed = PACKAGE / name
    return installed if installed.exists() else PACKAGE.parent / name


CUDA_SRC = _shipped("cuda_src")
KERNEL_HEADERS = (CUDA_SRC / "common", CUDA_SRC)
"""Folders that are searched for a kernel's headers, after the kernel's own folder."""
CATALOGUE = _shipped("datasets.toml")
H200_CEILINGS = _shipped("results/h200/ceilings.csv")
"""The ceilings of an H200, on which the project's rows were measured."""
BUNDLED = PACKAGE / "data"


def cache_dir() -> Path:
    """Return the folder for downloads, converted graphs and compiled code.

    It is ``BFSBENCH_CACHE``, or else the system's folder for caches.
    """
    override = os.environ.get("BFSBENCH_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("bfsbench"))
