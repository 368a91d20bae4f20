"""Every search tuned on every graph with the same number of points, in one process.

    python tests/benchmarks/tune_all.py OUT.csv [--points 40] [--seconds 4] GRAPH...

Each search begins with its default configuration and tries the values of block and knobs one axis at a time,
as `bfsbench tune` does before it turns to Optuna, until a round changes nothing or its points or seconds are
spent. Grids are as large as the work asks for. Host programs are searched at their defaults. Rows go to
OUT.csv, where a later call goes on. A line per graph and search says what was found.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from bfsbench.bench import tune as tuning
from bfsbench.bench.output import Output
from bfsbench.bench.plan import Axes
from bfsbench.bench.runner import Method
from bfsbench.bench.sources import choose_sources
from bfsbench.bench.worker import Worker
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.variants import all_variants
from bfsbench.variants.base import Variant

BLOCKS = (64, 128, 256, 512, 1024)


def tuned(
    graph: Graph,
    variant: type[Variant],
    worker: Worker,
    output: Output,
    method: Method,
    budget: tuning.Budget,
) -> str:
    """What the best configuration of a search on a graph takes, in words."""
    where = worker.device.backend if worker.device else "host"
    axes = Axes([variant], [None], BLOCKS)
    space = tuning.Space.of(axes, graph.full_name, variant.preset("default", graph.statistics), where)
    strategy = tuning.one_axis_at_a_time(space)
    asking = tuning.tune(strategy, space, choose_sources(graph, 1, 0), budget)
    rows: list[dict[str, str]] | None = None
    while True:
        try:
            (point,) = asking.send(rows)
        except StopIteration as end:
            took = end.value
            break
        if output.row(point) is None:
            output.append(worker.run_point(point, graph, method))
        rows = [output.row(point)]
    best = tuning.best(took)
    found = f"{best[1]:.4g} ms at {space.values(best[0])}" if best else "no time"
    default = took.get(space.first)
    return f"default {default and f'{default:.4g}'} ms, best of {len(took)}: {found}"


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("graphs", nargs=-1, required=True)
@click.option("--points", default=40, help="Of each search on each graph.")
@click.option("--seconds", default=4.0, help="The same; no point is begun after them.")
@click.option("--repeats", default=3)
@click.option("--timeout", default=20.0, help="Seconds of a point.")
@click.option("--total", default=1e9, help="Seconds after which no graph or search is begun.")
@click.option("--only", default="", help="Searches, separated by commas; by default all.")
def main(
    out: Path,
    graphs: tuple[str, ...],
    points: int,
    seconds: float,
    repeats: int,
    timeout: float,
    total: float,
    only: str,
) -> None:
    ends = time.monotonic() + total
    worker = Worker("auto")
    worker.start()
    method = Method(repeats, timeout)
    output = Output(out, method, resume=out.exists())
    searches = [variant for variant in all_variants().values() if variant.family == "bfs"]
    chosen = [variant for variant in searches if not only or variant.name in only.split(",")]
    for text in graphs:
        graph = load(text)
        for variant in chosen:
            if time.monotonic() < ends:
                budget = tuning.Budget(1 if variant.host else points, time.monotonic() + seconds)
                said = tuned(graph, variant, worker, output, method, budget)
                print(f"{graph.full_name} {variant.name}: {said}", flush=True)
    output.close()
    worker.close()


if __name__ == "__main__":
    main()
