"""bfsbench re-implements published CUDA breadth-first searches, verifies them, and times them over ranges of
their parameters.

Most commands are also Python functions::

    import bfsbench

    graph = bfsbench.load("soc-Epinions1:symmetrised")
    graph = bfsbench.generate("kronecker", scale=12, seed=1)
    list(bfsbench.list_variants())
    result = bfsbench.search(graph, "frontier_queue", source=0, block=128, parents=True)
    bfsbench.path(result.parents, target=7)
    pairs = bfsbench.all_pairs(bfsbench.generate("weighted_random", n=500), next_hops=True)
    bfsbench.path_between(pairs.next_hops, source=3, target=7)
    rows = bfsbench.sweep(graph, ["push", "pull"], block=[64, 256], backend="cpu")
    bfsbench.write_results(rows, "results/run.csv")
    rows = bfsbench.read_results("results/run.csv")
    bfsbench.report(rows, tables="ranking", out="ranking.tex")["ranking"]
    bfsbench.compare("results/old.csv", rows).frame()
    bfsbench.check("push", seeds=2)
    bfsbench.tune_search(graph, "virtual_warp", method="axes", minutes=5)
    bfsbench.tune("saxpy.cu", {"n": n, "x": x, "y": y}, reference, work=n, block=[128, 256])
"""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bfsbench.api import *

__version__ = "0.2.0"

if sys.platform != "linux":
    _REFUSAL = f"bfsbench needs Linux, this is {sys.platform}: use a Linux container or virtual machine"
    if PurePath(sys.argv[0]).stem in ("bfsbench", "-m"):  # the command prints one line, not a traceback
        raise SystemExit(_REFUSAL)
    raise ImportError(_REFUSAL)

__all__ = [
    "AllPairsResult",
    "BfsbenchError",
    "DeviceError",
    "DeviceOutOfMemoryError",
    "Graph",
    "InputError",
    "KernelError",
    "LaunchError",
    "NoPathError",
    "NotEnoughMemoryError",
    "NothingToDrawError",
    "SearchResult",
    "Solution",
    "SweepProgress",
    "ToolchainError",
    "UnsupportedDeviceError",
    "UsageError",
    "WrongDistancesError",
    "WrongLevelsError",
    "WrongMeasuresError",
    "WrongParentsError",
    "WrongResultError",
    "all_pairs",
    "check",
    "compare",
    "generate",
    "list_variants",
    "load",
    "path",
    "path_between",
    "read_results",
    "report",
    "search",
    "solve",
    "sweep",
    "tune",
    "tune_search",
    "write_results",
]


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> object:
    """Import the public functions when one of them is first used, so that the command line starts quickly."""
    if name in __all__:
        from bfsbench import api

        return getattr(api, name)
    raise AttributeError(f"module 'bfsbench' has no attribute '{name}'")
