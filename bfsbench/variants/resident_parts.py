"""Declares a breadth-first search in shared memory. The graph is cut into parts, and each block runs several
levels of its parts between two barriers of all blocks."""

from ctypes import c_int, c_uint, c_void_p
from typing import ClassVar

from bfsbench.backends.base import Buffer, Struct
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.variants.base import UNREACHED, Knob, OneLaunchVariant
from bfsbench.variants.graph_parts import (
    MOST_HOPS,
    PLACES,
    READERS,
    GraphParts,
    Part,
    memory_of,
    most_groups,
    parts_of,
    table_on,
)

_SLOTS = 16


class Partition(Struct):
    """The struct of ``block_memory.cuh`` that describes the parts of a graph to the kernel."""

    _fields_: ClassVar = [
        *((name, c_void_p) for name in ("parts", "quads", "words", "readers")),
        *((name, c_void_p) for name in ("part_at", "places", "vertices")),
        *((name, c_int) for name in ("number", "num_places", "hops")),
    ]


class Exchange(Struct):
    """The struct of ``block_memory.cuh`` with the device arrays through which blocks exchange their
    results."""

    _fields_: ClassVar = [(name, c_void_p) for name in ("at_level", "bitmaps")]


class SlotLayout(Struct):
    """The struct of ``block_memory.cuh`` with the sizes of the arrays in a block's shared memory."""

    _fields_: ClassVar = [("slots", c_uint), ("slot_groups", c_uint), ("bitmap_words", c_uint)]


class SearchState(Struct):
    """The state of a search in global memory, which the host and the next search read."""

    _fields_: ClassVar = [("barrier", GridBarrier), ("failed", c_int)]


class ResidentParts(OneLaunchVariant):
    """Runs a breadth-first search in one launch. It is made for graphs of large diameter. The graph is cut
    into parts. Each part also has its ghosts: the vertices outside it that are at most K arcs away. A block
    runs K levels (knob LEVELS) of its parts in shared memory before all blocks wait at a barrier.

    ``prepare`` makes the parts on the device (``graph_parts.py``), and ``preprocess_ms`` is the time that
    this takes. Later searches of the graph reuse the parts. The option ``--grid`` limits the number of
    blocks, all of which are resident at once. The launch also initialises the search, loads the parts, and
    writes the levels in the order of the vertices. If a part with its ghosts does not fit into shared memory,
    as in a graph with hubs, ``prepare`` raises LaunchError.
    """

    name = "resident_parts"
    kernel_files = ("resident_parts", "grow_parts", "pack_parts")
    summary = "several levels per barrier, in parts of the graph that blocks load as the search reaches them"
    origin = ("this project",)
    layout = ("CSR", "CSC")
    frontier = "a bit per vertex in shared memory; a bitmap of active parts"
    parallel_unit = "a thread per 32 vertices of a part"
    whole_warps = True
    times_levels = False
    work = "O(V + E), and as much again for ghosts"
    synchronisation = "a barrier of all blocks every K levels"
    knobs = (
        Knob(
            "PART_VERTICES",
            4096,
            "most vertices of a part",
            choices=(32, 512, 1024, 1536, 2048, 3072, 4096, 8192),
        ),
        Knob(
            "LEVELS",
            0,
            "levels between two barriers, fewer where ghosts would not fit; 0: chosen for the graph",
            minimum=0,
            maximum=MOST_HOPS,
        ),
    )
    structs = (GridBarrier, Part, Partition, Exchange, SlotLayout, SearchState)
    check_knobs = ({"PART_VERTICES": 32}, {"PART_VERTICES": 32, "LEVELS": 1})
    usual_block = 512
    constants: ClassVar = {"SLOTS": _SLOTS, "PLACES": PLACES, "READERS": READERS}
    layers = ("parts",)
    block_layers = ("parts",)
    edge_reads: ClassVar = {"parts": "unknown"}
    counters: ClassVar = {
        "parts": "parts with something to do, in the step that begins with this level",
        "loads": "parts loaded for the step",
        "loads_ahead": "parts loaded after the step that may be active soon",
        "wait_cycles": "cycles at the barrier after the step, the most of any block that had something to do",
        "read_cycles": "cycles from the barrier to the first level of the step, the most of any such block",
        "load_cycles": "read_cycles that are spent on loading parts",
        "level_cycles": "cycles of running the levels of the step, the most of any such block",
    }

    def defines(self) -> dict[str, int | str]:
        groups = -(-most_groups(self.device) // self.block)
        return {**super().defines(), "BLOCK": self.block, "GROUPS_A_THREAD": groups}

    def prepare(self) -> None:
        """Make the parts of the graph, allocate memory and bind the kernel. Raises LaunchError if a part with
        its ghosts (the vertices around it) does not fit into a block's shared memory."""
        parts = self.graph.once(parts_of(int(self.knob["PART_VERTICES"]), int(self.knob["LEVELS"])))
        self.preprocess_ms = parts.milliseconds
        layout, shared = self._layout(parts)
        kernel = self.kernel(self.name)
        self.num_blocks = min(kernel.resident_blocks(self.block, shared), self.grid or self.blocks(2**30))
        self.place_levels = self.device.empty(parts.vertices.size, "int32")
        self.place_levels.fill(UNREACHED)
        self.at_level = self.device.empty(2 * parts.vertices.size // PLACES, "uint64")
        self.at_level.fill(0)
        self.bitmaps = self.device.empty(6 * int(layout.bitmap_words), "uint32")
        self.bitmaps.fill(0)
        self.waiting = self.device.empty(3 * self.num_blocks * parts.number, "int32")
        self.state = self.device.signal(SearchState)
        self.state.fill(0)
        self.search = kernel.bind(
            parts=_partition(parts, table_on(self.device, parts.table)),
            layout=layout,
            place_levels=self.place_levels,
            others=Exchange(at_level=self.at_level, bitmaps=self.bitmaps),
            waiting=self.waiting,
            levels=self.level_array,
            state=self.state,
            records=self.records,
            counts=self.counter_buffer,
            max_polls=self.max_polls,
            block=self.block,
            shared=shared,
            scalars=("source",),
        )

    def _layout(self, parts: GraphParts) -> tuple[SlotLayout, int]:
        """Returns the layout of a block's shared memory, and its size in bytes. A slot is the memory for one
        part. The block gets as many slots as fit into its shared memory."""
        slot_groups = parts.most_ids // PLACES
        slots = most_groups(self.device, parts.number) // slot_groups
        slots = min(slots, _SLOTS, parts.number, (2**15 - 1) // parts.most_ids)
        layout = SlotLayout(slots=slots, slot_groups=slot_groups, bitmap_words=-(-parts.number // 32))
        return layout, memory_of(slots * slot_groups, parts.number)


def _partition(parts: GraphParts, table: Buffer) -> Partition:
    names = ("quads", "words", "readers", "part_at", "places", "vertices")
    return Partition(
        parts=table,
        **{name: getattr(parts, name) for name in names},
        number=parts.number,
        num_places=parts.vertices.size,
        hops=parts.hops,
    )
