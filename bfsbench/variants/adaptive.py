"""Declares the breadth-first search ``adaptive``, which this project designed. A search is a single kernel
launch. The kernel decides for each level how to run it."""

from ctypes import c_int, c_longlong, c_uint, c_ulonglong, c_void_p
from functools import cache
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from bfsbench.backends.base import Buffer, Device, Launch, Struct
from bfsbench.graphs.ball import neighbours
from bfsbench.graphs.graph import Graph
from bfsbench.programs.families.bfs.layouts import CountedBarrier
from bfsbench.support.errors import DeviceOutOfMemoryError, LaunchError
from bfsbench.variants.base import DeviceGraph, Knob, OneLaunchVariant
from bfsbench.variants.prepared_rows import (
    LIKELY_ALIGNMENT,
    LONGEST_ROW,
    ShortRows,
    likely_parents_first,
    longest_row,
    with_records,
)


class NextFrontier(Struct):
    """The struct ``next_frontier`` of search.cuh. Blocks add to its counts in global memory while they find
    the next frontier."""

    _fields_: ClassVar = [
        ("barrier", CountedBarrier),
        ("unlisted", c_int),
        ("rests", c_uint),
        ("queued_units", c_uint),
    ]


class Thresholds(Struct):
    """The struct ``thresholds`` of search.cuh: the limits by which the kernel decides how to run a level."""

    _fields_: ClassVar = [
        ("small", c_uint),
        ("tiny", c_uint),
        ("listed", c_uint),
        ("pushed_edge", c_int),
        ("may_pull", c_int),
    ]


@cache
def adaptive_structs(wide: bool, tree: bool) -> dict[str, type[Struct]]:
    """Returns the structs of the kernel ``adaptive`` by their names in C++. If ``wide``, offsets have 64 bits
    instead of 32. If ``tree``, the search writes parents instead of levels."""
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


_SEARCHES, _VERTICES, _ARCS = 9, 4096, 1 << 16


