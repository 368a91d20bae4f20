"""Declares a vertex-centric push search whose frontier is the set of vertices at the current level. It needs
no array besides the levels."""

from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class FrontierNumbers(LevelKernelVariant):
    """The search with an iteration counter from M. Springer's paper "Breadth-first Search in CUDA".

    A vertex is in the frontier if its level equals the counter. The book PMPP (*Programming Massively
    Parallel Processors*) has an equivalent vertex-centric push kernel.
    """

    name = "frontier_numbers"
    aliases = ("push",)
    summary = "a vertex is in the frontier if its level equals the iteration"
    origin = ("Springer, Fig. 11", "PMPP ch. 15, Fig. 15.6")
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN
