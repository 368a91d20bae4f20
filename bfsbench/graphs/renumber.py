"""Compact ids: sparse ids become 0, 1, ... in ascending order."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import numpy.typing as npt

from bfsbench.graphs.graph import Ids
from bfsbench.native import library

OriginalIds = npt.NDArray[np.int64]
IdArray = npt.NDArray[np.int32 | np.int64]


@cache
def _native() -> ctypes.CDLL:
    native = library("renumber")
    ids = np.ctypeslib.ndpointer(np.int32, ndim=1, flags="C")
    words = np.ctypeslib.ndpointer(np.uint64, ndim=1, flags="C")
    native.mark_ids.argtypes = [ctypes.c_int64, ids, words]
    native.rank_words.argtypes = [ctypes.c_int64, words]
    native.rank_words.restype = ctypes.c_int64
    native.list_ids.argtypes = [ctypes.c_int64, words, np.ctypeslib.ndpointer(np.int64, ndim=1, flags="C")]
    native.renumber_ids.argtypes = [ctypes.c_int64, ids, words]
    return native


def compact(sources: IdArray, targets: IdArray) -> tuple[Ids, Ids, OriginalIds]:
    """Renumber the endpoints of edges.

    sources, targets: non-negative ids, both int32 (renumbered in place) or both int64 (any size; copied).
    Returns the renumbered ids, int32, and the original id of every vertex, int64[V] ascending.
    """
    if sources.dtype == np.int32:
        return _compact_narrow(sources.astype(np.int32, copy=False), targets.astype(np.int32, copy=False))
    original = np.union1d(np.unique(sources), np.unique(targets)).astype(np.int64, copy=False)
    narrow = [np.searchsorted(original, ids).astype(np.int32) for ids in (sources, targets)]
    return narrow[0], narrow[1], original


def _compact_narrow(sources: Ids, targets: Ids) -> tuple[Ids, Ids, OriginalIds]:
    native = _native()
    largest = max(int(ids.max(initial=-1)) for ids in (sources, targets))
    words = np.zeros(largest // 32 + 1, np.uint64)  # of the native struct Word
    for ids in (sources, targets):
        native.mark_ids(len(ids), ids, words)
    original = np.empty(native.rank_words(len(words), words), np.int64)
    native.list_ids(len(words), words, original)
    if len(original) and original[-1] != len(original) - 1:
        for ids in (sources, targets):
            native.renumber_ids(len(ids), ids, words)
    return sources, targets, original
