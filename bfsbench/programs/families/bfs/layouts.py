"""Declares the structs that kernels of several searches share with the host."""

from ctypes import c_int, c_uint, c_ulonglong
from typing import ClassVar

from bfsbench.backends.base import Struct


class LevelRecord(Struct):
    """The struct of ``common/profile.cuh`` that a kernel writes at the beginning of each level, if one launch
    runs several levels."""

    _fields_: ClassVar = [("nanoseconds", c_ulonglong), ("frontier_size", c_int), ("layer", c_int)]


class SearchCounts(Struct):
    """The struct of ``common/counts.cuh`` that counts the vertices and edges that a search has reached."""

    _fields_: ClassVar = [("edges", c_ulonglong), ("vertices", c_uint)]


class GridBarrier(Struct):
    """The struct of ``common/barrier.cuh`` that holds the state of a barrier between all blocks of a grid."""

    _fields_: ClassVar = [("arrived", c_uint)]


class CountedBarrier(Struct):
    """The struct of ``adaptive/counted_barrier.cuh`` that holds the state of a barrier. This barrier also
    sums counts over all blocks."""

    _fields_: ClassVar = [(word, c_ulonglong) for word in ("edges_word", "vertices_word", "parts_word")]
