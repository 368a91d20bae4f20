"""Declares breadth-first searches from many sources on a GPU. One launch searches from up to 1,024 sources at
once."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_double, c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bfsbench.backends.base import Struct
from bfsbench.graphs.ball import neighbours
from bfsbench.graphs.graph import Graph, Ids, Offsets
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.programs.families.closeness.variants import FIELDS, ClosenessVariant, bits_for
from bfsbench.support.errors import KernelError, size_text
from bfsbench.variants.base import KernelProgram, KernelSetup, Knob, KnobValue
from bfsbench.variants.cpu_many import near_each_other
from bfsbench.variants.prepared_rows import likely_parents_first

WIDTHS = (64, 128, 256, 512, 1024)
SHORT, PIECE = 8, 1024
"""A row of more than ``SHORT`` arcs is cut into pieces of at most ``PIECE`` arcs (see many.cu). ``SHORT`` and
``PIECE`` are the defaults of two knobs."""
_COMPILED: dict[str, Any] = {"minimum": 0, "maximum": 2**20, "compile_time": True}
_MAX_POLLS = 1 << 27
"""Maximum number of times that a block polls the barrier before the search fails. The limit is reached after
a minute or more."""


class Measures(Struct):
    """The struct ``measures`` of many.cu: the results of the search from one source."""

    _fields_: ClassVar = [(name, c_double if kind == "f8" else c_longlong) for name, kind in FIELDS]


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
        *((name, c_void_p) for name in ("row_offsets", "column_indices", "column_offsets", "row_indices")),
        *((name, c_void_p) for name in ("out_pieces", "in_pieces")),
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
    pieces, an array of shape [P, 3] with the type of ``offsets``. The three values of a piece are its first
    arc, the arc after its last arc, and its vertex."""
    lengths = np.diff(offsets)
    (long,) = np.nonzero(lengths > short)
    counts = -(-lengths[long] // most)
    vertices = np.repeat(long, counts)
    numbers = np.arange(len(vertices)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = offsets[vertices] + most * numbers
    ends = np.minimum(begins + most, offsets[vertices + 1])
    pieces = np.empty_like(offsets, shape=(len(vertices), 3))
    pieces[:] = np.stack((begins, ends, vertices), axis=1)
    return pieces


def graph_members(program: KernelProgram, short: int = SHORT, most: int = PIECE) -> dict[str, Any]:
    """Upload the graph, and the pieces of rows with more than ``short`` arcs. A piece has at most ``most``
    arcs. Returns the members of the struct ManyGraph."""
    graph, device = program.graph, program.device
    members = {**graph.csr, **graph.csc, "num_vertices": program.num_vertices}
    members["num_edges"] = int(program.num_edges)
    for name, offsets in (("out", graph.host_graph.row_offsets), ("in", graph.host_graph.column_offsets)):
        pieces = pieces_of(offsets, short, most)
        members[f"num_{name}_pieces"] = len(pieces)
        members[f"{name}_pieces"] = device.upload(pieces.ravel()) if len(pieces) else None
    return members


def grouped(graph: Graph, sources: Ids, bits: int) -> npt.NDArray[np.int64]:
    """Sort the sources so that neighbours in the graph are close in the order. Returns the order as indices
    into ``sources``, int64[S]. One pass takes the next ``bits`` sources, and so searches from neighbouring
    sources. Within a pass, searches that grow fast come first."""
    order = near_each_other(graph, sources, bits)
    for first in range(0, len(sources), bits):
        part = order[first : first + bits]
        part[:] = part[np.argsort(-_growth(graph, sources[part]), kind="stable")]
    return order


def _growth(graph: Graph, sources: Ids) -> npt.NDArray[np.float64]:
    """Returns a class for each source, float64[S]. A search from a source of a higher class grows faster.

    The class depends on the number of arcs that leave the source's neighbours. Each power of eight begins a
    new class. Two searches of the same class reach most vertices at similar levels. If all searches of a pass
    belong to the same class, most words of the bit sets get either many new bits in a level, or none.
    """
    offsets = graph.row_offsets
    targets = neighbours(offsets, graph.column_indices, sources)
    places = np.repeat(np.arange(len(sources)), offsets[sources + 1] - offsets[sources])
    arcs = np.bincount(places, weights=offsets[targets + 1] - offsets[targets], minlength=len(sources))
    return np.log2(arcs + 1) // 3


class Passes:
    """Launches the kernel ``many`` once per group of up to ``bits`` sources, and owns the device memory of
    these launches. ``members`` has the members of the struct ManyGraph. ``results`` may contain the arguments
    ``distances`` and ``pitch`` of the kernel."""

    def __init__(
        self, program: KernelProgram, bits: int, sources: Ids, members: Mapping[str, Any], **results: Any
    ) -> None:
        device, size = program.device, program.num_vertices
        self.bits, self.sources = bits, sources
        kernel = program.kernel("many")
        self._blocks = min(kernel.resident_blocks(program.block), program.blocks(size * bits // 64))
        words = {name: device.empty(size * bits // 64, np.uint64) for name in ("even", "odd")}
        marks = {name: device.empty(-(-size // 4), np.uint32) for name in ("even_marks", "odd_marks")}
        self._state = device.signal(ManyState)
        self._state.fill(0)
        self.found = device.empty(len(sources), Measures)
        self._launch = kernel.bind(
            graph=ManyGraph(**members),
            rows=ManyRows(**words, **marks, level_counts=device.empty(2 * bits, np.uint32)),
            state=self._state,
            sources=device.upload(sources),
            found=self.found,
            **{"distances": None, "pitch": 0, **results},
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
        Knob("WIDTH", 0, "sources of a launch; 0: the most that memory allows", choices=(0, *WIDTHS)),
        Knob("NEAR", 1, "1: a launch takes sources near each other; 0: as they are listed", choices=(0, 1)),
        Knob("LIKELY_FIRST", 1, "1: in-neighbours of large out-degree come first", choices=(0, 1)),
        Knob("PULL_SHARE", 16, "pull if the frontier's arcs, times this, exceed all arcs", **_COMPILED),
        Knob("SHORT", SHORT, "arcs up to which a team takes a row; warps share longer rows", **_COMPILED),
        Knob("PIECE", PIECE, "arcs of a piece of a row that warps share", minimum=1, maximum=2**20),
    )
    check_knobs = (
        {"WIDTH": 64, "PULL_SHARE": 0, "SHORT": 1, "PIECE": 2},
        {"WIDTH": 256, "PULL_SHARE": 2**20, "NEAR": 0, "SHORT": 2, "PIECE": 3, "LIKELY_FIRST": 0},
    )
    passes: Passes | None = None

    def __init__(self, setup: KernelSetup) -> None:
        super().__init__(setup)
        size, room = self.num_vertices, self.device.limits.memory
        self.bits = int(self.knob["WIDTH"]) or bits_for(WIDTHS, size, 1, partial(memory_of, size), room)
        self.bytes_source = memory_of(size, self.bits) / self.bits

    def defines(self) -> dict[str, int | str]:
        return {**super().defines(), "BITS": self.bits, "DISTANCES": 0}

    def prepare(self) -> None:
        """Compile the kernel, upload the graph and the pieces of long rows, and reorder in-neighbours. The
        first run allocates the remaining memory, because ``prepare`` does not know the sources."""
        self.kernel(self.name)
        self.members = graph_members(self, int(self.knob["SHORT"]), int(self.knob["PIECE"]))
        if self.knob["LIKELY_FIRST"]:
            likely = self.graph.once(likely_parents_first)
            self.members["row_indices"], self.preprocess_ms = likely.row_indices, likely.milliseconds

    def poison(self) -> None:
        if self.passes is not None:
            self.passes.found.fill(0)

    def reset(self, sources: Ids) -> None:
        if self.passes is None:
            near = bool(self.knob["NEAR"])
            self.order = grouped(self.host_graph, sources, self.bits) if near else np.arange(len(sources))
            self.passes = Passes(self, self.bits, sources[self.order], self.members)

    def solve(self, sources: Ids) -> None:
        assert self.passes is not None
        self.passes.run()

    def measures(self) -> npt.NDArray[np.void]:
        assert self.passes is not None
        self.passes.finish(self.name)
        return self.passes.found.download()[np.argsort(self.order)]

    @classmethod
    def memory_note(cls, num_vertices: int, sources: int | None, knobs: Mapping[str, KnobValue]) -> str:
        bits = int(knobs["WIDTH"])
        if not bits:
            asked = ", ".join(f"{bits}: {size_text(memory_of(num_vertices, bits))}" for bits in WIDTHS)
            return f"V (WIDTH / 4 + 2) bytes beside the graph, by WIDTH: {asked}"
        taken = size_text(memory_of(num_vertices, bits))
        return f"V (WIDTH / 4 + 2) bytes = {taken} beside the graph, with WIDTH = {bits}"
