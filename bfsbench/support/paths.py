"""Paths: kernels and catalogue shipped with the package, and the user's cache."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def _shipped(name: str) -> Path:
    """A top-level file or folder of the source tree, which is inside the package when installed."""
    installed = PACKAGE / name
    return installed if installed.exists() else PACKAGE.parent / name


CUDA_SRC = _shipped("cuda_src")
KERNEL_HEADERS = (CUDA_SRC / "common", CUDA_SRC)
"""Folders searched for a kernel's headers after its own."""
CATALOGUE = _shipped("datasets.toml")
H200_CEILINGS = _shipped("results/h200/ceilings.csv")
"""What the GPU that the project's rows are of can do at most."""
BUNDLED = PACKAGE / "data"


def cache_dir() -> Path:
    """Folder for downloads, converted graphs and compiled code: ``BFSBENCH_CACHE`` or the system's cache."""
    override = os.environ.get("BFSBENCH_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("bfsbench"))
