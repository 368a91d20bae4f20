"""Declares a breadth-first search that switches between push and pull."""

from typing import Any, ClassVar

from bfsbench.programs.families.bfs.layouts import SearchCounts
from bfsbench.variants.base import LEVEL_SCAN, KernelVariant, Knob


class DirectionOptimized(KernelVariant):
    """Beamer's direction-optimising search, with the push and pull kernels of the book PMPP.

    The kernels come from figures 15.6 and 15.8 of the book. In addition, they count the vertices and edges
    that they reach. The level array is the frontier for pushes and for pulls, whereas Beamer's program keeps
    a queue and a bitmap.

    The number of unexplored out-edges estimates how many edges a pull would read, as in Beamer's program,
    even on directed graphs. Edges of the frontier do not count as unexplored. The first level is always
    pushed. Beamer's search returns to push only when the frontier shrinks. This search returns to push
    whenever the frontier is small, so directions may alternate near the end of a search.
    """

    name = "direction_optimized"
    summary = "pushes small frontiers, and pulls while the frontier is large"
    origin = ("PMPP ch. 15, section 15.3", "Beamer et al. 2012, thresholds")
    layout = ("CSR", "CSC")
    frontier = "level array"
    parallel_unit = "a thread per vertex"
    work = "O(D(V + E))"
    space = "3V + 2E"
    traffic = LEVEL_SCAN
    knobs = (
        Knob("ALPHA", 14, "pull if frontier edges exceed unexplored edges / ALPHA", minimum=1, maximum=1e9),
        Knob("BETA", 24, "push again if frontier vertices are below V / BETA", minimum=1, maximum=1e9),
    )
    structs = (SearchCounts,)
    check_knobs = ({"ALPHA": 1000, "BETA": 1000},)
    edge_reads: ClassVar = {"pull": "pull"}

    def prepare(self) -> None:
        self.reached = self.device.signal(SearchCounts)
        self.num_blocks = self.blocks(self.num_vertices)
        common: dict[str, Any] = {
            "num_vertices": self.num_vertices,
            "levels": self.level_array,
            "reached": self.reached,
            "block": self.block,
            "scalars": 1,
        }
        self.push = self.kernel("push").bind(**self.graph.csr, **common)
        rows = self.graph.row_offsets
        self.pull = self.kernel("pull").bind(**self.graph.csc, row_offsets=rows, **common)

    def reset(self, source: int) -> None:
        super().reset(source)
        self.reached.fill(0)

    def traverse(self, source: int) -> None:
        push, pull, num_blocks, reached = self.push, self.pull, self.num_blocks, self.reached
        first, last = self.host_graph.row_offsets[source : source + 2].tolist()
        edges_beyond_source = int(self.num_edges) - (last - first)
        alpha, beta = int(self.knob["ALPHA"]), int(self.knob["BETA"])
        level = vertices = edges = 0
        pulling = False
        while True:
            (pull if pulling else push)(num_blocks, level)
            self.mark(level, "pull" if pulling else "push")
            level += 1
            counts = reached.read_struct()
            edges_now, vertices_now = counts.edges, counts.vertices
            if vertices_now == vertices:
                return
            if pulling:
                pulling = (vertices_now - vertices) * beta >= self.num_vertices
            else:
                pulling = (edges_now - edges) * alpha > edges_beyond_source - edges_now
            vertices, edges = vertices_now, edges_now
