"""Declares a vertex-centric push search with frontier queues in global memory."""

from bfsbench.variants.level_queues import LevelQueueVariant


class PushFrontier(LevelQueueVariant):
    """The push kernel with frontiers from the book PMPP.

    This version removes two limits of the printed kernel. The printed kernel needs as many threads as the
    frontier has vertices, but in this version any grid works. The printed kernel also needs the host to clear
    the length of the next frontier before every launch. In this version, the kernel clears it.
    """

    name = level_kernel = "push_frontier"
    summary = "unreached neighbours are claimed with atomicCAS and appended to the next frontier"
    origin = ("PMPP ch. 15, Fig. 15.12",)
    frontier = "queue in global memory, every vertex once"
    parallel_unit = "a thread per frontier vertex"
    work = "O(V + E)"
    space = "4V + E"
