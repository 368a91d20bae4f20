"""Declares breadth-first searches from many sources on a GPU. One launch searches from up to 1,024 sources at
once."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_double, c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Buffer, Struct
from bfsbench.graphs.ball import neighbours
from bfsbench.graphs.graph import Graph, Ids, Offsets
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.programs.families.closeness.variants import ClosenessVariant, bits_for
from bfsbench.support.errors import KernelError, size_text
from bfsbench.support.toolchain import library
from bfsbench.variants.base import KernelProgram, KernelSetup, Knob, KnobValue
from bfsbench.variants.prepared_rows import likely_parents_first

if TYPE_CHECKING:
    from bfsbench.programs.families.closeness.variants import Measures as Answer

WIDTHS = (64, 128, 256, 512, 1024)
SHORT, PIECE = 8, 1024
"""A row of more than ``SHORT`` arcs is cut into pieces of at most ``PIECE`` arcs (see many.cu). Both are
defaults of knobs."""
_MAX_POLLS = 1 << 27
"""How often a block polls the barrier before it gives up. The limit is reached after a minute or more."""


class Measures(Struct):
    """The struct ``measures`` of many.cu: the results of the search from one source."""

    _fields_: ClassVar = [
        ("reached", c_longlong),
        ("distance_sum", c_longlong),
        ("harmonic", c_double),
        ("eccentricity", c_longlong),
    ]


class ManyState(Struct):
    """The state of one launch on the device: the sizes of levels, and the barrier of all blocks."""

    _fields_: ClassVar = [
        ("leaving", c_ulonglong * 3),
        ("sizes", c_uint * 3),
        ("failed", c_int),
        ("barrier", c_uint),
    ]


class ManyGraph(Struct):
    """The graph as an argument of the kernel: CSR, CSC, and the pieces into which long rows are cut."""

    _fields_: ClassVar = [
        ("row_offsets", c_void_p),
        ("column_indices", c_void_p),
        ("column_offsets", c_void_p),
        ("row_indices", c_void_p),
        ("out_pieces", c_void_p),
        ("in_pieces", c_void_p),
        ("num_edges", c_longlong),
        *((name, c_int) for name in ("num_vertices", "num_out_pieces", "num_in_pieces")),
    ]


class ManyRows(Struct):
    """The device arrays of one launch: rows of bits, marks of changed rows, and counts."""

    _fields_: ClassVar = [
        (name, c_void_p) for name in ("even", "odd", "even_marks", "odd_marks", "level_counts")
    ]


STRUCTS = (GridBarrier, Measures, ManyState, ManyGraph, ManyRows)


def memory_of(num_vertices: int, bits: int) -> int:
    """Returns the memory in bytes that a launch with ``bits`` sources takes, besides the graph and the pieces
    of long rows. Each vertex has two bit sets with one bit per source, and two bytes of marks."""
    return num_vertices * (bits // 4 + 2)


def pieces_of(offsets: Offsets, short: int, most: int) -> Offsets:
    """Cut the rows that have more than ``short`` arcs into pieces of at most ``most`` arcs. Returns the
    pieces, an array of shape [P, 3] with the type of ``offsets``. A piece is described by its first arc, the
    arc after its last, and its vertex."""
    lengths = np.diff(offsets)
    (long,) = np.nonzero(lengths > short)
    counts = -(-lengths[long] // most)
    vertices = np.repeat(long, counts)
    numbers = np.arange(len(vertices)) - np.repeat(np.cumsum(counts) - counts, counts)
    pieces = np.empty_like(offsets, shape=(len(vertices), 3))
    pieces[:, 0] = offsets[vertices] + most * numbers
    pieces[:, 1] = np.minimum(pieces[:, 0].astype(np.int64) + most, offsets[vertices + 1])
    pieces[:, 2] = vertices
    return pieces


def long_rows(program: KernelProgram, short: int = SHORT, most: int = PIECE) -> dict[str, Any]:
    """Upload the pieces of rows with more than ``short`` arcs. A piece has at most ``most`` arcs. Returns the
    members of the struct ManyGraph that describe the pieces."""
    graph = program.host_graph
    members: dict[str, Any] = {}
    for name, offsets in (("out", graph.row_offsets), ("in", graph.column_offsets)):
        pieces = pieces_of(offsets, short, most)
        members[f"num_{name}_pieces"] = len(pieces)
        members[f"{name}_pieces"] = program.device.upload(pieces.ravel()) if len(pieces) else None
    return members


def grouped(graph: Graph, sources: Ids, bits: int) -> npt.NDArray[np.int64]:
    """Returns an order of the sources, int64[S], as indices into ``sources``.

    One pass takes ``bits`` sources. Sources that are near each other in the graph are near each other in this
    order, so one pass searches from neighbouring sources. Within a pass, searches that grow fast come first.
    """
    order = np.empty(len(sources), np.int64)
    arrays = (graph.row_offsets, graph.column_indices, sources, order)
    places = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    wide = ctypes.c_int32(graph.row_offsets.dtype.itemsize)
    numbers = [ctypes.c_int64(number) for number in (graph.num_vertices, len(sources), bits)]
    size, number, width = numbers
    library("cpu_many").many_order(wide, size, *places[:2], number, places[2], width, places[3])
    degrees = np.diff(graph.row_offsets)
    for first in range(0, len(sources), bits):
        part = order[first : first + bits]
        part[:] = part[np.argsort(-_growth(graph, degrees, sources[part]), kind="stable")]
    return order


def _growth(graph: Graph, degrees: Offsets, sources: Ids) -> npt.NDArray[np.float64]:
    """Returns a class for each source, float64[S]. A search from a source of a higher class grows faster.

    The class depends on the number of arcs that leave the source's neighbours. A class begins at each power
    of eight. Searches of one class reach most vertices in about equal levels. In a level, most words of a row
    then get either many new bits or none.
    """
    targets = neighbours(graph.row_offsets, graph.column_indices, sources)
    places = np.repeat(np.arange(len(sources)), degrees[sources])
    arcs = np.bincount(places, weights=degrees[targets], minlength=len(sources))
    return np.log2(arcs + 1) // 3


class Passes:
    """Launches the kernel ``many`` once per group of up to ``bits`` sources, and owns the device memory of
    these launches. ``rows`` has members of the struct ManyGraph that the caller has prepared."""

    def __init__(
        self,
        program: KernelProgram,
        bits: int,
        sources: Ids,
        rows: Mapping[str, Any],
        distances: Buffer | None = None,
        pitch: int = 0,
    ) -> None:
        device, size, graph = program.device, program.num_vertices, program.graph
        self.bits, self.sources = bits, sources
        kernel = program.kernel("many")
        self._blocks = min(kernel.resident_blocks(program.block), program.blocks(size * bits // 64))
        words = {name: device.empty(size * bits // 64, np.uint64) for name in ("even", "odd")}
        marks = {name: device.empty(-(-size // 4), np.uint32) for name in ("even_marks", "odd_marks")}
        self._state = device.signal(ManyState)
        self._state.fill(0)
        self.found = device.empty(len(sources), Measures)
        arrays: dict[str, Any] = {**graph.csr, **graph.csc, **rows}
        self._launch = kernel.bind(
            graph=ManyGraph(**arrays, num_edges=int(program.num_edges), num_vertices=size),
            rows=ManyRows(**words, **marks, level_counts=device.empty(2 * bits, np.uint32)),
            state=self._state,
            sources=device.upload(sources),
            found=self.found,
            distances=distances,
            pitch=pitch,
            max_polls=_MAX_POLLS,
            block=program.block,
            scalars=2,
        )

    def run(self) -> None:
        """Launch the kernel for all groups of sources, without waiting for the results."""
        for first in range(0, len(self.sources), self.bits):
            self._launch(self._blocks, first, min(self.bits, len(self.sources) - first))

    def finish(self, name: str) -> None:
        """Wait for all launches. Raises KernelError when a block waited too long for other blocks."""
        if self._state.read_struct().failed:
            raise KernelError(f"{name}: {self._blocks} blocks did not all meet")


class Many(KernelProgram, ClosenessVariant):
    """Searches from many sources, with one bit per source. Each launch searches from up to 1,024 sources.

    The option ``--grid`` limits the number of blocks. All blocks of a launch are resident on the device at
    once.
    """

    name = "many"
    kernel_files = ("many", "likely_parents")
    summary = "a bit for each of up to 1,024 sources, one launch per pass"
    origin = ("Then et al. 2014, MS-BFS", "Liu, Huang and Hu 2016, iBFS")
    frontier = "a byte per vertex that marks the changed parts of its row of bits"
    parallel_unit = "a thread per 128 searches of a vertex"
    work = "O(D (V + E)) per pass, usually much less"
    space = "2V + 3E, 2V rows of BITS bits and 2V bytes"
    synchronisation = "two barriers of all blocks per level"
    whole_warps = True
    structs = STRUCTS
    knobs = (
        Knob(
            "WIDTH",
            0,
            "sources of a launch; 0: the most that fit into half of the device's memory",
            choices=(0, *WIDTHS),
        ),
        Knob(
            "NEAR",
            1,
            "1: a launch takes sources near each other, in order of growth; 0: as they are listed",
            choices=(0, 1),
        ),
        Knob(
            "LIKELY_FIRST",
            1,
            "1: in-neighbours of large out-degree come first, so that rows are complete sooner",
            choices=(0, 1),
        ),
        Knob(
            "PULL_SHARE",
            16,
            "pull when the arcs that leave the frontier, times this, exceed all arcs",
            minimum=0,
            maximum=2**20,
            compile_time=True,
        ),
        Knob(
            "SHORT",
            SHORT,
            "a warp shares a row with more arcs; a team of up to 8 threads takes a shorter row",
            minimum=0,
            maximum=2**20,
            compile_time=True,
        ),
        Knob(
            "PIECE",
            PIECE,
            "rows that warps share are cut into pieces of this many arcs",
            minimum=1,
            maximum=2**20,
        ),
    )
    check_knobs = (
        {"WIDTH": 64, "PULL_SHARE": 0, "SHORT": 1, "PIECE": 2},
        {"WIDTH": 256, "PULL_SHARE": 2**20, "NEAR": 0, "SHORT": 2, "PIECE": 3, "LIKELY_FIRST": 0},
    )
    passes: Passes | None = None

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        room = self.device.limits.memory
        self.bits = int(self.knob["WIDTH"]) or width(self.num_vertices, self.num_vertices, room)
        self.bytes_source = memory_of(self.num_vertices, self.bits) / self.bits

    def defines(self) -> dict[str, int | str]:
        return {**super().defines(), "BITS": self.bits, "DISTANCES": 0}

    def prepare(self) -> None:
        """Compile the kernel, upload the graph and the pieces of long rows, and reorder in-neighbours. The
        first run allocates the remaining memory, because ``prepare`` does not know the sources."""
        self.kernel(self.name)
        self.rows = long_rows(self, int(self.knob["SHORT"]), int(self.knob["PIECE"]))
        if self.knob["LIKELY_FIRST"]:
            likely = self.graph.once(likely_parents_first)
            self.rows["row_indices"], self.preprocess_ms = likely.row_indices, likely.milliseconds
        self.arrays = {**self.graph.csr, **self.graph.csc}

    def poison(self) -> None:
        if self.passes is not None:
            self.passes.found.fill(0)

    def reset(self, sources: Ids) -> None:
        if self.passes is None:
            near = bool(self.knob["NEAR"])
            self.order = grouped(self.host_graph, sources, self.bits) if near else np.arange(len(sources))
            self.passes = Passes(self, self.bits, sources[self.order], self.rows)

    def solve(self, sources: Ids) -> None:
        assert self.passes is not None
        self.passes.run()

    def measures(self) -> Answer:
        assert self.passes is not None
        self.passes.finish(self.name)
        found = self.passes.found.download()
        answer = np.empty_like(found)
        answer[self.order] = found
        return answer

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        bits = int(knobs["WIDTH"])
        if not bits:
            asked = ", ".join(f"{bits}: {size_text(memory_of(num_vertices, bits))}" for bits in WIDTHS)
            return f"V (WIDTH / 4 + 2) bytes beside the graph, by WIDTH: {asked}"
        taken = size_text(memory_of(num_vertices, bits))
        return f"V (WIDTH / 4 + 2) bytes = {taken} beside the graph, with WIDTH = {bits}"


def width(num_vertices: int, sources: int, room: int) -> int:
    """Returns the number of sources per launch on a device with ``room`` bytes of memory."""
    return bits_for(WIDTHS, sources, 1, lambda bits: memory_of(num_vertices, bits), room)
