"""Testing a search on small graphs of many shapes, before anything is measured."""

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
"""One vertex; a hub without out-arcs; a long path; a grid; hubs; isolated vertices, loops and duplicate arcs;
a dense graph."""
REPEATS = 3
FAILURES_SHOWN = 5
"""Most failures before the trial ends."""


@dataclass
class Trial:
    """What came out so far; of all searches when ``run`` returns."""

    searches: int = 0
    right: int = 0
    shape: str = ""
    """The one that is being searched."""
    lines: list[str] = field(default_factory=list)
    """Messages that say what is wrong and where."""

    def run(self, variant: type[Variant], limit_s: float, begins: Callable[[str], None]) -> None:
        """Search each shape from its first, middle and last vertex, as a sweep does, from each in at most
        ``limit_s`` seconds. ``begins`` is called before each shape. Raises BfsbenchError when there is no
        device for it.
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
