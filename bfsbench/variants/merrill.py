"""Declares the breadth-first search of Merrill et al.

The threads of a block expand rows together. Prefix sums distribute the edges over the threads, and give new
vertices their places in the queue.
"""

from collections.abc import Mapping
from ctypes import c_int, c_ulonglong
from typing import Any, ClassVar

from bfsbench.backends.base import Launch, Struct
from bfsbench.programs.families.bfs.layouts import GridBarrier
from bfsbench.support.errors import KernelError
from bfsbench.variants.base import UNREACHED, KernelVariant, Knob, KnobValue
from bfsbench.variants.rules import Statistics, is_deep

_BATCH, _FOUND_PER_THREAD, _WARP_TABLE_SIZE = 4, 8, 128
_LEVEL_KERNELS = {
    "hybrid": ("contract", "expand"),
    "expand-contract": ("expand_contract",),
    "contract-expand": ("contract_expand",),
    "two-phase": ("contract", "expand"),
}
_RESIDENT_KERNELS = {
    "hybrid": "resident_contract_expand",
    "expand-contract": "resident_expand_contract",
    "contract-expand": "resident_contract_expand",
}


class SearchState(Struct):
    """The state of a search in device memory. Kernels update it, and the host reads it. The host also clears
    the length of a queue before the queue is rebuilt."""

    _fields_: ClassVar = [
        ("sizes", c_ulonglong * 3),
        ("vertex_sizes", c_ulonglong * 2),
        ("level", c_int),
        ("failed", c_int),
        ("barrier", GridBarrier),
    ]


