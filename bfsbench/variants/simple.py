"""Declares an unoptimised vertex-centric breadth-first search without a frontier."""

from typing import ClassVar

from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class Simple(LevelKernelVariant):
    """Algorithm 2 of M. Springer's paper "Breadth-first Search in CUDA". In each level, every vertex relaxes
    its neighbours. This kernel computes the paper's ``v_adj_length`` as the difference of two row offsets.

    The kernel printed in the paper has an error: it adds one to the infinite level of an unreached vertex,
    and the sum overflows. The kernel of this project skips unreached vertices.
    """

    name = "simple"
    aliases = ("unoptimized",)
    summary = "every vertex relaxes its neighbours until nothing changes"
    origin = ("Springer, Alg. 2 and Fig. 9",)
    frontier = "none"
    parallel_unit = "a thread per vertex"
    work = "O(D(V + E))"
    space = "2V + E"
    traffic = LEVEL_SCAN
    edge_reads: ClassVar = {"simple": "unknown"}
