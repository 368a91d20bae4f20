"""Unoptimised edge-centric search without a frontier."""

from typing import ClassVar

from bfsbench.variants.edge_frontier_numbers import EdgeFrontierNumbers


class EdgeSimple(EdgeFrontierNumbers):
    """Springer's unoptimised edge-centric kernel.

    Corrected: the printed kernel adds one to the level of an unreached tail, which overflows where the
    paper's ``MAX_DIST`` is the largest integer; here edges with unreached tails are skipped. The edges
    are in CSR order.
    """

    name = "edge_simple"
    aliases = ()
    summary = "every edge relaxes its head until nothing changes"
    origin = ("Springer, section 4.1 and Fig. 16",)
    frontier = "none"
    edge_reads: ClassVar = {"edge_simple": "all"}
