"""Declares a breadth-first search that uses prefix sums, a mask and compaction. The authors of the search
aimed at linear work."""

from collections.abc import Mapping
from typing import Any

from bfsbench.backends.base import Launch
from bfsbench.programs.families.bfs.layouts import SearchCounts
from bfsbench.variants.base import KernelVariant, Knob, KnobValue, Traffic
from bfsbench.variants.rules import Statistics, has_long_rows
from bfsbench.variants.scan import PrefixSum

_MAX_THREADS = 2**30
"""Maximum number of threads of a launch, so that 32-bit integers can number the threads."""


class LinearWork(KernelVariant):
    """The search "Optimized Linear Work" of the course paper CSE 6230, which its authors modelled on Merrill
    et al.

    The authors claim linear work, because each level expands only frontier vertices. But the prefix sum of
    the mask and the compaction read all vertices in each level. The work is therefore O(VD + E).

    This version removes two limits of the original. Prefix sums may have any length. Fine-grained gathering
    with precomputed start indices failed in the original when a thread had to expand several vertices. In
    this version, each thread of a tile takes every blockDim-th vertex, until it reaches a vertex of the
    next tile.

    The following details are choices of this version. The sequential threshold limits the number of gathered
    neighbours, duplicates included, and thereby the work of one thread. Below the threshold, the mask has one
    element per gathered neighbour instead of one per vertex. The search ends when a frontier is empty,
    without reading all levels.
    """

    name = "linear_work"
    summary = "degrees, prefix sum, gathering, mask, prefix sum and compaction, each in its own launch"
    origin = ("CSE 6230, Optimized Linear Work algorithm, Fig. 6 to 9",)
    frontier = "queue in global memory, every vertex once; all its neighbours gathered in an array"
    parallel_unit = "a thread per frontier vertex or per neighbour to gather, per vertex to compact"
    work = "O(VD + E); its authors claim O(V + E)"
    space = "5.25V + 2E"
    synchronisation = "several launches per level"
    # Each gathered neighbour is written once and read again. Every level copies the mask and computes the
    # prefix sum of the copy.
    traffic = Traffic(per_edge=16, per_scan=14)
    knobs = (
        Knob(
            "GATHERING",
            "serial",
            "a thread copies the neighbours of a vertex, or a block's threads share those of all theirs",
            choices=("serial", "fine-grained"),
        ),
        Knob(
            "GATHER_TILE_SIZE",
            4,
            "neighbours that a thread copies at a time in fine-grained gathering",
            choices=(1, 2, 4, 8, 16),
            compile_time=True,
        ),
        Knob(
            "START_INDEX",
            "precomputed",
            "how blocks learn where to start fine-grained gathering",
            choices=("search", "precomputed"),
        ),
        Knob(
            "SEQUENTIAL_THRESHOLD",
            512,
            "most gathered neighbours that one thread goes through to fill the frontier",
            minimum=0,
            maximum=32768,
        ),
        Knob(
            "TILE_SIZE",
            1024,
            "elements that a block scans in shared memory at a time",
            choices=(64, 128, 256, 512, 1024, 2048, 4096),
            compile_time=True,
        ),
    )
    structs = (SearchCounts,)
    check_knobs = (
        {"GATHERING": "fine-grained", "GATHER_TILE_SIZE": 1, "SEQUENTIAL_THRESHOLD": 0, "TILE_SIZE": 64},
        {"GATHERING": "fine-grained", "GATHER_TILE_SIZE": 1, "START_INDEX": "search"},
    )

    @classmethod
    def auto_knobs(cls, statistics: Statistics) -> Mapping[str, KnobValue]:
        """Returns knob values for a graph. With these values, all threads of a block together gather
        neighbours if the graph has long rows."""
        return {"GATHERING": "fine-grained", "GATHER_TILE_SIZE": 16} if has_long_rows(statistics) else {}

    def prepare(self) -> None:
        empty, num_vertices, tile_size = self.device.empty, self.num_vertices, int(self.knob["TILE_SIZE"])
        offset_type = self.num_edges.dtype
        self.frontier_queue = empty(num_vertices, "int32")
        self.gathered = empty(int(self.num_edges), "int32")
        self.offsets = empty(num_vertices + 1, offset_type)
        self.mask, self.mask_scan = empty(num_vertices, "uint8"), empty(num_vertices, offset_type)
        self.reached = self.device.signal(SearchCounts)
        self.threshold = int(self.knob["SEQUENTIAL_THRESHOLD"])
        self.count_neighbours = self.kernel("count_neighbours").bind(
            row_offsets=self.graph.row_offsets,
            frontier=self.frontier_queue,
            offsets=self.offsets,
            block=self.block,
            scalars=1,
        )
        self.scan_degrees = PrefixSum(self, self.offsets, num_vertices + 1, tile_size)
        self.scan_mask = PrefixSum(self, self.mask_scan, num_vertices, tile_size)
        self._bind_gathering()
        self._bind_filters()

    def _bind_gathering(self) -> None:
        self.tile = int(self.knob["GATHER_TILE_SIZE"]) * self.block
        common: dict[str, Any] = {
            **self.graph.csr,
            "frontier": self.frontier_queue,
            "offsets": self.offsets,
            "gathered": self.gathered,
            "block": self.block,
            "scalars": 1,
        }
        self.find_starts: Launch | None = None
        self.fine = self.knob["GATHERING"] == "fine-grained"
        if not self.fine:
            self.gather = self.kernel("gather_serial").bind(**common)
            return
        starts = None
        if self.knob["START_INDEX"] == "precomputed":
            starts = self.device.empty(int(self.num_edges) // self.tile + 1, "int32")
            self.find_starts = self.kernel("find_starts").bind(
                offsets=self.offsets, starts=starts, tile=self.tile, block=self.block, scalars=1
            )
        shared = self.tile * self.num_edges.itemsize
        self.gather = self.kernel("gather_fine").bind(starts=starts, shared=shared, **common)

    def _bind_filters(self) -> None:
        found: dict[str, Any] = {"levels": self.level_array, "block": self.block}
        gathered: dict[str, Any] = {"gathered": self.gathered, "offsets": self.offsets, **found}
        reached: dict[str, Any] = {
            "row_offsets": self.graph.row_offsets,
            "frontier": self.frontier_queue,
            "reached": self.reached,
        }
        vertices: dict[str, Any] = {
            "num_vertices": self.num_vertices,
            "mask": self.mask,
            "mask_scan": self.mask_scan,
        }
        self.generate_mask = self.kernel("generate_mask").bind(**gathered, mask=self.mask, scalars=1)
        self.set_levels = self.kernel("set_levels").bind(**vertices, **found, scalars=1)
        self.compact = self.kernel("compact").bind(**vertices, **reached, block=self.block)
        self.filter_sequentially = self.kernel("filter_sequentially").bind(
            **gathered, **reached, shared=self.threshold, scalars=("frontier_size", "level")
        )

    def reset(self, source: int) -> None:
        super().reset(source)
        self.mask.fill(0)
        self.reached.fill(0)
        self.frontier_queue.fill(source, start=0, count=1)

    def traverse(self, source: int) -> None:
        first, last = self.host_graph.row_offsets[source : source + 2].tolist()
        level, size, edges = 0, 1, last - first
        vertices_before = edges_before = 0
        while edges:
            self.gather_neighbours(size, edges)
            self._filter(size, edges, level)
            self.mark(level, self.name)
            level += 1
            reached = self.reached.read_struct()
            size, edges = reached.vertices - vertices_before, reached.edges - edges_before
            vertices_before, edges_before = reached.vertices, reached.edges

    def gather_neighbours(self, size: int, edges: int) -> None:
        """Gather the neighbours of all frontier vertices in one array. The frontier has ``size`` vertices,
        which have ``edges`` out-edges in total."""
        blocks = self.blocks(size)
        self.count_neighbours(self.blocks(size + 1), size)
        self.scan_degrees(size + 1)
        if self.find_starts:
            self.find_starts(blocks, size)
        self.gather(self.blocks(-(-edges // self.tile) * self.block) if self.fine else blocks, size)

    def _filter(self, size: int, edges: int, level: int) -> None:
        """Keep the gathered vertices that have no level yet, and make them the next frontier. The current
        frontier has ``size`` vertices, which have ``edges`` out-edges in total."""
        if edges <= self.threshold:
            self.filter_sequentially(1, size, level)
            return
        self.generate_mask(self.blocks(min(edges, _MAX_THREADS)), size)
        self.set_levels(self.blocks(self.num_vertices), level)
        self.scan_mask()
        self.compact(self.blocks(self.num_vertices))
