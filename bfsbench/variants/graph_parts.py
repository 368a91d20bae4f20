"""Cuts a graph into parts for the search ``resident_parts``. A part is a set of vertices. The rows of these
vertices, and of the vertices around the part (ghosts), together fit into a block's shared memory.

The device grows the parts from seed vertices. This module also splits vertices of high degree into several
rows of bounded degree.
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
"""Places are the numbers of vertices in the order of the parts. The places of each part begin at a multiple
of this constant. Within a part, the ids of the ghosts also begin at a multiple of it."""
_VERTICES_A_THREAD = 8
"""Number of vertices of the graph per thread of the kernel that grows parts. It is more than one because the
frontiers of this growth are far smaller than the graph."""
_ROUNDS = 6
"""Number of rounds of growth. In each round, the device grows parts of the graph from seed vertices."""
_FILLED = 0.55
"""Expected mean size of the parts that grow from the first seed vertices, as a share of the maximum size of a
part."""
_SMALLEST_SHARE = 8
"""A part is dissolved if it has fewer vertices than the maximum size of a part divided by this number."""
_REST_SHARE = 4
"""Vertices that no seed reaches form separate parts. Their maximum size is the maximum size of other parts
divided by this number."""
_MAX_POLLS = 1 << 27


class Growth(Struct):
    """The struct ``growth`` of ``grow_parts.cu``: the state of the kernel that grows parts."""

    _fields_: ClassVar = [
        ("barrier", GridBarrier),
        ("failed", c_int),
        ("found", c_int * 3),
        ("number", c_int),
        ("unlabelled", c_int),
    ]


@dataclass(frozen=True)
class Cells:
    """The parts of a graph as sets of vertices, before their rows are packed for the search."""

    places: Buffer
    vertices: Buffer
    first_places: npt.NDArray[np.int32]
    """int32[N]: the place of the first vertex of each part. Places number the vertices in the order of the
    parts."""
    sizes: npt.NDArray[np.int32]
    """int32[N]: the number of vertices of each part."""
    num_places: int


class _Labelling:
    """The device arrays of the struct ``labelling`` of grow_parts.cu. The kernel that grows parts records the
    part of each vertex in these arrays."""

    def __init__(self, device: Device, num_vertices: int, most_labels: int) -> None:
        self.labels, self.ranks, self.queue = (device.empty(num_vertices, np.int32) for _ in range(3))
        self.last, self.sizes = (device.empty(most_labels, np.int32) for _ in range(2))

    def argument(self) -> tuple[Argument, ...]:
        return (self.labels, self.ranks, self.queue, self.last, self.sizes)


def rows_of(graph: DeviceGraph) -> tuple[Argument, ...]:
    """Returns the CSR and CSC arrays of a graph as one kernel argument, in the order of the members of the
    struct ``graph_rows`` of parts.cuh."""
    return (*graph.csr.values(), *graph.csc.values())


def module_of(graph: DeviceGraph, name: str, types: Mapping[str, CType], macros: Mapping[str, int]) -> Module:
    """Compile the file ``name``.cu of the folder resident_parts. Returns the compiled module. Its kernels
    prepare the parts of a graph."""
    offsets = graph.host_graph.row_offsets.dtype
    contract = Contract(Path(__file__).name, {"offset_t": offsets, **types}, {"PLACES": PLACES})
    source = CUDA_SRC / "resident_parts" / f"{name}.cu"
    return graph.device.module(
        source, {"WIDE_OFFSETS": int(offsets.itemsize == 8), **macros}, contract=contract
    )


class Growing:
    """Grows the parts of a graph from seed vertices on the device, in several rounds (``grow_parts.cu``)."""

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
        """Run one round of growth. First, grow ``number`` parts from the seed vertices until every reachable
        vertex has a part. Then grow inwards from the boundaries of the parts, which finds the centre of each
        part."""
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
        """Grow the parts of the graph. Returns the vertices of each part. Raises KernelError when a block
        waited too long for other blocks."""
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
        """Cut the grown parts to at most ``most`` vertices, and give each vertex a place, which is its number
        in the order of the parts. Returns the cut parts.

        ``sizes`` contains the number of vertices of each grown part. Its last element counts the vertices
        that no seed reaches. These vertices form smaller parts, at the end.
        """
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
    """CSR arrays of a graph whose long rows are split. Each vertex has one or more consecutive rows, each
    with at most ``degree`` arcs.

    ``row_offsets``, [R+1], has the dtype of the graph's offsets. ``column_indices``, int32[E], holds for each
    arc the first row of the arc's head. ``first_rows``, int32[V], holds the first row of each vertex.
    ``run_lengths``, int32[R], holds for each row the number of rows of its vertex.
    """

    row_offsets: Offsets
    column_indices: Ids
    first_rows: Ids
    run_lengths: Ids


def split_rows(graph: Graph, degree: int) -> SplitRows:
    """Split each vertex whose out-degree exceeds ``degree`` into several rows. Returns the split CSR arrays.

    Each vertex gets as few rows as possible. All rows of a vertex except the last are full. Raises UsageError
    if there would be more rows than a 32-bit id can number.
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
"""The largest allowed distance, in arcs, between a part and its ghosts. Ghosts are vertices around a part."""
READERS = 32
"""Length of the list of parts that read a part's vertices. The first entry is the part itself. If the list is
too short, its last entry stands for all parts."""
_BLOCK = 256
_BARRIER_COST = 50.0
"""Cost of a barrier and of the work around it. The unit is the extra time of a level if parts have as many
ghosts as own vertices."""
_FEW_PARTS = 8
"""Limit for the number of parts per multiprocessor. If a graph has more parts, the default number of levels
between barriers is chosen so that two of the largest parts fit a block, if possible."""


