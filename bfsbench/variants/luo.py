"""Declares the breadth-first search of Luo et al. Warps, blocks and the whole grid have queues. Depending on
the size of its frontier, a level runs in one block, in resident blocks, or in a separate launch."""

import time
from collections.abc import Mapping
from ctypes import c_int
from typing import Any, ClassVar

import numpy as np

from bfsbench.backends.base import Struct
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.support.errors import KernelError
from bfsbench.variants.base import UNREACHED, KernelVariant, Knob, KnobValue
from bfsbench.variants.graph_parts import SplitRows, split_rows
from bfsbench.variants.rules import Statistics, has_hubs, has_long_rows

_STATIC_SHARED_MEMORY = 1024
"""Bytes of a block's shared memory for the static variables of the kernel."""


class SearchState(Struct):
    """The state of a search in device memory. Kernels update it, and the host reads it."""

    _fields_: ClassVar = [("level", c_int), ("sizes", c_int * 3), ("failed", c_int), ("barrier", GridBarrier)]


class Luo(KernelVariant):
    """The search of Luo, Wong and Hwu, DAC 2010.

    The following details are choices of this version:

    - A thread claims a vertex by an atomic compare-and-swap, so a queue has no duplicates.
    - If a queue in shared memory is full, further vertices go to the queue in global memory.
    - A shrinking frontier moves from the resident blocks to the single block only at half of the single
      block's limit. So the search does not return to the host in every level while the frontier is near the
      limit.
    - The paper copies W-frontiers (queues of warps) into a B-frontier (the queue of a block). In this
      version, threads find entries in the W-frontiers, by the offsets that the copy would need.

    The paper's blocks have 512 threads: ``--block 512``.
    """

    name = "luo"
    aliases = ("uiuc",)
    summary = (
        "warp, block and grid queues; levels in one block, in resident blocks or in one launch each, by size"
    )
    origin = ("Luo, sections 3.2, 3.3 and 4",)
    frontier = "queues in shared and global memory"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E)"
    space = "4V + E"
    synchronisation = (
        "block barriers, barriers between resident blocks, or one launch per level, by frontier size"
    )
    knobs = (
        Knob(
            "W_FRONTIERS",
            8,
            "W-frontiers per block; a thread appends to the one of its index modulo their number",
            choices=(1, 2, 4, 8, 16, 32),
            compile_time=True,
        ),
        Knob(
            "B_FRONTIER_SIZE",
            0,
            "vertices that all W-frontiers of a block hold, at least one each; 0: enough for the maximum "
            "degree, if memory permits",
            minimum=0,
            maximum=28672,
        ),
        Knob(
            "BLOCK_LIMIT",
            0,
            "largest frontier that stays in one block; 0: its number of threads, -1: none",
            minimum=-1,
            maximum=2**30,
        ),
        Knob(
            "RESIDENT_LIMIT",
            0,
            "largest frontier that stays in resident blocks; 0: their number of threads, -1: none",
            minimum=-1,
            maximum=2**30,
        ),
        Knob("BLOCKS_PER_MULTIPROCESSOR", 1, "resident blocks, if they fit", minimum=1, maximum=32),
        Knob(
            "SPLIT_DEGREE",
            0,
            "vertices of higher degree are split into rows of at most this degree; 0: none",
            minimum=0,
            maximum=2**20,
        ),
    )
    structs = (GridBarrier, SearchState)
    check_knobs = (
        {"BLOCK_LIMIT": -1, "B_FRONTIER_SIZE": 16},
        {"RESIDENT_LIMIT": -1, "SPLIT_DEGREE": 4},
        {"B_FRONTIER_SIZE": 16, "BLOCK_LIMIT": 1024},
    )
    layers = ("luo_block", "luo_resident")
    block_layers = ("luo_block",)
    max_polls = 1 << 26
    """Maximum number of times that a block polls the barrier before the search fails. The limit is reached
    after many seconds."""

    @classmethod
    def auto_knobs(cls, statistics: Statistics) -> Mapping[str, KnobValue]:
        """Returns knob values for a graph. If the graph has vertices of high degree, their rows are split. If
        the graph has long rows, the threads of a warp append to different queues."""
        queues = {"W_FRONTIERS": 32} if has_long_rows(statistics) else {}
        return queues | ({"SPLIT_DEGREE": 16} if has_hubs(statistics) else {})

    def prepare(self) -> None:
        graph = self._upload_rows(int(self.knob["SPLIT_DEGREE"]))
        self.state = self.device.signal(SearchState)
        self.queues = [self.device.empty(self.level_array.size, "int32") for _ in range(2)]
        even, odd = self.queues
        state: dict[str, Any] = {"levels": self.level_array, "state": self.state}
        self.begin = self.kernel("luo_begin").bind(
            run_lengths=graph["run_lengths"], queue=even, **state, block=32, scalars=1
        )
        search = {**graph, **state, "even_queue": even, "odd_queue": odd}
        launch = {"block": self.block, "scalars": ("level", "size")}
        self._bind_block_layer({**search, **launch})
        self._bind_grid_layers({**search, **launch})

    def _upload_rows(self, degree: int) -> dict[str, Any]:
        """Upload row offsets, column indices and run lengths to the device. Returns the device arrays as a
        dictionary whose keys are the names of kernel parameters. A run length is the number of rows into
        which a vertex is split. If ``degree`` is 0, the rows are the graph's own, without run lengths.
        Otherwise vertices whose degree exceeds ``degree`` are split into several rows."""
        self.max_degree = int(np.diff(self.host_graph.row_offsets).max())
        self.split: SplitRows | None = None
        if degree == 0:
            return {**self.graph.csr, "run_lengths": None}
        started = time.perf_counter()
        self.split = split = split_rows(self.host_graph, degree)
        self.level_places = split.first_rows
        self.preprocess_ms = (time.perf_counter() - started) * 1e3
        self.max_degree = min(self.max_degree, degree)
        self.level_array = self.device.empty(len(split.run_lengths), "int32")
        arrays = ("row_offsets", "column_indices", "run_lengths")
        return {name: self.device.upload(getattr(split, name)) for name in arrays}

    def _bind_block_layer(self, search: dict[str, Any]) -> None:
        self.block_limit = int(self.knob["BLOCK_LIMIT"]) or self.block
        room = self.device.limits.shared_memory_per_block_optin - _STATIC_SHARED_MEMORY
        capacity = self.queue_capacity(self.block_limit, room // 2)
        self.in_block = self.kernel("luo_block").bind(
            **search,
            capacity=capacity,
            records=self.records,
            limit=self.block_limit,
            shared=2 * self._queue_bytes(capacity),
        )

    def _bind_grid_layers(self, search: dict[str, Any]) -> None:
        limits = self.device.limits
        blocks_wanted = limits.max_threads_per_multiprocessor // self.block
        blocks = min(blocks_wanted, limits.max_blocks_per_multiprocessor)
        room = limits.shared_memory_per_multiprocessor // blocks - limits.reserved_shared_memory
        capacity = self.queue_capacity(self.block, room - _STATIC_SHARED_MEMORY)
        search = {**search, "capacity": capacity, "shared": self._queue_bytes(capacity)}
        self.one_level = self.kernel("luo_level").bind(**search)

        resident = self.kernel("luo_resident")
        wanted = limits.num_multiprocessors * int(self.knob["BLOCKS_PER_MULTIPROCESSOR"])
        possible = resident.resident_blocks(self.block, self._queue_bytes(capacity))
        self.resident_blocks = min(wanted, possible, self.grid or wanted)
        self.resident_limit = int(self.knob["RESIDENT_LIMIT"]) or self.resident_blocks * self.block
        self.in_resident_blocks = resident.bind(
            **search,
            records=self.records,
            at_least=max(1, self.block_limit // 2 + 1),
            at_most=self.resident_limit,
            max_polls=self.max_polls,
        )

    def queue_capacity(self, rows: int, room: int) -> int:
        """Returns the number of entries of a W-frontier, which is a queue in shared memory. By default, it is
        the largest number of vertices that one queue can receive if the block expands ``rows`` rows. The
        default is limited so that all queues of the block fit into ``room`` bytes. The knob B_FRONTIER_SIZE
        overrides the default."""
        number = int(self.knob["W_FRONTIERS"])
        if asked := int(self.knob["B_FRONTIER_SIZE"]):
            return max(1, asked // number)
        return max(1, min(-(-rows // number) * self.max_degree, room // (4 * number)))

    def _queue_bytes(self, capacity: int) -> int:
        return 4 * capacity * int(self.knob["W_FRONTIERS"])

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)
        self.begin(1, source if self.split is None else int(self.split.first_rows[source]))

    def traverse(self, source: int) -> None:
        """Run all levels of a search from ``source``. Raises KernelError when a resident block waited too
        long for other blocks."""
        size = 1 if self.split is None else int(self.split.run_lengths[self.split.first_rows[source]])
        level = 0
        while size:
            if size <= self.block_limit:
                self.in_block(1, level, size)
                self.mark(level, "luo_block")
            elif size <= self.resident_limit:
                self.in_resident_blocks(self.resident_blocks, level, size)
                self.mark(level, "luo_resident")
            else:
                self.one_level(self.blocks(size), level, size)
                self.mark(level, "luo_level")
            state = self.state.read_struct()
            level = state.level
            if state.failed:
                blocks = self.resident_blocks
                raise KernelError(f"luo_resident: {blocks} blocks did not all meet after level {level}")
            size = state.sizes[level % 3]
