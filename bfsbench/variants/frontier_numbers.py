"""A vertex-centric push search whose level array is the frontier."""

from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class FrontierNumbers(LevelKernelVariant):
    """Springer's frontier with an iteration counter. It is also PMPP's vertex-centric push kernel."""

    name = "frontier_numbers"
    aliases = ("push",)
    summary = "a vertex is in the frontier if its level equals the iteration"
    origin = ("Springer, Fig. 11", "PMPP ch. 15, Fig. 15.6")
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN
