"""Vertex-centric push with boolean arrays."""

from __future__ import annotations

from typing import Any

from bfsbench.variants.base import KernelVariant, Traffic


class Frontier(KernelVariant):
    """Springer's vertex frontier, which Luo measures as IIIT-BFS and BFS-4K as Harish.

    As printed, with flags of one byte. The difference is how the host detects that a level found a vertex:
    the second kernel writes the level's number, so that nothing has to be cleared from the host between
    levels.
    """

    name = "frontier"
    aliases = ("harish", "iiit")
    summary = "boolean frontier, updated and visited arrays, two kernels a level"
    origin = ("Springer, section 3.1 and Fig. 10", "Luo, 'IIIT-BFS'", "BFS-4K, 'Harish'")
    layout = ("CSR",)
    frontier = "boolean array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2.75V + E"
    synchronisation = "two launches a level"
    # A flag is a byte, and every level reads two of each vertex.
    traffic = Traffic(per_edge=5, per_vertex=17, per_scan=2)

    def prepare(self) -> None:
        self.flags = [self.device.empty(self.num_vertices, "uint8") for _ in range(3)]
        in_frontier, updated, visited = self.flags
        self.progress = self.device.signal()
        self.num_blocks = self.blocks(self.num_vertices)
        flags = {"in_frontier": in_frontier, "updated": updated, "visited": visited}
        vertices: dict[str, Any] = {"num_vertices": self.num_vertices, **flags, "block": self.block}
        self.expand = self.kernel("frontier").bind(**self.graph.csr, levels=self.level_array, **vertices)
        self.update = self.kernel("update_flags").bind(**vertices, progress=self.progress, scalars=1)

    def reset(self, source: int) -> None:
        super().reset(source)
        in_frontier, _, visited = self.flags
        for flags in self.flags:
            flags.fill(0)
        for flags in (in_frontier, visited):
            flags.fill(1, start=source, count=1)
        self.progress.fill(0)

    def traverse(self, source: int) -> None:
        expand, update, progress, num_blocks = self.expand, self.update, self.progress, self.num_blocks
        level = 0
        while True:
            expand(num_blocks)
            update(num_blocks, level)
            self.mark(level, self.name)
            level += 1
            if progress.read() != level:
                return
