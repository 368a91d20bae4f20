"""Every search tuned on every graph with the same number of points, in one process.

    python tests/benchmarks/tune_all.py OUT.csv [--points 40] [--seconds 4] GRAPH...

Each search begins with its default configuration and tries the values of block and knobs one axis at a time,
as `bfsbench tune` does before it turns to Optuna, until a round changes nothing or its points or seconds are
spent. Grids are as large as the work asks for. Host programs are searched at their defaults. Rows go to
OUT.csv, where a later call goes on. A line per graph and search says what was found.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from bfsbench.bench import tune as tuning
from bfsbench.bench.point import Point
from bfsbench.bench.runner import Measured, Method
from bfsbench.bench.sources import choose_sources
from bfsbench.bench.sweep import Axes, Output, run_sweep
from bfsbench.bench.worker import Worker
from bfsbench.graphs.graph import Graph
from bfsbench.graphs.load import load
from bfsbench.variants import all_variants
from bfsbench.variants.base import Variant

BLOCKS = (64, 128, 256, 512, 1024)


def measured(graph: Graph, worker: Worker, output: Output, method: Method, point: Point) -> Mapping[str, str]:
    """The row of a point, which is in the file as well."""
    outcomes: list[Measured] = []
    run_sweep([point], {graph.full_name: graph}, worker, output, method, outcomes.append)
    return outcomes[0].row


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
    measure = partial(measured, graph, worker, output, method)
    sources = choose_sources(graph, 1, 0)
    objective = tuning.Objective(space, sources, output.results.rows, measure, lambda row: None)
    took = tuning.tune(tuning.one_axis_at_a_time(space), objective, budget)
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
    output = Output(out, resume=out.exists())
    searches = [variant for variant in all_variants().values() if variant.family == "bfs"]
    chosen = [variant for variant in searches if not only or variant.name in only.split(",")]
    for text in graphs:
        graph = load(text)
        for variant in chosen:
            if time.monotonic() < ends:
                budget = tuning.Budget(1 if variant.host else points, time.monotonic() + seconds)
                said = tuned(graph, variant, worker, output, Method(repeats, timeout), budget)
                print(f"{graph.full_name} {variant.name}: {said}", flush=True)
    output.close()
    worker.close()


if __name__ == "__main__":
    main()
