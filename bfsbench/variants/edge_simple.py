"""Declares an unoptimised edge-centric breadth-first search without a frontier."""

from typing import ClassVar

from bfsbench.variants.edge_frontier_numbers import EdgeFrontierNumbers


class EdgeSimple(EdgeFrontierNumbers):
    """The unoptimised edge-centric kernel from M. Springer's paper "Breadth-first Search in CUDA".

    The kernel printed in the paper has an error: it adds one to the level of an unreached tail. The sum
    overflows if the paper's ``MAX_DIST`` is the largest integer. The kernel of this project skips edges with
    unreached tails. The edges are in CSR order.
    """

    name = "edge_simple"
    aliases = ()
    summary = "every edge relaxes its head until nothing changes"
    origin = ("Springer, section 4.1 and Fig. 16",)
    frontier = "none"
    edge_reads: ClassVar = {"edge_simple": "all"}
