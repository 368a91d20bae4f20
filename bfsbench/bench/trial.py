"""Test a search on small graphs of many shapes."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from bfsbench.bench.options import Method
from bfsbench.bench.plan import Axes, plan
from bfsbench.bench.worker import Worker
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.programs import Variant
from bfsbench.rows.point import Point

SHAPES = (
    "path(n=1)",
    "star(n=300,arcs=in)",
    "path(n=2000)",
    "lattice(rows=23,columns=17)",
    "kronecker(scale=8,edge_factor=8)",
    "uniform(n=500,m=500,directed=1)",
    "uniform(n=1025,m=8200)",
)
"""The generators of the graphs to search.

1. a single vertex
2. a star, whose hub has no out-arcs
3. a long path
4. a grid
5. a graph with hubs
6. a graph with isolated vertices, loops and duplicate arcs
7. a dense graph
"""
REPEATS = 3
FAILURES_SHOWN = 5
"""The trial ends after this many failures."""


@dataclass
class Trial:
    """The results of a trial so far. When ``run`` returns, they cover all searches."""

    searches: int = 0
    right: int = 0
    shape: str = ""
    """The generator of the graph that is being searched."""
    lines: list[str] = field(default_factory=list)
    """Messages that say which search failed, and how."""

    def run(self, variant: type[Variant], limit_s: float, begins: Callable[[str], None]) -> None:
        """Search each graph of SHAPES from its first, middle and last vertex, as a sweep does.

        Each point may take ``limit_s`` seconds. ``begins`` is called with the name of each graph before it is
        searched. Raises BfsbenchError if no device can run the variant.
        """
        method = Method(REPEATS, limit_s)
        with closing(Worker(None if variant.host else "auto")) as worker:
            worker.start()
            backend = worker.device.backend if worker.device else "host"
            for self.shape in SHAPES:
                begins(self.shape)
                for point, graph in _points(variant, backend, self.shape):
                    row = next(worker.run_group([point], graph, method)).row
                    self.searches += 1
                    self.right += row["status"] == "ok"
                    if row["status"] != "ok":
                        place = f"{row['graph']} from {point.source}"
                        self.lines.append(f"{row['status']}: {row['reason']} [{place}]")
                    if len(self.lines) == FAILURES_SHOWN:
                        return


def _points(variant: type[Variant], backend: str, shape: str) -> Iterator[tuple[Point, Graph]]:
    graph = load(shape)
    sources = dict.fromkeys((0, graph.num_vertices // 2, graph.num_vertices - 1))
    for point in plan(Axes([variant], [None], [None]), {shape: [*sources]}, {}, backend):
        yield point, graph