class Part(Struct):
    """The struct ``part`` in ``parts.cuh``, which describes one part of a graph to the block that loads the
    part."""

    _fields_: ClassVar = [
        ("first", c_longlong),
        ("first_place", c_int),
        ("own", c_int),
        ("ghosts", c_int),
        ("ids", c_int),
    ]


@dataclass(frozen=True)
class GraphParts:
    """The parts of a graph on the device. Each vertex has a number, which is called its place. The vertices
    of a part have consecutive places, and the next part begins at the next multiple of PLACES."""

    table: npt.NDArray[np.void]
    """An array on the host with one struct Part for each part of the graph."""
    quads: Buffer
    """uint64: one row of neighbours for each local id of all parts, as four local ids of 16 bits. A local id
    is the number of a vertex within a part."""
    words: Buffer
    """uint32: one word for each local id of all parts. A local id is the number of a vertex within a part.
    The word of a ghost is its place. The word of an own vertex has one bit for each entry of the part's list
    of readers. The bit is set if that reader has the vertex as own vertex or as a ghost. The first reader is
    the part itself, so the lowest bit is always set."""
    readers: Buffer
    """int32[N * READERS]: for each part, the numbers of the parts that read its vertices. -1 stands for no
    part, and -2 for all parts."""
    part_at: Buffer
    """int32: the number of the part to which each group of PLACES consecutive places belongs."""
    places: Buffer
    """int32[V]: the place of each vertex. Places number the vertices in the order of the parts."""
    vertices: Buffer
    """int32: the vertex at each place, or -1 at places that are only padding."""
    number: int
    hops: int
    """The distance in arcs between a part and its farthest ghosts. A block can run this number of levels
    before it must read the levels of its ghosts again."""
    most_ids: int
    """The number of local ids of the largest part, a multiple of PLACES. A local id is the number of a vertex
    within a part."""
    milliseconds: float
    """Time in ms to grow and pack the parts."""


@cache
def parts_of(most_vertices: int, hops: int) -> Callable[[DeviceGraph], GraphParts]:
    """Returns a function that makes the parts of a graph. Pass this function to ``DeviceGraph.once``.

    A part owns at most ``most_vertices`` vertices. Its ghosts are vertices of other parts that are up to
    ``hops`` arcs away. If ``hops`` is 0, the function chooses this distance. If the ghosts do not fit into a
    block's shared memory, the distance is reduced. The function raises LaunchError if not even the ghosts at
    distance 1 fit.
    """

    def graph_parts(graph: DeviceGraph) -> GraphParts:
        graph.csr, graph.csc  # noqa: B018  uploads the arrays before the clock starts
        graph.device.synchronize()
        started = time.perf_counter()
        cells = Growing(graph, most_vertices).cells()
        return _Packing(graph, cells).parts(hops, started)

    return graph_parts


