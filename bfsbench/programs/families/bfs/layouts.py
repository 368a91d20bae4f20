"""Declares structs that kernels of several searches share with their hosts."""

from ctypes import c_int, c_uint, c_ulonglong
from typing import ClassVar

from bfsbench.backends.base import Struct


class LevelRecord(Struct):
    """The record that a kernel writes at the beginning of each level, if it runs several levels
    (``common/profile.cuh``)."""

    _fields_: ClassVar = [("nanoseconds", c_ulonglong), ("frontier_size", c_int), ("layer", c_int)]


class SearchCounts(Struct):
    """The numbers of vertices and edges that a search has reached (``common/counts.cuh``)."""

    _fields_: ClassVar = [("edges", c_ulonglong), ("vertices", c_uint)]


class GridBarrier(Struct):
    """The state of a barrier between the blocks of a grid (``common/barrier.cuh``)."""

    _fields_: ClassVar = [("arrived", c_uint)]


class CountedBarrier(Struct):
    """The state of a barrier that also sums counts over all blocks (``adaptive/counted_barrier.cuh``)."""

    _fields_: ClassVar = [(word, c_ulonglong) for word in ("edges_word", "vertices_word", "parts_word")]
