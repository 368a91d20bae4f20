"""Declares the breadth-first search BFS-4K.

For each level the search chooses between one block and many blocks. It also chooses whether to distribute the
frontier's vertices over virtual warps, or its edges over the lanes of a warp ("edge-discover"). Child kernels
expand long rows, and hashing removes duplicates.
"""

from collections.abc import Mapping
from ctypes import c_int
from typing import Any, ClassVar

import numpy as np

from bfsbench.backends.base import Struct
from bfsbench.support.errors import LaunchError
from bfsbench.variants.base import UNREACHED, KernelVariant, Knob, KnobValue
from bfsbench.variants.level_queues import rebuilds

_LOCAL_QUEUE = 16
"""Maximum number of vertices that a thread collects before its warp writes them to the queue."""
_VARIABLES = 256
"""Bytes of shared memory per block that the static variables of the kernels occupy."""
_NEVER = 2**31 - 1
"""A degree higher than that of any vertex. As a limit for child kernels, it means that no vertex gets a
child kernel."""


def _switch(name: str, part: str) -> Knob:
    return Knob(name, 1, f"1: {part}; 0: not", choices=(0, 1), compile_time=True)


class SearchState(Struct):
    """The state of a BFS-4K search in device memory. Kernels update it, and the host reads it. The host also
    clears the length of a queue before the queue is rebuilt."""

    _fields_: ClassVar = [("level", c_int), ("sizes", c_int * 3), ("children", c_int * 2)]


class Bfs4k(KernelVariant):
    """The search of Busato and Bombieri, "BFS-4K", IEEE TPDS 2015.

    The single-block kernel runs levels with small frontiers in one block. The multi-block kernel runs all
    other levels. The option ``--block`` sets the number of threads per block of the single-block kernel, and
    the knob K6 that of the multi-block kernel.

    The following choices are not in the paper:

    - For each degree, child kernels expand either all vertices of this degree or none. In total, they expand
      at most K2 per cent of the vertices.
    - A warp that runs edge-discover takes fewer than 32 vertices when that keeps more warps busy.
    - The single-block kernel keeps the rows of the frontier in shared memory. It keeps the vertices of the
      frontier in global memory, where the multi-block kernel finds them.
    - Kernels of CUDA 12 cannot wait for their child kernels. So the single-block kernel ends after a level
      that has launched child kernels.
    - A level launches at most 2,048 child kernels. The parent kernel expands further rows itself.

    With all options off, the search is a queue, a prefix sum and one thread per vertex: ``K2=0 K4=0 K5=0
    HASH=none VIRTUAL_WARPS=0 BINARY_PREFIX_SUM=0 COALESCED_READS=0 COALESCED_WRITES=0``. Each bar of the
    paper's Fig. 14 adds one option to the previous bar:

    - virtual warps: ``VIRTUAL_WARPS=1``, with at least K1 threads;
    - edge-discover: ``K4=1``, first with ``EXT=0``, then with ``EXT=1``;
    - dynamic parallelism: ``K2=0.15``;
    - duplicate detection: ``HASH=hash64`` (``hash_warp`` is the method of the paper's reference 16).

    The remaining options are the single-block kernel (``K5=1``), BINARY_PREFIX_SUM, COALESCED_READS and
    COALESCED_WRITES. Fig. 14 compares BFS-4K with two searches that are called ``frontier`` and
    ``edge_frontier_numbers`` here.
    """

    name = "bfs4k"
    summary = (
        "one block or many, virtual warps or edge-discover, by frontier size; duplicates dropped by hashing"
    )
    origin = ("BFS-4K, sections 4 to 6",)
    frontier = "queue in shared and global memory, duplicates possible"
    parallel_unit = (
        "1 to 32 threads per frontier vertex, a thread per edge, or a grid per vertex of high degree"
    )
    work = "O(V + E), more with duplicates"
    space = "4V + E"
    synchronisation = (
        "block barriers while frontiers are small, otherwise one launch per level; child kernels"
    )
    knobs = (
        Knob("K1", 4, "smallest virtual warp, in threads", choices=(1, 2, 4, 8, 16, 32)),
        Knob(
            "K2", 0.15, "per cent of vertices, of highest degree, for child kernels", minimum=0, maximum=100
        ),
        Knob("K3", 16, "neighbours a thread of a child kernel handles", minimum=1, maximum=1024),
        Knob("K4", 1, "edge-discover below resident threads / K4 vertices; 0: never", choices=(0, 1, 2, 4)),
        Knob(
            "K5",
            1,
            "single-block kernel up to K5 vertices for each of a block's most threads; 0: never",
            choices=(0, 1, 2, 4, 8),
        ),
        Knob("K6", 128, "threads a block of the multi-block kernel; 0: --block", minimum=0, maximum=1024),
        Knob(
            "K7",
            10,
            "shortest local queue in a warp at which its writes are coalesced",
            minimum=1,
            maximum=_LOCAL_QUEUE,
        ),
        Knob(
            "HASH",
            "hash64",
            "duplicates: not detected, by a table per block, or by a table per warp",
            choices=("none", "hash64", "hash_warp"),
            compile_time=True,
        ),
        _switch("BINARY_PREFIX_SUM", "prefix sums of zeros and ones by ballot"),
        _switch("VIRTUAL_WARPS", "virtual warps of K1 to 32 threads"),
        _switch("EXT", "edge-discover goes through rows longer than a warp without searching"),
        _switch("COALESCED_READS", "whole warps read the vertices of large frontiers together"),
        _switch("COALESCED_WRITES", "writes to the next frontier can be coalesced"),
    )
    structs = (SearchState,)
    check_knobs = (
        {"K5": 0},
        {"K2": 20, "K4": 0},
        {"HASH": "hash_warp", "K5": 0, "K4": 0},
        {"HASH": "hash_warp"},
    )
    child_kernels = True
    constants: ClassVar = {"LOCAL_QUEUE": _LOCAL_QUEUE}
    layers = ("bfs4k_single_block",)
    block_layers = layers
    counters: ClassVar[Mapping[str, str]] = {
        "entries": "vertices put into the next frontier, duplicates included",
        "detected": "duplicates dropped",
        "conflicts": "vertices kept because another one had taken their place in the hash table",
        "children": "child kernels launched",
        "child_blocks": "blocks of child kernels",
        "refused": "child kernels refused, by the device or because a level has too many",
        "single_block_levels": "1 in a level of the single-block kernel",
        "multi_block_levels": "1 in a level of the multi-block kernel",
        "edge_discover_levels": "1 in a level by edge-discover",
        "virtual_warp_levels": "1 in a level by virtual warps",
        "coalesced_read_levels": "1 in a level by virtual warps whose rows are read by whole warps",
        "virtual_warp_threads": "threads of a virtual warp",
        "warp_steps": "steps of a warp in which each of its threads inspects a neighbour, or some",
        "binary_sums": "prefix sums of a warp by ballot",
        "shuffle_sums": "prefix sums of a warp by shuffles",
        "coalesced_writes": "times a warp wrote to the next frontier in induced coalescence",
        "edge_searches": "times a warp searched for the rows of its edges",
        "extended_rows": "rows that EXT finished without a search",
        "missed": "entries of the next frontier that were duplicates",
    }
    queue_capacity: int | None = None
    """Capacity of each queue, in vertices. None gives room for every vertex of the graph."""

    def defines(self) -> dict[str, int | str]:
        return super().defines() | {"CHILD_KERNELS": int(float(self.knob["K2"]) > 0)}

    def prepare(self) -> None:
        """Allocate memory and bind the kernels of BFS-4K. Raises LaunchError if K5 or K6 exceeds a limit of
        the device."""
        self.state = self.device.signal(SearchState)
        self.queues = even, odd = [self.device.empty(self.num_vertices, "int32") for _ in range(2)]
        self.capacity = min(self.queue_capacity or self.num_vertices, self.num_vertices)
        state: dict[str, Any] = {"levels": self.level_array, "state": self.state}
        self.begin = self.kernel("bfs4k_begin").bind(queue=even, **state, block=1, scalars=1)
        self.rebuild = rebuilds(self, self.queues, self.state, 256)
        search = {
            **self.graph.csr,
            **state,
            "even_queue": even,
            "odd_queue": odd,
            "capacity": self.capacity,
            "counters": self.counter_buffer,
            **{name.lower(): int(self.knob[name]) for name in ("K1", "K3", "K4", "K7")},
            "child_degree": self._child_degree(),
            "scalars": ("level", "size"),
        }
        self._bind_multi_block(search)
        self.limit = self.device.limits.max_threads_per_block * int(self.knob["K5"])
        """Maximum number of frontier vertices in a level that the single-block kernel expands. The paper
        calls this limit F_threshold."""
        if self.limit:
            self._bind_single_block(search)

    def _bind_multi_block(self, search: dict[str, Any]) -> None:
        limits = self.device.limits
        self.threads = int(self.knob["K6"]) or self.block
        room = limits.shared_memory_per_multiprocessor - _VARIABLES
        self.hash_bytes = self._hash_bytes(room * self.threads // limits.max_threads_per_multiprocessor)
        """Bytes of shared memory for the hash table of each block of the multi-block kernel."""
        resident_threads = limits.num_multiprocessors * limits.max_threads_per_multiprocessor
        kernel = self.kernel("bfs4k_multi_block")
        launch = {"block": self.threads, "shared": self.hash_bytes}
        self.multi_block = kernel.bind(
            **search, hash_bytes=self.hash_bytes, resident_threads=resident_threads, **launch
        )
        blocks = self.grid or kernel.resident_blocks(**launch)
        self.max_blocks = min(blocks, limits.max_grid, (2**31 - 1) // self.threads)

    def _bind_single_block(self, search: dict[str, Any]) -> None:
        room = self.device.limits.shared_memory_per_block_optin - _VARIABLES
        row_bytes = self.num_edges.itemsize + 4
        frontiers = 2 * self.limit * row_bytes
        if frontiers + 8 > room:
            raise LaunchError(
                f"K5 = {self.knob['K5']}: two frontiers of {self.limit} vertices take {frontiers} bytes of "
                f"shared memory, but a block has {room}; choose a smaller K5"
            )
        hash_bytes = self._hash_bytes(room - frontiers)
        self.single_block = self.kernel("bfs4k_single_block").bind(
            **search,
            hash_bytes=hash_bytes,
            limit=self.limit,
            records=self.records,
            block=self.block,
            shared=hash_bytes + frontiers,
        )

    def _hash_bytes(self, room: int) -> int:
        """Returns the size in bytes of a block's hash table. It is the largest power of two up to ``room``,
        but at least 8. Returns 0 if the knob HASH is ``none``."""
        return 0 if self.knob["HASH"] == "none" else max(8, 1 << room.bit_length() - 1)

    def _child_degree(self) -> int:
        """Returns the smallest degree d such that at most K2 per cent of the vertices have degree d or more.
        Vertices of degree d or more are expanded by child kernels."""
        share = int(self.num_vertices * float(self.knob["K2"]) / 100)
        if share == 0:
            return _NEVER
        degrees = np.diff(self.host_graph.row_offsets)
        highest_left_out = self.num_vertices - 1 - share
        if highest_left_out < 0:
            return 1
        return int(np.partition(degrees, highest_left_out)[highest_left_out]) + 1

    def reset(self, source: int) -> None:
        self.level_array.fill(UNREACHED)
        self.begin(1, source)

    def traverse(self, source: int) -> None:
        level, size = 0, 1
        while size:
            if size <= self.limit:
                self.single_block(1, level, size)
                self.mark(level, "bfs4k_single_block")
            else:
                # A row of arcs keeps at most one warp busy, so more than 32 threads per vertex are not
                # needed.
                self.multi_block(min(-(-size * 32 // self.threads), self.max_blocks), level, size)
                self.mark(level, "bfs4k_multi_block")
            state = self.state.read_struct()
            level, size = state.level, state.sizes[state.level % 3]
            if size > self.capacity:
                self.state.fill_member(0, "sizes", level % 3)
                self.rebuild[level & 1](-(-self.num_vertices // 256), level % 3, level)
                size = int(self.state.read_struct().sizes[level % 3])

    def level_counters(self) -> list[dict[str, int]]:
        """Returns the counters of each level by name. Adds the counter ``missed``: the number of queued
        duplicates, which is computed from the levels."""
        levels = self.levels()
        sizes = np.bincount(levels[levels >= 0])
        discovered = [*sizes[1:].tolist(), 0]
        return [
            level | {"missed": level["entries"] - size}
            for level, size in zip(super().level_counters(), discovered, strict=False)
        ]

    @classmethod
    def paper_knobs(cls) -> dict[str, KnobValue]:
        """Returns the values of the knobs K1 to K7 in the paper, which were set "heuristically for all the
        analysed graphs"."""
        return {knob.name: knob.default for knob in cls.knobs if len(knob.name) == 2}

    @classmethod
    def auto_knobs(cls, statistics: Mapping[str, float]) -> dict[str, KnobValue]:
        """Returns values of the knobs K1 to K7 for a graph, by the rules of the paper's section 7.
        ``statistics`` describes the graph, as :func:`bfsbench.graphs.statistics.describe` returns it.

        The paper classifies the statistics of its graphs as "low", "medium" and "high", but gives no numbers.
        The limits that this function uses put each graph of the paper into the class that the paper names.
        """
        mean, deviation = statistics["degree_mean"], statistics["degree_std"]
        k1 = 4
        while k1 < 32 and max(mean, deviation) >= 2 * k1:
            k1 *= 2
        high_mean, high_deviation = mean >= _HIGH_MEAN, deviation >= _HIGH_DEVIATION
        # The share of vertices for child kernels is inversely proportional to K1.
        k2 = 0.15 * 4 / k1 if statistics["degree_max"] > _HIGH_MODE else 0.0
        k4 = 1
        if high_deviation:
            k4 = 0 if high_mean else 2
        return cls.paper_knobs() | {"K1": k1, "K2": k2, "K4": k4, "K5": 0 if high_mean else 1}


_HIGH_MEAN = 16
"""The lowest mean degree that counts as "high". It lies between the mean degrees of Amazon (8.2) and of
coPapers, random and R-MAT graphs (64 and more)."""
_HIGH_DEVIATION = 32
"""The lowest standard deviation of the degrees that counts as "high". It lies between web-Google (6.5), which
the paper calls medium, and ForestFire (38.3)."""
_HIGH_MODE = 2048
"""The preset ``auto`` uses child kernels if the maximum degree of the graph exceeds this number. The paper's
Table 1 calls the maximum degree "mode"."""
