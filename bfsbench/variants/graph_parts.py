"""A graph cut into parts that fit a block's shared memory, each with the vertices around it.

Parts are cells that the device grows from seeds. The module also splits vertices of high degree into rows of
bounded degree.
"""

import time
from collections.abc import Callable, Mapping
from ctypes import c_int, c_longlong
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Argument, Buffer, Contract, CType, Device, Kernel, Module, Struct
from bfsbench.graphs.graph import MAX_VERTICES, Graph, Ids, Offsets
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.support.errors import KernelError, LaunchError, UsageError
from bfsbench.support.paths import CUDA_SRC
from bfsbench.variants.base import DeviceGraph

PLACES = 32
"""Vertices of a part, of either kind, begin at a multiple of this many."""
_VERTICES_A_THREAD = 8
"""Of a growth, whose frontiers are far smaller than the graph."""
_ROUNDS = 6
"""Times that cells are grown."""
_FILLED = 0.55
"""Share of the most vertices of a cell that the first seeds are to get on average."""
_SMALLEST_SHARE = 8
"""A cell of fewer than its most vertices divided by this is given up."""
_REST_SHARE = 4
"""Likewise, cells of vertices that no seed reaches are smaller."""
_MAX_POLLS = 1 << 27


class Growth(Struct):
    """State of a growth (``grow_parts.cu``)."""

    _fields_: ClassVar = [
        ("barrier", GridBarrier),
        ("failed", c_int),
        ("found", c_int * 3),
        ("number", c_int),
        ("unlabelled", c_int),
    ]


@dataclass(frozen=True)
class Cells:
    """Parts without their rows."""

    places: Buffer
    vertices: Buffer
    first_places: npt.NDArray[np.int32]
    """int32[N]: each part's."""
    sizes: npt.NDArray[np.int32]
    """int32[N]: vertices of each part."""
    num_places: int


class _Labelling:
    """Arrays of a growth: ``labelling`` of grow_parts.cu."""

    def __init__(self, device: Device, num_vertices: int, most_labels: int) -> None:
        self.labels, self.ranks, self.queue = (device.empty(num_vertices, np.int32) for _ in range(3))
        self.last, self.sizes = (device.empty(most_labels, np.int32) for _ in range(2))

    def argument(self) -> tuple[Argument, ...]:
        return (self.labels, self.ranks, self.queue, self.last, self.sizes)


def rows_of(graph: DeviceGraph) -> tuple[Argument, ...]:
    """The kernels' ``graph_rows``."""
    return (*graph.csr.values(), *graph.csc.values())


def module_of(graph: DeviceGraph, name: str, types: Mapping[str, CType], macros: Mapping[str, int]) -> Module:
    """A file of kernels that prepare parts."""
    offsets = graph.host_graph.row_offsets.dtype
    contract = Contract(Path(__file__).name, {"offset_t": offsets, **types}, {"PLACES": PLACES})
    source = CUDA_SRC / "resident_parts" / f"{name}.cu"
    return graph.device.module(
        source, {"WIDE_OFFSETS": int(offsets.itemsize == 8), **macros}, contract=contract
    )