class Merrill(KernelVariant):
    """The search of Merrill, Garland and Grimshaw, in its four organisations.

    The following details are choices of this version:

    - The organisation two-phase returns to the host after every level. The three other organisations stay in
      one launch of resident blocks while queues are short.
    - The organisation hybrid runs contract-expand in resident blocks, and two-phase for longer queues.
    - A queue of vertices has room for one entry per vertex. A queue of candidates has room for one entry per
      arc. If duplicates overflow a queue, it is rebuilt from the levels.
    - A bit of the bitmap is set only when the level of the vertex is known.

    This project added the knob ATOMIC_CLAIM. The authors' status lookup removes duplicates only if few
    candidates are looked up at one time. A device with hundreds of thousands of resident threads looks up a
    whole level at once. Most duplicates then remain in the organisations that queue candidates.
    """

    name = "merrill"
    aliases = ("garland",)
    summary = "adjacency lists gathered by block, warp and prefix sum; culling of duplicates"
    origin = ("Merrill et al. 2012", "BFS-4K, Table 2")
    frontier = "queues of vertices and of candidates in global memory, duplicates possible"
    parallel_unit = "a thread per neighbour: blocks, warps or threads share adjacency lists by their lengths"
    work = "O(V + E), more with duplicates"
    space = "3V + 3E"
    synchronisation = "barriers between resident blocks while queues are short, otherwise launches"
    knobs = (
        Knob(
            "ORGANISATION",
            "hybrid",
            "where a launch begins, and whether vertices, candidates or both pass through global memory",
            choices=tuple(_LEVEL_KERNELS),
        ),
        Knob("BITMAP", 1, "test a bitmap of visited vertices first", choices=(0, 1), compile_time=True),
        Knob(
            "ATOMIC_CLAIM",
            0,
            "1: a vertex gets its level by compare-and-swap, so that no duplicates arise",
            choices=(0, 1),
            compile_time=True,
            changed=(1,),
        ),
        Knob("WARP_CULLING", 1, "remove duplicates within a warp", choices=(0, 1), compile_time=True),
        Knob(
            "HISTORY_SIZE",
            1024,
            "expanded vertices in a block's history, which removes duplicates; 0: none",
            choices=(0, 256, 1024, 4096),
            compile_time=True,
        ),
        Knob(
            "RESIDENT_LIMIT",
            0,
            "longest queue that stays in resident blocks; 0: four entries a thread, -1: none",
            minimum=-1,
            maximum=2**30,
        ),
        Knob(
            "RESIDENT_BLOCKS", 1, "resident blocks a multiprocessor, if that many fit", minimum=1, maximum=32
        ),
    )
    structs = (GridBarrier, SearchState)
    check_knobs = (
        {"ORGANISATION": "expand-contract"},
        {"ORGANISATION": "expand-contract", "RESIDENT_LIMIT": -1},
        {"ORGANISATION": "two-phase", "RESIDENT_LIMIT": -1},
        {"ORGANISATION": "contract-expand", "RESIDENT_LIMIT": -1, "ATOMIC_CLAIM": 1},
    )
    constants: ClassVar = {
        "BATCH": _BATCH,
        "FOUND_PER_THREAD": _FOUND_PER_THREAD,
        "WARP_TABLE_SIZE": _WARP_TABLE_SIZE,
    }
    layers = ("resident_expand_contract", "resident_contract_expand")
    queue_capacity: int | None = None
    """Capacity of each queue, in entries. None uses the whole array of the queue."""
    max_polls = 1 << 26
    """Maximum number of times that a block polls the barrier before the search fails. The limit is reached
    after many seconds."""

    @classmethod
    def auto_knobs(cls, statistics: Statistics) -> Mapping[str, KnobValue]:
        """Returns knob values for a graph.

        If the graph has many small levels, the search uses the organisation contract-expand, in which
        resident blocks run several levels per launch. Otherwise it uses expand-contract, and the knob
        ATOMIC_CLAIM makes an atomic operation claim each vertex before it is queued. No queue then has
        duplicates, so the bitmap and the history, which remove duplicates, are switched off.
        """
        if is_deep(statistics):
            return {"ORGANISATION": "contract-expand"}
        return {"ORGANISATION": "expand-contract", "BITMAP": 0, "ATOMIC_CLAIM": 1, "HISTORY_SIZE": 0}

    def prepare(self) -> None:
        self.organisation = str(self.knob["ORGANISATION"])
        self.takes_vertices = self.organisation == "expand-contract"
        two_phase = len(_LEVEL_KERNELS[self.organisation]) == 2
        empty, num_vertices = self.device.empty, self.num_vertices
        entries = num_vertices if self.takes_vertices else max(num_vertices, int(self.num_edges))
        self.queues = [empty(entries, "int32") for _ in range(2)]
        self.vertex_queue = empty(num_vertices if two_phase else 1, "int32")
        self.visited = empty(num_vertices // 8 + 1, "uint8")
        self.state = self.device.signal(SearchState)
        self.capacity = self.queue_capacity or entries
        self.vertex_capacity = min(self.queue_capacity or num_vertices, num_vertices)
        self.search: dict[str, Any] = {
            **self.graph.csr,
            "levels": self.level_array,
            "bits": self.visited,
            "even_queue": self.queues[0],
            "odd_queue": self.queues[1],
            "capacity": self.capacity,
            "vertex_queue": self.vertex_queue,
            "vertex_capacity": self.vertex_capacity,
            "state": self.state,
            "block": self.block,
            "scalars": 1,
        }
        self.begin = self.kernel("begin_search").bind(
            queue=self.queues[0], state=self.state, block=32, scalars=1
        )
        refill = "refill_vertices" if self.takes_vertices else "refill_candidates"
        self.refill = self.kernel(refill).bind(
            **self.search, num_vertices=num_vertices, shared=self._shared_memory(refill)
        )
        launches = []
        for name in _LEVEL_KERNELS[self.organisation]:
            kernel, shared = self.kernel(name), self._shared_memory(name)
            launch = kernel.bind(**self.search, shared=shared)
            launches.append((launch, max(1, kernel.resident_blocks(self.block, shared))))
        self.level_launches: list[tuple[Launch, int]] = launches
        self.level_name = "two-phase" if len(launches) == 2 else _LEVEL_KERNELS[self.organisation][0]
        self._bind_resident_levels()

    def _bind_resident_levels(self) -> None:
        self.resident_limit = 0
        name = _RESIDENT_KERNELS.get(self.organisation)
        if name is None or self.knob["RESIDENT_LIMIT"] == -1:
            return
        kernel, shared = self.kernel(name), self._shared_memory(name)
        wanted = self.device.limits.num_multiprocessors * int(self.knob["RESIDENT_BLOCKS"])
        possible = kernel.resident_blocks(self.block, shared)
        self.resident_blocks = min(wanted, possible, self.grid or wanted)
        limit = int(self.knob["RESIDENT_LIMIT"]) or 4 * self.resident_blocks * self.block
        self.resident_limit = min(limit, self.capacity)
        self.resident_name = name
        self.resident_levels = kernel.bind(
            **self.search,
            records=self.records,
            at_most=self.resident_limit,
            max_polls=self.max_polls,
            shared=shared,
        )

    def _shared_memory(self, kernel: str) -> int:
        """Returns the bytes of dynamic shared memory that a kernel needs (see ``workspace`` in the kernel
        files of the folder merrill)."""
        warps = -(-self.block // self.device.limits.warp_size)
        words = warps * _WARP_TABLE_SIZE + int(self.knob["HISTORY_SIZE"])
        if "expand_contract" in kernel:
            words += _FOUND_PER_THREAD * self.block
        return _BATCH * self.num_edges.itemsize * self.block + 4 * words

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)
        if self.knob["BITMAP"]:
            self.visited.fill(0)
        if self.takes_vertices:
            self.level_array.fill(0, start=source, count=1)
        self.begin(1, source)

    def traverse(self, source: int) -> None:
        """Run all levels of a search from ``source``. Raises KernelError when a resident block waited too
        long for other blocks."""
        level, size = 0, 1
        while size:
            if size <= self.resident_limit:
                self.resident_levels(self.resident_blocks, level)
                self.mark(level, self.resident_name)
                level, size = self.queue_at()
            else:
                needed = self.blocks(size)
                for launch, blocks in self.level_launches:
                    launch(min(needed, blocks), level)
                self.mark(level, self.level_name)
                level, size = self.queue_at(level + 1)

    def queue_at(self, level: int | None = None) -> tuple[int, int]:
        """Wait until the queue of ``level`` is complete. Returns the level and the number of entries in its
        queue.

        If ``level`` is None, the function takes the level at which the resident blocks stopped. A queue that
        has lost entries is rebuilt first. Raises KernelError if a resident block waited too long for other
        blocks.
        """
        state = self.state.read_struct()
        if state.failed:
            blocks = self.resident_blocks
            raise KernelError(f"{self.resident_name}: {blocks} blocks did not all meet at the end of a level")
        level = state.level if level is None else level
        size, vertices = state.sizes[level % 3], state.vertex_sizes[(level - 1) % 2]
        if size <= self.capacity and vertices <= self.vertex_capacity:
            return level, size
        self.state.fill_member(0, "sizes", level % 3)
        self.refill(self.blocks(self.num_vertices), level)
        return level, self.state.read_struct().sizes[level % 3]
