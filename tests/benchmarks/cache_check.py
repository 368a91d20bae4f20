"""What checking a cached graph for damage costs, beside the set-up of the first search on it.

    python tests/benchmarks/cache_check.py [GRAPH]... --variant cpu_queue

Set-up is what a sweep does until its first search begins: opening the graph, the reference that answers are
checked against, and preparing the variant. All of it with the files in the system's page cache.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from bfsbench.bench.session import Session
from bfsbench.graphs.load import load

GRAPHS = (
    "soc-Epinions1:symmetrised",
    "USA-road-d.NY",
    "kronecker(scale=18,edge_factor=16)",
    "kronecker(scale=20,edge_factor=16)",
)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least of some measurements."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def set_up(name: str, variant: str) -> None:
    session = Session(None)
    graph = load(name, check=False)
    session.use(graph)
    session.problem("bfs", 0)
    session.build(variant, None, None, {}).prepare()
    session.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--variant", default="cpu_queue")
    chosen = parser.parse_args()
    print(f"{'graph':40} {'arcs':>12} {'check ms':>9} {'set-up ms':>10} {'share':>6}")
    for name in chosen.graphs:
        graph = load(name)
        unchecked = seconds(lambda name=name: load(name, check=False))
        check = seconds(lambda name=name: load(name)) - unchecked
        rest = seconds(lambda name=name: set_up(name, chosen.variant), repeats=1)
        print(f"{name:40} {graph.num_edges:12,} {check * 1e3:9.1f} {rest * 1e3:10.1f} {check / rest:6.1%}")


if __name__ == "__main__":
    main()
