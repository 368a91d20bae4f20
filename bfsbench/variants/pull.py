"""Declares a vertex-centric pull (bottom-up) search over the CSC arrays."""

from collections.abc import Mapping
from typing import ClassVar

from bfsbench.backends.base import Argument
from bfsbench.variants.base import LEVEL_SCAN, LevelKernelVariant


class Pull(LevelKernelVariant):
    """The vertex-centric pull kernel of the book PMPP. Each unreached vertex looks for a parent among its
    in-neighbours."""

    name = "pull"
    aliases = ("bottom_up",)
    summary = "an unreached vertex looks for a parent and stops at the first"
    origin = ("PMPP ch. 15, Fig. 15.8",)
    layout = ("CSC",)
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(D(V + E))"
    space = "2V + E"
    traffic = LEVEL_SCAN
    edge_reads: ClassVar = {"pull": "pull"}

    def arguments(self) -> Mapping[str, Argument]:
        return {**self.graph.csc, "num_vertices": self.num_vertices, "levels": self.level_array}
