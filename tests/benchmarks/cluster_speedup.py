"""Speed-up of a sweep on several GPUs of one host, its overheads, and the effect on the measured times.

    python tests/benchmarks/cluster_speedup.py [--workers 1,2] [--variants A,B] [--repeats N] [--every K]

504 points: three variants at 6 blocks x 7 grids from two sources on each of two graphs of many levels, where
a point takes 0.1 to 0.2 s on an H200. One worker process sweeps them as 'bfsbench run' does it, and then the
workers of 'run --cluster local:N'. Variation of times from run to run and under Dask is shown by every K-th
point: once more by one process, before the clusters and after, and by a cluster of one worker. Graphs and
kernels are in the cache before. The clock starts when the processes are up with their devices open, so it
includes all loading of graphs and kernels, references, and writing rows; starting up is shown beside it. The
activity of each worker is taken from Dask's own record.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import bfsbench
from bfsbench.bench.output import Output
from bfsbench.bench.plan import Axes, plan
from bfsbench.bench.point import Point
from bfsbench.bench.results import axes_of
from bfsbench.bench.runner import Measured, Method, Runner
from bfsbench.bench.sampling import Sampling
from bfsbench.bench.sources import choose_sources
from bfsbench.bench.worker import Worker
from bfsbench.cluster.address import Local
from bfsbench.cluster.launch import require_dask
from bfsbench.graphs.graph import Graph
from bfsbench.variants import find

GRAPHS = "USA-road-d.NY;lattice(rows=1000,columns=400)"
VARIANTS = "frontier_numbers,virtual_warp,frontier_queue"
BLOCKS = (32, 64, 128, 256, 512, 1024)
GRIDS = (None, 132, 264, 528, 1056, 2112, 4224)
SOURCES = 2
TIMES = ("search_ms", "search_ms_median", "wall_ms")


@dataclass(frozen=True)
class Swept:
    """A sweep: its rows, seconds to start, and its time, in seconds since the epoch like all times here."""

    outcomes: list[Measured]
    start_s: float
    began: float
    ended: float
    spans: dict[str, list[tuple[float, float]]]
    """Of a cluster, by worker: when each of its points began and ended."""

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    def times(self, worker: str | None = None) -> dict[tuple[str, ...], dict[str, float]]:
        """Each point's times in ms; those of one worker, or all."""
        rows = [outcome.row for outcome in self.outcomes if worker in (None, outcome.worker)]
        return {axes_of(row): {name: float(row[name]) for name in TIMES} for row in rows}


def sweep(runner: Runner, points: Sequence[Point], graphs: Mapping[str, Graph], method: Method) -> Swept:
    """Run points as 'bfsbench run' does."""
    called = time.time()
    runner.start()
    keep_record(runner)
    outcomes: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        output = Output(Path(folder) / "rows.csv", method)
        began = time.time()
        for measured in runner.run(points, graphs, method):
            output.append(measured)
            outcomes.append(measured)
        ended = time.time()
        output.close()
    spans = keep_record(runner)
    runner.close()
    failed = [outcome.row for outcome in outcomes if outcome.row["status"] != "ok"]
    assert len({axes_of(outcome.row) for outcome in outcomes}) == len(points) and not failed, failed[:1]
    spans = {worker: [span for span in of_it if span[0] > began] for worker, of_it in spans.items()}
    return Swept(outcomes, began - called, began, ended, spans)


def keep_record(runner: Runner) -> dict[str, list[tuple[float, float]]]:
    """Dask's record of when tasks begin and end, by worker and in order."""
    from bfsbench.cluster.runner import Cluster

    if not isinstance(runner, Cluster):
        return {}
    client: Any = runner.client  # this function of Dask has no types
    names = {member.address: member.name for member in runner.start().present.values()}
    spans: dict[str, list[tuple[float, float]]] = {name: [] for name in sorted(names.values())}
    for task in client.get_task_stream():
        for part in task["startstops"]:
            if part["action"] == "compute":
                spans[names[task["worker"]]].append((part["start"], part["stop"]))
    return {name: sorted(of_it) for name, of_it in spans.items()}