class Growing:
    """Cells grown from seeds in several rounds (``grow_parts.cu``)."""

    def __init__(self, graph: DeviceGraph, most_vertices: int) -> None:
        self.device, self.num_vertices = graph.device, graph.host_graph.num_vertices
        self.most = -(-most_vertices // PLACES) * PLACES
        self.rest = max(PLACES, self.most // _REST_SHARE // PLACES * PLACES)
        self.first_seeds = max(1, round(self.num_vertices / (_FILLED * self.most)))
        most_labels = self.first_seeds + (_SMALLEST_SHARE + 2) * (self.num_vertices // self.most + 1)
        self.seeds = self.device.empty(most_labels, np.int32)
        self.outwards = _Labelling(self.device, self.num_vertices, most_labels)
        self.inwards = _Labelling(self.device, self.num_vertices, most_labels)
        self.state = self.device.signal(Growth)
        self.module = module_of(graph, "grow_parts", {"growth": Growth, "grid_barrier": GridBarrier}, {})
        self.rows = rows_of(graph)

    def _launch(self, name: str, work: int, **arguments: Argument) -> None:
        blocks = max(1, min(-(-work // _BLOCK), self.device.limits.max_grid))
        self._kernel(name).bind(**arguments, block=_BLOCK)(blocks)

    def _kernel(self, name: str) -> Kernel:
        return self.module.kernel(name)

    def _grow(self, to: _Labelling) -> None:
        kernel = self._kernel("grow")
        launch = kernel.bind(
            graph=self.rows, to=to.argument(), state=self.state, max_polls=_MAX_POLLS, block=_BLOCK
        )
        launch(min(kernel.resident_blocks(_BLOCK), -(-self.num_vertices // (_VERTICES_A_THREAD * _BLOCK))))

    def _grow_both_ways(self, number: int) -> None:
        """From seeds until all is reached, and from the boundaries inwards."""
        arguments: dict[str, Argument] = {"state": self.state}
        self.outwards.labels.fill(-1)
        self._launch(
            "plant", number, to=self.outwards.argument(), seeds=self.seeds, number=number, **arguments
        )
        self._grow(self.outwards)
        self.inwards.sizes.fill(0)
        for level in range(3):
            self.state.fill_member(0, "found", level)
        self._launch(
            "find_boundary",
            self.num_vertices,
            graph=self.rows,
            labels=self.outwards.labels,
            to=self.inwards.argument(),
            num_vertices=self.num_vertices,
            **arguments,
        )
        self._grow(self.inwards)

    def cells(self) -> Cells:
        """Raises KernelError when blocks gave up waiting for each other."""
        self.state.fill(0)
        number = self.first_seeds
        self._launch("draw_seeds", number, seeds=self.seeds, number=number, num_vertices=self.num_vertices)
        for rest in reversed(range(_ROUNDS)):
            self._grow_both_ways(number)
            if rest:
                number = self._choose_seeds(number)
        self._launch(
            "rank_rest",
            self.num_vertices,
            outwards=self.outwards.argument(),
            inwards=self.inwards.argument(),
            state=self.state,
            num_vertices=self.num_vertices,
            number=number,
        )
        state = self.state.read_struct()
        if state.failed:
            raise KernelError("grow_parts: blocks did not all meet")
        return self._places(np.append(self.inwards.sizes.download()[:number], state.unlabelled))

    def _choose_seeds(self, number: int) -> int:
        self.state.fill_member(0, "number")
        self._launch(
            "choose_seeds",
            number,
            outwards=self.outwards.argument(),
            inwards=self.inwards.argument(),
            seeds=self.seeds,
            state=self.state,
            least=-(-self.most // _SMALLEST_SHARE),
            most=self.most,
            number=number,
        )
        return int(self.state.read_struct().number)

    def _places(self, sizes: npt.NDArray[np.int32]) -> Cells:
        """Cells of at most ``most`` vertices, at their places; the last ones, of the rest, are smaller."""
        most = np.full(len(sizes), self.most)
        most[-1] = self.rest
        cells = -(-sizes // most)
        labels = np.repeat(np.arange(len(sizes)), cells)
        nth = np.arange(len(labels)) - np.repeat(np.cumsum(cells) - cells, cells)
        own = np.minimum(most[labels], sizes[labels] - nth * most[labels])
        padded = -(-own // PLACES) * PLACES
        first = np.cumsum(padded) - padded
        num_places = int(padded.sum())
        first_of_label = np.zeros(len(sizes), np.int32)
        first_of_label[labels[nth == 0]] = first[nth == 0]
        places = self.device.empty(self.num_vertices, np.int32)
        vertices = self.device.empty(num_places, np.int32)
        vertices.fill(-1)
        self._launch(
            "give_places",
            self.num_vertices,
            labels=self.inwards.argument(),
            first_places=self.device.upload(first_of_label),
            places=places,
            vertices=vertices,
            num_vertices=self.num_vertices,
            state=self.state,
            most=self.most,
            few=self.rest,
            number=len(sizes) - 1,
        )
        self.device.synchronize()
        return Cells(places, vertices, first.astype(np.int32), own.astype(np.int32), num_places)


@dataclass(frozen=True)
class SplitRows:
    """CSR in which a vertex is a run of consecutive rows, each with at most ``degree`` of its arcs.

    row_offsets: [R+1], of the graph's dtype; column_indices: int32[E], the first row of each arc's head.
    first_rows: int32[V], where each vertex's run begins; run_lengths: int32[R], rows of the run a row is in.
    """

    row_offsets: Offsets
    column_indices: Ids
    first_rows: Ids
    run_lengths: Ids


def split_rows(graph: Graph, degree: int) -> SplitRows:
    """Split vertices of out-degree above ``degree`` into as few rows as possible, each but the last full.

    Raises UsageError when there would be more rows than ids.
    """
    degrees = np.diff(graph.row_offsets)
    runs = np.maximum(1, -(-degrees // degree))
    ends = np.cumsum(runs, dtype=np.int64)
    num_rows = int(ends[-1])
    if num_rows > MAX_VERTICES:
        raise UsageError(
            f"{graph.name}: {num_rows} rows of degree {degree} are too many; split at a higher degree"
        )
    first_rows = ends - runs
    place_in_run = np.arange(num_rows) - first_rows.repeat(runs)
    starts = graph.row_offsets[:-1].repeat(runs) + place_in_run * degree
    first_rows = first_rows.astype(np.int32)
    row_offsets = np.empty(num_rows + 1, graph.row_offsets.dtype)
    row_offsets[:-1] = starts
    row_offsets[-1] = graph.num_edges
    return SplitRows(
        row_offsets, first_rows[graph.column_indices], first_rows, runs.repeat(runs).astype(np.int32)
    )


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
