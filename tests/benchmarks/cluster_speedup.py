"""How much faster a sweep is on several GPUs of one host, and whether its times are those of one.

    python tests/benchmarks/cluster_speedup.py [--workers 2,4] [--variants A,B] [--repeats N] [--every K]

504 points: three variants at 6 blocks x 7 grids from two sources on each of two graphs of many levels, where
a point takes 0.1 to 0.3 s on an H200. They are swept by one worker process as 'bfsbench run' does it, every
K-th of them once more for the run-to-run spread, and then by the workers of 'run --cluster local:N'. Graphs
and kernels are in the cache before. The clock starts when the processes are up with their devices open, so it
includes all loading of graphs and kernels, references, and writing rows; starting up is shown beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate

import bfsbench
from bfsbench.bench.point import Point
from bfsbench.bench.results import axes_of
from bfsbench.bench.runner import Measured, Method, Runner
from bfsbench.bench.sources import choose_sources
from bfsbench.bench.sweep import Axes, Output, plan, run_sweep
from bfsbench.bench.worker import Worker
from bfsbench.cluster.address import Local
from bfsbench.cluster.launch import require_dask
from bfsbench.variants import find

GRAPHS = ("USA-road-d.NY", "lattice(rows=1000,columns=400)")
VARIANTS = "frontier_numbers,virtual_warp,frontier_queue"
BLOCKS = (32, 64, 128, 256, 512, 1024)
GRIDS = (None, 132, 264, 528, 1056, 2112, 4224)
SOURCES = 2

Times = dict[tuple[str, ...], dict[str, float]]


def sweep(runner: Runner, points: Sequence[Point], method: Method) -> tuple[float, float, Times]:
    """Seconds to start, seconds to sweep, and each point's times."""
    graphs = {name: bfsbench.load(name) for name in dict.fromkeys(point.graph for point in points)}
    began = time.perf_counter()
    runner.start()
    started = time.perf_counter()
    outcomes: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        output = Output(Path(folder) / "rows.csv", resume=False)
        run_sweep(points, graphs, runner, output, method, outcomes.append)
        ended = time.perf_counter()
        output.close()
    runner.close()
    rows = [outcome.row for outcome in outcomes]
    failed = [row for row in rows if row["status"] != "ok"]
    assert len({axes_of(row) for row in rows}) == len(points) and not failed, failed[:1]
    names = ("search_ms", "search_ms_median", "wall_ms")
    times = {axes_of(row): {name: float(row[name]) for name in names} for row in rows}
    return started - began, ended - started, times


def agreement(times: Times, reference: Times) -> list[str]:
    """Quantiles, in %, of how much longer each point took than in the reference."""
    cells = []
    for name in ("search_ms", "search_ms_median", "wall_ms"):
        shared = [key for key in times if key in reference]
        more = np.array([times[key][name] / reference[key][name] - 1 for key in shared]) * 100
        low, median, high = np.quantile(more, [0.05, 0.5, 0.95])
        cells.append(f"{low:+.1f} {median:+.1f} {high:+.1f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--variants", default=VARIANTS)
    parser.add_argument("--repeats", default=9, type=int)
    parser.add_argument("--every", default=5, type=int)
    options = parser.parse_args()
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    axes = Axes([find(name) for name in options.variants.split(",")], GRIDS, BLOCKS)
    graphs = [bfsbench.load(name) for name in GRAPHS]
    sources = {graph.full_name: choose_sources(graph, SOURCES, seed=0) for graph in graphs}
    warm = Worker(options.backend)
    warm.start()
    assert warm.device is not None
    points = plan(axes, sources, {}, warm.device.backend)
    method = Method(options.repeats, 60)
    first_of = {(point.graph, point.variant): point for point in reversed(points)}
    for _ in warm.run(list(first_of.values()), {graph.full_name: graph for graph in graphs}, Method(1, 60)):
        pass
    warm.close()
    print(f"{len(points)} points on {warm.device.description['gpu']}", flush=True)

    started, alone, reference = sweep(Worker(options.backend), points, method)
    rows: list[tuple[object, ...]] = [("one process", len(points), started, alone, 1.0, "", "", "")]
    started, again, times = sweep(Worker(options.backend), points[:: options.every], method)
    rows.append(("the same again", len(times), started, again, "", *agreement(times, reference)))
    quiet: list[str] = []
    for count in map(int, options.workers.split(",")):
        cluster = Cluster(Local(count), Equipment(options.backend, 0), False, quiet.append)
        started, took, times = sweep(cluster, points, method)
        rows.append((f"local:{count}", len(times), started, took, alone / took, *agreement(times, reference)))
    longer = "longer than one process, %: 5 % quantile, median, 95 %"
    headers = ["run", "points", "start s", "sweep s", "speed-up", "search_ms", "its median", "wall_ms"]
    print(tabulate(rows, headers=headers, floatfmt=".2f"))
    print(f"last three columns: {longer}")


if __name__ == "__main__":
    main()