class _Packing:
    """Finds the ghosts of all parts (the vertices around them) and packs the rows of the parts. Kernels of
    ``pack_parts.cu`` do this work on the device."""

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
        """Returns the binary logarithm of the number of entries of a hash table, which contains the ghosts of
        one part. The number of entries is the smallest power of two that is at least twice the graph's number
        of vertices. If so many entries do not fit into shared memory, it is the largest power of two that
        fits."""
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
        """Returns an array, int64[N, hops + 1]. Its element [p, d] is the number of vertices of other parts
        (ghosts) that are at most d arcs away from part p.

        ``long_quads``, int32[N], is an optional output. The row of a vertex is stored as groups (quads) of up
        to four neighbours. For each part, the function writes to ``long_quads`` how many further groups the
        rows with more than four neighbours need, in addition to one group per row.
        """
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
        """Pack all parts, each with its ghosts (the vertices around it). Returns the parts. Raises
        LaunchError if a part with its ghosts does not fit into shared memory.

        ``hops`` is the largest distance, in arcs, between a part and its ghosts. If it is 0, the function
        chooses the distance. ``started`` is the time at which the preparation began.
        """
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
        """Choose the largest distance, in arcs, between a part and its ghosts (vertices of other parts). The
        first choice is the distance that ``_best`` returns for ``hops``. If the parts with these ghosts do
        not fit into shared memory, smaller distances are tried.

        Returns the distance, the number of ghosts of each part, and the number of local ids of each part. A
        part has a local id for each of its own vertices and for each ghost. A row with more than four
        neighbours has further local ids: one for each group of up to four neighbours after the first group.
        Raises LaunchError if not even the distance 1 fits.
        """
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
        """Returns the largest distance, in arcs, between a part and its ghosts (vertices around the part). A
        part may have at most ``most`` vertices, ghosts included.

        If ``hops`` is not 0, the result is the largest distance up to ``hops`` that meets this limit. If
        ``hops`` is 0, the result is the distance with the lowest estimated cost. Returns 0 if not even the
        distance 1 meets the limit.
        """
        fit = ((self.own[:, None] + reach).max(axis=0) + PLACES <= most).nonzero()[0]
        fit = fit[(fit > 0) & (fit <= (hops or MOST_HOPS))]
        if hops or not len(fit):
            return int(fit.max(initial=0))
        # All levels between two barriers share the cost of one barrier. The work of a level grows with the
        # number of ghosts.
        share = reach.sum(axis=0)[fit] / self.cells.sizes.sum()
        return int(fit[np.argmin(_BARRIER_COST / fit + share)])


def table_on(device: Device, table: npt.NDArray[np.void]) -> Buffer:
    """Copy the table of the parts to the device. Returns the buffer that holds the copy."""
    buffer = device.empty(len(table), Part)
    buffer.upload(table)
    return buffer


_GROUP_BYTES = PLACES * 12 + 3 * 4 + 4
"""Bytes of shared memory for a group of PLACES local ids. A local id takes 12 bytes: 8 for its row, and 4 for
its place or its readers. The group also takes three words of vertex bits, and one word for its own place.
"""
_OTHER_BYTES = 6 << 10
"""Bytes of shared memory per block that the kernel declares statically or the system reserves."""


def bitmap_bytes(number: int) -> int:
    """Returns the bytes of shared memory that a block needs for its seven bitmaps. Each bitmap has one bit
    for each of the graph's ``number`` parts."""
    return 7 * 4 * -(-number // 32)


def most_groups(device: Device, number: int = 0) -> int:
    """Returns the largest number of groups, of PLACES local ids each, that fit into a block's shared memory
    together with the block's bitmaps for ``number`` parts.

    A local id is the number of a vertex within a part. The result is limited so that all groups together have
    fewer than 2^15 ids.
    """
    room = device.limits.shared_memory_per_block_optin - _OTHER_BYTES - bitmap_bytes(number)
    return max(0, min(room // _GROUP_BYTES, 2**15 // PLACES - 1))


def memory_of(groups: int, number: int) -> int:
    """Returns the bytes of shared memory that a block needs for ``groups`` groups of PLACES local ids and for
    the bitmaps of ``number`` parts. A local id is the number of a vertex within a part."""
    return groups * _GROUP_BYTES + bitmap_bytes(number)
