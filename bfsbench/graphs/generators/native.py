"""Calls the native libraries of ``generate.cpp`` and ``generate_places.cpp`` through ctypes."""

import ctypes
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Ids, require_bytes
from bfsbench.support.errors import NotEnoughMemoryError
from bfsbench.support.toolchain import library

OUT_OF_MEMORY = 1


class _Edges(ctypes.Structure):
    _fields_ = (("sources", ctypes.c_void_p), ("targets", ctypes.c_void_p))


_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.POINTER(_Edges))


def threads() -> int:
    """Returns the number of threads that draw edges. The result does not depend on it."""
    return os.cpu_count() or 1


def chance(probability: float) -> ctypes.c_uint64:
    """Returns a probability in units of 2**-63, as the integer that the native code compares with random
    draws."""
    return ctypes.c_uint64(int(probability * 2**63))


def _call(function: str, *arguments: Any, native: str = "generate") -> int:
    """Call ``generate_<function>`` of a native library. Python integers are passed as int64. Returns the
    function's status, if it has one."""
    converted = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
    return int(getattr(library(native), f"generate_{function}")(*converted))


def draw_edges(function: str, *arguments: Any, seed: int, native: str = "generate") -> tuple[Ids, Ids]:
    """Draw edges by ``generate_<function>(*arguments, seed, ...)`` of a native library. Returns sources and
    targets, int32[E]. Raises NotEnoughMemoryError."""
    arrays: list[Ids] = []
    wanted = 0

    def allocate(count: int, edges: Any) -> int:
        nonlocal wanted
        wanted = count
        try:
            require_bytes(8 * count, "")
            arrays.extend(np.empty(count, dtype=np.int32) for _ in range(2))
        except (MemoryError, NotEnoughMemoryError):
            return OUT_OF_MEMORY
        edges.contents.sources, edges.contents.targets = (array.ctypes.data for array in arrays)
        return 0

    stream = (ctypes.c_uint64(seed), ctypes.c_int(threads()))
    if _call(function, *arguments, *stream, _ALLOCATE(allocate), native=native) == OUT_OF_MEMORY:
        size = f" for {wanted:,} edges" if wanted else ""
        raise NotEnoughMemoryError(f"not enough memory{size}: ask for a smaller graph")
    return arrays[0], arrays[1]


def draw_weights(edges: int, largest: int, *, seed: int) -> npt.NDArray[np.int32]:
    """Returns random weights, int32[edges], drawn uniformly from 1 .. ``largest``."""
    weights = np.empty(edges, dtype=np.int32)
    pointer = ctypes.c_void_p(weights.ctypes.data)
    _call("weights", edges, largest, ctypes.c_uint64(seed), ctypes.c_int(threads()), pointer)
    return weights


def draw_cells(cells: int, blocked: float, *, seed: int) -> npt.NDArray[np.bool_]:
    """Returns bool[cells], True where a cell is open. Each cell is blocked with probability ``blocked``."""
    mask = np.empty(cells, dtype=np.uint8)
    _call("cells", cells, chance(blocked), ctypes.c_uint64(seed), ctypes.c_void_p(mask.ctypes.data))
    return mask.view(np.bool_)
