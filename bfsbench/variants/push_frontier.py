"""Vertex-centric push with frontiers."""

from bfsbench.variants.level_queues import LevelQueueVariant


class PushFrontier(LevelQueueVariant):
    """PMPP's push kernel with frontiers.

    Corrected: the printed kernel needs as many threads as the frontier has vertices, and the host to clear
    the length of the next frontier before every launch; here any grid works, and the kernel clears the
    length.
    """

    name = level_kernel = "push_frontier"
    summary = "unreached neighbours are claimed with atomicCAS and appended to the next frontier"
    origin = ("PMPP ch. 15, Fig. 15.12",)
    frontier = "queue in global memory, every vertex once"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E)"
    space = "4V + E"
