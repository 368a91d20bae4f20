"""The house variant: one launch that runs every level in the way that suits it."""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakKeyDictionary

from bfsbench.backends.base import Argument, Buffer, Device, Launch
from bfsbench.errors import KernelError, LaunchError
from bfsbench.variants.base import KernelVariant, Knob
from bfsbench.variants.likely_parents import likely_parents_first

_WARP = 32
_PART = 32
"""Arcs of a part, PART of cuda_src/adaptive_search.cuh."""
_QUAD, _BLOCK_PARTS = 4, 2048
"""Arcs of a part in a cluster, and parts that a block of it can queue; half as many with wide offsets."""
_CLUSTER_PARTS = 16 * _BLOCK_PARTS
"""Parts that a cluster has when it hands a frontier on."""
_LARGE, _THIN = 1 << 18, 6
"""Vertices and mean out-degree above which the number of multiprocessors counts for more than the cluster."""
_BITMAPS = ("visited", "visited_then", "open")
_RESIDENT: WeakKeyDictionary[Device, dict[tuple[object, ...], int]] = WeakKeyDictionary()
"""How many blocks were found resident together when not all were, by device, block size and build."""
_STATE_WORDS, _FAILED = 28, 2
"""Size of its search_state, with wide offsets, and where the flag is."""


class Adaptive(KernelVariant):
    """One persistent launch: one block for tiny frontiers, a cluster of blocks for small ones, all blocks
    pushing or pulling for larger ones.

    cuda_src/adaptive/adaptive.md says why it is made so. All per-search initialisation is part of the
    launch, the bitmaps' at its end for the next one, so ``reset`` has nothing to do. Blocks are whole warps;
    ``--grid`` caps the blocks, which come in whole clusters, at least one, and never in larger number than
    the device holds at once.
    """

    name = "adaptive"
    kernel_files = ("adaptive", "likely_parents")
    summary = (
        "one launch: small frontiers in a thread-block cluster, larger ones pushed or pulled by all blocks"
    )
    origin = ("this project",)
    layout = ("CSR", "CSC")
    frontier = "queues of row parts in shared or global memory; bitmaps"
    parallel_unit = "a thread per arc, per 8 arcs or per unreached vertex"
    work = "O(V + E), less where it pulls"
    knobs = (
        Knob(
            "CLUSTER_SIZE",
            0,
            "blocks that share small frontiers; 0: as suits the graph and the device's compute capability",
            choices=(0, 1, 2, 4, 8, 16),
            compile_time=True,
        ),
        Knob(
            "SMALL_PARTS",
            8192,
            "parts of 4 arcs in the largest frontier that one cluster expands",
            minimum=0,
            maximum=32768,
        ),
        Knob(
            "TINY_PARTS",
            256,
            "parts of 4 arcs in the largest frontier that one block of the cluster expands alone; fewer "
            "where rows are long",
            minimum=0,
            maximum=_BLOCK_PARTS // _QUAD,
        ),
        Knob(
            "PUSHED_EDGE", 8, "cost of pushing along an arc, in looks at a neighbour", minimum=0, maximum=1024
        ),
        Knob("MAY_PULL", 1, "0: levels are pushed only, and in-neighbours are not needed", choices=(0, 1)),
        Knob(
            "LIKELY_FIRST",
            0,
            "1: in-neighbours are ordered beforehand by out-degree, and the first one is looked at first",
            choices=(0, 1),
            compile_time=True,
        ),
    )
    usual_block = 1024
    layers = ("cluster", "push", "pull", "block")
    block_layers = ("cluster", "block")
    edge_reads: ClassVar = {"pull": "pull"}
    max_polls = 1 << 27
    """How often a block looks for the others at the barrier before it gives up: for a minute or more."""
    probe_polls = 1 << 16
    largest_cluster = 16
    """Less where the device was found not to have room for so many blocks together."""

    def cluster_size(self) -> int:
        """The knob's value or, unless it is given, 16 if the device has so large clusters: fewer of its
        multiprocessors hold one than hold clusters of 8, which are for graphs whose levels are mostly large.
        """
        given = int(self.knob["CLUSTER_SIZE"])
        large = self.num_vertices > _LARGE and int(self.num_edges) >= _THIN * self.num_vertices
        return given or min(8 if large else 16, self.largest_cluster, self.device.limits.blocks_per_cluster)

    def defines(self) -> dict[str, int | str]:
        return {**super().defines(), "CLUSTER_SIZE": self.cluster_size()}

    def prepare(self) -> None:
        """Raises LaunchError if the device cannot hold even one cluster of such blocks."""
        if self.block % _WARP:
            raise LaunchError(f"adaptive: a block has whole warps of {_WARP} threads, not {self.block}")
        words = -(-self.num_vertices // _WARP)
        self.bitmaps = {name: self.device.empty(words, "int32") for name in _BITMAPS}
        self.state = self.device.signal(words=_STATE_WORDS)
        self.state.fill(0)
        visited, visited_then, unopened = self.bitmaps.values()
        search = (*self._graph(), self.level_array, unopened, *self._queues(), self.state)
        while True:
            try:
                return self._bind(search, visited, visited_then)
            except LaunchError:
                if self.knob["CLUSTER_SIZE"] or self.cluster_size() == 1:
                    raise
                self.largest_cluster = self.cluster_size() // 2

    def _bind(self, *arguments: Argument) -> None:
        """Raises LaunchError if the device cannot hold even one cluster."""
        cost, may_pull = int(self.knob["PUSHED_EDGE"]), int(self.knob["MAY_PULL"])
        knobs = (int(self.knob["SMALL_PARTS"]), self._tiny_parts(), cost, may_pull)
        kernel = self.kernel(self.name)
        launch = {"block": self.block, "scalars": 1}
        probe = kernel.bind(*arguments, None, *knobs, self.probe_polls, **launch)
        self.num_blocks = self._resident_blocks(probe, kernel.resident_blocks(self.block))
        self.search = kernel.bind(*arguments, self.records, *knobs, self.max_polls, **launch)

    def _tiny_parts(self) -> int:
        """So many that what a level finds is likely to fit the queue of one block."""
        row = max(1, -(-int(self.num_edges) // (_QUAD * self.num_vertices)))
        return min(int(self.knob["TINY_PARTS"]), _BLOCK_PARTS * 4 // self.num_edges.itemsize // (_QUAD * row))

    def _graph(self) -> tuple[Argument, ...]:
        graph, pulls = self.graph, self.knob["MAY_PULL"]
        arcs_in = (graph.column_offsets, self._row_indices()) if pulls else (None, None)
        ends = self.host_graph.row_offsets[-1], self.host_graph.column_offsets[-1]
        return graph.row_offsets, graph.column_indices, *arcs_in, *ends, self.num_vertices, self.num_edges

    def _row_indices(self) -> Buffer:
        if not self.knob["LIKELY_FIRST"]:
            return self.graph.row_indices
        ordered = self.graph.once(likely_parents_first)
        self.preprocess_ms = ordered.milliseconds
        return ordered.row_indices

    def _queues(self) -> tuple[Argument, ...]:
        """Two queues of row parts, with room for all rows: a search queues a vertex once."""
        parts = int(self.num_edges) // _PART + 2 * self.num_vertices + _CLUSTER_PARTS
        words = 2 * self.num_edges.itemsize // 4
        return tuple(self.device.empty(parts * words, "int32") for _ in range(2))

    def _resident_blocks(self, probe: Launch, most: int) -> int:
        """The largest grid whose blocks all meet at the barrier. The driver's count of blocks does not tell,
        because the blocks of a cluster must fit into the same part of the device."""
        cluster = self.cluster_size()
        most = max(cluster, min(most, self.grid or most) // cluster * cluster)
        known = _RESIDENT.setdefault(self.device, {})
        kernel = (self.block, *sorted(self.defines().items()))
        for blocks in range(min(most, known.get(kernel, most)), 0, -cluster):
            probe(blocks, -1)
            failed = self.state.read(_FAILED)
            self.state.fill(0)
            if not failed:
                if blocks < most:  # the next search need not wait in vain
                    known[kernel] = blocks
                return blocks
        raise LaunchError(
            f"adaptive: a cluster of {cluster} blocks of {self.block} threads does not fit (CLUSTER_SIZE)"
        )

    def reset(self, source: int) -> None:
        """Nothing: the launch initialises what it needs."""

    def traverse(self, source: int) -> None:
        self.search(self.num_blocks, source)
        self.mark(0, self.name)

    def finish(self) -> None:
        """Raises KernelError when blocks waited in vain for each other."""
        if self.state.read(_FAILED):
            raise KernelError(f"adaptive: {self.num_blocks} blocks did not all meet")
