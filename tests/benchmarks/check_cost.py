"""The cost of verifying every timed run: the time of a point now, and with the checks of before.

Before, a point downloaded and compared the answers of the untimed run and of the last timed run. Now it
overwrites the answer before every run and compares it afterwards, and sums up the graph's arrays in the end.
Points of both kinds take turns in one process. Their times include everything from building a variant to its
times, without the reference search.

    python tests/benchmarks/check_cost.py cuda 'kronecker(scale=20,edge_factor=48)' USA-road-d.FLA
"""

import statistics
import sys
from collections.abc import Callable

from tabulate import tabulate

import bfsbench
from bfsbench.bench.options import Method
from bfsbench.bench.plan import choose_sources
from bfsbench.bench.session import Session
from bfsbench.graphs.graph import Graph
from bfsbench.programs import HostClock, Variant
from bfsbench.programs.families.base import Problem
from bfsbench.programs.families.bfs.search import Search, check_levels
from bfsbench.support.errors import BfsbenchError

REPEATS = 5
ROUNDS = 5


def as_before(variant: Variant, problem: Problem) -> None:
    """Time a variant with the checks of before."""
    assert isinstance(problem, Search)
    run, clock = problem.run(variant), variant.clock()
    variant.prepare()
    run.reset()
    run.solve()
    check_levels(run.answer(), problem.levels)
    for _ in range(REPEATS):
        clock.start()
        run.reset()
        clock.stop()
    for _ in range(REPEATS):
        clock.start()
        run.reset()
        run.solve()
        clock.stop()
    check_levels(run.answer(), problem.levels)


def took_ms(work: Callable[[], object]) -> float:
    clock = HostClock()
    clock.start()
    work()
    return clock.stop()


def costs(session: Session, graph: Graph, variant: type[Variant]) -> tuple[float, float]:
    """Returns the median ms of a point before and now. The first points, which compile, do not count."""
    (source,) = choose_sources(graph, 1, seed=0)
    problem = session.problem("bfs", source)

    def build() -> Variant:
        block = None if variant.host else variant.own_block({}) or variant.usual_block
        return session.build(variant.name, None, block, variant.knob_values({}))

    ways = (lambda: as_before(build(), problem), lambda: session.time(build(), problem, Method(REPEATS)))
    rounds = [[took_ms(way) for way in ways] for _ in range(1 + ROUNDS)][1:]
    before, now = (statistics.median(column) for column in zip(*rounds, strict=True))
    return before, now


def main() -> None:
    backend = sys.argv[1] if len(sys.argv) > 1 else "auto"
    names = sys.argv[2:] or ["kronecker(scale=12,edge_factor=16)", "lattice(rows=60,columns=60)"]
    session = Session(backend)
    rows = []
    for name in names:
        graph = bfsbench.load(name)
        session.use(graph)
        for variant in bfsbench.list_variants().values():
            if variant.family != "bfs":
                continue
            try:
                before, now = costs(session, graph, variant)
            except BfsbenchError as error:
                print(f"{variant.name} on {name}: {error}", file=sys.stderr)
                continue
            rows.append((name, variant.name, before, now, 100 * (now / before - 1)))
            print(f"{variant.name} on {name}: {before:.1f} ms, {now:.1f} ms", file=sys.stderr)
    session.close()
    print(tabulate(rows, headers=["graph", "variant", "ms before", "ms now", "% longer"], floatfmt=".2f"))
    before, now = (sum(row[i] for row in rows) for i in (2, 3))
    print(f"all points: {before:.1f} ms before, {now:.1f} ms now: {100 * (now / before - 1):.1f} % longer")


if __name__ == "__main__":
    main()
