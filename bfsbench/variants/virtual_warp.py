"""Declares a breadth-first search with virtual warps: groups of threads that share a vertex."""

from collections.abc import Mapping

from bfsbench.variants.base import LEVEL_SCAN, Knob, KnobValue, LevelKernelVariant
from bfsbench.variants.rules import Statistics, has_long_rows


class VirtualWarp(LevelKernelVariant):
    """The virtual warp-centric kernel from M. Springer's paper "Breadth-first Search in CUDA", after Hong et
    al. 2011.

    The kernel printed in the paper has an error. It distributes vertices by the number of threads, so the
    last virtual warp may have fewer than W_SZ threads. The kernel then misses some neighbours of the vertices
    that this virtual warp expands. In this version, the number of work items is rounded up to whole virtual
    warps.
    """

    name = "virtual_warp"
    aliases = ("hong",)
    summary = "W_SZ threads walk the neighbours of a vertex side by side"
    origin = ("Springer, section 3.5 and Fig. 13", "BFS-4K, 'Static Virtual Warp'")
    frontier = "level array"
    parallel_unit = "a virtual warp per vertex"
    work = "O(DV + E)"
    space = "2V + E"
    traffic = LEVEL_SCAN
    knobs = (
        Knob("W_SZ", 16, "threads that share a vertex", choices=(1, 2, 4, 8, 16, 32), compile_time=True),
    )

    @classmethod
    def auto_knobs(cls, statistics: Statistics) -> Mapping[str, KnobValue]:
        """Returns knob values for a graph. A virtual warp has 32 threads if the graph has long rows, and
        otherwise 2 threads."""
        return {"W_SZ": 32 if has_long_rows(statistics) else 2}
