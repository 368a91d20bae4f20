"""Declares a vertex-centric push search whose frontiers are boolean arrays."""

from typing import Any

from bfsbench.variants.base import LevelKernelVariant, Traffic


class Frontier(LevelKernelVariant):
    """The search with a vertex frontier from M. Springer's paper "Breadth-first Search in CUDA".

    Two other papers also measure this search. Luo et al. (2010) call it "IIIT-BFS", and the paper on BFS-4K
    calls it "Harish".

    The kernels are as printed in Springer's paper, with flags of one byte. Only one detail differs: how the
    host learns that a level has found a vertex. In this version, the second kernel writes the number of the
    level. So the host need not clear a flag between levels.
    """

    name = "frontier"
    aliases = ("harish", "iiit")
    summary = "boolean frontier, updated and visited arrays, two kernels per level"
    origin = ("Springer, section 3.1 and Fig. 10", "Luo, 'IIIT-BFS'", "BFS-4K, 'Harish'")
    frontier = "boolean array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2.75V + E"
    synchronisation = "two launches per level"
    # A flag takes one byte. Every level reads two flags of each vertex.
    traffic = Traffic(per_edge=5, per_vertex=17, per_scan=2)

    def prepare(self) -> None:
        self.flags = [self.device.empty(self.num_vertices, "uint8") for _ in range(3)]
        in_frontier, updated, visited = self.flags
        self.progress = self.device.signal()
        self.num_blocks = self.blocks(self.num_vertices)
        flags = {"in_frontier": in_frontier, "updated": updated, "visited": visited}
        vertices: dict[str, Any] = {"num_vertices": self.num_vertices, **flags, "block": self.block}
        expand = self.kernel("frontier").bind(**self.graph.csr, levels=self.level_array, **vertices)
        update = self.kernel("update_flags").bind(**vertices, progress=self.progress, scalars=1)

        def both(blocks: int, *level: int) -> None:
            expand(blocks)
            update(blocks, *level)

        self.expand = both

    def reset(self, source: int) -> None:
        super().reset(source)
        in_frontier, _, visited = self.flags
        for flags in self.flags:
            flags.fill(0)
        for flags in (in_frontier, visited):
            flags.fill(1, start=source, count=1)