def longer(swept: Swept, reference: Swept, name: str, worker: str | None = None) -> str:
    """Quantiles, in %, of the points' slowdown against the reference, for the time of this name."""
    ours, theirs = swept.times(worker), reference.times()
    more = [ours[key][name] / theirs[key][name] - 1 for key in ours if key in theirs]
    return "{:+.1f} {:+.1f} {:+.1f}".format(*np.quantile(more, [0.05, 0.5, 0.95]) * 100)


def use_of_time(swept: Swept, worker: str) -> tuple[object, ...]:
    """How a worker spent its time: points, busy s, and ms before its first point, between two in the median,
    between all, and after its last."""
    starts, stops = np.array(swept.spans[worker]).T
    gaps = (starts[1:] - stops[:-1]) * 1e3
    first, last = (starts[0] - swept.began) * 1e3, (swept.ended - stops[-1]) * 1e3
    return len(starts), np.sum(stops - starts), first, np.median(gaps), gaps.sum(), last


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--graphs", default=GRAPHS, help="separated by ';'")
    parser.add_argument("--variants", default=VARIANTS)
    parser.add_argument("--repeats", default=5, type=int)
    parser.add_argument("--every", default=5, type=int)
    options = parser.parse_args()
    require_dask()
    from bfsbench.cluster.runner import Cluster
    from bfsbench.cluster.tasks import Equipment

    axes = Axes([find(name) for name in options.variants.split(",")], GRIDS, BLOCKS)
    graphs = {graph.full_name: graph for graph in map(bfsbench.load, options.graphs.split(";"))}
    sources = {name: choose_sources(graph, SOURCES, seed=0) for name, graph in graphs.items()}
    warm = Worker(options.backend)
    warm.start()
    assert warm.device is not None
    points = plan(axes, sources, {}, warm.device.backend)
    first_of = {(point.graph, point.variant): point for point in reversed(points)}
    for _ in warm.run(list(first_of.values()), graphs, Method(Sampling.of(1), 60)):
        pass
    warm.close()
    print(f"{len(points)} points on {warm.device.description['gpu']}", flush=True)

    method, some = Method(Sampling.of(options.repeats), 60), points[:: options.every]
    alone = sweep(Worker(options.backend), points, graphs, method)
    runs = {"one process": alone, "the same again": sweep(Worker(options.backend), some, graphs, method)}
    quiet: list[str] = []
    for count in map(int, options.workers.split(",")):
        cluster = Cluster(Local(count), Equipment(options.backend, 0), False, quiet.append)
        runs[f"local:{count}"] = sweep(cluster, points if count > 1 else some, graphs, method)
    runs["once more, last"] = sweep(Worker(options.backend), some, graphs, method)

    rows: list[tuple[object, ...]] = []
    for name, swept in runs.items():
        speedup = alone.seconds / swept.seconds if len(swept.outcomes) == len(points) else ""
        times = [longer(swept, alone, column) for column in TIMES] if swept is not alone else []
        rows.append((name, len(swept.outcomes), swept.start_s, swept.seconds, speedup, *times))
    headers = ["run", "points", "start s", "sweep s", "speed-up", "search_ms", "its median", "wall_ms"]
    print(tabulate(rows, headers=headers, floatfmt=".2f"))
    print("last three columns: longer than in the first run, %: 5 % quantile, median, 95 %\n")
    rows = []
    for name, swept in runs.items():
        for worker in swept.spans:
            more = longer(swept, alone, "search_ms", worker)
            rows.append((name, worker, *use_of_time(swept, worker), more))
    headers = ["run", "worker", "points", "busy s", "first ms", "gap ms", "gaps ms", "after ms", "search_ms"]
    print(tabulate(rows, headers=headers, floatfmt=".1f"))
    print("ms before a worker's first point, between two in the median, between all, and after its last")


if __name__ == "__main__":
    main()
