"""A vertex-centric push search with frontier queues."""

from bfsbench.variants.level_queues import LevelQueueVariant


class PushFrontier(LevelQueueVariant):
    """PMPP's push kernel with frontiers.

    The printed kernel has two limits, which are removed here. It needs as many threads as the frontier has
    vertices. Here any grid works. It needs the host to clear the length of the next frontier before every
    launch. Here the kernel clears it.
    """

    name = level_kernel = "push_frontier"
    summary = "unreached neighbours are claimed with atomicCAS and appended to the next frontier"
    origin = ("PMPP ch. 15, Fig. 15.12",)
    frontier = "queue in global memory, every vertex once"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E)"
    space = "4V + E"