def levels_to_thousands(graph: Graph, most: int) -> int:
    """Estimates how many levels a breadth-first search needs to reach 4,096 vertices. Returns the median over
    nine searches, which start at evenly spaced vertex ids.

    The result is at most ``most`` + 1. Searches that end before they reach 4,096 vertices are left out. If
    all nine searches end early, the result is ``most`` + 1. From a frontier of n vertices, a search follows
    only the first 65,536 / n arcs of each row, so that hubs cost little. The graph must have at least one
    vertex.
    """
    starts = (np.arange(_SEARCHES) * 2 + 1) * graph.num_vertices // (2 * _SEARCHES)
    found = sorted(levels for start in starts if (levels := _levels_from(graph, int(start), most)))
    return found[len(found) // 2] if found else most + 1


def _levels_from(graph: Graph, start: int, most: int) -> int | None:
    """Returns how many levels a breadth-first search from ``start`` needs to reach 4,096 vertices. The result
    is at most ``most`` + 1. Returns None if the search ends before it has reached 4,096 vertices."""
    seen = frontier = np.array([start], np.int32)
    for level in range(1, most + 1):
        share = _ARCS // len(frontier)
        met = np.unique(neighbours(graph.row_offsets, graph.column_indices, frontier, share))
        frontier = np.setdiff1d(met, seen, assume_unique=True)
        seen = np.concatenate((seen, frontier))
        if len(seen) >= _VERTICES:
            return level
        if not len(frontier):
            return None
    return most + 1


_PART = 32
"""Maximum number of arcs in a queue entry in global memory. A queue entry is a part: a run of arcs in one
row."""
_QUAD, _BLOCK_PARTS = 4, 2048
"""``_QUAD`` is the maximum number of arcs in a queue entry of a cluster. ``_BLOCK_PARTS`` is the number of
entries that the queue of one block of the cluster can hold. With 64-bit offsets, the queue can hold half as
many entries."""
_LARGEST_CLUSTER = 16
_LARGE, _THIN, _DENSE, _QUICK = 1 << 18, 5, 16, 8
"""Limits by which the search decides whether the levels of a graph are likely to be large. The graph must
have more than ``_LARGE`` vertices, and a mean out-degree of at least ``_DENSE``. A mean of at least ``_THIN``
suffices if searches reach thousands of vertices within ``_QUICK`` levels."""
_PUSHED_EDGE, _FEW_LINES, _SCATTERED = 6, 1 << 17, 1 << 23
"""``_PUSHED_EDGE`` is the cost of pushing along an arc to a new vertex. Its unit is the cost of testing one
in-neighbour. The cost doubles for graphs of at most ``_FEW_LINES`` vertices, because atomic operations often
use the same one of the few cache lines of their bitmaps. The cost also doubles for graphs of at least
``_SCATTERED`` vertices, because most of their level array is not in the L2 cache."""
_SMALL_PARTS_OF_BLOCK, _VERTICES_PER_SMALL_PART = 640, 32
_LEAST_SMALL_PARTS, _MOST_SMALL_PARTS = 6400, 12800
"""Limits of the largest frontier that a cluster expands, counted in entries of the cluster's queue. An entry
is up to 4 arcs of one row. A cluster of fewer than 16 blocks expands ``_SMALL_PARTS_OF_BLOCK`` entries per
block. A cluster of 16 blocks expands one entry per ``_VERTICES_PER_SMALL_PART`` vertices of the graph, but at
least ``_LEAST_SMALL_PARTS`` and at most ``_MOST_SMALL_PARTS`` entries."""
_REGION_BITS, _LEAST_REGION_SHIFT = 9, 7
"""The leading ``_REGION_BITS`` bits of a vertex id select a region. Each region of vertices belongs to one
block of a cluster. The lowest ``_LEAST_REGION_SHIFT`` bits never select a region, so a region has at least
four 32-bit words of a bitmap."""
_LEAST_VERTICES = 1 << 14
"""The smallest number of vertices for which short rows are copied into records of up to four arcs
(:class:`ShortRows`) by default."""
_STATIC_SHARED = 42 << 10
"""Upper limit, in bytes, of the shared memory that a block of the kernel uses besides its part of the
bitmap."""
_LEAST_FRESH, _MOST_FRESH, _MOST_STATIC = 64, 1 << 13, 48 << 10
"""``_LEAST_FRESH`` and ``_MOST_FRESH`` limit the number of bitmap words that a block processes between two
barriers when it pulls a level. These words lie in shared memory, so the L1 cache has less room.
``_MOST_STATIC`` is the maximum static shared memory of a kernel, in bytes."""
_MOST_BLOCKS = (1 << 11) - 1
"""Maximum number of blocks. The words of the barrier cannot count the arrivals of more blocks."""
_LEVELS_AT_A_TIME, _TINY_LEVELS = 1 << 20, 4
"""After ``_LEVELS_AT_A_TIME`` levels, the cluster that runs small levels joins the barrier of all blocks.
This bounds the time for which the other blocks wait. After more than ``_TINY_LEVELS`` tiny levels in a row,
the kernel expects further tiny levels. Therefore, one block of the cluster runs them without the others."""
_RESIDENT: WeakKeyDictionary[Device, dict[tuple[object, ...], int]] = WeakKeyDictionary()
"""Stores how many blocks can run at the same time, according to trial launches. A number is stored only if it
is smaller than the number that the driver reported. The first key is the device. The second key consists of
the block size, the shared memory in bytes, and the macros of the build."""


def num_entered(graph: DeviceGraph) -> int:
    """Returns the number of vertices that have at least one in-neighbour."""
    return int(np.count_nonzero(np.diff(graph.host_graph.column_offsets)))


def grows_quickly(graph: DeviceGraph) -> bool:
    """Returns whether a breadth-first search of this graph is likely to have few, large levels. For meshes,
    for example, it returns False, because they have many small levels."""
    return levels_to_thousands(graph.host_graph, _QUICK) <= _QUICK


class Adaptive(OneLaunchVariant):
    """Runs a whole breadth-first search in one launch, and chooses how to run each level. One block expands
    tiny frontiers, and a thread-block cluster expands small frontiers. All blocks together push or pull
    larger frontiers.

    The page cuda_src/adaptive/adaptive.md in the repository describes the search. The kernel initialises the
    search itself. At its end it clears the bitmaps for the next search. Therefore ``reset`` has nothing to
    do. Blocks must consist of whole warps. The option ``--grid`` limits the number of blocks. The number is
    rounded down to whole clusters, with at least one cluster. All blocks are resident on the device at once.
    """

    name = "adaptive"
    kernel_files = ("adaptive", "likely_parents", "short_rows")
    summary = (
        "one launch: small frontiers in a thread-block cluster, larger ones pushed or pulled by all blocks"
    )
    origin = ("this project",)
    layout = ("CSR", "CSC")
    frontier = "queues of row parts in shared or global memory; bitmaps"
    parallel_unit = "a thread per arc, per 8 arcs or per unreached vertex"
    synchronisation = "one launch per search; barriers of blocks, clusters or all blocks between levels"
    whole_warps = True
    work = "O(V + E), less where it pulls"
    knobs = (
        Knob(
            "CLUSTER_SIZE",
            0,
            "blocks that share small frontiers; 0: chosen for the graph and the device's compute capability",
            choices=(0, 1, 2, 4, 8, 16),
            compile_time=True,
        ),
        Knob(
            "SMALL_PARTS",
            -1,
            "parts of 4 arcs in the largest frontier that one cluster expands; -1: chosen for its size",
            minimum=-1,
            maximum=32768,
        ),
        Knob(
            "TINY_PARTS",
            192,
            "parts of 4 arcs in the largest frontier that one block of the cluster expands alone; fewer "
            "where rows are long",
            minimum=0,
            maximum=_BLOCK_PARTS // _QUAD,
        ),
        Knob(
            "PUSHED_EDGE",
            -1,
            "cost of pushing along an arc to a new vertex, in looks at in-neighbours; -1: chosen for the "
            "number of vertices",
            minimum=-1,
            maximum=1024,
        ),
        Knob(
            "LISTED_VERTICES",
            1 << 17,
            "a pushed level that is expected to find more vertices does not queue them if the next level is "
            "likely to be pulled",
            minimum=0,
            maximum=2**31 - 1,
        ),
        Knob(
            "MANY_VERTICES",
            3 << 20,
            "size of a graph, in vertices, from which on the first pulled level finds the vertices without "
            "in-neighbours, and blocks take sectors of bitmaps in turn; smaller graphs: the search begins "
            "with finding them, and blocks take words in turn",
            minimum=0,
            maximum=2**31 - 1,
            compile_time=True,
        ),
        Knob("MAY_PULL", 1, "0: levels are pushed only, and in-neighbours are not needed", choices=(0, 1)),
        Knob(
            "LIKELY_FIRST",
            0,
            "1: in-neighbours are ordered beforehand by out-degree, and the first one is looked at first",
            choices=(0, 1),
            compile_time=True,
        ),
        Knob(
            "SHORT_ROWS",
            -1,
            f"1, for graphs with rows of at most {LONGEST_ROW} arcs: rows are copied into records first, "
            "and the cluster has the bitmap in its shared memory; -1: where this is possible and pays",
            choices=(-1, 0, 1),
            compile_time=True,
        ),
        Knob(
            "TREE",
            0,
            "1: the search leaves the parent of each vertex instead of its level, and reads COO as well",
            choices=(0, 1),
            compile_time=True,
        ),
    )
    check_knobs = (
        {"SMALL_PARTS": 0, "PUSHED_EDGE": 1000},
        {"SMALL_PARTS": 0, "MAY_PULL": 0},
        {"SMALL_PARTS": 0, "LISTED_VERTICES": 0, "PUSHED_EDGE": 40},
        {"SMALL_PARTS": 0, "MANY_VERTICES": 0, "PUSHED_EDGE": 40},
        {"SMALL_PARTS": 64, "MAY_PULL": 0},
        {"TINY_PARTS": 0, "SHORT_ROWS": 1},
        {"SMALL_PARTS": 0, "LIKELY_FIRST": 1, "PUSHED_EDGE": 1000},
    )
    usual_block = 1024
    constants: ClassVar = {
        "PART": _PART,
        "QUAD": _QUAD,
        "LIKELY_ALIGNMENT": LIKELY_ALIGNMENT,
        "STATIC_SHARED": _STATIC_SHARED,
    }
    structs = (CountedBarrier,)
    layers = ("cluster", "push", "pull", "block")
    block_layers = ("cluster", "block")
    edge_reads: ClassVar = {"pull": "pull"}
    probe_polls = 1 << 16
    records_fit = True
    """False if the device had too little memory for records of short rows (:class:`ShortRows`), and the user
    had not asked for records. The search then runs without records."""
    largest_cluster = _LARGEST_CLUSTER
    """Maximum number of blocks in a cluster. It is lowered on devices where clusters of this size
    cannot run."""

    def cluster_size(self) -> int:
        """Returns the number of blocks in a cluster. A value of the knob CLUSTER_SIZE other than 0 is
        returned unchanged.

        The default is 2 if the levels of the graph are likely to be large, because clusters of 2 blocks use
        all multiprocessors. For other graphs it is 16. If the device's limit is smaller than the default, the
        limit is returned.
        """
        given = int(self.knob["CLUSTER_SIZE"])
        most = min(self.largest_cluster, self.device.limits.blocks_per_cluster)
        return given or min(most, 2 if most > 2 and self._has_large_levels() else _LARGEST_CLUSTER)

    def _has_large_levels(self) -> bool:
        """Returns whether the levels of the graph are likely to be large, so that clusters of 2 blocks are
        best. Returns False for graphs with only short rows, because a search that reads short rows as records
        (knob SHORT_ROWS) needs clusters of 16 blocks for its bitmap."""
        mean = int(self.num_edges) / max(1, self.num_vertices)
        if self.num_vertices <= _LARGE or mean < _THIN or self._longest_row <= LONGEST_ROW:
            return False
        return mean >= _DENSE or self.graph.once(grows_quickly)

    def defines(self) -> dict[str, int | str]:
        return {
            **super().defines(),
            "CLUSTER_SIZE": self.cluster_size(),
            "CLUSTER_PARTS": self._cluster_parts(),
            "LEVELS_AT_A_TIME": _LEVELS_AT_A_TIME,
            "TINY_LEVELS": _TINY_LEVELS,
            "SHORT_ROWS": int(self._makes_records()),
            "MANY_VERTICES": int(self._has_many_vertices()),
            "FRESH_WORDS": self._fresh_words(),
        }

    def _has_many_vertices(self) -> bool:
        return self.num_vertices >= int(self.knob["MANY_VERTICES"])

    def _fresh_words(self) -> int:
        """Returns the number of words that a block processes at a time when the kernel pulls a level. Each
        block has its own words of the bitmap. There is a barrier after each group of this number of words.

        The result is also the size of an array in dynamic shared memory. If the array does not become too
        large, one group contains all words of the block. Returns 0 if the kernel uses an array in static
        shared memory instead.
        """
        if not self._has_many_vertices() or self._makes_records():
            return 0
        limits = self.device.limits
        own = 1 << (self.num_vertices // (32 * limits.num_multiprocessors)).bit_length()
        room = (limits.shared_memory_per_block_optin - _MOST_STATIC) // 4
        return max(_LEAST_FRESH, min(own, room, _MOST_FRESH))

    @property
    def leaves_tree(self) -> bool:
        return bool(self.knob["TREE"])

    def shared_structs(self) -> tuple[type[Struct], ...]:
        return (*super().shared_structs(), *self._structs().values())

    def _structs(self) -> dict[str, type[Struct]]:
        return adaptive_structs(self.num_edges.itemsize == 8, self.leaves_tree)

    def _cluster_parts(self) -> int:
        """Returns the number of entries that the queue of one block of the cluster can hold."""
        return _BLOCK_PARTS * 4 // self.num_edges.itemsize

    def _makes_records(self) -> bool:
        """Returns whether short rows are copied into records (knob SHORT_ROWS). Raises LaunchError if the
        user asks for records but the graph or the device does not allow them."""
        asked = int(self.knob["SHORT_ROWS"])
        if asked == 0 or (asked < 0 and (self.num_vertices < _LEAST_VERTICES or not self.records_fit)):
            return False
        most = self.device.limits.shared_memory_per_block_optin - _STATIC_SHARED
        for unfit, why in (
            (self.leaves_tree, "with TREE=1, as records have no place in COO"),
            (self.num_edges.itemsize == 8, "with offsets of 64 bits"),
            (self._longest_row > LONGEST_ROW, f"with a row of more than {LONGEST_ROW} arcs"),
            (self._bitmap_bytes() > most, f"with a bitmap of more than {most} bytes a block"),
        ):
            if unfit and asked > 0:
                raise LaunchError(f"adaptive: SHORT_ROWS=1 is not possible {why}")
            if unfit:
                return False
        return True

    @property
    def _longest_row(self) -> int:
        return self.graph.once(longest_row)

    def _region_shift(self) -> int:
        return max(_LEAST_REGION_SHIFT, int(self.num_vertices).bit_length() - _REGION_BITS)

    def _bitmap_bytes(self) -> int:
        """Returns the size in bytes of the part of the bitmap that one block of the cluster holds."""
        regions = -(-self.num_vertices // (1 << self._region_shift()))
        return -(-regions // self.cluster_size()) << (self._region_shift() - 3)

    def _shared_bytes(self) -> int:
        """Returns the bytes of dynamic shared memory per block."""
        return self._bitmap_bytes() if self._makes_records() else 4 * self._fresh_words()

    def prepare(self) -> None:
        """Allocate memory and bind the kernel. Raises LaunchError if the device cannot run even one cluster.
        Raises LaunchError also if the knob SHORT_ROWS is 1, but the rows of the graph cannot be copied into
        records."""
        self._makes_records()  # raises LaunchError before anything is allocated
        warp = self.device.limits.warp_size
        words = -(-self.num_vertices // warp)
        visited, visited_then, unopened = (self.device.empty(words, "uint32") for _ in range(3))
        self.bitmaps = {"visited": visited, "visited_then": visited_then, "open": unopened}
        for bitmap in (visited, unopened):
            bitmap.fill(0)  # the first launch reads this bitmap
        self.state = self.device.signal(self._structs()["search_state"])
        self.state.fill(0)
        parts = int(self.num_edges) // _PART + 2 * self.num_vertices + _LARGEST_CLUSTER * _BLOCK_PARTS
        part = self._structs()["part"]
        queues = self.device.empty(parts, part), self.device.empty(parts, part)
        while True:
            search = self._search(queues, unopened)
            try:
                return self._bind({"search": search, "visited": visited, "visited_then": visited_then})
            except LaunchError:
                if self.knob["CLUSTER_SIZE"] or self.cluster_size() == 1:
                    raise
                self.largest_cluster = self.cluster_size() // 2

    def _bind(self, arguments: dict[str, Any]) -> None:
        """Bind the kernel ``adaptive`` to its arguments, and determine the number of blocks. Raises
        LaunchError if the device cannot run even one cluster."""
        kernel, shared = self.kernel(self.name), self._shared_bytes()
        launch = {**arguments, "block": self.block, "shared": shared, "scalars": ("source",)}
        probe = kernel.bind(**launch, records=None, max_polls=self.probe_polls)
        self.num_blocks = self._resident_blocks(probe, kernel.resident_blocks(self.block, shared))
        self.search = kernel.bind(**launch, records=self.records, max_polls=self.max_polls)

    def _small_parts(self) -> int:
        given = int(self.knob["SMALL_PARTS"])
        if given >= 0:
            return given
        if self.cluster_size() < _LARGEST_CLUSTER:
            return _SMALL_PARTS_OF_BLOCK * self.cluster_size()
        by_vertices = self.num_vertices // _VERTICES_PER_SMALL_PART
        return max(_LEAST_SMALL_PARTS, min(by_vertices, _MOST_SMALL_PARTS))

    def _tiny_parts(self) -> int:
        """Returns the size of the largest frontier that one block of the cluster expands alone. The size is
        counted in queue entries of up to 4 arcs of one row. It is chosen so that the next frontier probably
        fits into the block's queue."""
        row = max(1, -(-int(self.num_edges) // (_QUAD * self.num_vertices)))
        return min(int(self.knob["TINY_PARTS"]), self._cluster_parts() // (_QUAD * row))

    def _pushed_edge(self) -> int:
        given = int(self.knob["PUSHED_EDGE"])
        dear = not _FEW_LINES < self.num_vertices < _SCATTERED
        return given if given >= 0 else _PUSHED_EDGE * (2 if dear else 1)

    def _search(self, queues: tuple[Buffer, Buffer], unopened: Buffer) -> Struct:
        graph, pulls = self.graph, self.knob["MAY_PULL"]
        likely = graph.once(likely_parents_first) if pulls and self.knob["LIKELY_FIRST"] else None
        short = self._short_rows()
        self.preprocess_ms = sum(made.milliseconds for made in (likely, short) if made)
        return self._structs()["bfs"](
            row_offsets=graph.row_offsets,
            column_indices=short.column_indices if short else graph.column_indices,
            column_offsets=graph.column_offsets if pulls else None,
            row_indices=likely.row_indices if likely else graph.row_indices if pulls else None,
            row_indices_end=int(self.host_graph.column_offsets[-1]),
            num_vertices=self.num_vertices,
            num_entered=graph.once(num_entered) if pulls else self.num_vertices,
            num_edges=int(self.num_edges),
            answer=self._answer(),
            when=self._thresholds(),
            open=unopened,
            queues=queues,
            state=self.state,
            region_shift=self._region_shift(),
            first_record=short.first_record if short else 0,
        )

    def _short_rows(self) -> ShortRows | None:
        """Returns the graph's short rows as records, or None if the search runs without records.

        The knob SHORT_ROWS decides whether there are records. If SHORT_ROWS is 1 and the records do not fit
        into the device's memory, raises DeviceOutOfMemoryError. With the default of SHORT_ROWS, the result is
        None instead.
        """
        try:
            return self.graph.once(with_records) if self._makes_records() else None
        except DeviceOutOfMemoryError:
            if int(self.knob["SHORT_ROWS"]) > 0:
                raise
            self.records_fit = False
            return None

    def _thresholds(self) -> Struct:
        """Returns the limits by which the kernel chooses how to run a level. The limit for clusters is at
        most the capacity of the queues of a cluster."""
        small = min(self._small_parts(), self.cluster_size() * self._cluster_parts())
        return self._structs()["thresholds"](
            small=small,
            tiny=min(self._tiny_parts(), small),
            listed=self.knob["LISTED_VERTICES"],
            pushed_edge=self._pushed_edge(),
            may_pull=self.knob["MAY_PULL"],
        )

    def _answer(self) -> Struct:
        answer = self._structs()["search_answer"]
        if self.leaves_tree:
            return answer(parents=self.level_array, edge_sources=self.graph.edge_sources)
        return answer(levels=self.level_array)

    def _resident_blocks(self, probe: Launch, most: int) -> int:
        """Returns the largest number of blocks that can all run at the same time and therefore wait for each
        other at a barrier. The number is a multiple of the cluster size. It is found by trial launches.
        Raises LaunchError if the device cannot run even one cluster.

        ``most`` is the number of resident blocks that the driver reports. Fewer blocks may fit, because all
        blocks of a cluster must run on one group of multiprocessors.
        """
        cluster = self.cluster_size()
        possible = min(most, _MOST_BLOCKS) // cluster * cluster
        most = min(possible, max(cluster, (self.grid or possible) // cluster * cluster))
        known = _RESIDENT.setdefault(self.device, {})
        kernel = (self.block, self._shared_bytes(), *sorted(self.defines().items()))
        for blocks in range(min(most, known.get(kernel, most)), 0, -cluster):
            probe(blocks, -1)
            failed = self.state.read_struct().failed
            self.state.fill(0)
            if not failed:
                if blocks < most:  # later searches begin their trials with this number of blocks
                    known[kernel] = blocks
                return blocks
        raise LaunchError(
            f"adaptive: a cluster of {cluster} blocks of {self.block} threads does not fit (CLUSTER_SIZE)"
        )
