"""A graph cut into parts that fit a block's shared memory, each with the vertices around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from ctypes import c_int, c_longlong
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Buffer, Device, Struct
from bfsbench.errors import LaunchError
from bfsbench.variants.base import DeviceGraph
from bfsbench.variants.part_growing import PLACES, Cells, Growing, module_of, rows_of

MOST_HOPS = 32
"""Arcs to the farthest vertices that are looked for around a part."""
READERS = 32
"""Of a part: itself, the others, and the last one for all parts."""
_BLOCK = 256
_BARRIER_COST = 50.0
"""Of a barrier and what belongs to it, as an addition to the ghosts that each own vertex has."""
_FEW_PARTS = 8
"""A multiprocessor: where there are more, K is such that a block has room for two of the largest."""


class Part(Struct):
    """A part as a block loads it (``parts.cuh``)."""

    _fields_: ClassVar = [
        ("first", c_longlong),
        ("first_place", c_int),
        ("own", c_int),
        ("ghosts", c_int),
        ("ids", c_int),
    ]


@dataclass(frozen=True)
class GraphParts:
    """Parts on the device. Vertices have places there, parts one after the other."""

    table: npt.NDArray[np.void]
    """Part[N], on the host."""
    quads: Buffer
    """uint64: the row of each local id of all parts, four local ids of 16 bits."""
    words: Buffer
    """uint32 of each local id of all parts: for an own vertex a bit for each of the part's readers that has
    it as a ghost, for a ghost its place."""
    readers: Buffer
    """int32[N * READERS]: parts; -1 where there is none, -2 for all."""
    part_at: Buffer
    """int32: the part that PLACES places belong to."""
    places: Buffer
    """int32[V]: of vertices."""
    vertices: Buffer
    """int32: at places; -1 where there is none."""
    number: int
    hops: int
    """Arcs to the farthest ghosts: the levels that can be run without them being read again."""
    most_ids: int
    """Local ids of the largest part, a multiple of PLACES."""
    milliseconds: float
    """Time of growing and packing, in ms."""


@cache
def parts_of(most_vertices: int, hops: int) -> Callable[[DeviceGraph], GraphParts]:
    """What makes the parts of a graph, of at most so many vertices, with ghosts up to so many hops away
    or, if 0, as suits: for ``DeviceGraph.once``.

    It raises LaunchError where a part with its ghosts does not fit a block's shared memory.
    """

    def graph_parts(graph: DeviceGraph) -> GraphParts:
        graph.csr, graph.csc  # noqa: B018  uploaded before the clock starts
        graph.device.synchronize()
        started = time.perf_counter()
        cells = Growing(graph, most_vertices).cells()
        return _Packing(graph, cells).parts(hops, started)

    return graph_parts


class _Packing:
    """Rows and ghosts of parts."""

    def __init__(self, graph: DeviceGraph, cells: Cells) -> None:
        self.graph, self.device, self.cells = graph, graph.device, cells
        self.number = len(cells.sizes)
        self.room = most_groups(self.device, self.number)
        bits = self._table_bits()
        table = 1 << bits
        macros = {"TABLE_BITS": bits, "TABLE": table, "MAX_GHOSTS": table // 4 * 3}
        self.shared = table * 10 + 8
        self.module = module_of(graph, "pack_parts", {"part": Part}, macros)
        self.own = -(-cells.sizes.astype(np.int64) // PLACES) * PLACES
        self.arguments: dict[str, Argument] = {
            "graph": rows_of(graph),
            "at": (cells.places, cells.vertices),
            "num_parts": self.number,
        }

    def _table_bits(self) -> int:
        """Of the hash table's size: twice as many as there are vertices, or as many as there is room for."""
        bits = 4
        while 2 ** (bits + 1) * 10 + 8 <= self.device.limits.shared_memory_per_block_optin and (
            2**bits < 2 * self.graph.host_graph.num_vertices
        ):
            bits += 1
        return bits

    def _launch(self, name: str, **arguments: Argument) -> None:
        kernel = self.module.kernel(name)
        block = min(1024, max(64, int(self.own.max())))
        launch = kernel.bind(**self.arguments, **arguments, block=block, shared=self.shared)
        launch(min(self.number, kernel.resident_blocks(block, self.shared)))

    def _ghosts(self, hops: int, long_quads: Buffer | None = None) -> npt.NDArray[np.int64]:
        """int64[N, hops + 1]: ghosts up to each number of hops. ``long_quads``, int32[N], gets the quads of
        long rows where all of them fit."""
        ghosts = self.device.empty(self.number * (hops + 1), np.int32)
        parts = table_on(self.device, self._parts())
        self._launch("measure", parts=parts, ghosts=ghosts, long_quads=long_quads, hops=hops)
        return ghosts.download().reshape(self.number, hops + 1).astype(np.int64)

    def _parts(
        self, ghosts: npt.NDArray[np.int64] | None = None, ids: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.void]:
        table = np.zeros(self.number, Part)
        table["first_place"], table["own"] = self.cells.first_places, self.cells.sizes
        if ghosts is not None and ids is not None:
            table["ghosts"], table["ids"], table["first"] = ghosts, ids, np.cumsum(ids) - ids
        return table

    def parts(self, hops: int, started: float) -> GraphParts:
        """Raises LaunchError if a part and its ghosts do not fit."""
        reach = self._ghosts(MOST_HOPS)
        hops, ghosts, ids = self._chosen(hops, reach)
        empty, cells = self.device.empty, self.cells
        parts = GraphParts(
            table=self._parts(ghosts, ids),
            quads=empty(int(ids.sum()), np.uint64),
            words=empty(int(ids.sum()), np.uint32),
            readers=empty(self.number * READERS, np.int32),
            part_at=self.device.upload(np.repeat(np.arange(self.number, dtype=np.int32), self.own // PLACES)),
            places=cells.places,
            vertices=cells.vertices,
            number=self.number,
            hops=hops,
            most_ids=int(ids.max()),
            milliseconds=0,
        )
        parts.readers.fill(-1)
        parts.quads.fill(0)
        parts.words.fill(0)
        read_by = empty(cells.num_places, np.uint32)
        read_by.fill(0)
        table = table_on(self.device, parts.table)
        self._launch(
            "pack",
            parts=table,
            part_at=parts.part_at,
            quads=parts.quads,
            words=parts.words,
            read_by=read_by,
            readers=parts.readers,
            hops=hops,
        )
        copying = self.module.kernel("copy_readers").bind(
            parts=table, num_parts=self.number, read_by=read_by, words=parts.words, block=_BLOCK
        )
        copying(min(self.number, self.device.limits.max_grid))
        self.device.synchronize()
        return replace(parts, milliseconds=(time.perf_counter() - started) * 1e3)

    def _chosen(
        self, hops: int, reach: npt.NDArray[np.int64]
    ) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The number of hops, at most ``hops`` if given, ghosts of each part, and its local ids."""
        many = self.number > _FEW_PARTS * self.device.limits.num_multiprocessors
        for groups in (self.room // 2, self.room) if many and not hops else (self.room,):
            most = groups * PLACES
            for k in range(self._best(hops, reach, most), 0, -1):
                long_quads = self.device.empty(self.number, np.int32)
                reached = self._ghosts(k, long_quads)[:, k]
                ids = self.own + reached + long_quads.download() + 2 * PLACES
                ids = ids // PLACES * PLACES
                if ids.max() <= most:
                    return k, reached, ids
        raise LaunchError(
            f"resident_parts: a part and the vertices with arcs to it are more than the {self.room * PLACES} "
            "that fit shared memory (PART_VERTICES): the graph has too many arcs between parts"
        )

    def _best(self, hops: int, reach: npt.NDArray[np.int64], most: int) -> int:
        """The hops that suit, or as many as are wanted, if parts have at most so many ids; 0 if none fit."""
        fit = ((self.own[:, None] + reach).max(axis=0) + PLACES <= most).nonzero()[0]
        fit = fit[(fit > 0) & (fit <= (hops or MOST_HOPS))]
        if hops or not len(fit):
            return int(fit.max(initial=0))
        # A barrier is shared by the levels of a step, and the work of a level grows with the ghosts.
        share = reach.sum(axis=0)[fit] / self.cells.sizes.sum()
        return int(fit[np.argmin(_BARRIER_COST / fit + share)])


def table_on(device: Device, table: npt.NDArray[np.void]) -> Buffer:
    """A table of parts on the device."""
    buffer = device.empty(len(table), Part)
    buffer.upload(table)
    return buffer


_GROUP_BYTES = PLACES * 12 + 3 * 4 + 4
"""Shared memory of PLACES local ids: rows, places or readers; bits of vertices; the group's place."""
_OTHER_BYTES = 6 << 10
"""Of shared memory that the kernel declares, and what the system reserves."""


def bitmap_bytes(number: int) -> int:
    """Shared memory of the bitmaps of so many parts."""
    return 7 * 4 * -(-number // 32)


def most_groups(device: Device, number: int = 0) -> int:
    """Groups of PLACES local ids, of fewer than 2^15 in all, that fit the shared memory of a block beside
    what it knows of so many parts."""
    room = device.limits.shared_memory_per_block_optin - _OTHER_BYTES - bitmap_bytes(number)
    return max(0, min(room // _GROUP_BYTES, 2**15 // PLACES - 1))


def memory_of(groups: int, number: int) -> int:
    """Bytes of shared memory for so many groups of local ids, and what a block knows of so many parts."""
    return groups * _GROUP_BYTES + bitmap_bytes(number)
