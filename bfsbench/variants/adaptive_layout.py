"""The structs of the kernel of ``adaptive``, as cuda_src/adaptive has them."""

from __future__ import annotations

from ctypes import c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from functools import cache
from typing import ClassVar

from bfsbench.backends.base import Struct
from bfsbench.families.bfs.layouts import CountedBarrier


class NextFrontier(Struct):
    """What blocks add to while they find it."""

    _fields_: ClassVar = [
        ("barrier", CountedBarrier),
        ("unlisted", c_int),
        ("rests", c_uint),
        ("queued_units", c_uint),
    ]


class Thresholds(Struct):
    """When to do what."""

    _fields_: ClassVar = [
        ("small", c_uint),
        ("tiny", c_uint),
        ("listed", c_uint),
        ("pushed_edge", c_int),
        ("may_pull", c_int),
    ]


@cache
def adaptive_structs(wide: bool, tree: bool) -> dict[str, type[Struct]]:
    """The kernel's structs by name: offsets have 64 bits if ``wide``; it leaves parents if ``tree``."""
    offset = c_longlong if wide else c_int

    class Part(Struct):
        _fields_: ClassVar = [("begin", offset), ("length", c_int)]

    class Tally(Struct):
        _fields_: ClassVar = [("edges", c_ulonglong if wide else c_uint), ("vertices", c_uint)]

    class SearchState(Struct):
        _fields_: ClassVar = [
            ("frontiers", NextFrontier * 3),
            ("failed", c_int),
            ("first_step", c_int),
            ("unreached", Tally * 3),
        ]

    class SearchAnswer(Struct):
        _fields_: ClassVar = [
            *([("parents", c_void_p), ("edge_sources", c_void_p)] if tree else [("levels", c_void_p)])
        ]

    class Bfs(Struct):
        _fields_: ClassVar = [
            ("row_offsets", c_void_p),
            ("column_indices", c_void_p),
            ("column_offsets", c_void_p),
            ("row_indices", c_void_p),
            ("row_indices_end", offset),
            ("num_vertices", c_int),
            ("num_entered", c_int),
            ("num_edges", offset),
            ("answer", SearchAnswer),
            ("when", Thresholds),
            ("open", c_void_p),
            ("queues", c_void_p * 2),
            ("state", c_void_p),
            ("region_shift", c_int),
            ("first_record", offset),
        ]

    structs = (Part, Tally, NextFrontier, SearchState, SearchAnswer, Thresholds, Bfs)
    return {struct.c_name(): struct for struct in structs}
