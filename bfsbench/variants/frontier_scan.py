"""Declares a search that converts a boolean frontier to a queue by a prefix sum in each level."""

from bfsbench.variants.base import KernelVariant, Knob, Traffic
from bfsbench.variants.scan import PrefixSum


class FrontierScan(KernelVariant):
    """The search that makes a frontier queue by a prefix sum, from M. Springer's paper "Breadth-first Search
    in CUDA".

    The kernel printed in the paper scans a single tile of at most 1,024 vertices in one block, and has bank
    conflicts. In this version, the kernel scans any number of tiles, and then scans the sums of the tiles.
    The last tile is padded with zeros. Padding of shared memory avoids bank conflicts, as in the version that
    the paper measured. This version accepts every grid size and block size. The length of the queue is a
    separate word, so that the host reads nothing else. In the printed kernel, the length is the first element
    of the queue.
    """

    name = "frontier_scan"
    summary = "boolean frontier turned into a queue with a prefix sum"
    origin = ("Springer, section 3.7 and Fig. 15",)
    frontier = "boolean array, and from it a queue in global memory, every vertex once"
    parallel_unit = "a thread per frontier vertex; a thread per vertex to make the queue"
    work = "O(VD + E)"
    space = "4.75V + E"
    synchronisation = "several launches per level"
    # A flag takes one byte. Every level reads three arrays of flags. It also copies one array and computes
    # its prefix sum.
    traffic = Traffic(per_edge=5, per_scan=16)
    knobs = (
        Knob(
            "TILE_SIZE",
            2048,
            "elements that a block scans in shared memory at a time",
            choices=(64, 128, 256, 512, 1024, 2048, 4096, 8192),
            compile_time=True,
        ),
    )
    check_knobs = ({"TILE_SIZE": 64},)

    def prepare(self) -> None:
        num_vertices, block = self.num_vertices, self.block
        flags = [self.device.empty(num_vertices, "uint8") for _ in range(3)]
        self.updated, self.visited, self.in_frontier = flags
        prefix_sum, self.queue = (self.device.empty(num_vertices, "int32") for _ in range(2))
        self.size = self.device.signal()
        self.expand = self.kernel("expand").bind(
            **self.graph.csr,
            queue=self.queue,
            visited=self.visited,
            updated=self.updated,
            levels=self.level_array,
            block=block,
            scalars=("queue_size", "level"),
        )
        self.update = self.kernel("update_frontier").bind(
            num_vertices=num_vertices,
            updated=self.updated,
            visited=self.visited,
            in_frontier=self.in_frontier,
            prefix_sum=prefix_sum,
            block=block,
        )
        self.scan = PrefixSum(self, prefix_sum, num_vertices, int(self.knob["TILE_SIZE"]))
        self.generate = self.kernel("generate_queue").bind(
            num_vertices=num_vertices,
            prefix_sum=prefix_sum,
            in_frontier=self.in_frontier,
            queue=self.queue,
            queue_size=self.size,
            block=block,
        )

    def reset(self, source: int) -> None:
        super().reset(source)
        self.updated.fill(0)
        self.visited.fill(0)
        self.visited.fill(1, start=source, count=1)
        self.queue.fill(source, start=0, count=1)

    def traverse(self, source: int) -> None:
        blocks, all_vertices = self.blocks, self.blocks(self.num_vertices)
        level, size = 0, 1
        while size:
            self.expand(blocks(size), size, level)
            self.update(all_vertices)
            self.scan()
            self.generate(all_vertices)
            self.mark(level, self.name)
            level += 1
            size = self.size.read()
